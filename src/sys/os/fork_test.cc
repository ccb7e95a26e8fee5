// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "sys/os/fork.h"

#include <fcntl.h>
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

TEST(Fork, AChildDoesNotKeepWhatIsClosedInIt) {
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  const auto child_has = [&](int fd) {
    const pid_t child = fork();
    if (child == 0) _exit(fcntl(fd, F_GETFD) < 0 ? 0 : 1);
    int status = -1;
    EXPECT_EQ(waitpid(child, &status, 0), child);
    return status != 0;
  };
  {
    ClosedInForkedChildren moved(ends[0]);
    const ClosedInForkedChildren guard = std::move(moved);
    EXPECT_FALSE(child_has(ends[0]));
    EXPECT_TRUE(child_has(ends[1]));
    EXPECT_GE(fcntl(ends[0], F_GETFD), 0) << "the parent keeps it";
  }
  EXPECT_TRUE(child_has(ends[0]));
  close(ends[0]);
  close(ends[1]);
}

}  // namespace
}  // namespace tutti::sys
