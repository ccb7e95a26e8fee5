// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "sys/os/fork.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <mutex>
#include <thread>

#include "sys/os/clock.h"

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

// A thread takes and releases the mutex all the time, so that most forks happen while it holds it.
TEST(Fork, AChildFindsARegisteredMutexFree) {
  static std::mutex mutex;
  FreeInForkedChildren(mutex);
  std::atomic<bool> stop{false};
  std::thread holder([&] {
    while (!stop) {
      std::lock_guard lock(mutex);
      SleepNs(50'000);
    }
  });
  for (int round = 0; round < 20; ++round) {
    const pid_t child = fork();
    if (child == 0) _exit(mutex.try_lock() ? 0 : 1);
    int status = -1;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0) << "round " << round;
  }
  stop = true;
  holder.join();
  EXPECT_TRUE(mutex.try_lock()) << "the parent's is free again";
  mutex.unlock();
}

}  // namespace
}  // namespace tutti::sys
