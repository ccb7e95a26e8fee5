// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "comm/identity/user_secret.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <span>
#include <string>

#include "tests/support/scratch_folder.h"

namespace tutti::comm {
namespace {

class UserSecretTest : public testing::Test {
 protected:
  tests::ScratchFolder folder_;
};

TEST_F(UserSecretTest, IsMadeOnceAndDiffersBetweenHomes) {
  const auto secret = internal::UserSecretIn(folder_.Path("a/secret"));
  ASSERT_TRUE(secret.ok()) << secret.status().ToString();
  EXPECT_EQ(secret->size(), 32u);
  EXPECT_EQ(*internal::UserSecretIn(folder_.Path("a/secret")), *secret);
  EXPECT_NE(*internal::UserSecretIn(folder_.Path("b/secret")), *secret);
}

TEST_F(UserSecretTest, WithoutAPlaceThereIsNone) {
  std::ofstream(folder_.Path("file")) << "no folder";
  const auto secret = internal::UserSecretIn(folder_.Path("file/secret"));
  ASSERT_TRUE(secret.ok()) << secret.status().ToString();
  EXPECT_TRUE(secret->empty());
}

TEST_F(UserSecretTest, AFileThatIsNoSecretIsNamed) {
  const std::string path = folder_.Path("secret");
  std::ofstream(path) << "short";
  ASSERT_EQ(chmod(path.c_str(), 0600), 0);
  const auto cut = internal::UserSecretIn(path);
  EXPECT_EQ(cut.status().code(), Code::kInvalidUsage);
  EXPECT_NE(cut.status().message().find(path), std::string::npos) << cut.status().message();
  ASSERT_EQ(chmod(path.c_str(), 0644), 0);
  EXPECT_EQ(internal::UserSecretIn(path).status().code(), Code::kInvalidUsage);
}

TEST_F(UserSecretTest, TheVariableComesBeforeTheFile) {
  const std::string given = "the same on all hosts";
  ASSERT_EQ(setenv("TUTTI_SECRET", given.c_str(), 1), 0);
  const auto secret = UserSecret();
  ASSERT_TRUE(secret.ok());
  EXPECT_TRUE(std::ranges::equal(*secret, std::as_bytes(std::span(given))));
  ASSERT_EQ(setenv("TUTTI_SECRET", "guess me", 1), 0);
  EXPECT_EQ(UserSecret().status().code(), Code::kInvalidUsage);
  unsetenv("TUTTI_SECRET");
}

TEST_F(UserSecretTest, TheCacheFolderComesFirst) {
  ASSERT_EQ(setenv("XDG_CACHE_HOME", folder_.path().c_str(), 1), 0);
  EXPECT_EQ(UserSecret()->size(), 32u);
  EXPECT_TRUE(std::filesystem::exists(folder_.Path("tutti/secret")));
  unsetenv("XDG_CACHE_HOME");
}

}  // namespace
}  // namespace tutti::comm
