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

#include "algo/algorithm.h"
#include "exec/gpu/format/program.h"
#include "exec/gpu/launch/lowered.h"
#include "plan/plan.h"
#include "tests/kernels/across.h"
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

TEST(Kernels, CopyBetweenHostsWhateverTheSizeAndAlignment) { EXPECT_EQ(RunEveryAcross(), ""); }

TEST(Kernels, CopyBetweenHostsInAnyOrder) {
  for (std::uint64_t seed = 1; seed <= 500; ++seed) ASSERT_EQ(RunAcross(seed), "");
}

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

constexpr int kAbsent = 1;  // a rank that never comes

// What the ranks but one say, who have made a call that it has not; "" of those who do not wait for it.
std::vector<std::string> SaidWithout(Gpus& gpus, const Call& call, std::uint64_t seed) {
  std::string error;
  const std::vector<std::uint64_t> failures = gpus.RunWithout(kAbsent, call, seed, error);
  EXPECT_EQ(error, "");
  std::vector<std::string> said;
  for (int rank = 0; rank < gpus.ranks(); ++rank) {
    const std::uint64_t failure = failures[static_cast<std::size_t>(rank)];
    said.emplace_back(failure == 0 ? "" : exec::gpu::Describe(ReadFailure(gpus.lowered(rank), failure)));
  }
  EXPECT_EQ(said[kAbsent], "");
  return said;
}

// Whether a step of the rank's plan takes from the absent rank, or sends to it.
bool MeetsAbsent(const Call& call, int rank, int ranks, int step, exec::gpu::Awaited awaited) {
  const plan::RankPlan plan = algo::BuildAll(call.algorithm, call.collective, ranks, call.root)[rank];
  const plan::Step found = plan.step(step);
  return awaited == exec::gpu::Awaited::kData
             ? std::ranges::find(found.operands, plan::Recv(kAbsent)) != found.operands.end()
             : std::ranges::find(found.to, kAbsent) != found.to.end();
}

// A kernel that waits for a rank that never comes gives up, and says for what it waited and for whom.
TEST(Kernels, GiveUpAndSayWhomTheyWaitedFor) {
  Gpus gpus(3, Rings::kTight);
  Call gather{.algorithm = algo::Algorithm::kRing, .collective = Collective::kAllGather, .count = 40};
  for (const Form form : {Form::kProgram, Form::kBatch}) {
    for (int p = 0; p < proto::kProtocols; ++p) {
      gather.form = form;
      gather.items = form == Form::kBatch ? 3 : 1;
      gather.protocol = static_cast<proto::Protocol>(p);
      const std::string said = SaidWithout(gpus, gather, 7)[2];  // it receives from rank 1
      const bool is_short = form == Form::kProgram && gather.protocol == proto::Protocol::kLl128;
      EXPECT_EQ(said, std::string("all_gather ") + (is_short ? "in short form" : "step by step") +
                          ", at step 2 of its plan, round 0, channel 0: waited for data from rank 1");
    }
  }
  const Call send{.form = Form::kGroup, .transfers = {{1, 0, 3000}, {2, 0, 100}}};
  const std::vector<std::string> said = SaidWithout(gpus, send, 8);
  EXPECT_EQ(said[0],
            "a group of sends and receives, at step 1 of its plan, round 0, channel 0: waited for data from rank 1");
  EXPECT_EQ(said[2], "");
  gather.form = Form::kProgram;
  gather.items = 1;
  EXPECT_EQ(gpus.Run({gather}, 9), "");  // what was given up does not stay
}

