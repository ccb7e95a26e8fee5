// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
// Communicators of more ranks than a kernel can name, and of more than any kernels serve, by a driver that does nothing: what
// is launched for a call, and whether each launch knows the ranks that it meets. What the kernels make of it is for
// tests/kernels/.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <functional>
#include <set>
#include <string>
#include <vector>

#include "algo/algorithm.h"
#include "capi/handle.h"
#include "comm/gpu/faults.h"
#include "comm/gpu/groups.h"
#include "comm/gpu/impl.h"
#include "comm/gpu/runner.h"
#include "comm/gpu/window.h"
#include "exec/gpu/format/transfer.h"
#include "tests/support/errors_page.h"
#include "tests/support/fake_cuda.h"
#include "tests/support/nccl_ranks.h"
#include "tests/support/ranks.h"
#include "transport/p2p/fabric.h"
#include "transport/p2p/sections.h"

namespace tutti::tests {
namespace {

using namespace exec::gpu;  // NOLINT: what kernels read
using transport::p2p::kMaxRanks;
using transport::p2p::RoundsOf;
using Kind = Collective;

constexpr std::size_t kCount = 64;
constexpr sys::cuda::Address kDevice = 1ull << 45;  // from here to twice that addresses are a GPU's

struct Launched {
  std::string kernel;
  const void* argument;
};
thread_local std::vector<Launched> t_launched;
// Arguments of sends and receives as they were: the next round has its own, but a call after it may not.
thread_local std::vector<Group> t_groups;

const bool loaded = [] {
  setenv(kFakeGpus, "80", 1);
  setenv("TUTTI_INIT_TIMEOUT_MS", "120000", 0);  // 80 threads on few cores
  return LoadFakeCuda(
      TUTTI_FAKE_CUDA,
      {.launch =
           [](const char* kernel, const sys::cuda::LaunchConfig&, const void* argument) {
             t_launched.push_back({kernel, argument});
             if (t_launched.back().kernel.find("SendRecv") != std::string::npos) {
               t_groups.push_back(*static_cast<const Group*>(argument));
             }
           },
       .copy = [](sys::cuda::Address, sys::cuda::Address, std::size_t) {},
       .is_host = [](sys::cuda::Address address) { return address < kDevice || address >= 2 * kDevice; }});
}();

// What each rank is told of a call on device memory. Host memory works as ever.
std::vector<std::string> CallOnDevice(int ranks) {
  EXPECT_TRUE(loaded);
  std::vector<std::string> said(static_cast<std::size_t>(ranks));
  std::vector<std::vector<float>> sums(said.size(), std::vector<float>(kCount, 1));
  WithRanks(ranks, [&](ncclComm_t& comm, int rank) {
    auto* const device = reinterpret_cast<float*>(kDevice);
    EXPECT_EQ(comm->gpu, nullptr);
    EXPECT_EQ(ncclAllReduce(device, device, kCount, ncclFloat, ncclSum, comm, nullptr), ncclInvalidUsage);
    said[static_cast<std::size_t>(rank)] = ncclGetLastError(nullptr);
    NCCL_OK(ncclGroupStart());
    EXPECT_EQ(ncclBroadcast(device, device, kCount, ncclFloat, 0, comm, nullptr), ncclInvalidUsage);
    EXPECT_EQ(ncclGroupEnd(), ncclInvalidUsage);
    float* const sum = sums[static_cast<std::size_t>(rank)].data();
    NCCL_OK(ncclAllReduce(sum, sum, kCount, ncclFloat, ncclSum, comm, nullptr));
  });
  for (const std::vector<float>& sum : sums) {
    for (const float value : sum) EXPECT_EQ(value, static_cast<float>(ranks));
  }
  for (int rank = 0; rank < ranks; ++rank) {
    const std::string& sentence = said[static_cast<std::size_t>(rank)];
    EXPECT_NE(sentence.find("the buffers of rank " + std::to_string(rank) + " lie in GPU memory"), std::string::npos)
        << sentence;
    EXPECT_NE(sentence.find("it has " + std::to_string(ranks) + " ranks"), std::string::npos) << sentence;
  }
  return said;
}

TEST_F(Provoke, DeviceMemoryWithTooManyRanks) { Expect(CallOnDevice(kMaxRanks + 1)[0]); }

// Whose segment an address lies in, and in which section of it.
struct At {
  int rank, section;
  bool operator==(const At&) const = default;
};
At WhereIs(const GpuCommunicator::Impl& gpu, const std::byte* address) {
  const transport::p2p::Sections& sections = gpu.fabric->sections();
  for (int rank = 0; rank < gpu.ranks; ++rank) {
    const std::byte* const segment = gpu.fabric->segment(rank);
    if (address < segment || address >= segment + sections.Bytes()) continue;
    int section = 0;
    const auto offset = static_cast<std::size_t>(address - segment);
    while (section + 1 < sections.count() && offset >= sections.Begin(section + 1)) ++section;
    return {rank, section};
  }
  return {-1, -1};
}

// Runs `body` on all ranks.
void OnRanks(int ranks, const std::function<void(GpuCommunicator::Impl& gpu)>& body, Settings settings = {}) {
  ASSERT_TRUE(loaded);
  settings.init_timeout_ms = 120'000;
  const std::string failure = RunRanks(ranks, settings, [&](Communicator& c) -> Status {
    Result<GpuCommunicator> gpu = GpuCommunicator::Create(c, {.device = c.rank()});
    if (!gpu.ok()) return gpu.status();
    t_launched.clear();
    body(*gpu->impl());
    return Status::Ok();
  });
  EXPECT_EQ(failure, "");
}

Operation Make(Kind kind, std::size_t count) {
  return {.kind = kind,
          .in = reinterpret_cast<const void*>(kDevice),
          .out = reinterpret_cast<void*>(kDevice + kDevice / 2),
          .count = count,
          .type = DataType::kFloat32};
}

TEST_F(Provoke, AWayThatDoesNotFitManyRanks) {
  Settings settings;
  settings.algo = "ring";
  settings.proto = "Simple";
  std::string said;
  OnRanks(
      40,
      [&](GpuCommunicator::Impl& gpu) {
        const Status status = gpu.runner.Run(Make(Kind::kAllReduce, 100), nullptr);
        if (gpu.rank == 0) said = status.message();
      },
      settings);
  Expect(said);
}

TEST_F(Provoke, SignalsAmongManyRanks) {
  std::string said;
  OnRanks(17, [&](GpuCommunicator::Impl& gpu) {
    const Status status = gpu.windows.RunPut({.peer = 0}, nullptr, false);
    if (gpu.rank == 0) said = status.message();
  });
  Expect(said);
}

class ManyRanks : public testing::TestWithParam<int> {
 protected:
  void OnAll(const std::function<void(GpuCommunicator::Impl& gpu)>& body, const Settings& settings = {}) {
    OnRanks(GetParam(), body, settings);
  }
};

TEST_P(ManyRanks, HaveAWayForEveryCollectiveOfEverySize) {
  OnAll([&](GpuCommunicator::Impl& gpu) {
    for (int kind = 0; kind <= static_cast<int>(Kind::kBarrier); ++kind) {
      const auto collective = static_cast<Kind>(kind);
      if (IsTransfer(collective) || collective == Kind::kSendRecv) continue;
      for (const std::size_t count : {1, 1000, 100'000, 30'000'000}) {
        for (const int root : {0, GetParam() / 2, GetParam() - 1}) {
          Operation o = Make(collective, count);
          if (HasRoot(collective)) o.root = root;
          t_launched.clear();
          const Status status = gpu.runner.Run(o, nullptr);
          EXPECT_TRUE(status.ok()) << Name(collective) << " of " << count << ": " << status.message();
          const auto launches = static_cast<int>(t_launched.size());
          EXPECT_GE(launches, 1) << Name(collective);
          EXPECT_LE(launches, RoundsOf(GetParam())) << Name(collective);
        }
      }
    }
  });
}

// A step's peers are who the plan says: their segments, and the section of the plan's links.
TEST_P(ManyRanks, ProgramsKnowWhomTheyMeet) {
  Settings settings;
  settings.proto = "LL";
  for (const algo::Algorithm algorithm :
       {algo::Algorithm::kRing, algo::Algorithm::kTree, algo::Algorithm::kDoubleTree}) {
    const Kind collective = algorithm == algo::Algorithm::kRing ? Kind::kReduceScatter : Kind::kReduce;
    settings.algo = algo::Get(algorithm).name;
    OnAll(
        [&](GpuCommunicator::Impl& gpu) {
          Operation o = Make(collective, 300);
          o.root = HasRoot(collective) ? 5 : 0;
          ASSERT_TRUE(gpu.runner.Run(o, nullptr).ok());
          ASSERT_EQ(t_launched.size(), 1u);
          const auto& p = *static_cast<const Program*>(t_launched[0].argument);
          const std::vector<plan::RankPlan> plans =
              algo::BuildAllOverFixedLinks(algorithm, collective, gpu.ranks, o.root);
          const plan::RankPlan& plan = plans[static_cast<std::size_t>(gpu.rank)];
          const int section = gpu.fabric->sections().rounds() + (algorithm == algo::Algorithm::kRing   ? 0
                                                                 : algorithm == algo::Algorithm::kTree ? 1
                                                                                                       : 2);
          EXPECT_EQ(WhereIs(gpu, p.segments[p.rank]), (At{gpu.rank, section}));
          ASSERT_EQ(p.steps, plan.step_count());
          for (int s = 0; s < p.steps; ++s) {
            const plan::Step step = plan.step(s);
            for (int k = 0; k < p.step(s).operands; ++k) {
              const ProgramOperand& operand = p.operand(p.step(s).first_operand + k);
              if (operand.kind != ProgramOperand::kRecv) continue;
              EXPECT_EQ(WhereIs(gpu, p.segments[operand.peer]), (At{step.operands[k].index, section}));
            }
            for (int t = 0; t < p.step(s).targets; ++t) {
              const ProgramTarget& target = p.target(p.step(s).first_target + t);
              EXPECT_EQ(WhereIs(gpu, p.segments[target.peer]), (At{step.to[t], section}));
            }
          }
        },
        settings);
  }
}

// Everybody sends to everybody, itself too: each pair meets in one launch, the same one of both.
TEST_P(ManyRanks, MeetInRounds) {
  OnAll([&](GpuCommunicator::Impl& gpu) {
    std::vector<Operation> group;
    for (int peer = 0; peer < gpu.ranks; ++peer) {
      for (const Kind kind : {Kind::kSend, Kind::kRecv, Kind::kSend, Kind::kRecv}) {
        group.push_back(Make(kind, 1000));
        group.back().root = peer;
      }
    }
    t_groups.clear();
    ASSERT_TRUE(gpu.groups.Run(group, nullptr).ok());
    std::vector<int> sends(static_cast<std::size_t>(gpu.ranks)), receives(sends);
    std::set<int> sections;
    int last = -1;
    for (const Group& g : t_groups) {
      const At self = WhereIs(gpu, g.segments[g.rank]);
      EXPECT_EQ(self.rank, gpu.rank);
      EXPECT_GT(self.section, last);  // in the same order on all ranks
      last = self.section;
      for (int l = 0; l < g.lanes; ++l) {
        if (g.lane[l].kind == GroupLane::kCopy) continue;
        const At peer = WhereIs(gpu, g.segments[g.lane[l].peer]);
        EXPECT_EQ(peer.section, self.section);
        const transport::p2p::Round theirs(gpu.ranks, self.section, peer.rank);
        EXPECT_TRUE(theirs.Has(gpu.rank));
        EXPECT_EQ(theirs.SeatOf(gpu.rank), g.rank);
        std::vector<int>& met = g.lane[l].kind == GroupLane::kSend ? sends : receives;
        for (int t = g.lane[l].first; t != kNoTransfer; t = g.transfer[t].next)
          ++met[static_cast<std::size_t>(peer.rank)];
      }
    }
    for (int peer = 0; peer < gpu.ranks; ++peer) {
      const int expected = peer == gpu.rank ? 0 : 2;
      EXPECT_EQ(sends[static_cast<std::size_t>(peer)], expected) << peer;
      EXPECT_EQ(receives[static_cast<std::size_t>(peer)], expected) << peer;
    }
  });
}

// A group like the one before with other buffers moves those.
TEST_P(ManyRanks, SendWhatTheLastCallNames) {
  OnAll([&](GpuCommunicator::Impl& gpu) {
    const auto far = static_cast<std::ptrdiff_t>(gpu.ranks - 1);
    for (const std::ptrdiff_t offset : {0, 1 << 20}) {
      std::vector<Operation> group;
      for (const Kind kind : {Kind::kSend, Kind::kRecv}) {
        for (const std::ptrdiff_t peer : {far - gpu.rank, (far - gpu.rank + 9) % (far + 1)}) {
          group.push_back(Make(kind, 1000));
          group.back().root = static_cast<int>(peer);
          group.back().in = static_cast<const std::byte*>(group.back().in) + offset;
        }
      }
      t_groups.clear();
      ASSERT_TRUE(gpu.groups.Run(group, nullptr).ok());
      int sends = 0;
      for (const Group& g : t_groups) {
        for (int l = 0; l < g.lanes; ++l) {
          if (g.lane[l].kind != GroupLane::kSend) continue;
          ++sends;
          EXPECT_EQ(g.transfer[g.lane[l].first].in, group[0].in);
        }
      }
      EXPECT_GE(sends, 1);
    }
  });
}

// Where GPUs do not reach each other, what a rank writes for itself stays in its device memory, by section.
TEST_P(ManyRanks, KeepTheirPlacesOnTheirGpu) {
  Settings settings;
  settings.p2p_disable = true;
  settings.proto = "LL";
  OnAll(
      [&](GpuCommunicator::Impl& gpu) {
        std::set<const std::byte*> places;
        for (const Kind collective : {Kind::kReduceScatter, Kind::kReduce, Kind::kAllReduce}) {
          for (const std::size_t count : {1, 20'000}) {
            ASSERT_TRUE(gpu.runner.Run(Make(collective, count), nullptr).ok());
            const auto& p = *static_cast<const Program*>(t_launched.back().argument);
            const auto at = [&](std::uint64_t offset) {
              return reinterpret_cast<const std::byte*>(reinterpret_cast<std::uint64_t>(p.segments[p.rank]) + offset);
            };
            EXPECT_EQ(WhereIs(gpu, at(p.states)), (At{-1, -1}));
            EXPECT_EQ(at(p.counts), reinterpret_cast<const std::byte*>(gpu.fabric->counts()));
            places.insert(at(p.states));
          }
        }
        EXPECT_GE(places.size(), 2u);
      },
      settings);
}

// What gave up names ranks, whatever the kernel calls them.
TEST_P(ManyRanks, AreNamedByWhatGivesUp) {
  Settings settings;
  settings.algo = "tree";
  OnAll(
      [&](GpuCommunicator::Impl& gpu) {
        if (gpu.rank != 1) return;  // kernels do not run, so no other rank is missed
        const auto said = [&](HostWords* words, int seat) {
          words->failure = PackFailure(kWaitedForData, 0, 0, seat);
          const std::string text = gpu.faults.FindGivenUp().message();
          words->failure = 0;
          return text;
        };
        ASSERT_TRUE(gpu.runner.Run(Make(Kind::kAllReduce, 10), nullptr).ok());
        const auto& p = *static_cast<const Program*>(t_launched.back().argument);
        for (const int peer : {0, 2}) {  // its parent and its child
          int seat = 0;
          while (WhereIs(gpu, p.segments[seat]).rank != peer) ++seat;
          EXPECT_NE(said(p.host, seat).find("waited for data from rank " + std::to_string(peer)), std::string::npos);
        }
        const int far = GetParam() - 1;
        Operation receive = Make(Kind::kRecv, 10);
        receive.root = far;
        ASSERT_TRUE(gpu.runner.Run(receive, nullptr).ok());
        const auto& g = *static_cast<const Group*>(t_launched.back().argument);
        EXPECT_NE(said(g.host, g.lane[0].peer).find("waited for data from rank " + std::to_string(far)),
                  std::string::npos);
      },
      settings);
}

INSTANTIATE_TEST_SUITE_P(Gpus, ManyRanks, testing::Values(17, 32, 72));

}  // namespace
}  // namespace tutti::tests
