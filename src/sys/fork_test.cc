// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "sys/fork.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

namespace tutti::sys {
namespace {

TEST(Fork, AChildHasAGenerationOfItsOwn) {
  WatchForks();
  WatchForks();
  const std::uint32_t before = ForkGeneration();
  const pid_t child = fork();
  if (child == 0) _exit(ForkGeneration() == before + 1 ? 0 : 1);
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  EXPECT_EQ(ForkGeneration(), before);
}

}  // namespace
}  // namespace tutti::sys
