// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
//
// Operations of hosts with several ranks each, in streams that are late at random (tests/support/fake_streams.h). Device memory
// is the process's own there, and what goes from GPU to GPU is done by a communicator of the host's ranks in the stream.
#include "comm/gpu/by_hosts.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "comm/gpu/across_hosts.h"
#include "comm/gpu/host_stages.h"
#include "comm/host/impl.h"
#include "comm/host/read_factor.h"
#include "tests/support/fake_streams.h"
#include "tests/support/ranks.h"
#include "tests/support/reference.h"
#include "tests/support/sanitizers.h"
#include "tutti/communicator.h"

namespace tutti::comm {
namespace {

using tests::Case;
using tests::FakeCapture;
using tests::FakeStream;
using Kind = Collective;

constexpr std::int64_t kPatientNs = 20'000'000'000;

TEST(HostShape, IsThatOfHostsAlikeInTheOrderOfTheirRanks) {
  const auto find = [](std::vector<std::int32_t> host_of, int rank) { return FindHostShape(host_of, rank); };
  const std::optional<HostShape> shape = find({0, 0, 0, 1, 1, 1}, 4);
  ASSERT_TRUE(shape);
  EXPECT_EQ(shape->hosts, 2);
  EXPECT_EQ(shape->places, 3);
  EXPECT_EQ(shape->host, 1);
  EXPECT_EQ(shape->place, 1);
  EXPECT_EQ(shape->rank(), 4);
  EXPECT_FALSE(find({0, 1, 2, 3}, 0)) << "a rank for each host";
  EXPECT_FALSE(find({0, 0, 0, 1}, 0)) << "3 + 1";
  EXPECT_FALSE(find({0, 1, 0, 1}, 0)) << "dealt out";
  EXPECT_FALSE(find({0, 0, 0, 0}, 0)) << "one host";
  EXPECT_FALSE(find({0, 0, 1, 1, 1, 2, 2, 2}, 0)) << "uneven";
}

// A rank, with one stream, and how often something went each way.
class Rank {
 public:
  Rank(const HostShape& shape, Communicator within, Communicator all, Communicator rail)
      : shape_(shape), within_(std::move(within)) {
    std::vector<RunnerCommunicator> over;
    over.push_back({.communicator = std::move(all)});
    over.push_back({.communicator = std::move(rail)});
    Result<std::unique_ptr<GpuAcrossHosts>> made = GpuAcrossHosts::Create(
        {.driver = &tests::FakeStreamDriver(), .spin_ns = 0, .broken = [this](const Status& why) { broken_ = why; }},
        std::move(over));
    EXPECT_TRUE(made.ok()) << made.status().ToString();
    across_ = std::move(*made);
    by_hosts_ = std::make_unique<GpuByHosts>(
        &tests::FakeStreamDriver(), shape_, *across_,
        [this](std::span<const Operation> operations, const ProgramCalls&, auto stream) {
          ++near_calls_;
          reinterpret_cast<FakeStream*>(stream)->Push(
              [this, list = std::vector(operations.begin(), operations.end())]() mutable { RunNear(list); });
          return Status::Ok();
        });
  }

  const HostShape& shape() const { return shape_; }
  FakeStream& stream() { return stream_; }
  GpuAcrossHosts& across() { return *across_; }
  GpuByHosts& by_hosts() { return *by_hosts_; }
  const Status& broken() const { return broken_; }
  int near_calls() const { return near_calls_; }

  Status Run(std::span<const Operation> operations, bool captured = false) {
    return by_hosts_->Run(operations, {.count = operations.size(), .captured = captured}, stream_.handle());
  }
  Status RunAndWait(const Operation& o) {
    TUTTI_RETURN_IF_ERROR(Run(std::span(&o, 1)));
    stream_.Synchronize();
    return broken_;
  }

 private:
  void RunNear(std::vector<Operation>& operations) {
    for (Operation& o : operations) {
      if (o.device_scalar != nullptr) ReadFactor(std::exchange(o.device_scalar, nullptr), o);
    }
    const Status s = within_.RunGroup(operations);
    EXPECT_TRUE(s.ok()) << s.ToString();
  }