// Relays and chains of them, which do one or several things at a time.
TEST(Kernels, SayWhichStepOfARelayGaveUp) {
  for (const int ranks : {3, 4}) {
    Gpus gpus(ranks, Rings::kTight);
    const auto call_of = [](algo::Algorithm algorithm, Collective collective) {
      return Call{.form = Form::kRelay, .algorithm = algorithm, .collective = collective, .blocks = 8, .count = 9000};
    };
    for (const Call& call : {call_of(algo::Algorithm::kTwoShot, Collective::kAllReduce),
                             call_of(algo::Algorithm::kTwoShot, Collective::kBroadcast),
                             call_of(algo::Algorithm::kRing, Collective::kBroadcast),
                             call_of(algo::Algorithm::kRing, Collective::kReduce)}) {
      ASSERT_TRUE(gpus.Supports(call));
      std::string error;
      const std::vector<std::uint64_t> failures = gpus.RunWithout(kAbsent, call, 12, error);
      ASSERT_EQ(error, "");
      int waited = 0;
      for (int rank = 0; rank < ranks; ++rank) {
        if (failures[rank] == 0) continue;
        const exec::gpu::FailedWait wait = ReadFailure(gpus.lowered(rank), failures[rank]);
        const std::string said = Describe(wait);
        EXPECT_TRUE(Says(said, std::string(Name(call.collective)) + " as a relay, at step ")) << said;
        if (wait.peer != kAbsent) continue;  // of a chain: of its neighbour, who waits too
        ++waited;
        ASSERT_GE(wait.step, 0) << said;
        EXPECT_TRUE(MeetsAbsent(call, rank, ranks, wait.step, wait.awaited)) << said;
        EXPECT_TRUE(wait.or_step < 0 || MeetsAbsent(call, rank, ranks, wait.or_step, wait.awaited)) << said;
        EXPECT_TRUE(wait.round == 0 || wait.awaited == exec::gpu::Awaited::kRoom) << said;
        EXPECT_GE(wait.channel, 0) << said;
      }
      EXPECT_GT(waited, 0) << Describe(call);
    }
  }
}

// While they wait they tell the host so, and for whom; and that they have begun.
TEST(Kernels, TellThatTheyHaveBegunAndForWhomTheyWait) {
  Gpus gpus(3, Rings::kTight);
  for (const Form form : {Form::kProgram, Form::kBatch, Form::kRelay, Form::kGroup}) {
    Call call{
        .form = form, .algorithm = algo::Algorithm::kTwoShot, .collective = Collective::kAllReduce, .count = 9000};
    if (form == Form::kRelay) call.blocks = 8;
    if (form == Form::kBatch) call.items = 3;
    if (form == Form::kGroup) call = {.form = form, .transfers = {{1, 0, 3000}, {1, 2, 3000}}};
    std::string error;
    (void)gpus.RunWithout(kAbsent, call, 5, error);
    ASSERT_EQ(error, "");
    EXPECT_EQ(gpus.begun(kAbsent), 0u) << Describe(call);
    for (const int rank : {0, 2}) {
      EXPECT_EQ(gpus.begun(rank), Gpus::kNumber) << Describe(call);
      const exec::gpu::WaitOfKernel wait = exec::gpu::UnpackWait(gpus.words(rank).waits[kAbsent]);
      EXPECT_EQ(wait.number, Gpus::kNumber) << Describe(call);
      if (form == Form::kGroup) {
        EXPECT_EQ(wait.what, exec::gpu::kWaitedForData);
      }
      EXPECT_GE(wait.waited_ns, 1'000'000'000) << Describe(call);
      EXPECT_LE(wait.waited_ns, 10'000'000'000) << Describe(call);
      EXPECT_EQ(gpus.words(rank).waits[rank], 0u) << "itself";
    }
  }
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

TEST(Memory, LoadsFindWhatTheirThreadHasStored) {
  Random random(1);
  Memory memory(2, 4096, random);
  StoreQueue queue(0);
  const std::uint64_t value = 0x1122334455667788;
  memory.Store(queue, View{}, 3, memory.segment(0) + 8, &value, 8);
  const auto found = [&](std::uint32_t thread) {
    std::uint32_t there = 0;
    memory.Load(View{}, memory.segment(0) + 12, &there, 4, 0);
    Memory::LoadOwn(queue, thread, memory.segment(0) + 12, &there, 4);
    return there;
  };
  EXPECT_EQ(found(3), 0x11223344u);
  EXPECT_EQ(found(4), 0u);
  memory.DeliverAll(queue);
  EXPECT_EQ(found(4), 0x11223344u);
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
