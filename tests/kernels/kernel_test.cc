// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
//
// The GPU kernels on the host: a sample of what kernel_check.cc runs, and the machine itself.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "exec/gpu/format/program.h"
#include "tests/kernels/cases.h"
#include "tests/kernels/machine.h"
#include "tests/kernels/memory.h"

namespace tutti::tests {
namespace {

using exec::gpu::Plant;

bool Says(const std::string& text, const std::string& what) { return text.find(what) != std::string::npos; }

// Seeds in parts, so that tests may run beside each other.
class Sample : public testing::TestWithParam<int> {};

TEST_P(Sample, OfEveryFormHasTheBitsOfTheCpu) {
  constexpr int kSeeds = 120;
  Fleet fleet;
  const std::vector<DataType> types = KnownTypes();
  for (int i = 0; i < kSeeds; ++i) {
    ASSERT_EQ(RunAny(fleet, types, static_cast<std::uint64_t>(GetParam() * kSeeds + i + 1)), "");
  }
  EXPECT_GT(fleet.launched(), 500u);
}

INSTANTIATE_TEST_SUITE_P(Kernels, Sample, testing::Range(0, 4));

// Among more ranks than a kernel can name: over fixed links, and in rounds.
class Many : public testing::TestWithParam<int> {};

TEST_P(Many, RanksHaveTheBitsOfTheCpu) {
  const int seeds = GetParam() <= 20 ? 10 : 4;
  Fleet fleet;
  const std::vector<DataType> types = KnownTypes();
  for (int seed = 1; seed <= seeds; ++seed) {
    ASSERT_EQ(RunMany(fleet, GetParam(), types, static_cast<std::uint64_t>(seed)), "");
  }
  EXPECT_GT(fleet.launched(), 100u);
}

INSTANTIATE_TEST_SUITE_P(Kernels, Many, testing::Values(17, 20, 32));

// Every algorithm and protocol over fixed links, alone and in batches.
TEST(ManyRanks, HaveTheBitsOfTheCpuByEveryWay) {
  constexpr int kRanks = 17;
  Fleet fleet;
  Gpus& gpus = fleet.Of(kRanks, Rings::kTight);
  std::uint64_t seed = 0;
  for (Call& call : EveryCall(gpus, {DataType::kFloat32})) {
    const bool once = call.op == (call.form == Form::kBatch ? ReduceOp::kAvg : ReduceOp::kPreMulSum);
    if (Reduces(call.collective) && !once) continue;
    Random random(++seed);
    Vary(call, random);
    call.root = HasRoot(call.collective) ? static_cast<int>(seed) % kRanks : 0;
    call.threads = 32;
    call.channels = 1;
    call.items = std::min(call.items, 2);
    call.count = std::min<std::size_t>(call.count, 500);
    ASSERT_EQ(RunAll(gpus, {call, call}, seed), "");
  }
  EXPECT_GT(seed, 50u);
}

class Planted : public testing::TestWithParam<int> {};

TEST_P(Planted, ErrorIsFound) {
  const auto plant = static_cast<Plant>(GetParam());
  Fleet fleet;
  std::string found;
  const int seed = FindPlant(fleet, plant, found);
  ASSERT_GT(seed, 0);
  EXPECT_TRUE(Says(found, "seed " + std::to_string(seed))) << found;
  // The seed repeats it, and without the error all is well.
  EXPECT_EQ(RunFor(fleet, plant, plant, static_cast<std::uint64_t>(seed)), found);
  EXPECT_EQ(RunFor(fleet, plant, Plant::kNone, static_cast<std::uint64_t>(seed)), "");
}

INSTANTIATE_TEST_SUITE_P(Kernels, Planted, testing::Range(1, exec::gpu::kPlants),
                         [](const auto& info) { return std::string(exec::gpu::kPlantNames[info.param]); });

// A kernel that waits for a rank that never comes gives up, and says for what it waited and for whom.
TEST(Kernels, GiveUpAndSayWhomTheyWaitedFor) {
  constexpr int kRanks = 3, kAbsent = 1;
  Gpus gpus(kRanks, Rings::kTight);
  Call gather{.algorithm = algo::Algorithm::kRing, .collective = Collective::kAllGather, .count = 40};
  for (int p = 0; p < proto::kProtocols; ++p) {
    std::string error;
    gather.protocol = static_cast<proto::Protocol>(p);
    const std::vector<std::uint64_t> failures = gpus.RunWithout(kAbsent, gather, 7, error);
    EXPECT_EQ(error, "");
    EXPECT_EQ(failures[kAbsent], 0u);
    EXPECT_NE(failures[2], 0u) << p;
    EXPECT_EQ(failures[2] & 0xffff, kAbsent) << p;  // it receives from rank 1
  }
  std::string error;
  const Call send{.form = Form::kGroup, .transfers = {{1, 0, 3000}, {2, 0, 100}}};
  const std::vector<std::uint64_t> failures = gpus.RunWithout(kAbsent, send, 8, error);
  EXPECT_EQ(error, "");
  EXPECT_EQ(failures[0], exec::gpu::PackFailure(exec::gpu::kWaitedForData, 0, exec::gpu::PlaceInRound(0, 0), kAbsent));
  EXPECT_EQ(failures[2], 0u);
  EXPECT_EQ(gpus.Run({gather}, 9), "");  // what was given up does not stay
}

// What rank 0 reports where rank 1 makes a shorter call.
exec::gpu::Failure WithAShorterOne(Gpus& gpus, const Call& call, const Call& shorter) {
  std::string error;
  const std::vector<std::uint64_t> failures = gpus.RunWithout(1, call, 11, error, &shorter);
  EXPECT_EQ(error, "");
  EXPECT_NE(failures[0], 0u);
  return exec::gpu::UnpackFailure(failures[0]);
}

TEST(Kernels, SayInWhichRoundTheyGaveUp) {
  Gpus gpus(2, Rings::kTight);
  for (int p = 0; p < proto::kProtocols; ++p) {
    // In short form, where the protocol has it, and step by step.
    for (const algo::Algorithm algorithm : {algo::Algorithm::kRing, algo::Algorithm::kOneShot}) {
      Call gather{.algorithm = algorithm, .collective = Collective::kAllGather, .count = 40'000};
      gather.protocol = static_cast<proto::Protocol>(p);
      int before = 0;
      for (const std::size_t count : {10'000, 20'000}) {
        Call shorter = gather;
        shorter.count = count;
        const exec::gpu::Failure failure = WithAShorterOne(gpus, gather, shorter);
        EXPECT_GT(failure.round, before) << p;
        EXPECT_EQ(failure.seat, 1) << p;
        before = failure.round;
      }
    }
  }
  Gpus more(4, Rings::kTight);  // so many that a block has one channel of a link
  for (const bool whole_lines : {false, true}) {
    int before = 0;
    for (const std::size_t bytes : {20'000, 40'000}) {
      const Call send{.form = Form::kGroup, .whole_lines = whole_lines, .transfers = {{1, 0, 100}, {1, 0, 60'000}}};
      Call shorter = send;
      shorter.transfers[1].bytes = bytes;
      const exec::gpu::Failure failure = WithAShorterOne(more, send, shorter);
      EXPECT_EQ(failure.place, 1);
      EXPECT_EQ(failure.what, exec::gpu::kWaitedForData);
      EXPECT_GT(failure.round, before);
      before = failure.round;
    }
  }
}

TEST(Machine, SaysWhoWaitsWhereNobodyCanGoOn) {
  Fleet fleet;
  std::string found;
  ASSERT_GT(FindPlant(fleet, Plant::kFlagOfEveryPass, found), 0);
  EXPECT_TRUE(Says(found, "nobody can go on:")) << found;
  EXPECT_TRUE(Says(found, "wait for data from rank")) << found;
}

TEST(Machine, TriesKernelsThatMeetEachOther) {
  constexpr int kRanks = 4;
  Machine machine(kRanks, 4096);
  std::uint32_t seen[kRanks][transport::p2p::kSeats] = {};
  for (int rank = 0; rank < kRanks; ++rank) {
    exec::gpu::Handshake h{.own_words = 64, .rank = rank, .ranks = kRanks, .token = 99, .timeout_ns = 1u << 30};
    h.seen = seen[rank];
    for (int peer = 0; peer < kRanks; ++peer) {
      h.segments[peer] = machine.segment(peer);
      h.peer_word[peer] = 64 + 8 * static_cast<std::uint64_t>(transport::p2p::Place(peer, rank));
    }
    ASSERT_TRUE(machine.Launch(rank, "ncclTuttiHandshake", h, 1, 32));
  }
  EXPECT_FALSE(machine.Launch(0, "ncclTuttiNothing", 0, 1, 32));
  EXPECT_EQ(machine.Run(5), "");
  for (int rank = 0; rank < kRanks; ++rank) {
    for (int peer = 0; peer < kRanks; ++peer) EXPECT_EQ(seen[rank][peer], rank == peer ? 0u : 1u);
  }
}

// Whether a store may arrive before the one that the same thread made before it.
bool MayPass(bool fenced, std::byte* first, std::byte* second, Memory& memory) {
  constexpr int kTries = 200;
  bool passed = false;
  for (std::uint64_t value = 1; value <= kTries; ++value) {
    StoreQueue queue(0);
    View view;
    memory.Store(queue, view, 0, first, &value, 8);
    if (fenced) memory.Fence(view);
    const std::uint64_t next = value + 1000;
    memory.Store(queue, view, 0, second, &next, 8);
    memory.Deliver(queue);
    std::uint64_t there = 0;
    std::memcpy(&there, second, 8);
    passed = passed || there == next;
    memory.DeliverAll(queue);
  }
  return passed;
}

TEST(Memory, StoresLeaveInAnyOrderUnlessAFenceOrdersThem) {
  Random random(1);
  Memory memory(2, 4096, random);
  std::byte* at = memory.segment(1);
  EXPECT_TRUE(MayPass(false, at, at + 64, memory));
  EXPECT_FALSE(MayPass(true, at, at + 64, memory));
  EXPECT_FALSE(MayPass(false, at, at, memory));  // to one place: in their order
}

TEST(Memory, LoadsMayFindWhatWasThereUnlessTheyAcquire) {
  Random random(1);
  Memory memory(2, 4096, random);
  std::byte* at = memory.segment(1);
  StoreQueue queue(0);
  const std::uint64_t value = 7;
  memory.Store(queue, View{}, 0, at, &value, 8);
  memory.DeliverAll(queue);
  View view;
  const auto finds_old = [&] {
    bool old = false;
    for (int i = 0; i < 100; ++i) {
      std::uint64_t found = 0;
      memory.Load(view, at, &found, 8, 2);
      old = old || found == 0;
    }
    return old;
  };
  EXPECT_TRUE(finds_old());
  memory.Acquire(view);
  EXPECT_FALSE(finds_old());
}

}  // namespace
}  // namespace tutti::tests
