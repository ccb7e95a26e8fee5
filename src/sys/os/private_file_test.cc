// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "sys/os/private_file.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <thread>

#include "tests/support/scratch_folder.h"

namespace tutti::sys {
namespace {

class PrivateFileTest : public testing::Test {
 protected:
  tests::ScratchFolder folder_;
  const std::vector<std::byte> content_ = {std::byte{1}, std::byte{0}, std::byte{255}};
};

TEST_F(PrivateFileTest, IsForTheOwnerAlone) {
  const std::string path = folder_.Path("a/b/secret");
  EXPECT_EQ(ReadPrivateFile(path, 10).status().code(), Code::kSystem);
  ASSERT_TRUE(CreatePrivateFile(path, content_).ok());
  EXPECT_EQ(*ReadPrivateFile(path, 3), content_);
  struct stat info;
  ASSERT_EQ(stat(path.c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0600u);
  ASSERT_EQ(stat(folder_.Path("a").c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0700u);
}

TEST_F(PrivateFileTest, IsReplacedAndRemoved) {
  const std::string path = folder_.Path("note");
  const std::vector<std::byte> other(3);
  EXPECT_EQ(ReplacePrivateFile(folder_.Path("none/note"), content_, 60).code(), Code::kSystem);
  for (const auto& content : {content_, other}) {
    ASSERT_TRUE(ReplacePrivateFile(path, content, 60).ok());
    EXPECT_EQ(*ReadPrivateFile(path, 3), content);
  }
  RemoveFile(path);
  EXPECT_TRUE(std::filesystem::is_empty(folder_.path()));
}

TEST_F(PrivateFileTest, ThoseOfNoUseAreRemoved) {
  ASSERT_TRUE(ReplacePrivateFile(folder_.Path("note-old"), content_, -2).ok());
  ASSERT_TRUE(ReplacePrivateFile(folder_.Path("note-new"), content_, 60).ok());
  ASSERT_TRUE(ReplacePrivateFile(folder_.Path("other-old"), content_, -2).ok());
  RemoveUselessFiles(folder_.path(), "note-");
  EXPECT_FALSE(std::filesystem::exists(folder_.Path("note-old")));
  EXPECT_TRUE(std::filesystem::exists(folder_.Path("note-new")));
  EXPECT_TRUE(std::filesystem::exists(folder_.Path("other-old")));
}

TEST_F(PrivateFileTest, TheFirstStays) {
  const std::string path = folder_.Path("secret");
  ASSERT_TRUE(CreatePrivateFile(path, content_).ok());
  ASSERT_TRUE(CreatePrivateFile(path, std::vector<std::byte>(2)).ok());
  EXPECT_EQ(*ReadPrivateFile(path, 10), content_);
}

TEST_F(PrivateFileTest, AtOnceAllSeeOne) {
  std::vector<std::vector<std::byte>> seen(8);
  std::vector<std::thread> threads;
  for (int i = 0; i < 8; ++i) {
    threads.emplace_back([this, i, &seen] {
      const std::vector<std::byte> own(32, static_cast<std::byte>(i));
      EXPECT_TRUE(CreatePrivateFile(folder_.Path("secret"), own).ok());
      seen[i] = *ReadPrivateFile(folder_.Path("secret"), 32);
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const auto& content : seen) EXPECT_EQ(content, seen[0]);
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder_.path()), {}), 1);  // no temporary files are left
}

TEST_F(PrivateFileTest, WhatOthersMayTouchIsRefused) {
  const std::string path = folder_.Path("secret");
  ASSERT_TRUE(CreatePrivateFile(path, content_).ok());
  EXPECT_EQ(ReadPrivateFile(path, 2).status().code(), Code::kInvalidUsage);
  ASSERT_EQ(chmod(path.c_str(), 0640), 0);
  const Result<std::vector<std::byte>> content = ReadPrivateFile(path, 10);
  EXPECT_EQ(content.status().code(), Code::kInvalidUsage);
  EXPECT_NE(content.status().message().find(path), std::string::npos);
  EXPECT_EQ(ReadPrivateFile(folder_.path(), 10).status().code(), Code::kInvalidUsage);
  ASSERT_EQ(symlink(path.c_str(), folder_.Path("alias").c_str()), 0);
  EXPECT_FALSE(ReadPrivateFile(folder_.Path("alias"), 10).ok());
}

TEST_F(PrivateFileTest, AFolderThatCanNotBeMadeIsNamed) {
  ASSERT_TRUE(CreatePrivateFile(folder_.Path("file"), content_).ok());
  const Status status = CreatePrivateFile(folder_.Path("file/secret"), content_);
  EXPECT_EQ(status.code(), Code::kSystem);
  EXPECT_NE(status.message().find(folder_.Path("file")), std::string::npos);
}

}  // namespace
}  // namespace tutti::sys
