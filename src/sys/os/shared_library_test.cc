// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "sys/os/shared_library.h"

#include <gtest/gtest.h>

#include <fstream>
#include <string>

#include "tests/support/scratch_folder.h"

namespace tutti::sys {
namespace {

TEST(SharedLibraryTest, OpensWhatThereIs) {
  const Result<SharedLibrary> libc = SharedLibrary::Open("libc.so.6");
  ASSERT_TRUE(libc.ok()) << libc.status().message();
  EXPECT_NE(libc->Find("malloc"), nullptr);
  EXPECT_EQ(libc->Find("no_function_of_libc"), nullptr);
  EXPECT_TRUE(libc->path().starts_with("/")) << libc->path();
  EXPECT_EQ(libc->own_name(), "libc.so.6");
}

TEST(SharedLibraryTest, TheProgramHasNoPath) {
  const Result<SharedLibrary> program = SharedLibrary::OfProgram();
  ASSERT_TRUE(program.ok());
  EXPECT_NE(program->Find("malloc"), nullptr);
  EXPECT_EQ(program->path(), "");
}

TEST(SharedLibraryTest, AFileThatIsMissingIsNoFileThatIsBroken) {
  const Result<SharedLibrary> missing = SharedLibrary::Open("libtutti-is-not-there.so");
  ASSERT_FALSE(missing.ok());
  EXPECT_EQ(missing.status().code(), Code::kUnsupported);
  EXPECT_NE(missing.status().message().find("libtutti-is-not-there.so"), std::string::npos);

  const tests::ScratchFolder folder;
  const std::string path = folder.path() + "/text.so";
  std::ofstream(path) << "no library";
  const Result<SharedLibrary> broken = SharedLibrary::Open(path);
  ASSERT_FALSE(broken.ok());
  EXPECT_EQ(broken.status().code(), Code::kSystem) << broken.status().message();
}

}  // namespace
}  // namespace tutti::sys
