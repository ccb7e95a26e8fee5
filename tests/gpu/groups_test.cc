// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
// Groups of sends and receives from the call to the kernel's argument, over a driver that does nothing.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <barrier>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <random>
#include <vector>

#include "comm/gpu/impl.h"
#include "exec/gpu/format/transfer.h"
#include "exec/gpu/launch/failures.h"
#include "exec/gpu/launch/launch.h"
#include "exec/gpu/lower/compile.h"
#include "tests/support/fake_cuda.h"
#include "tests/support/ranks.h"

namespace tutti::tests {
namespace {

using namespace exec::gpu;  // NOLINT: what kernels read
using Kind = Collective;

constexpr int kRanks = 3;

thread_local const void* t_argument = nullptr;  // of the last launch

const bool loaded = [] {
  setenv(kFakeGpus, "8", 1);
  return LoadFakeCuda(TUTTI_FAKE_CUDA, {.launch = [](const char*, const sys::cuda::LaunchConfig&,
                                                     const void* argument) { t_argument = argument; },
                                        .copy = [](sys::cuda::Address, sys::cuda::Address, std::size_t) {},
                                        .words = [](auto operations) { return operations.size(); }});
}();

// Lets rank 0 make calls on a GPU; the others are only there.
void OnRank0(const std::function<void(GpuCommunicator&)>& call) {
  EXPECT_TRUE(loaded);
  std::barrier meet(kRanks);
  const std::string failure = RunRanks(kRanks, Settings(), [&](Communicator& c) -> Status {
    Result<GpuCommunicator> gpu = GpuCommunicator::Create(c, {.device = c.rank()});
    if (!gpu.ok()) return gpu.status();
    meet.arrive_and_wait();
    if (c.rank() == 0) call(*gpu);
    meet.arrive_and_wait();
    return Status::Ok();
  });
  EXPECT_EQ(failure, "");
}

Operation Make(bool send, int peer, std::size_t count, std::uintptr_t at) {
  Operation o{.kind = send ? Kind::kSend : Kind::kRecv, .count = count, .type = DataType::kUint8, .root = peer};
  if (send) o.in = reinterpret_cast<const void*>((std::uintptr_t{1} << 45) + at);
  if (!send) o.out = reinterpret_cast<void*>((std::uintptr_t{1} << 45) + at);
  return o;
}

// What goes over a link must be what was asked for, in its order.
void ExpectLaunched(const std::vector<Operation>& operations) {
  const auto& group = *static_cast<const Group*>(t_argument);
  int found = 0;
  for (const GroupLane& lane : std::span(group.lane, group.lanes)) {
    if (lane.kind == GroupLane::kCopy) continue;
    std::uint8_t t = lane.first;
    for (const Operation& o : operations) {
      const bool send = o.kind == Kind::kSend;
      if (o.count == 0 || o.root != lane.peer || send != (lane.kind == GroupLane::kSend)) continue;
      ASSERT_NE(t, kNoTransfer);
      EXPECT_EQ(group.transfer[t].bytes, o.count);
      EXPECT_EQ(send ? group.transfer[t].in : group.transfer[t].out, send ? o.in : o.out);
      t = group.transfer[t].next;
      ++found;
    }
    EXPECT_EQ(t, kNoTransfer);
  }
  EXPECT_EQ(found, std::ranges::count_if(operations, [](const Operation& o) { return o.count > 0; }));
}

TEST(Groups, AreWhatWasAskedForAlsoWherePlansWereForgotten) {
  OnRank0([](GpuCommunicator& gpu) {
    std::mt19937 random(7);
    std::vector<std::vector<Operation>> groups;
    for (int i = 0; i < 100; ++i) {
      std::vector<Operation>& group = groups.emplace_back();
      for (unsigned left = 1 + random() % 6; left > 0; --left) {
        const auto at = static_cast<std::uintptr_t>(random() % 1000) << 20;
        group.push_back(Make(random() % 2 == 0, 1 + static_cast<int>(random() % 2), random() % 5 * 1000, at));
      }
      group.push_back(Make(true, 1, 8, 0));
    }
    for (int i = 0; i < 600; ++i) {
      std::vector<Operation>& group = groups[random() % groups.size()];
      if (random() % 2 == 0) group[0].count = 1 + random() % 100'000;
      for (int again = 0; again < 2; ++again) {
        ASSERT_TRUE(gpu.RunGroup(group, nullptr).ok());
        ExpectLaunched(group);
        group[0].in = group[0].in == nullptr ? nullptr : static_cast<const std::byte*>(group[0].in) + 64;
        group[0].out = group[0].out == nullptr ? nullptr : static_cast<std::byte*>(group[0].out) + 64;
      }
    }
  });
}

TEST(Groups, WithASendToItselfNeedTheReceive) {
  OnRank0([](GpuCommunicator& gpu) {
    const std::vector<Operation> good = {Make(true, 1, 100, 0)};
    const std::vector<Operation> alone = {Make(true, 1, 100, 0), Make(true, 0, 50, 0)};
    const std::vector<Operation> other_size = {alone[0], alone[1], Make(false, 0, 51, 4096)};
    ASSERT_TRUE(gpu.RunGroup(good, nullptr).ok());
    for (const auto& bad : {alone, other_size, other_size}) {
      t_argument = nullptr;
      const Status status = gpu.RunGroup(bad, nullptr);
      EXPECT_EQ(status.code(), Code::kInvalidUsage);
      EXPECT_NE(status.message().find("sends to itself without a matching receive"), std::string::npos);
      EXPECT_EQ(t_argument, nullptr);
    }
    ASSERT_TRUE(gpu.RunGroup(good, nullptr).ok());
    ExpectLaunched(good);
  });
}

// What kernels say of a plan that is gone, or of one of many, has no more than what all of them share.
TEST(Groups, ThatAreForgottenLeaveOpenWhatTheyWaitedFor) {
  std::array<HostWords, Failures::kSlots> words{};
  Failures failures;
  failures.Use(words.data(), words.data());
  std::vector<PreparedPlan> plans(Failures::kSlots + 1);
  const auto word = PackFailure(kWaitedForRoom, 2, PlaceInRound(1, 4), 1);
  Group group{};
  group.blocks = 3;
  group.teams_per_block = 1;
  group.lanes = 1;
  group.lane[0] = {.kind = GroupLane::kSend, .peer = 1, .first_team = 0, .channels = 3};
  plans[0].collective = Kind::kSendRecv;
  HostWords* const first = failures.WordsFor(plans[0], group, {5, 6}, {10, 11});
  first->failure = word;
  EXPECT_EQ(Describe(*failures.Find()),
            "a group of sends and receives, at step 6 of its plan, round 4, channel 2: waited for room at rank 11");
  failures.Forget(plans[0]);
  EXPECT_EQ(Describe(*failures.Find()), "one of many: waited for room at rank 11");
  // As many others, so that the last of them shares words with the first.
  for (std::size_t i = 1; i < plans.size(); ++i) {
    EXPECT_EQ(failures.WordsFor(plans[i], group, {5, 6}, {20, 21}) == first, i + 1 == plans.size());
  }
  EXPECT_EQ(Describe(*failures.Find()), "one of many: waited for room at another rank");
}

}  // namespace
}  // namespace tutti::tests
