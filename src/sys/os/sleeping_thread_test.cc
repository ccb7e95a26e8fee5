// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "sys/os/sleeping_thread.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <optional>

#include "sys/os/process.h"
#include "sys/os/thread.h"
#include "tests/support/child_process.h"
#include "tests/support/own_threads.h"

namespace tutti::sys {
namespace {

bool Sleeps(std::int32_t thread) {
  return tests::WaitUntil([&] {
    const std::optional<ProcessStat> stat = ReadProcessStat(thread);
    return stat && stat->name == tests::kSleeper && stat->state == 'S';
  });
}

TEST(SleepingThread, IsOneAndSleeps) {
  const std::int32_t thread = SleepingThread();
  ASSERT_GT(thread, 0);
  EXPECT_NE(thread, ThreadId());
  EXPECT_EQ(SleepingThread(), thread);
  EXPECT_TRUE(Sleeps(thread));
}

TEST(SleepingThread, NamesItsProcessForPeers) {
  AllowPeersToRead();
  volatile std::uint64_t here = 42;
  const std::int32_t thread = SleepingThread();
  tests::ChildProcess peer([&] {
    std::uint64_t seen = 0, written = 43;
    void* const there = const_cast<std::uint64_t*>(&here);
    if (!ReadProcessMemory(thread, there, &seen, sizeof(seen)).ok() || seen != 42) return 1;
    return WriteProcessMemory(thread, there, &written, sizeof(written)).ok() ? 0 : 2;
  });
  EXPECT_EQ(peer.Wait(), 0);
  EXPECT_EQ(here, 43u);
}

TEST(SleepingThread, AForkedChildMakesItsOwn) {
  const std::int32_t thread = SleepingThread();
  tests::ChildProcess child([&] {
    const std::int32_t own = SleepingThread();
    return own > 0 && own != thread && Sleeps(own) ? 0 : 1;
  });
  EXPECT_EQ(child.Wait(), 0);
}

}  // namespace
}  // namespace tutti::sys