  const HostShape shape_;
  Communicator within_;
  FakeStream stream_;
  Status broken_;  // written before streams are let go
  int near_calls_ = 0;
  std::unique_ptr<GpuAcrossHosts> across_;
  std::unique_ptr<GpuByHosts> by_hosts_;
};

// Runs `body` on all ranks of so many hosts. Returns what went wrong first. Without a network all are on one host under
// ThreadSanitizer: what is tested here asks nothing of it.
std::string OnHosts(int hosts, int places, const std::function<Status(Rank&)>& body) {
  std::vector<int> host_of;
  for (int rank = 0; rank < hosts * places; ++rank) host_of.push_back(tests::kSlowdown > 1 ? -1 : rank / places);
  std::vector<UniqueId> ids;  // of the hosts, then of the rails
  for (int i = 0; i < hosts + places; ++i) {
    const Result<UniqueId> id = CreateUniqueId();
    if (!id.ok()) return id.status().ToString();
    ids.push_back(*id);
  }
  return tests::RunOnHosts(host_of, Settings(), [&](Communicator& all) -> Status {
    const int rank = all.rank();
    const HostShape shape{.hosts = hosts, .places = places, .host = rank / places, .place = rank % places};
    const Settings& settings = all.impl()->settings;
    Result<Communicator> within = Communicator::Create(
        {.rank = shape.place, .ranks = places, .id = ids[static_cast<std::size_t>(shape.host)], .settings = settings});
    if (!within.ok()) return within.status();
    Result<Communicator> rail = Communicator::Create({.rank = shape.host,
                                                      .ranks = hosts,
                                                      .id = ids[static_cast<std::size_t>(hosts + shape.place)],
                                                      .settings = settings});
    if (!rail.ok()) return rail.status();
    Rank one(shape, std::move(*within), std::move(all), std::move(*rail));
    const Status s = body(one);
    if (!one.across().Drain(kPatientNs)) return Status(Code::kTimeout, "it does not come to its end");
    return s;
  });
}

struct Shape {
  int hosts, places;
};
class ByHosts : public testing::TestWithParam<Shape> {};
INSTANTIATE_TEST_SUITE_P(Shapes, ByHosts, testing::Values(Shape{2, 2}, Shape{2, 3}, Shape{3, 2}), [](const auto& info) {
  return std::to_string(info.param.hosts) + "x" + std::to_string(info.param.places);
});

constexpr Kind kKinds[] = {Kind::kAllReduce, Kind::kAllGather, Kind::kReduceScatter, Kind::kBroadcast,
                           Kind::kReduce,    Kind::kGather,    Kind::kScatter,       Kind::kAllToAll};

// Of sizes that go in stages and of such that do not; those of 70001 elements leave a rest behind the shares.
TEST_P(ByHosts, EveryCollectiveGivesTheRightBytes) {
  EXPECT_EQ(OnHosts(GetParam().hosts, GetParam().places,
                    [](Rank& r) {
                      std::uint64_t seed = 1;
                      for (const Kind kind : kKinds) {
                        for (const std::size_t count : {std::size_t{13}, std::size_t{65536}, std::size_t{70001}}) {
                          for (const bool in_place : {false, true}) {
                            const Case c{.kind = kind,
                                         .count = count,
                                         .type = count == 65536 ? DataType::kBfloat16 : DataType::kFloat32,
                                         .root = static_cast<int>(seed) % r.shape().ranks(),
                                         .in_place = in_place && kind != Kind::kAllToAll,
                                         .misalign = count == 13 ? 2u : 0u};
                            TUTTI_RETURN_IF_ERROR(
                                tests::RunCaseOn(r.shape().rank(), r.shape().ranks(), c, seed++,
                                                 [&](const Operation& o, auto, auto) { return r.RunAndWait(o); }));
                          }
                        }
                      }
                      EXPECT_GT(r.near_calls(), 20) << "nothing went from GPU to GPU";
                      return Status::Ok();
                    }),
            "");
}

// Averages too, of integers and others, and each root of what has one.
TEST_P(ByHosts, EveryOperatorAndRoot) {
  EXPECT_EQ(
      OnHosts(GetParam().hosts, GetParam().places,
              [](Rank& r) {
                std::uint64_t seed = 1;
                const auto run = [&](const Case& c) {
                  return tests::RunCaseOn(r.shape().rank(), r.shape().ranks(), c, seed++,
                                          [&](const Operation& o, auto, auto) { return r.RunAndWait(o); });
                };
                constexpr std::size_t kCount = 50'003;
                for (const ReduceOp op : {ReduceOp::kSum, ReduceOp::kProd, ReduceOp::kMax, ReduceOp::kMin,
                                          ReduceOp::kAvg, ReduceOp::kPreMulSum}) {
                  for (const DataType type : {DataType::kInt32, DataType::kFloat64}) {
                    for (const Kind kind : {Kind::kAllReduce, Kind::kReduceScatter, Kind::kReduce}) {
                      TUTTI_RETURN_IF_ERROR(run({.kind = kind, .count = kCount, .type = type, .op = op}));
                    }
                  }
                }
                for (const Kind kind : {Kind::kBroadcast, Kind::kReduce, Kind::kGather, Kind::kScatter}) {
                  for (int root = 0; root < r.shape().ranks(); ++root) {
                    TUTTI_RETURN_IF_ERROR(run({.kind = kind, .count = kCount, .type = DataType::kInt64, .root = root}));
                  }
                }
                return Status::Ok();
              }),
      "");
}

// Factors that lie in device memory count once, on the host of their rank.
TEST(ByHostsOfTwo, FactorsInDeviceMemory) {
  EXPECT_EQ(OnHosts(2, 2,
                    [](Rank& r) -> Status {
                      const double factor = 1.0 + r.shape().rank();
                      std::vector<double> in(20'001, 3.0), out(in.size());
                      Operation o = AllReduce(in, out, ReduceOp::kPreMulSum);
                      o.device_scalar = &factor;
                      TUTTI_RETURN_IF_ERROR(r.RunAndWait(o));
                      EXPECT_EQ(std::ranges::count(out, 3.0 * (1 + 2 + 3 + 4)), std::ssize(out));
                      return Status::Ok();
                    }),
            "");
}

// Rank 1 sends to its host's rank 0, which first wants to get rid of something to the other host, which first wants to get something
// of rank 1. So neither of rank 1's two sends may wait for the other.
TEST(ByHostsOfTwo, TransfersOfAGroupDoNotWaitForEachOther) {
  EXPECT_EQ(OnHosts(2, 2,
                    [](Rank& r) -> Status {
                      std::vector<std::uint8_t> to(std::size_t{8} << 20, static_cast<std::uint8_t>(r.shape().rank())),
                          from(to.size(), 99);
                      const auto send = [&](int peer) {
                        Operation o = Send(to, peer);
                        return o;
                      };
                      const auto receive = [&](int peer) { return Recv(from, peer); };
                      const auto run = [&](std::vector<Operation> group) { return r.Run(group); };
                      if (r.shape().rank() == 0) {
                        TUTTI_RETURN_IF_ERROR(run({send(2)}));
                        TUTTI_RETURN_IF_ERROR(run({receive(1)}));
                      } else if (r.shape().rank() == 1) {
                        TUTTI_RETURN_IF_ERROR(run({send(0), send(2)}));
                      } else if (r.shape().rank() == 2) {
                        TUTTI_RETURN_IF_ERROR(run({receive(1)}));
                        TUTTI_RETURN_IF_ERROR(run({receive(0)}));
                      }
                      r.stream().Synchronize();
                      if (r.shape().rank() == 0) {
                        EXPECT_EQ(from.back(), 1);
                      }
                      if (r.shape().rank() == 2) {
                        EXPECT_EQ(from.back(), 0);
                      }
                      return r.broken();
                    }),
            "");
}

TEST(ByHostsOfTwo, GroupsOfEverything) {
  EXPECT_EQ(OnHosts(2, 3,
                    [](Rank& r) -> Status {
                      const int rank = r.shape().rank(), ranks = r.shape().ranks();
                      const std::size_t bytes = 300'011;
                      std::vector<std::vector<std::uint8_t>> to, from;
                      std::vector<Operation> group;
                      std::vector<float> small(3, 1), large(100'000, 1), shared(100'000, 2);
                      for (int peer = 0; peer < ranks; ++peer) {
                        to.emplace_back(bytes, static_cast<std::uint8_t>(10 * rank + peer));
                        from.emplace_back(bytes, 255);
                      }
                      group.push_back(AllReduce(large, large));
                      for (int peer = 0; peer < ranks; ++peer) {
                        group.push_back(Recv(from[static_cast<std::size_t>(peer)], peer));
                        group.push_back(Send(to[static_cast<std::size_t>(peer)], peer));
                      }
                      group.push_back(AllReduce(small, small));
                      group.push_back(AllReduce(shared, shared, ReduceOp::kMax));
                      for (int times = 0; times < 3; ++times) TUTTI_RETURN_IF_ERROR(r.Run(group));
                      r.stream().Synchronize();
                      for (int peer = 0; peer < ranks; ++peer) {
                        EXPECT_EQ(from[static_cast<std::size_t>(peer)],
                                  std::vector<std::uint8_t>(bytes, static_cast<std::uint8_t>(10 * peer + rank)));
                      }
                      EXPECT_EQ(small.back(), 216);
                      EXPECT_EQ(large.back(), 216);
                      EXPECT_EQ(shared.front(), 2);
                      return r.broken();
                    }),
            "");
}

TEST(ByHostsOfTwo, GraphsAreReplayed) {
  EXPECT_EQ(OnHosts(2, 2,
                    [](Rank& r) -> Status {
                      const std::size_t count = 50'001;
                      std::vector<std::uint64_t> data(count, 1), sums(count), many(4 * count, 1);
                      FakeCapture capture;
                      capture.id = static_cast<unsigned long long>(r.shape().rank()) + 1;
                      capture.Add(r.stream());
                      const Operation all = AllReduce(data, data);
                      const Operation scattered = ReduceScatter(many, sums);  // takes scratch memory
                      TUTTI_RETURN_IF_ERROR(r.Run(std::span(&all, 1), true));
                      TUTTI_RETURN_IF_ERROR(r.Run(std::span(&scattered, 1), true));
                      capture.End();
                      for (int replay = 0; replay < 8; ++replay) {
                        for (const auto& work : capture.work) r.stream().Push(work);
                        if (replay % 2 == 0) TUTTI_RETURN_IF_ERROR(r.Run(std::span(&all, 1)));
                      }
                      r.stream().Synchronize();
                      EXPECT_EQ(data[count - 1], std::uint64_t{1} << 24);
                      EXPECT_EQ(sums[0], 4u);
                      EXPECT_GT(r.by_hosts().device_bytes(), 0u);
                      return r.broken();
                    }),
            "");
}

TEST(ByHostsOfTwo, SaysHowItGoes) {
  EXPECT_EQ(OnHosts(2, 2,
                    [](Rank& r) -> Status {
                      std::vector<float> small(2), large(1 << 20);
                      EXPECT_EQ(r.by_hosts().Explain(AllReduce(small, small)), "through host memory");
                      EXPECT_EQ(r.by_hosts().Explain(AllReduce(large, large)),
                                "on each host, then through host memory");
                      EXPECT_EQ(r.by_hosts().Explain(Send(small, r.shape().RankOf(r.shape().host, 0))), "direct");
                      EXPECT_EQ(r.by_hosts().Explain(Send(small, r.shape().RankOf(1 - r.shape().host, 0))),
                                "through host memory");
                      const Operation every{.kind = Kind::kAllToAll, .count = 1 << 18, .type = DataType::kFloat32};
                      EXPECT_EQ(r.by_hosts().Explain(every), "direct on each host, through host memory between hosts");
                      return Status::Ok();
                    }),
            "");
}

}  // namespace
}  // namespace tutti::comm
