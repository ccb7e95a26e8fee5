// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <time.h>

#include <cstdint>

#include "sys/os/clock.h"
#include "tests/support/ranks.h"

namespace tutti::comm {
namespace {

// Of the thread that asks.
std::int64_t ProcessorNs() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return now.tv_sec * sys::kNsPerSecond + now.tv_nsec;
}

// It polls for a hundredth of the time that it waits here, with its looks at its peers a little more.
TEST(Waiter, ALongWaitLeavesItsCoreToOthers) {
  constexpr std::int64_t kLateNs = sys::kNsPerSecond;
  const auto wait = [](Communicator& c) -> Status {
    TUTTI_RETURN_IF_ERROR(c.Run(Barrier()));
    if (c.rank() == 1) sys::SleepNs(kLateNs);
    const std::int64_t before_ns = ProcessorNs();
    TUTTI_RETURN_IF_ERROR(c.Run(Barrier()));
    const std::int64_t busy_ns = ProcessorNs() - before_ns;
    return busy_ns < kLateNs / 2 ? Status::Ok() : Status(Code::kInternal, "it was busy all the time");
  };
  for (const int ranks : {2, 20}) EXPECT_EQ(tests::RunRanks(ranks, Settings(), wait), "");
}

}  // namespace
}  // namespace tutti::comm
