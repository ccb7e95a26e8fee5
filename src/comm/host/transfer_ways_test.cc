// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
// Sends that go through pages or by reference, whichever the sender likes, call by call: their receivers follow.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <random>
#include <span>
#include <string>
#include <vector>

#include "comm/host/impl.h"
#include "comm/host/parts.h"
#include "proto/simple.h"
#include "tests/support/rank_processes.h"
#include "tests/support/ranks.h"
#include "trace/view.h"
#include "transport/shm/fabric.h"
#include "tune/choice.h"

namespace tutti::comm {
namespace {

using Bytes = std::vector<std::uint8_t>;

// What a rank sends as message `number`.
void Fill(std::span<std::uint8_t> data, int rank, int number) {
  for (std::size_t i = 0; i < data.size(); ++i) {
    data[i] = static_cast<std::uint8_t>(static_cast<std::size_t>(rank * 37 + number * 101) + i * 7 + (i >> 9));
  }
}
bool Holds(std::span<const std::uint8_t> data, int rank, int number) {
  Bytes expected(data.size());
  Fill(expected, rank, number);
  return std::ranges::equal(data, expected);
}

// From now on this rank sends so many bytes by Simple, by reference or through pages.
void SendBy(Communicator& c, std::size_t bytes, bool by_reference) {
  for (const tune::Choice& way : c.impl()->planner.Candidates(Collective::kSendRecv, bytes)) {
    if (way.protocol != proto::Protocol::kSimple || way.by_reference != by_reference) continue;
    c.impl()->planner.Use(Collective::kSendRecv, bytes, 0, &way);
    c.impl()->parts->preparer.Forget();
    return;
  }
  ADD_FAILURE() << "this machine does not let ranks read each other's memory";
}

std::size_t AnySize(std::mt19937& sizes) {
  const std::size_t octave = std::size_t{1} << std::uniform_int_distribution(12, 21)(sizes);
  return octave + std::uniform_int_distribution<std::size_t>(0, octave)(sizes);
}

// Two ranks draw sizes alike and ways each for itself. Each call's messages lie side by side in one piece of memory, those that are
// sent next to those that come.
Status ExchangeAtRandom(Communicator& c, unsigned seed, int calls) {
  std::mt19937 sizes(seed), ways(seed * 2 + static_cast<unsigned>(c.rank()));
  const int peer = 1 - c.rank();
  int number = 0;
  for (int call = 0; call < calls; ++call) {
    const int messages = std::uniform_int_distribution(1, 4)(sizes);
    const bool one_way = call % 5 == 4, one_by_one = call % 3 == 2;
    std::vector<std::size_t> bytes(static_cast<std::size_t>(messages));
    std::size_t all = 0;
    for (std::size_t& one : bytes) {
      one = AnySize(sizes);
      SendBy(c, one, ways() % 2 == 0);
      all += 2 * one;
    }
    Bytes memory(all);
    std::vector<Operation> group;
    struct Message {
      std::span<std::uint8_t> data;
      int number;
    };
    std::vector<Message> received;
    std::size_t at = 0;
    for (const std::size_t one : bytes) {
      const std::span<std::uint8_t> first(&memory[at], one), second(&memory[at + one], one);
      const std::span<std::uint8_t> out = c.rank() == 0 ? first : second, in = c.rank() == 0 ? second : first;
      Fill(out, c.rank(), number);
      if (!one_way || c.rank() == 0) group.push_back(Send(out, peer));
      if (!one_way || c.rank() == 1) {
        group.push_back(Recv(in, peer));
        received.push_back({in, number});
      }
      ++number;
      at += 2 * one;
    }
    if (one_way && one_by_one) {
      for (const Operation& o : group) TUTTI_RETURN_IF_ERROR(c.Run(o));
    } else {
      TUTTI_RETURN_IF_ERROR(c.RunGroup(group));
    }
    for (const Message& message : received) {
      if (!Holds(message.data, peer, message.number)) {
        return Status(Code::kInternal, "message " + std::to_string(message.number) + " is wrong");
      }
    }
  }
  return Status::Ok();
}

TEST(TransferWays, AReceiverThreadFollowsEachSend) {
  for (const unsigned seed : {1U, 2U}) {
    EXPECT_EQ(tests::RunRanks(2, {}, [&](Communicator& c) { return ExchangeAtRandom(c, seed, 80); }), "") << seed;
  }
}

TEST(TransferWays, AReceiverProcessFollowsEachSend) {
  tests::RankProcesses job(2);
  job.Start([](const CommunicatorOptions& options, tests::Board&) -> Status {
    Result<Communicator> c = Communicator::Create(options);
    if (!c.ok()) return c.status();
    TUTTI_RETURN_IF_ERROR(ExchangeAtRandom(*c, 3, 80));
    return testing::Test::HasFailure() ? Status(Code::kInternal, "no way to read a process's memory") : Status::Ok();
  });
  ASSERT_TRUE(job.Join());
  for (int rank = 0; rank < 2; ++rank) EXPECT_EQ(job.said(rank), Status::Ok().ToString());
}

// Many messages of a stream are under way when the way changes.
TEST(TransferWays, AStreamThatChangesItsWay) {
  ASSERT_EQ(tests::RunRanks(2, {},
                            [](Communicator& c) -> Status {
                              std::mt19937 ways(5);
                              constexpr std::size_t kBytes = 20000;
                              for (const bool refers : {false, true}) SendBy(c, kBytes, refers);
                              Bytes data(kBytes);
                              for (int i = 0; i < 3000; ++i) {
                                if (c.rank() == 0) {
                                  if (ways() % 3 == 0) SendBy(c, kBytes, ways() % 2 == 0);
                                  Fill(data, 0, i);
                                  TUTTI_RETURN_IF_ERROR(c.Run(Send(data, 1)));
                                } else {
                                  TUTTI_RETURN_IF_ERROR(c.Run(Recv(data, 0)));
                                  if (!Holds(data, 0, i)) return Status(Code::kInternal, "wrong data");
                                }
                              }
                              return Status::Ok();
                            }),
            "");
}

Settings TriedAfter(int calls) {
  Settings settings;
  settings.calls_before_trial = calls;
  return settings;
}

// Shifts round a ring, exchanges with all others and streams, nearly always on trial.
Status RunTried(Communicator& c, int calls) {
  const int n = c.ranks(), r = c.rank(), next = (r + 1) % n, before = (r + n - 1) % n;
  for (int i = 0; i < calls; ++i) {
    for (const std::size_t bytes : {std::size_t{33000}, std::size_t{170001}, std::size_t{1300000}}) {
      Bytes out(bytes), in(bytes);
      Fill(out, r, i);
      const Operation shift[] = {Send(out, next), Recv(in, before)};
      TUTTI_RETURN_IF_ERROR(c.RunGroup(shift));
      if (!Holds(in, before, i)) return Status(Code::kInternal, "a shift is wrong");
      if (bytes > 100000 && i % 4 != 0) continue;
      std::vector<Bytes> from(static_cast<std::size_t>(n), Bytes(bytes));
      std::vector<Operation> all;
      for (int p = 0; p < n; ++p) all.push_back(Recv(from[static_cast<std::size_t>(p)], p));
      for (int p = 0; p < n; ++p) all.push_back(Send(out, p));
      TUTTI_RETURN_IF_ERROR(c.RunGroup(all));
      for (int p = 0; p < n; ++p) {
        if (!Holds(from[static_cast<std::size_t>(p)], p, i)) return Status(Code::kInternal, "an exchange is wrong");
      }
      if (r == 0) TUTTI_RETURN_IF_ERROR(c.Run(Send(out, 1)));
      if (r == 1) TUTTI_RETURN_IF_ERROR(c.Run(Recv(in, 0)));
      if (r == 1 && !Holds(in, 0, i)) return Status(Code::kInternal, "a message is wrong");
    }
  }
  return Status::Ok();
}

TEST(TriedTransfers, GiveTheRightResults) {
  for (const int ranks : {2, 3}) {
    EXPECT_EQ(tests::RunRanks(ranks, TriedAfter(1), [&](Communicator& c) { return RunTried(c, 40); }), "") << ranks;
  }
}

TEST(TriedTransfers, GiveTheRightResultsInProcesses) {
  tests::RankProcesses job(3);
  job.Start(
      [](const CommunicatorOptions& options, tests::Board&) -> Status {
        Result<Communicator> c = Communicator::Create(options);
        return c.ok() ? RunTried(*c, 40) : c.status();
      },
      TriedAfter(2));
  ASSERT_TRUE(job.Join());
  for (int rank = 0; rank < 3; ++rank) EXPECT_EQ(job.said(rank), Status::Ok().ToString());
}

constexpr std::size_t kLarge = std::size_t{1} << 20;

Status Exchange(Communicator& c, int calls) {
  Bytes out(kLarge, static_cast<std::uint8_t>(c.rank())), in(kLarge);
  const Operation group[] = {Send(out, 1 - c.rank()), Recv(in, 1 - c.rank())};
  for (int i = 0; i < calls; ++i) TUTTI_RETURN_IF_ERROR(c.RunGroup(group));
  return Status::Ok();
}

// On what comes from the rank before.
proto::Verdicts& VerdictsOf(Communicator& c) {
  return c.impl()->fabric->in(0, (c.rank() + c.ranks() - 1) % c.ranks()).credit->verdicts;
}

// Whether all ranks have one.
Status AllHaveVerdicts(Communicator& c, std::int32_t& all_have) {
  const std::int32_t has = VerdictsOf(c).found.load() != 0U ? 1 : 0;
  return c.Run(AllReduce(std::span(&has, 1), std::span(&all_have, 1), ReduceOp::kMin));
}

// After enough calls each rank has said which way is better, and the black box shows that way.
TEST(TriedTransfers, EndInAVerdictThatTheBlackBoxShows) {
  ASSERT_EQ(tests::RunRanks(
                2, TriedAfter(30),
                [](Communicator& c) -> Status {
                  constexpr int kTrial = 2 * 5 * 30;
                  TUTTI_RETURN_IF_ERROR(Exchange(c, 25));
                  EXPECT_EQ(VerdictsOf(c).found.load(), 0U);
                  // Turns that were held up do not count, so that a trial may take more of them.
                  constexpr int kMostTrials = 20;
                  std::int32_t all_have = 0;
                  for (int i = 0; i < kMostTrials && all_have == 0; ++i) {
                    TUTTI_RETURN_IF_ERROR(Exchange(c, kTrial + 10));
                    TUTTI_RETURN_IF_ERROR(AllHaveVerdicts(c, all_have));
                  }
                  EXPECT_EQ(all_have, 1);
                  const trace::View& box = c.impl()->boxes[static_cast<std::size_t>(c.rank())];
                  for (const Collective kind : {Collective::kSend, Collective::kRecv}) {
                    const std::optional<trace::CallRecord> last =
                        box.FindLatest([&](const trace::CallRecord& r) { return r.call.function() == kind; });
                    const proto::Credit& said = kind == Collective::kSend
                                                    ? *c.impl()->fabric->out(0, 1 - c.rank()).credit
                                                    : *c.impl()->fabric->in(0, 1 - c.rank()).credit;
                    EXPECT_TRUE(last.has_value() && last->how.by_reference == (said.verdicts.by_reference.load() != 0));
                  }
                  return c.Run(Barrier());  // a peer that leaves takes its credits along
                }),
            "");
}

// What `tutti tune --regret` asks for among more than two ranks.
TEST(TriedTransfers, ARingTakesTheWayThatItsReceiversSay) {
  ASSERT_EQ(tests::RunRanks(3, TriedAfter(30),
                            [](Communicator& c) -> Status {
                              const int next = (c.rank() + 1) % 3, before = (c.rank() + 2) % 3;
                              Bytes out(kLarge), in(kLarge);
                              const Operation ring[] = {Send(out, next), Recv(in, before)};
                              // Turns that were held up do not count, so that several trials may be needed.
                              const std::uint64_t calls = 20 * c.impl()->planner.RingExchangesUntilDecided(kLarge);
                              std::int32_t all_have = 0;
                              for (std::uint64_t i = 0; i < calls && all_have == 0; ++i) {
                                TUTTI_RETURN_IF_ERROR(c.RunGroup(ring));
                                TUTTI_RETURN_IF_ERROR(AllHaveVerdicts(c, all_have));
                              }
                              EXPECT_EQ(all_have, 1);
                              // Whatever it was: from now on they say the other way than the predicted one.
                              const bool predicted = c.impl()->planner.FindLane(kLarge).by_reference;
                              VerdictsOf(c).by_reference.store(predicted ? 0 : ~std::uint64_t{0});
                              TUTTI_RETURN_IF_ERROR(c.Run(Barrier()));
                              for (int i = 0; i < 5; ++i) TUTTI_RETURN_IF_ERROR(c.RunGroup(ring));
                              EXPECT_EQ(c.impl()->planner.RefersInRing(kLarge), !predicted);
                              return c.Run(Barrier());
                            }),
            "");
}

TEST(TriedTransfers, NeverWhereTheSettingSaysSo) {
  ASSERT_EQ(tests::RunRanks(2, TriedAfter(0),
                            [](Communicator& c) -> Status {
                              TUTTI_RETURN_IF_ERROR(Exchange(c, 300));
                              EXPECT_FALSE(c.impl()->planner.FindLane(kLarge).tried);
                              EXPECT_EQ(VerdictsOf(c).found.load(), 0U);
                              return c.Run(Barrier());
                            }),
            "");
}

// Short messages and what has only one way are not watched.
TEST(TriedTransfers, OnlyWhereThereAreTwoWays) {
  ASSERT_EQ(tests::RunRanks(2, TriedAfter(5),
                            [](Communicator& c) -> Status {
                              for (const std::size_t bytes : {0U, 8U, 1000U, 4096U, 8191U})
                                EXPECT_FALSE(c.impl()->planner.FindLane(bytes).tried) << bytes;
                              for (const std::size_t bytes : {std::size_t{8192}, kLarge})
                                EXPECT_TRUE(c.impl()->planner.FindLane(bytes).tried) << bytes;
                              return Status::Ok();
                            }),
            "");
  for (const SingleCopy mode : {SingleCopy::kOff, SingleCopy::kForce}) {
    Settings settings = TriedAfter(5);
    settings.single_copy = mode;
    ASSERT_EQ(tests::RunRanks(2, settings,
                              [](Communicator& c) -> Status {
                                EXPECT_FALSE(c.impl()->planner.FindLane(kLarge).tried);
                                return Exchange(c, 60);
                              }),
              "");
  }
}

}  // namespace
}  // namespace tutti::comm
