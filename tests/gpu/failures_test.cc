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
std::atomic<bool> g_streams_wait{false};    // for words
thread_local bool t_stream_stands = false;  // it waits for one

const bool loaded = [] {
  setenv(kFakeGpus, "8", 1);
  return LoadFakeCuda(TUTTI_FAKE_CUDA,
                      {.launch =
                           [](const char* kernel, const sys::cuda::LaunchConfig&, const void* argument) {
                             t_last = {kernel, argument};
                           },
                       .copy = [](sys::cuda::Address, sys::cuda::Address, std::size_t) {},
                       .words =
                           [](std::span<const sys::cuda::MemoryOperation> operations) {
                             const auto waits = std::ranges::find(operations, sys::cuda::kWaitWord,
                                                                  &sys::cuda::MemoryOperation::operation);
                             if (t_stream_stands) return std::size_t{0};
                             if (!g_streams_wait || waits == operations.end()) return operations.size();
                             t_stream_stands = true;
                             return static_cast<std::size_t>(waits - operations.begin());
                           }});
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

TEST_F(Provoke, CopyEnginesThatWaitInVain) {
  Settings settings = Quick();
  settings.timeout_ms = 300;
  const std::string said = [&] {
    std::barrier meet(kRanks);
    std::string heard;
    const std::string failure = RunRanks(kRanks, settings, [&](Communicator& c) -> Status {
      Result<GpuCommunicator> gpu = GpuCommunicator::Create(c, {.device = c.rank(), .zero_ctas = true});
      if (!gpu.ok()) return gpu.status();
      GpuCommunicator::Impl& impl = *gpu->impl();
      constexpr std::size_t kBytes = std::size_t{4} << 20;
      const sys::cuda::ScopedContext scope(impl.driver, impl.context.get());
      auto memory =
          sys::cuda::DeviceMemory::Create(impl.driver, c.rank(), kBytes, sys::cuda::DeviceMemory::Way::kDescriptor);
      if (!memory.ok()) return memory.status();
      const auto window = impl.windows.Register(memory->data(), kBytes, comm::GpuWindows::Symmetry::kSymmetric);
      if (!window.ok()) return window.status();
      meet.arrive_and_wait();
      g_streams_wait = true;
      Operation o = Make(Kind::kAllGather, 1000);
      o.in = memory->data() + kBytes / 2;
      o.out = memory->data();
      Status called;
      if (c.rank() == kGivesUp) {
        called = gpu->Run(o, nullptr);
        for (int i = 0; i < 20 && heard.empty(); ++i) {
          std::this_thread::sleep_for(std::chrono::milliseconds(100));
          heard = gpu->Check().message();
        }
      }
      meet.arrive_and_wait();
      g_streams_wait = false;
      return called;
    });
    EXPECT_EQ(failure, "");
    return heard;
  }();
  // Of which rank: streams that wait for nothing leave words of the trial behind.
  ExpectPart(said, "rank 1 gave up an operation on its GPU: copy engines waited for the window of rank ");
  Expect(said);
}

}  // namespace
}  // namespace tutti::tests
