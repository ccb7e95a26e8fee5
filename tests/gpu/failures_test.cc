// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
// What is said of an operation that a GPU gave up, form by form. The driver does nothing (tests/support/fake_cuda.cc); in place
// of a kernel the test writes what one writes that waits in vain.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <barrier>
#include <chrono>
#include <cstdlib>
#include <functional>
#include <string>
#include <thread>

#include "algo/algorithm.h"
#include "comm/gpu/impl.h"
#include "comm/gpu/window.h"
#include "exec/gpu/format/relay.h"
#include "exec/gpu/format/transfer.h"
#include "sys/cuda/cuda_memory.h"
#include "tests/support/errors_page.h"
#include "tests/support/fake_cuda.h"
#include "tests/support/ranks.h"

namespace tutti::tests {
namespace {

using namespace exec::gpu;  // NOLINT: what kernels read
using Kind = Collective;

constexpr int kRanks = 4, kGivesUp = 1;  // the rank whose kernel gives up

struct Launched {
  std::string kernel;
  const void* argument = nullptr;
};
thread_local Launched t_last;

// A rank's stream, as far as it writes words and waits for them: its thread does both when it enqueues.
struct WordStream {
  bool stands = false;  // it waits for a word in vain, or has been stopped
  int batches = 0;
  int stops_at = 0;    // number of a batch that never comes; 0: all do
  bool hides = false;  // where it stands, it looks as if nothing ran
};
thread_local WordStream t_stream;

bool Holds(const sys::cuda::MemoryOperation& wait) {
  const std::uint32_t word =
      std::atomic_ref(*reinterpret_cast<std::uint32_t*>(wait.address)).load(std::memory_order_acquire);
  return wait.flags == sys::cuda::kUntilEqual ? word == wait.value : word >= wait.value;
}

void Store(const sys::cuda::MemoryOperation& write) {
  const auto store = [&](auto value) {
    std::atomic_ref(*reinterpret_cast<decltype(value)*>(write.address)).store(value, std::memory_order_release);
  };
  if (write.operation == sys::cuda::kWriteLong) return store(std::uint64_t{write.value});
  store(static_cast<std::uint32_t>(write.value));
}

std::size_t RunWords(std::span<const sys::cuda::MemoryOperation> operations) {
  constexpr std::chrono::milliseconds kInVain(400);
  WordStream& stream = t_stream;
  if (stream.stands) return 0;
  stream.stands = ++stream.batches == stream.stops_at;
  for (const sys::cuda::MemoryOperation& o : operations) {
    if (stream.stands) break;
    if (o.operation != sys::cuda::kWaitWord) {
      Store(o);
      continue;
    }
    const auto begin = std::chrono::steady_clock::now();
    while (!Holds(o) && std::chrono::steady_clock::now() - begin < kInVain) std::this_thread::yield();
    stream.stands = !Holds(o);
  }
  // A batch begins with the stage.
  if (stream.stands && stream.hides) Store({.operation = sys::cuda::kWriteWord, .address = operations[0].address});
  return 0;  // of those that are left
}

const bool loaded = [] {
  setenv(kFakeGpus, "8", 1);
  return LoadFakeCuda(TUTTI_FAKE_CUDA,
                      {.launch =
                           [](const char* kernel, const sys::cuda::LaunchConfig&, const void* argument) {
                             t_last = {kernel, argument};
                           },
                       .copy = [](sys::cuda::Address, sys::cuda::Address, std::size_t) {},
                       .words = RunWords});
}();

// Lets all ranks make a call, and one of them find that its kernel has given up: `give_up` writes what it would.
std::string SaidOf(const Settings& settings, const std::function<Status(GpuCommunicator&, int rank)>& call,
                   const std::function<void()>& give_up) {
  EXPECT_TRUE(loaded);
  std::barrier meet(kRanks);
  std::string said;
  const std::string failure = RunRanks(kRanks, settings, [&](Communicator& c) -> Status {
    Result<GpuCommunicator> gpu = GpuCommunicator::Create(c, {.device = c.rank()});
    if (!gpu.ok()) return gpu.status();
    meet.arrive_and_wait();
    const Status called = call(*gpu, c.rank());
    if (called.ok() && c.rank() == kGivesUp) {
      give_up();
      said = gpu->Check().message();
    }
    meet.arrive_and_wait();
    return called;
  });
  EXPECT_EQ(failure, "");
  return said;
}

void Write(HostWords* words, int what, int block, std::uint32_t place, int peer) {
  words->failure = PackFailure(what, static_cast<std::uint32_t>(block), place, static_cast<std::uint32_t>(peer));
}

Operation Make(Kind kind, std::size_t count) {
  return {.kind = kind,
          .in = reinterpret_cast<const void*>(std::uintptr_t{1} << 45),
          .out = reinterpret_cast<void*>(std::uintptr_t{1} << 46),
          .count = count,
          .type = DataType::kFloat32};
}

// The step of the rank's own plan that takes from a peer, and whether it folds.
int StepThatTakes(algo::Algorithm algorithm, Kind kind, int peer, bool folds) {
  const plan::RankPlan plan = algo::BuildAll(algorithm, kind, kRanks)[kGivesUp];
  for (int s = 0; s < plan.step_count(); ++s) {
    const plan::Step step = plan.step(s);
    const bool takes = std::ranges::find(step.operands, plan::Recv(peer)) != step.operands.end();
    if (takes && (step.operands.size() > 1) == folds) return s;
  }
  return -1;
}

void ExpectPart(const std::string& said, const std::string& part) {
  EXPECT_NE(said.find(part), std::string::npos) << "not \"" << part << "\" in: " << said;
}

TEST_F(Provoke, AKernelThatGivesUpStepByStep) {
  Settings settings = Quick();
  settings.algo = "ring";
  settings.proto = "Simple";
  int step = -1, peer = -1;
  const std::string said = SaidOf(
      settings, [](GpuCommunicator& gpu, int) { return gpu.Run(Make(Kind::kAllReduce, 3000), nullptr); },
      [&] {
        const auto& p = *static_cast<const Program*>(t_last.argument);
        ASSERT_EQ(p.is_short, kSteps);
        for (int s = p.steps; s-- > 0;) {
          const ProgramOperand& operand = p.operand(p.step(s).first_operand);
          if (operand.kind != ProgramOperand::kRecv) continue;
          step = s;
          peer = operand.peer;
        }
        Write(p.host, kWaitedForData, 0, step, peer);
      });
  ExpectPart(said, "rank 1 gave up an operation on its GPU: all_reduce step by step, at step " + std::to_string(step) +
                       " of its plan, round 0, channel 0: waited for data from rank " + std::to_string(peer));
  Expect(said);
}

TEST(Failures, OfShortForms) {
  Settings settings = Quick();
  settings.algo = "two_shot";
  settings.proto = "LL128";
  for (const bool late : {false, true}) {
    int peer = -1;
    const std::string said = SaidOf(
        settings, [](GpuCommunicator& gpu, int) { return gpu.Run(Make(Kind::kAllReduce, 3000), nullptr); },
        [&] {
          const auto& p = *static_cast<const Program*>(t_last.argument);
          ASSERT_EQ(p.is_short, kShort);
          const ShortForm& form = p.short_form();
          int number = late ? form.takes + 1 : 0;
          while (form.take[number].ring == 0) ++number;
          peer = form.take[number].peer;
          Write(p.host, kWaitedForData, 0, number, peer);
        });
    const int step = StepThatTakes(algo::Algorithm::kTwoShot, Kind::kAllReduce, peer, !late);
    ExpectPart(said, "all_reduce in short form, at step " + std::to_string(step) +
                         " of its plan, round 0, channel 0: waited for data from rank " + std::to_string(peer));
  }
}

TEST(Failures, OfRelays) {
  Settings settings = Quick();
  settings.algo = "two_shot";
  settings.proto = "Simple";
  for (const RelayRole::Kind kind : {RelayRole::kOwner, RelayRole::kReceive}) {
    constexpr int kChannel = 3, kMessage = 5, kFrom = 2;
    const std::string said = SaidOf(
        settings, [](GpuCommunicator& gpu, int) { return gpu.Run(Make(Kind::kAllReduce, 50'000'000), nullptr); },
        [&] {
          const auto& r = *static_cast<const Relay*>(t_last.argument);
          ASSERT_NE(t_last.kernel.find("Relay"), std::string::npos);
          for (int i = 0; i < r.roles; ++i) {
            if (r.role[i].kind != kind) continue;
            Write(r.host, kWaitedForData, (i * r.slices + kChannel) % r.blocks, PlaceInRound(0, kMessage), kFrom);
          }
        });
    // Teams of both roles are in the block, and both take from that rank.
    const int folds = StepThatTakes(algo::Algorithm::kTwoShot, Kind::kAllReduce, kFrom, true);
    const int stores = StepThatTakes(algo::Algorithm::kTwoShot, Kind::kAllReduce, kFrom, false);
    ExpectPart(said, "all_reduce as a relay, at step " + std::to_string(folds) + " or " + std::to_string(stores) +
                         " of its plan, round 5, channel 3: waited for data from rank 2");
  }
}

// A chain: each rank has one role, and one rank to take from.
TEST(Failures, OfChains) {
  constexpr int kChannel = 2;
  Settings settings = Quick();
  settings.algo = "ring";
  settings.proto = "Simple";
  int peer = -1;
  const std::string said = SaidOf(
      settings, [](GpuCommunicator& gpu, int) { return gpu.Run(Make(Kind::kBroadcast, 50'000'000), nullptr); },
      [&] {
        const auto& r = *static_cast<const Relay*>(t_last.argument);
        ASSERT_NE(t_last.kernel.find("Move_bytes_Relay"), std::string::npos) << t_last.kernel;
        ASSERT_EQ(r.roles, 1);
        ASSERT_GT(r.lent.rings, 0);
        ASSERT_EQ(r.role[0].sources, 1);
        peer = r.role[0].source[0];
        ASSERT_GT(r.teams_per_block, 2);  // so that a block has several channels, all at that step
        Write(r.host, kWaitedForData, kChannel % r.blocks, PlaceInRound(0, 6), peer);
      });
  const int step = StepThatTakes(algo::Algorithm::kRing, Kind::kBroadcast, peer, false);
  ASSERT_GE(step, 0);
  ExpectPart(said, "broadcast as a relay, at step " + std::to_string(step) +
                       " of its plan, round 6: waited for data from rank " + std::to_string(peer));
}

// Items of a batch go step by step, on channels of their own.
TEST(Failures, OfBatches) {
  constexpr int kChannel = 3, kRound = 1;
  Settings settings = Quick();
  settings.algo = "ring";
  settings.proto = "LL";
  int step = -1, peer = -1;
  const std::string said = SaidOf(
      settings,
      [](GpuCommunicator& gpu, int) {
        return gpu.RunGroup(std::vector<Operation>(6, Make(Kind::kAllReduce, 1000)), nullptr);
      },
      [&] {
        ASSERT_NE(t_last.kernel.find("SumFewBatch"), std::string::npos) << t_last.kernel;
        const Program& p = static_cast<const FewBatch*>(t_last.argument)->program;
        for (int s = 0; s < p.steps; ++s) {
          const ProgramOperand& operand = p.operand(p.step(s).first_operand);
          if (operand.kind != ProgramOperand::kRecv) continue;
          step = s;
          peer = operand.peer;
        }
        Write(p.host, kWaitedForData, kChannel, PlaceInRound(static_cast<std::uint32_t>(step), kRound), peer);
      });
  ASSERT_GE(step, 0);
  ExpectPart(said, "all_reduce step by step, at step " + std::to_string(step) +
                       " of its plan, round 1, channel 3: waited for data from rank " + std::to_string(peer));
}

TEST(Failures, OfMoves) {
  constexpr int kFrom = 3, kChannel = 2;
  Settings settings = Quick();
  settings.algo = "one_shot";
  settings.proto = "Simple";
  const std::string said = SaidOf(
      settings, [](GpuCommunicator& gpu, int) { return gpu.Run(Make(Kind::kAllGather, 2'000'000), nullptr); },
      [] {
        const auto& g = *static_cast<const Group*>(t_last.argument);
        ASSERT_NE(t_last.kernel.find("SendRecv"), std::string::npos);
        for (const GroupLane& lane : std::span(g.lane, g.lanes)) {
          if (lane.kind != GroupLane::kReceive || lane.peer != kFrom) continue;
          Write(g.host, kWaitedForData, (lane.first_team + kChannel) % g.blocks, PlaceInRound(lane.first, 7), kFrom);
        }
      });
  const int step = StepThatTakes(algo::Algorithm::kOneShot, Kind::kAllGather, kFrom, false);
  ExpectPart(said, "all_gather as sends and receives, at step " + std::to_string(step) +
                       " of its plan, round 7, channel 2: waited for data from rank 3");
}

TEST(Failures, OfGroups) {
  const std::string said = SaidOf(
      Quick(),
      [](GpuCommunicator& gpu, int rank) {
        Operation send = Make(Kind::kSend, 100'000), receive = Make(Kind::kRecv, 100'000);
        send.root = (rank + 1) % kRanks;
        receive.root = (rank + kRanks - 1) % kRanks;
        // In the plan: first to send, first to receive, second to send.
        return gpu.RunGroup(std::vector<Operation>{send, send, receive, receive}, nullptr);
      },
      [] {
        const auto& g = *static_cast<const Group*>(t_last.argument);
        for (const GroupLane& lane : std::span(g.lane, g.lanes)) {
          if (lane.kind != GroupLane::kSend) continue;
          const std::uint8_t second = g.transfer[lane.first].next;
          Write(g.host, kWaitedForRoom, (lane.first_team + 1) % g.blocks, PlaceInRound(second, 3), lane.peer);
        }
      });
  ExpectPart(said,
             "a group of sends and receives, at step 2 of its plan, round 3, channel 1: waited for room at rank 2");
}

// What the rank that gives up says of an operation by copy engines, whose buffers lie in windows. `before`: what each rank does
// first; whether it makes the call.
using CallOf = std::function<Status(GpuCommunicator&, const Operation&)>;
std::string SaidOfCopies(
    const Operation& operation, const std::function<bool(int rank)>& before,
    const CallOf& call = [](GpuCommunicator& gpu, const Operation& o) { return gpu.Run(o, nullptr); }) {
  Settings settings = Quick();
  settings.timeout_ms = 300;
  std::barrier meet(kRanks);
  std::string heard;
  const std::string failure = RunRanks(kRanks, settings, [&](Communicator& c) -> Status {
    t_stream = {};
    Result<GpuCommunicator> gpu = GpuCommunicator::Create(c, {.device = c.rank(), .zero_ctas = true});
    if (!gpu.ok()) return gpu.status();
    GpuCommunicator::Impl& impl = *gpu->impl();
    const std::size_t bytes = 2 * kRanks * operation.count * SizeOf(operation.type);
    const sys::cuda::ScopedContext scope(impl.driver, impl.context.get());
    auto memory =
        sys::cuda::DeviceMemory::Create(impl.driver, c.rank(), bytes, sys::cuda::DeviceMemory::Way::kDescriptor);
    if (!memory.ok()) return memory.status();
    const auto window = impl.windows.Register(memory->data(), bytes, comm::GpuWindows::Symmetry::kSymmetric);
    if (!window.ok()) return window.status();
    meet.arrive_and_wait();
    t_stream = {.hides = c.rank() != kGivesUp};
    Operation o = operation;
    o.in = memory->data() + bytes / 2;
    o.out = memory->data();
    Status called;
    if (before(c.rank())) called = call(*gpu, o);
    for (int i = 0; c.rank() == kGivesUp && i < 50 && heard.empty(); ++i) {
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
      heard = gpu->Check().message();
    }
    meet.arrive_and_wait();
    return called;
  });
  EXPECT_EQ(failure, "");
  return heard;
}

// A large one, of which copy engines do the second shot.
constexpr std::size_t kManyElements = std::size_t{256} << 20;
constexpr int kAbsent = 3;  // the rank for which others wait

int StepThatSends(algo::Algorithm algorithm, Kind kind, int peer) {
  const plan::RankPlan plan = algo::BuildAll(algorithm, kind, kRanks)[kGivesUp];
  for (int s = 0; s < plan.step_count(); ++s) {
    const plan::Step step = plan.step(s);
    const bool input = step.operands.size() == 1;  // in two shots, what goes out before the fold
    const bool of_copies = kind != Kind::kAllReduce || !input;
    if (of_copies && std::ranges::find(step.to, peer) != step.to.end()) return s;
  }
  return -1;
}

TEST(Failures, OfCopyEnginesThatWaitForAWindow) {
  const std::string said = SaidOfCopies(Make(Kind::kAllGather, 1000), [](int rank) { return rank != kAbsent; });
  const int step = StepThatSends(algo::Algorithm::kOneShot, Kind::kAllGather, kAbsent);
  ExpectPart(said, "rank 1 gave up an operation on its GPU: all_gather by copy engines, at step " +
                       std::to_string(step) + " of its plan, round 0: waited for the window of rank 3");
}

// A rank comes, but what it was to copy does not.
TEST(Failures, OfCopyEnginesThatWaitForData) {
  const std::string said = SaidOfCopies(Make(Kind::kAllGather, 1000), [](int rank) {
    if (rank == kAbsent) t_stream.stops_at = 2;  // the words at the end of its copies
    return true;
  });
  const int step = StepThatTakes(algo::Algorithm::kOneShot, Kind::kAllGather, kAbsent, false);
  ExpectPart(said, "all_gather by copy engines, at step " + std::to_string(step) +
                       " of its plan, round 0: waited for data from rank 3");
}

TEST(Failures, OfTheSecondShotByCopyEngines) {
  for (const bool comes : {false, true}) {
    const std::string said = SaidOfCopies(Make(Kind::kAllReduce, kManyElements), [&](int rank) {
      if (rank == kAbsent) t_stream.stops_at = 2;
      return comes || rank != kAbsent;
    });
    const int step = comes ? StepThatTakes(algo::Algorithm::kTwoShot, Kind::kAllReduce, kAbsent, false)
                           : StepThatSends(algo::Algorithm::kTwoShot, Kind::kAllReduce, kAbsent);
    ExpectPart(said, "all_reduce by copy engines, at step " + std::to_string(step) +
                         " of its plan, round 0: waited for " + (comes ? "data from" : "the window of") + " rank 3");
  }
}

TEST(Failures, OfSignals) {
  const std::string said = SaidOfCopies(
      Make(Kind::kAllGather, 1000), [](int rank) { return rank == kGivesUp; },
      [](GpuCommunicator& gpu, const Operation&) {
        const comm::AwaitedSignals awaited[] = {{.peer = kAbsent, .count = 2}};
        return gpu.impl()->windows.AwaitSignals(awaited, nullptr, false);
      });
  ExpectPart(said, "rank 1 gave up an operation on its GPU: one-sided: waited for signals of rank 3");
}

}  // namespace
}  // namespace tutti::tests
