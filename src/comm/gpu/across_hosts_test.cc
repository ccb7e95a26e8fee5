// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
//
// Operations of ranks of several hosts in streams that are late at random (tests/support/fake_streams.h). Device memory is the
// process's own there. With the kernel for small operations and without.
#include "comm/gpu/across_hosts.h"

#include <gtest/gtest.h>

#include <atomic>
#include <barrier>
#include <cstring>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "comm/gpu/host_pieces.h"
#include "comm/host/impl.h"
#include "exec/gpu/format/across.h"
#include "exec/gpu/launch/launcher.h"
#include "sys/os/clock.h"
#include "tests/support/across_kernel.h"
#include "tests/support/fake_streams.h"
#include "tests/support/ranks.h"
#include "tests/support/reference.h"
#include "tests/support/sanitizers.h"
#include "trace/recorder.h"
#include "tutti/communicator.h"

namespace tutti::comm {
namespace {

using tests::Case;
using tests::FakeCapture;
using tests::FakeStream;
using Kind = Collective;

constexpr std::int64_t kPatientNs = 20'000'000'000;

std::vector<RunnerCommunicator> OneOf(Communicator communicator) {
  std::vector<RunnerCommunicator> communicators;
  communicators.push_back({.communicator = std::move(communicator)});
  return communicators;
}

// How small operations go.
enum class Way : std::uint8_t { kCopies, kKernel };

class AcrossHosts : public testing::TestWithParam<Way> {};

// A rank, with one stream.
class Rank {
 public:
  Rank(Way way, Communicator communicator)
      : rank_(communicator.rank()),
        ranks_(communicator.ranks()),
        part_(communicator.impl()->boxes[static_cast<std::size_t>(rank_)]) {
    GpuAcrossHosts::Options options{.driver = &tests::FakeStreamDriver(),
                                    .broken = [this](const Status& why) { broken_ = why; }};
    if (way == Way::kKernel) {
      options.start_kernel = [this](const exec::gpu::Across& across, sys::cuda::Stream stream) {
        return launcher_.StartAcross(tests::AcrossKernel().handle(), across, stream);
      };
    }
    Result<std::unique_ptr<GpuAcrossHosts>> made = GpuAcrossHosts::Create(options, OneOf(std::move(communicator)));
    EXPECT_TRUE(made.ok()) << made.status().ToString();
    across_ = std::move(*made);
  }

  int rank() const { return rank_; }
  int ranks() const { return ranks_; }
  FakeStream& stream() { return stream_; }
  GpuAcrossHosts& across() { return *across_; }
  const Status& broken() const { return broken_; }
  const trace::View& part() const { return part_; }  // the black box of the communicator that operations go over

  Status Run(std::span<const Operation> operations, bool captured = false, std::uint64_t last = 0) {
    return across_->Run(GpuAcrossHosts::kAll, operations,
                        {.last = last, .count = operations.size(), .captured = captured}, stream_.handle());
  }
  Status RunAndWait(const Operation& o) {
    TUTTI_RETURN_IF_ERROR(Run(std::span(&o, 1)));
    stream_.Synchronize();
    return broken_;
  }

