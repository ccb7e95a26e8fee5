// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
// Pickles say what JSON says, and files are replaced as a whole.
#include "tools/record_pickle.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "tools/record_file.h"
#include "tools/record_test_pickle.h"

namespace tutti::tools {
namespace {

TEST(Pickle, IsTheBytesThatPythonWrites) {
  // Of python3: pickle.dumps({"a": [1, None]}, 2) but for what it notes down for later use ("q\x00" and the like).
  EXPECT_EQ(Pickle({{"a", true}}), std::string("\x80\x02}(X\x01\0\0\0a\x88u.", 13));
  EXPECT_EQ(Pickle(Json::Array()), std::string("\x80\x02](e.", 6));
  EXPECT_EQ(Pickle(std::int64_t{-2}), std::string("\x80\x02J\xfe\xff\xff\xff.", 8));
  EXPECT_EQ(Pickle(1.5), std::string("\x80\x02G\x3f\xf8\0\0\0\0\0\0.", 12));
}

TEST(Pickle, SaysWhatJsonSays) {
  Json list = Json::Array();
  for (const std::int64_t n :
       {std::int64_t{0}, std::int64_t{INT32_MAX}, std::int64_t{INT32_MIN}, INT64_MAX, INT64_MIN}) {
    list.Append(n);
    list.Append(n / 2 + 1);
  }
  list.Append(UINT64_MAX);
  list.Append(std::uint64_t{1} << 63);
  list.Append(0.1);
  list.Append(-1e300);
  list.Append(false);
  list.Append(nullptr);
  list.Append("");
  list.Append("\"quotes\", \xc3\xa9 and\nmore");
  const Json value = {{"list", list}, {"deep", {{"x", {{"y", Json::Array()}}}}}, {"none", Json()}};
  EXPECT_EQ(PickleReader::Read(Pickle(value)), PickleReader::Value::parse(value.Dump(1)));
}

TEST(Pickle, TheReaderOfTheseTestsRefusesWhatIsCut) {
  const std::string whole = Pickle({{"name", "text"}, {"n", std::uint64_t{1} << 40}});
  for (std::size_t length = 0; length < whole.size(); ++length)
    EXPECT_THROW((void)PickleReader::Read(whole.substr(0, length)), std::exception) << length;
  EXPECT_THROW((void)PickleReader::Read(whole + "."), std::exception);
}

std::string Content(const std::string& path) {
  std::ifstream file(path);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

TEST(WriteWhole, ReplacesAFile) {
  const std::string folder = testing::TempDir() + "record_file/";
  std::filesystem::create_directory(folder);
  ASSERT_TRUE(WriteWhole(folder + "a", "old").ok());
  std::ifstream reader(folder + "a");
  ASSERT_TRUE(WriteWhole(folder + "a", "the new one").ok());
  std::string old;
  reader >> old;
  EXPECT_EQ(old, "old");  // who had it open goes on with the old one
  EXPECT_EQ(Content(folder + "a"), "the new one");
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder), {}), 1);
  std::filesystem::remove_all(folder);
}

TEST(WriteWhole, SaysWhyItCannot) {
  const std::string nowhere = testing::TempDir() + "no such folder/a";
  const Status status = WriteWhole(nowhere, "x");
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.message(), "cannot write " + nowhere +
                                  ": No such file or directory; name a file in a folder that is there and may be "
                                  "written to, on a file system with room");
  const std::string folder = testing::TempDir() + "record_folder";
  std::filesystem::create_directory(folder);
  EXPECT_NE(WriteWhole(folder, "x").message().find("Is a directory"), std::string::npos);
  std::filesystem::remove_all(folder);
}

// A device or pipe stays what it is.
TEST(WriteWhole, WritesToWhatIsNoFile) {
  ASSERT_TRUE(WriteWhole("/dev/null", "x").ok());
  struct stat about {};
  ASSERT_EQ(stat("/dev/null", &about), 0);
  EXPECT_TRUE(S_ISCHR(about.st_mode));
}

}  // namespace
}  // namespace tutti::tools
