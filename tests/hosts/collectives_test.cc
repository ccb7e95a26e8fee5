// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
// Communicators of several hosts, on one machine: ranks are threads of this process, with a host id each (NCCL_HOSTID), and
// meet and exchange data over TCP. Every operation against a reference.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "algo/algorithm.h"
#include "tests/support/ranks.h"
#include "tests/support/reference.h"
#include "tests/support/sanitizers.h"

namespace tutti::tests {
namespace {

constexpr Collective kAll[] = {Collective::kAllReduce, Collective::kAllGather, Collective::kReduceScatter,
                               Collective::kBroadcast, Collective::kReduce,    Collective::kGather,
                               Collective::kScatter,   Collective::kAllToAll};

std::vector<Case> Cases(Collective kind, int ranks) {
  std::vector<Case> cases;
  for (const std::size_t count : {std::size_t{0}, std::size_t{1}, std::size_t{3}, std::size_t{17}, std::size_t{1000},
                                  std::size_t{20011}, Scaled(300007)}) {
    for (const bool in_place : {false, true}) {
      if (in_place && (kind == Collective::kAllToAll || count > 30000)) continue;
      cases.push_back({.kind = kind,
                       .count = count,
                       .type = count % 2 == 0 ? DataType::kInt32 : DataType::kFloat32,
                       .op = ReduceOp::kSum,
                       .root = static_cast<int>(count) % ranks,
                       .in_place = in_place,
                       .misalign = count == 17 ? 3u : 0u});
    }
  }
  return cases;
}

class OnHosts : public testing::TestWithParam<std::vector<int>> {};

TEST_P(OnHosts, AllOperations) {
  const std::vector<int>& host_of = GetParam();
  const int ranks = static_cast<int>(host_of.size());
  ASSERT_EQ(RunOnHosts(host_of, Settings(),
                       [&](Communicator& c) {
                         for (const Collective kind : kAll) {
                           if (Status s = RunCase(c, Cases(kind, ranks)); !s.ok()) return s;
                         }
                         return Status::Ok();
                       }),
            "");
}

TEST_P(OnHosts, EveryProtocol) {
  const std::vector<int>& host_of = GetParam();
  const int ranks = static_cast<int>(host_of.size());
  for (const char* proto : {"LL", "LL128", "Simple"}) {
    for (const SingleCopy copy : {SingleCopy::kOff, SingleCopy::kForce}) {
      if (copy == SingleCopy::kForce && std::string(proto) != "Simple") continue;
      SCOPED_TRACE(testing::Message() << proto << " single copy " << static_cast<int>(copy));
      Settings settings;
      settings.proto = proto;
      settings.single_copy = copy;
      ASSERT_EQ(RunOnHosts(host_of, settings,
                           [&](Communicator& c) {
                             for (const Collective kind : kAll) {
                               if (Status s = RunCase(c, Cases(kind, ranks)); !s.ok()) return s;
                             }
                             return Status::Ok();
                           }),
                "");
    }
  }
}
TEST_P(OnHosts, ManySmallCallsAfterEachOther) {
  const std::vector<int>& host_of = GetParam();
  ASSERT_EQ(
      RunOnHosts(
          host_of, Settings(),
          [&](Communicator& c) {
            for (int i = 0; i < 2000; ++i) {
              std::int64_t in = c.rank() + i, out = 0;
              if (Status s = c.Run(
                      {.kind = Collective::kAllReduce, .in = &in, .out = &out, .count = 1, .type = DataType::kInt64});
                  !s.ok()) {
                return s;
              }
              const std::int64_t ranks = c.ranks();
              if (out != ranks * (ranks - 1) / 2 + ranks * i) {
                return Status(Code::kInternal, "wrong sum in call " + std::to_string(i));
              }
            }
            return Status::Ok();
          }),
      "");
}

// Several flows with threads that move what they carry, among small calls that leave by one.
TEST_P(OnHosts, LargeDataByThreadsOfTheirOwn) {
  const std::vector<int>& host_of = GetParam();
  const int ranks = static_cast<int>(host_of.size());
  for (const int threads : {1, 3}) {
    Settings settings;
    settings.socket_threads = threads;
    settings.socks_per_thread = 2;
    ASSERT_EQ(RunOnHosts(host_of, settings,
                         [&](Communicator& c) {
                           for (const Collective kind : {Collective::kAllReduce, Collective::kAllToAll}) {
                             for (const std::size_t count : {Scaled(2'000'003), std::size_t{5}, Scaled(500'001)}) {
                               const Case one{.kind = kind, .count = count, .type = DataType::kFloat32};
                               const std::vector<Case> cases(kind == Collective::kAllReduce ? 3 : 1, one);
                               if (Status s = RunCase(c, cases); !s.ok()) return s;
                             }
                           }
                           return Status::Ok();
                         }),
              "")
        << threads << " threads, " << ranks << " ranks";
  }
}

// Forced by name: those of several hosts, and those that know of none.
TEST_P(OnHosts, EveryAlgorithm) {
  const std::vector<int>& host_of = GetParam();
  const int ranks = static_cast<int>(host_of.size());
  for (const algo::Entry& entry : algo::Registry()) {
    for (const Collective kind : kAll) {
      if (!entry.supports(kind, algo::Hosts::ByRank(host_of))) continue;
      SCOPED_TRACE(testing::Message() << entry.name << " " << Name(kind));
      Settings settings;
      settings.algo = entry.name;
      ASSERT_EQ(RunOnHosts(host_of, settings, [&](Communicator& c) { return RunCase(c, Cases(kind, ranks)); }), "");
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Shapes, OnHosts,
                         testing::Values(std::vector<int>{0, 1}, std::vector<int>{0, 0, 1},
                                         std::vector<int>{0, 0, 1, 1}, std::vector<int>{0, 0, 0, 1},
                                         std::vector<int>{0, 1, 0, 2, 1}));

// 8, 8 and 5 ranks.
TEST(OnUnevenHosts, AllOperations) {
  std::vector<int> host_of(21);
  for (std::size_t rank = 0; rank < host_of.size(); ++rank) host_of[rank] = static_cast<int>(rank / 8);
  ASSERT_EQ(RunOnHosts(host_of, Settings(),
                       [](Communicator& c) {
                         for (const Collective kind : kAll) {
                           for (const std::size_t count : {std::size_t{1}, std::size_t{1000}, std::size_t{20011}}) {
                             const Case one{.kind = kind, .count = count, .root = 17};
                             if (Status s = RunCase(c, std::vector<Case>{one}); !s.ok()) return s;
                           }
                         }
                         return Status::Ok();
                       }),
            "");
}

}  // namespace
}  // namespace tutti::tests
