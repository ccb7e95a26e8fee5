// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
// A collective of host memory that runs again as it ran before allocates nothing (docs/architecture.md).
#include <gtest/gtest.h>

#include <chrono>
#include <cstdlib>
#include <new>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "tests/support/ranks.h"
#include "tutti/tutti.h"

namespace {

thread_local std::size_t t_allocations = 0;

}  // namespace

void* operator new(std::size_t bytes) {
  ++t_allocations;
  if (void* memory = std::malloc(bytes > 0 ? bytes : 1)) return memory;
  throw std::bad_alloc();
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }

namespace tutti {
namespace {

constexpr int kRanks = 3;
constexpr std::chrono::milliseconds kLooksForTheReason(40);  // a wait does after 50
constexpr int kMostTries = 5;

TEST(Allocation, RepeatedCollectivesOfHostMemoryAllocateNothing) {
  const std::string said = tests::RunRanks(kRanks, Settings{}, [](Communicator& c) {
    for (const std::size_t count : {std::size_t{1}, std::size_t{3000}, std::size_t{300000}}) {
      std::vector<float> in(count * kRanks, 1), out(count * kRanks);
      for (int k = 0; k < kCollectives; ++k) {
        const auto kind = static_cast<Collective>(k);
        if (kind == Collective::kSendRecv) continue;
        const Operation operation{.kind = kind,
                                  .in = in.data(),
                                  .out = out.data(),
                                  .count = kind == Collective::kBarrier ? 0 : count,
                                  .type = DataType::kFloat32,
                                  .op = ReduceOp::kSum,
                                  .root = 1};
        for (int i = 0; i < 3; ++i) TUTTI_RETURN_IF_ERROR(c.Run(operation));
        // What waits for long looks for the reason, which takes lists: where others use the cores, it is all done again.
        for (int tries = 0, again = 1; again != 0 && tries < kMostTries; ++tries) {
          std::size_t allocated = 0;
          int looks = 0;
          // Late ranks let the others run as far ahead as they can.
          for (int late = -1; late < kRanks; ++late) {
            if (late == c.rank()) std::this_thread::sleep_for(std::chrono::milliseconds(5));
            const std::size_t before = t_allocations;
            const auto begin = std::chrono::steady_clock::now();
            TUTTI_RETURN_IF_ERROR(c.Run(operation));
            const bool looked = std::chrono::steady_clock::now() - begin >= kLooksForTheReason;
            looks += looked ? 1 : 0;
            allocated += looked ? 0 : t_allocations - before;
          }
          EXPECT_EQ(allocated, 0u) << Name(kind) << ", count " << count << ", rank " << c.rank();
          TUTTI_RETURN_IF_ERROR(c.Run(AllReduce(std::span(&looks, 1), std::span(&again, 1))));
        }
      }
    }
    return Status::Ok();
  });
  EXPECT_EQ(said, "");
}

// The same of sends and receives whose way is tried, once a trial has been.
TEST(Allocation, RepeatedSendsAllocateNothing) {
  Settings settings;
  settings.calls_before_trial = 2;
  constexpr int kUntilTried = 60, kCalls = 100;
  const std::string said = tests::RunRanks(kRanks, settings, [](Communicator& c) {
    const int next = (c.rank() + 1) % kRanks, before = (c.rank() + kRanks - 1) % kRanks;
    for (const std::size_t count : {std::size_t{1}, std::size_t{3000}, std::size_t{300000}}) {
      std::vector<float> in(count, 1), out(count);
      const Operation shift[] = {Send(out, next), Recv(in, before)};
      std::size_t allocated = 0;
      for (int i = 0; i < kUntilTried + kCalls; ++i) {
        const std::size_t allocations = t_allocations;
        const auto begin = std::chrono::steady_clock::now();
        TUTTI_RETURN_IF_ERROR(c.RunGroup(shift));
        if (c.rank() == 0) TUTTI_RETURN_IF_ERROR(c.Run(Send(out, 1)));
        if (c.rank() == 1) TUTTI_RETURN_IF_ERROR(c.Run(Recv(in, 0)));
        const bool looked = std::chrono::steady_clock::now() - begin >= kLooksForTheReason;
        if (i >= kUntilTried && !looked) allocated += t_allocations - allocations;
      }
      EXPECT_EQ(allocated, 0u) << "count " << count << ", rank " << c.rank();
    }
    return Status::Ok();
  });
  EXPECT_EQ(said, "");
}

TEST(Allocation, IsSeen) {
  // What counts is counted: a vector of its own is seen.
  const std::size_t before = t_allocations;
  const std::vector<int> some(10);
  EXPECT_EQ(t_allocations - before, 1u) << some.size();
}

}  // namespace
}  // namespace tutti
