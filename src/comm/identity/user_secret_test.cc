// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "comm/identity/user_secret.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

namespace tutti::comm {
namespace {

class UserSecretTest : public testing::Test {
 protected:
  UserSecretTest() {
    char name[] = "/tmp/tutti-user-secret-XXXXXX";
    folder_ = mkdtemp(name);
  }
  ~UserSecretTest() override { std::filesystem::remove_all(folder_); }
  std::string folder_;
};

TEST_F(UserSecretTest, IsMadeOnceAndDiffersBetweenHomes) {
  const auto secret = internal::UserSecretIn(folder_ + "/a/secret");
  ASSERT_TRUE(secret.ok()) << secret.status().ToString();
  EXPECT_EQ(secret->size(), 32u);
  EXPECT_EQ(*internal::UserSecretIn(folder_ + "/a/secret"), *secret);
  EXPECT_NE(*internal::UserSecretIn(folder_ + "/b/secret"), *secret);
}

TEST_F(UserSecretTest, WithoutAPlaceThereIsNone) {
  std::ofstream(folder_ + "/file") << "no folder";
  const auto secret = internal::UserSecretIn(folder_ + "/file/secret");
  ASSERT_TRUE(secret.ok()) << secret.status().ToString();
  EXPECT_TRUE(secret->empty());
}

TEST_F(UserSecretTest, AFileThatIsNoSecretIsNamed) {
  const std::string path = folder_ + "/secret";
  std::ofstream(path) << "short";
  ASSERT_EQ(chmod(path.c_str(), 0600), 0);
  const auto cut = internal::UserSecretIn(path);
  EXPECT_EQ(cut.status().code(), Code::kInvalidUsage);
  EXPECT_NE(cut.status().message().find(path), std::string::npos) << cut.status().message();
  ASSERT_EQ(chmod(path.c_str(), 0644), 0);
  EXPECT_EQ(internal::UserSecretIn(path).status().code(), Code::kInvalidUsage);
}

TEST_F(UserSecretTest, TheCacheFolderComesFirst) {
  ASSERT_EQ(setenv("XDG_CACHE_HOME", folder_.c_str(), 1), 0);
  EXPECT_EQ(UserSecret()->size(), 32u);
  EXPECT_TRUE(std::filesystem::exists(folder_ + "/tutti/secret"));
  unsetenv("XDG_CACHE_HOME");
}

}  // namespace
}  // namespace tutti::comm
