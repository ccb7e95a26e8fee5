// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
// Communicators that try ways (comm/host/trials.h).
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "comm/host/entry.h"
#include "comm/host/impl.h"
#include "comm/host/planner.h"
#include "tests/support/ranks.h"
#include "tests/support/reference.h"

namespace tutti::comm {
namespace {

Settings TriedAfter(int calls) {
  Settings settings;
  settings.calls_before_trial = calls;
  return settings;
}

// Every operation by every way that is tried, against the reference. The first trial takes 72 calls at most, the second one 36.
TEST(TriedCalls, GiveTheRightResults) {
  for (const int ranks : {2, 3, 5}) {
    std::vector<tests::Case> cases;
    for (const Collective kind :
         {Collective::kAllReduce, Collective::kAllGather, Collective::kReduceScatter, Collective::kBroadcast,
          Collective::kReduce, Collective::kGather, Collective::kScatter, Collective::kAllToAll}) {
      for (const std::size_t count : {std::size_t{1}, std::size_t{1001}, std::size_t{20011}}) {
        for (int call = 0; call < 120; ++call) {
          const bool in_place = call % 3 == 1 && kind != Collective::kAllToAll;
          cases.push_back({.kind = kind,
                           .count = count,
                           .op = call % 5 == 4 ? ReduceOp::kPreMulSum : ReduceOp::kSum,
                           .root = ranks - 1,
                           .in_place = in_place,
                           .misalign = call % 7 == 6 ? 4U : 0U});
        }
      }
    }
    ASSERT_EQ(tests::RunRanks(ranks, TriedAfter(2), [&](Communicator& c) { return tests::RunCase(c, cases); }), "");
  }
}

// Some ranks submit far ahead of others, and sends and receives lie between.
TEST(TriedCalls, ManyUnderWay) {
  constexpr int kCalls = 200, kElements = 700;
  using Values = std::vector<std::int32_t>;
  ASSERT_EQ(tests::RunRanks(3, TriedAfter(1),
                            [](Communicator& c) -> Status {
                              std::vector<Values> in(kCalls), out(kCalls), received(kCalls);
                              std::vector<Request> requests;
                              for (int i = 0; i < kCalls; ++i) {
                                in[i].assign(kElements, c.rank() + i);
                                out[i].resize(kElements);
                                if (i % 10 == 3 && c.rank() == 0) requests.push_back(c.Start(Send(in[i], 1)));
                                if (i % 10 == 3 && c.rank() == 1) {
                                  received[i].resize(kElements);
                                  requests.push_back(c.Start(Recv(received[i], 0)));
                                }
                                requests.push_back(c.Start(AllReduce(in[i], out[i])));
                                if (i % (20 * (c.rank() + 1)) == 0) TUTTI_RETURN_IF_ERROR(requests.back().Wait());
                              }
                              for (Request& request : requests) TUTTI_RETURN_IF_ERROR(request.Wait());
                              for (int i = 0; i < kCalls; ++i) {
                                if (out[i] != Values(kElements, 3 + 3 * i) ||
                                    (!received[i].empty() && received[i] != Values(kElements, i)))
                                  return Status(Code::kInternal, "wrong values");
                              }
                              return Status::Ok();
                            }),
            "");
}

// What is current after a trial is one of the ways, and the same on all ranks.
TEST(TriedCalls, AllRanksComeToTheSameWay) {
  for (int turn = 0; turn < 5; ++turn) {
    std::vector<std::string> ways(3);
    ASSERT_EQ(
        tests::RunRanks(3, TriedAfter(4),
                        [&](Communicator& c) -> Status {
                          std::vector<float> in(3000, 1), out(3000);
                          for (int call = 0; call < 100; ++call) {
                            TUTTI_RETURN_IF_ERROR(c.Run(AllReduce(in, out)));
                          }
                          tune::Choice way;
                          TUTTI_RETURN_IF_ERROR(c.impl()->planner.FindCurrent(Collective::kAllReduce, 12000, 0, way));
                          ways[static_cast<std::size_t>(c.rank())] = tune::ToString(way);
                          return Status::Ok();
                        }),
        "");
    EXPECT_EQ(ways[0], ways[1]);
    EXPECT_EQ(ways[0], ways[2]);
  }
}

// Algorithms that a setting names fold in orders of their own. The bits of a sum stay, whichever of them is the fastest.
TEST(TriedCalls, ResultsStayBitForBit) {
  for (const char* algorithms : {"", "ring,tree,halving_doubling", "ring,double_tree"}) {
    Settings settings = TriedAfter(2);
    settings.algo = algorithms;
    ASSERT_EQ(tests::RunRanks(5, settings,
                              [&](Communicator& c) -> Status {
                                std::vector<float> in(3001), out(3001), first;
                                for (std::size_t i = 0; i < in.size(); ++i) {
                                  in[i] =
                                      1.0F / static_cast<float>(1 + i % 97 + 131 * static_cast<std::size_t>(c.rank()));
                                }
                                for (int call = 0; call < 200; ++call) {
                                  TUTTI_RETURN_IF_ERROR(c.Run(AllReduce(in, out)));
                                  if (first.empty()) first = out;
                                  if (out != first) return Status(Code::kInternal, "other bits");
                                }
                                return Status::Ok();
                              }),
              "")
        << algorithms;
  }
}

TEST(TriedCalls, NeverWhereTheSettingSaysSo) {
  ASSERT_EQ(tests::RunRanks(2, TriedAfter(0),
                            [&](Communicator& c) -> Status {
                              std::vector<float> in(3000, 1), out(3000);
                              for (int call = 0; call < 300; ++call) {
                                TUTTI_RETURN_IF_ERROR(c.Run(AllReduce(in, out)));
                              }
                              const auto entry = c.impl()->planner.FindEntry(Collective::kAllReduce, 12000, 0);
                              return (*entry)->trials == nullptr ? Status::Ok() : Status(Code::kInternal, "a trial");
                            }),
            "");
}

}  // namespace
}  // namespace tutti::comm