 private:
  const int rank_, ranks_;
  const trace::View part_;
  FakeStream stream_;
  exec::gpu::Launcher launcher_{&tests::FakeStreamDriver()};
  Status broken_;  // written before streams are let go
  std::unique_ptr<GpuAcrossHosts> across_;
};

// Runs `body` on ranks of these hosts. Returns what went wrong first. All are on one host under ThreadSanitizer, whose tests run
// without a network; what is tested here asks nothing of it.
std::string OnHosts(Way way, std::vector<int> host_of, const std::function<Status(Rank&)>& body) {
  if (tests::kSlowdown > 1) host_of.assign(host_of.size(), -1);
  return tests::RunOnHosts(host_of, Settings(), [&](Communicator& c) -> Status {
    Rank rank(way, std::move(c));
    const Status s = body(rank);
    if (!rank.across().Drain(kPatientNs)) return Status(Code::kTimeout, "it does not come to its end");
    return s;
  });
}

constexpr Kind kKinds[] = {Kind::kAllReduce, Kind::kAllGather, Kind::kReduceScatter, Kind::kBroadcast,
                           Kind::kReduce,    Kind::kGather,    Kind::kScatter,       Kind::kAllToAll};

TEST_P(AcrossHosts, EveryCollectiveGivesTheRightBytes) {
  EXPECT_EQ(OnHosts(GetParam(), {0, 0, 1},
                    [](Rank& r) {
                      std::uint64_t seed = 1;
                      for (const Kind kind : kKinds) {
                        for (const std::size_t count : {std::size_t{1}, std::size_t{13}, std::size_t{70001}}) {
                          for (const bool in_place : {false, true}) {
                            const Case c{.kind = kind,
                                         .count = count,
                                         .type = count == 13 ? DataType::kBfloat16 : DataType::kFloat32,
                                         .root = static_cast<int>(seed % 3),
                                         .in_place = in_place && kind != Kind::kAllToAll,
                                         .misalign = count == 13 ? 2u : 0u};
                            TUTTI_RETURN_IF_ERROR(
                                tests::RunCaseOn(r.rank(), r.ranks(), c, seed++,
                                                 [&](const Operation& o, auto, auto) { return r.RunAndWait(o); }));
                          }
                        }
                      }
                      return Status::Ok();
                    }),
            "");
}

// Of several pieces.
TEST_P(AcrossHosts, LargeOnesGoPieceByPiece) {
  EXPECT_EQ(
      OnHosts(
          GetParam(), {0, 1},
          [](Rank& r) {
            constexpr std::size_t kCount = std::size_t{6} << 20;
            for (const Kind kind : {Kind::kAllReduce, Kind::kAllGather, Kind::kAllToAll}) {
              const Case c{
                  .kind = kind, .count = kCount + 5, .type = DataType::kUint8, .in_place = kind == Kind::kAllReduce};
              TUTTI_RETURN_IF_ERROR(tests::RunCaseOn(r.rank(), r.ranks(), c, 7,
                                                     [&](const Operation& o, auto, auto) { return r.RunAndWait(o); }));
            }
            return Status::Ok();
          }),
      "");
}

// Many in the stream before the first one ends; each adds up what the one before has left.
TEST_P(AcrossHosts, OperationsTakePlaceInTheOrderOfCalls) {
  constexpr int kCalls = 40;
  EXPECT_EQ(OnHosts(GetParam(), {0, 1},
                    [](Rank& r) -> Status {
                      std::vector<std::uint64_t> data(3, 1);
                      const Operation o = AllReduce(data, data);
                      for (int i = 0; i < kCalls; ++i) TUTTI_RETURN_IF_ERROR(r.Run(std::span(&o, 1)));
                      r.stream().Synchronize();
                      EXPECT_EQ(data[2], std::uint64_t{1} << kCalls);
                      return r.broken();
                    }),
            "");
}

TEST_P(AcrossHosts, GroupsOfSendsReceivesAndCollectives) {
  EXPECT_EQ(OnHosts(GetParam(), {0, 1, 1},
                    [](Rank& r) -> Status {
                      const std::size_t bytes = 2 * TransferPartBytes(3) + 11;
                      const int next = (r.rank() + 1) % 3, before = (r.rank() + 2) % 3;
                      std::vector<std::uint8_t> to(bytes, static_cast<std::uint8_t>(r.rank())), from(bytes, 99);
                      std::vector<std::uint8_t> own(5, 7), copy(5, 0);
                      std::vector<int> sum(1, r.rank() + 1);
                      const Operation group[] = {AllReduce(sum, sum), Recv(from, before), Send(to, next),
                                                 Send(own, r.rank()), Recv(copy, r.rank())};
                      TUTTI_RETURN_IF_ERROR(r.Run(group));
                      r.stream().Synchronize();
                      EXPECT_EQ(from, std::vector<std::uint8_t>(bytes, static_cast<std::uint8_t>(before)));
                      EXPECT_EQ(copy, own);
                      EXPECT_EQ(sum[0], 6);
                      return r.broken();
                    }),
            "");
}

// Calls an operation and says whether it went by the kernel.
bool GoesByKernel(Rank& r, std::span<const Operation> operations) {
  const std::uint64_t before = r.across().kernels_started();
  EXPECT_TRUE(r.Run(operations).ok());
  r.stream().Synchronize();
  EXPECT_TRUE(r.broken().ok()) << r.broken().ToString();
  return r.across().kernels_started() > before;
}

// A rank's all_reduce of that many bytes, `misalign` behind where vectors begin.
bool AllReduceGoesByKernel(Rank& r, std::size_t bytes, std::size_t misalign) {
  std::vector<std::uint8_t> in(bytes + 32, 1), out(bytes + 32, 9);
  const auto place = [&](std::vector<std::uint8_t>& data) {
    return std::span(data).subspan((16 - reinterpret_cast<std::uintptr_t>(data.data()) % 16) + misalign, bytes);
  };
  const Operation o = AllReduce(place(in), place(out));
  const bool by_kernel = GoesByKernel(r, std::span(&o, 1));
  EXPECT_EQ(place(out)[0], r.ranks());
  EXPECT_EQ(place(out)[bytes - 1], r.ranks());
  EXPECT_EQ(*(place(out).data() + bytes), 9);
  return by_kernel;
}

// What a kernel is for: little, in few regions.
TEST_P(AcrossHosts, SmallOnesGoByOneKernel) {
  const bool kernel = GetParam() == Way::kKernel;
  EXPECT_EQ(OnHosts(GetParam(), {0, 1},
                    [kernel](Rank& r) -> Status {
                      using exec::gpu::kMostAcrossBytes, exec::gpu::kMostAcrossBytewise, exec::gpu::kMostAcrossCopies;
                      for (const std::size_t bytes : {std::size_t{1}, std::size_t{1000}, kMostAcrossBytes}) {
                        EXPECT_EQ(AllReduceGoesByKernel(r, bytes, 0), kernel) << bytes;
                      }
                      EXPECT_FALSE(AllReduceGoesByKernel(r, kMostAcrossBytes + 1, 0));
                      EXPECT_EQ(AllReduceGoesByKernel(r, kMostAcrossBytewise, 4), kernel);
                      EXPECT_FALSE(AllReduceGoesByKernel(r, kMostAcrossBytewise + 1, 4));
                      const Operation barrier{.kind = Kind::kBarrier};
                      EXPECT_EQ(GoesByKernel(r, std::span(&barrier, 1)), kernel);
                      std::vector<int> data(4), to(4);
                      std::vector<Operation> group;
                      for (int i = 0; i < kMostAcrossCopies; ++i) {
                        group.push_back(Send(data, 1 - r.rank()));
                        group.push_back(Recv(to, 1 - r.rank()));
                      }
                      EXPECT_EQ(GoesByKernel(r, group), kernel);
                      group.push_back(Send(data, 1 - r.rank()));
                      group.push_back(Recv(to, 1 - r.rank()));
                      EXPECT_FALSE(GoesByKernel(r, group));
                      return r.broken();
                    }),
            "");
}

// Replays follow each other without a pause, other operations among them.
TEST_P(AcrossHosts, GraphsAreReplayed) {
  EXPECT_EQ(OnHosts(GetParam(), {0, 1},
                    [](Rank& r) -> Status {
                      const std::size_t count = (std::size_t{5} << 20) / 8;  // two pieces
                      std::vector<std::uint64_t> data(count), small(2, 1);
                      FakeCapture capture;
                      capture.id = static_cast<unsigned long long>(r.rank()) + 1;
                      capture.Add(r.stream());
                      const Operation large = AllReduce(data, data), one = AllReduce(small, small);
                      TUTTI_RETURN_IF_ERROR(r.Run(std::span(&large, 1), true));
                      TUTTI_RETURN_IF_ERROR(r.Run(std::span(&one, 1), true));
                      capture.End();
                      data.assign(count, 1);
                      const int replays = static_cast<int>(tests::Scaled(16));
                      for (int replay = 0; replay < replays; ++replay) {
                        for (const auto& work : capture.work) r.stream().Push(work);
                        if (replay % 2 == 0) TUTTI_RETURN_IF_ERROR(r.Run(std::span(&one, 1)));
                      }
                      r.stream().Synchronize();
                      const std::uint64_t expected = std::uint64_t{1} << replays;
                      EXPECT_EQ(data[0], expected);
                      EXPECT_EQ(data[count - 1], expected);
                      EXPECT_EQ(small[1], std::uint64_t{1} << (replays + (replays + 1) / 2));
                      return r.broken();
                    }),
            "");
}

// What a part says of its wait: in which call of the program that is.
TEST_P(AcrossHosts, AWaitIsNotedWithTheProgramsCall) {
  constexpr std::size_t kBytes = trace::BoxBytes(2, 1);
  std::atomic<bool> noted = false;
  EXPECT_EQ(OnHosts(GetParam(), {0, 1},
                    [&](Rank& r) -> Status {
                      alignas(4096) static std::byte memory[2][(kBytes + 4095) / 4096 * 4096];
                      std::byte* const box = memory[r.rank()];
                      std::memset(box, 0, kBytes);
                      trace::Recorder program(box, {.communicator = 1, .rank = r.rank(), .ranks = 2});
                      std::vector<int> data(5, 1);
                      const Operation o = AllReduce(data, data);
                      const std::uint64_t number = program.Add(trace::PackCall(o), o.count, 1, 0);
                      const auto patient = [begin_ns = sys::NowNs()] { return sys::NowNs() - begin_ns < kPatientNs; };
                      while (r.rank() == 1 && !noted && patient()) sys::SleepNs(sys::kNsPerMs);
                      TUTTI_RETURN_IF_ERROR(r.Run(std::span(&o, 1), false, number));
                      const trace::View whole = *trace::View::Open(box, kBytes);
                      while (r.rank() == 0 && !noted && patient()) {
                        sys::SleepNs(sys::kNsPerMs);
                        r.across().NoteCalls(whole);
                        const std::optional<trace::WholeCall> call = r.part().own().waits_in;
                        if (call) {
                          EXPECT_EQ(call->call.ToString(), "all_reduce(count 5, int32, sum)");
                        }
                        noted = call.has_value();
                      }
                      EXPECT_TRUE(noted);
                      r.stream().Synchronize();
                      EXPECT_EQ(data[4], 2);
                      r.across().NoteCalls(whole);
                      EXPECT_EQ(r.part().own().waits_in, std::nullopt);
                      return r.broken();
                    }),
            "");
}

// A rank leaves: what waits for it fails, and its peers' streams go on.
TEST_P(AcrossHosts, AFailureLetsStreamsGo) {
  std::barrier meet(2);
  (void)OnHosts(GetParam(), {0, 1}, [&](Rank& r) -> Status {
    std::vector<int> data(1, 1);
    const Operation o = AllReduce(data, data);
    TUTTI_RETURN_IF_ERROR(r.RunAndWait(o));
    FakeCapture capture;
    capture.id = static_cast<unsigned long long>(r.rank()) + 1;
    capture.Add(r.stream());
    TUTTI_RETURN_IF_ERROR(r.Run(std::span(&o, 1), true));
    capture.End();
    if (r.rank() == 1) {
      r.across().Release("the test breaks it");
    } else {
      for (const auto& work : capture.work) r.stream().Push(work);
      for (int i = 0; i < 5; ++i) EXPECT_TRUE(r.Run(std::span(&o, 1)).ok());
      r.stream().Synchronize();
      EXPECT_FALSE(r.broken().ok());
      EXPECT_NE(r.broken().message().find("the test breaks it"), std::string::npos) << r.broken().message();
    }
    meet.arrive_and_wait();
    return Status::Ok();
  });
}

INSTANTIATE_TEST_SUITE_P(Gpu, AcrossHosts, testing::Values(Way::kCopies, Way::kKernel),
                         [](const auto& info) { return info.param == Way::kKernel ? "Kernel" : "Copies"; });

}  // namespace
}  // namespace tutti::comm
