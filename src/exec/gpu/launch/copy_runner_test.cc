// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
//
// Copies into windows, in streams that are late at random (tests/support/fake_streams.h), so an order that only luck keeps is
// found.
#include "exec/gpu/launch/copy_runner.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <deque>
#include <memory>
#include <random>
#include <thread>
#include <vector>

#include "tests/support/direct_moves.h"
#include "tests/support/fake_streams.h"
#include "tests/support/sanitizers.h"

namespace tutti::exec::gpu {
namespace {

using sys::cuda::Address;
using tests::Await;
using tests::FakeCapture;
using tests::FakeStream;
using transport::p2p::CopyWords;
using Kind = Collective;

std::uint8_t ValueOf(int rank, std::size_t i, int seed) {
  return static_cast<std::uint8_t>(rank * 89 + i * 131 + (i >> 8) * 7 + seed * 29);
}

struct Call {
  Kind kind;
  std::size_t piece;
  int root;
  int seed;
};

// Ranks of one process, with a window each.
class Ranks {
 public:
  explicit Ranks(int ranks, std::size_t piece = 3001) : pages_(ranks) {
    for (int rank = 0; rank < ranks; ++rank) {
      in_.emplace_back(piece * ranks);
      out_.emplace_back(piece * ranks);
      streams_.push_back(std::make_unique<FakeStream>());
    }
    for (int rank = 0; rank < ranks; ++rank) {
      CopyRunner::Options options{
          .driver = &tests::FakeStreamDriver(), .rank = rank, .ranks = ranks, .own = &pages_[rank]};
      for (int peer = 0; peer < ranks; ++peer) {
        options.words[peer] = reinterpret_cast<Address>(&pages_[peer]);
        options.peers[peer] = &pages_[peer];
      }
      runners_.push_back(std::make_unique<CopyRunner>(options));
    }
  }

  int count() const { return static_cast<int>(pages_.size()); }
  FakeStream& stream(int rank) { return *streams_[rank]; }
  CopyRunner& runner(int rank) { return *runners_[rank]; }
  CopyWords& words(int rank) { return pages_[rank]; }
  int wrong() const { return wrong_; }

  Status Enqueue(int rank, const Call& call, bool captured) {
    const Operation o{.kind = call.kind,
                      .in = in_[rank].data(),
                      .out = out_[rank].data(),
                      .count = call.piece,
                      .type = DataType::kUint8,
                      .root = call.root};
    return runner(rank).Start({tests::ListDirectMoves(o, rank, count()), Outputs()}, stream(rank).handle(), captured);
  }

  // The same, with input and output filled before and the output compared behind it, all in the rank's stream.
  void Check(int rank, const Call& call, bool captured) {
    stream(rank).Push([=, this] { Fill(rank, call.seed); });
    ASSERT_TRUE(Enqueue(rank, call, captured).ok());
    stream(rank).Push([=, this] { Compare(rank, call); });
  }

  // An all_reduce of bytes in two shots: a stand-in for the kernel, which sends its input away before it folds what came of
  // the others, and an all_gather. Call `i` of `inboxes`; filled before and compared behind, all in the rank's stream.
  struct Inbox {
    explicit Inbox(int ranks) : sent(ranks) {}
    std::vector<std::vector<std::uint8_t>> sent;  // by sender
    std::atomic<int> senders{0};
  };
  void CheckShots(int rank, std::size_t piece, bool in_place, int seed, Inbox& inbox) {
    std::vector<std::uint8_t>& in = in_place ? out_[rank] : in_[rank];
    const Operation o{.kind = Kind::kAllReduce,
                      .in = in.data(),
                      .out = out_[rank].data(),
                      .count = piece * static_cast<std::size_t>(count()),
                      .type = DataType::kUint8};
    const PreparedPlan plan = tests::PrepareTwoShots(rank, count());
    const Operation first = FirstShot(plan, o);
    stream(rank).Push([=, this, &in, &inbox] {
      std::ranges::fill(out_[rank], std::uint8_t{0x5a});
      for (std::size_t i = 0; i < o.count; ++i) in[i] = ValueOf(rank, i, seed);
      inbox.sent[rank].assign(in.begin(), in.begin() + static_cast<std::ptrdiff_t>(o.count));
      ++inbox.senders;
      Await([&] { return inbox.senders == count(); });
      auto* folded = static_cast<std::uint8_t*>(first.out);
      for (std::size_t i = 0; i < first.count; ++i) {
        folded[i] = 0;
        for (const auto& sent : inbox.sent) folded[i] += sent[rank * piece + i];
      }
    });
    const CopyList list = ListCopies(plan, {.in = o.in, .out = o.out, .count = o.count, .type = o.type});
    ASSERT_TRUE(runner(rank).Start({list, Outputs()}, stream(rank).handle(), false).ok());
    stream(rank).Push([=, this] {
      for (std::size_t i = 0; i < out_[rank].size(); ++i) {
        std::uint8_t expected = i < o.count ? 0 : 0x5a;
        for (int peer = 0; i < o.count && peer < count(); ++peer) expected += ValueOf(peer, i, seed);
        if (out_[rank][i] != expected) ++wrong_;
      }
    });
  }

 private:
  CopyOutputs Outputs() {
    CopyOutputs outputs{};
    for (int peer = 0; peer < count(); ++peer) outputs[peer] = reinterpret_cast<std::byte*>(out_[peer].data());
    return outputs;
  }
  void Fill(int rank, int seed) {
    for (std::size_t i = 0; i < in_[rank].size(); ++i) in_[rank][i] = ValueOf(rank, i, seed);
    std::ranges::fill(out_[rank], std::uint8_t{0x5a});
  }
  void Compare(int rank, const Call& c) {
    for (std::size_t i = 0; i < out_[rank].size(); ++i) {
      const auto from = static_cast<int>(i / c.piece);
      const bool many = c.kind == Kind::kAllGather || c.kind == Kind::kAllToAll || c.kind == Kind::kGather;
      const bool written = i < c.piece * (many ? count() : 1) && (c.kind != Kind::kGather || rank == c.root);
      std::uint8_t expected = 0x5a;
      if (written) {
        const std::size_t own = rank * c.piece + i % c.piece;
        if (c.kind == Kind::kAllGather || c.kind == Kind::kGather) expected = ValueOf(from, i % c.piece, c.seed);
        if (c.kind == Kind::kAllToAll) expected = ValueOf(from, own, c.seed);
        if (c.kind == Kind::kBroadcast) expected = ValueOf(c.root, i, c.seed);
        if (c.kind == Kind::kScatter) expected = ValueOf(c.root, own, c.seed);
      }
      if (out_[rank][i] != expected) ++wrong_;
    }
  }

  std::vector<CopyWords> pages_;
  std::vector<std::vector<std::uint8_t>> in_, out_;
  std::vector<std::unique_ptr<FakeStream>> streams_;
  std::vector<std::unique_ptr<CopyRunner>> runners_;
  std::atomic<int> wrong_{0};
};

// A sequence of operations, the same on all ranks, each with its own input.
int RunSequence(int count, int calls, std::uint32_t seed) {
  Ranks ranks(count);
  std::vector<std::thread> threads;
  for (int rank = 0; rank < count; ++rank) {
    threads.emplace_back([&, rank] {
      std::mt19937 random(seed);
      for (int i = 0; i < calls; ++i) {
        const Kind kind = tests::kMoves[random() % std::size(tests::kMoves)];
        const std::size_t piece = 1 + random() % 3000;
        const int root = static_cast<int>(random() % static_cast<unsigned>(count));
        ranks.Check(rank, {kind, piece, root, i}, false);
      }
      ranks.stream(rank).Synchronize();
      EXPECT_TRUE(tests::FakeStreamsSkipWaits() || !ranks.runner(rank).Pending());
    });
  }
  for (std::thread& thread : threads) thread.join();
  return ranks.wrong();
}

TEST(CopyRunner, EveryOperationInAnyOrder) {
  for (const int ranks : {2, 3, 5}) EXPECT_EQ(RunSequence(ranks, 100, 7u + static_cast<unsigned>(ranks)), 0);
}

int RunAllReduces(int count, int calls, std::uint32_t seed) {
  Ranks ranks(count);
  std::deque<Ranks::Inbox> inboxes;
  for (int i = 0; i < calls; ++i) inboxes.emplace_back(count);
  std::vector<std::thread> threads;
  for (int rank = 0; rank < count; ++rank) {
    threads.emplace_back([&, rank] {
      std::mt19937 random(seed);
      for (int i = 0; i < calls; ++i) {
        const std::size_t piece = 1 + random() % 3000;
        const bool in_place = random() % 2 == 0;
        ranks.CheckShots(rank, piece, in_place, i, inboxes[i]);
      }
      ranks.stream(rank).Synchronize();
    });
  }
  for (std::thread& thread : threads) thread.join();
  return ranks.wrong();
}

TEST(CopyRunner, SecondShotsOfAllReduces) {
  for (const int ranks : {2, 3, 5}) EXPECT_EQ(RunAllReduces(ranks, 60, 11u + static_cast<unsigned>(ranks)), 0);
}

TEST(CopyRunner, CanaryWithoutWaitsIsFound) {
#if defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "the sanitizer finds it, and calls it an error of the test";
#endif
  tests::FakeStreamsSkipWaits() = true;
  int wrong = 0;
  for (std::uint32_t seed = 0; seed < 20 && wrong == 0; ++seed) wrong = RunSequence(3, 50, seed);
  EXPECT_GT(wrong, 0);
  wrong = 0;
  for (std::uint32_t seed = 0; seed < 20 && wrong == 0; ++seed) wrong = RunAllReduces(3, 50, seed);
  tests::FakeStreamsSkipWaits() = false;
  EXPECT_GT(wrong, 0);
}

// Replays follow each other without a pause, eager operations among them. Pieces of a megabyte: a rank copies them to
// itself in a stream beside the caller's.
void ReplayGraphs(std::size_t piece, int replays) {
  constexpr int kRanks = 3;
  Ranks ranks(kRanks, piece);
  std::vector<std::thread> threads;
  std::vector<FakeCapture> captures(kRanks);
  for (int rank = 0; rank < kRanks; ++rank) {
    threads.emplace_back([&, rank] {
      FakeStream& stream = ranks.stream(rank);
      captures[rank].id = static_cast<unsigned long long>(rank) + 1;
      captures[rank].Add(stream);
      for (int i = 0; i < 5; ++i) ranks.Check(rank, {tests::kMoves[i], piece, i % kRanks, i}, true);
      captures[rank].End();
      for (int replay = 0; replay < replays; ++replay) {
        for (const auto& work : captures[rank].work) stream.Push(work);
        if (replay % 3 == 0) ranks.Check(rank, {Kind::kAllToAll, piece - 1, 0, 100 + replay}, false);
      }
      stream.Synchronize();
      EXPECT_FALSE(ranks.runner(rank).Pending());
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(ranks.wrong(), 0);
}

TEST(CopyRunner, GraphsAreReplayed) {
  ReplayGraphs(700, 20);
  ReplayGraphs(std::size_t{1} << 20, static_cast<int>(tests::Scaled(8)));
}

TEST(CopyRunner, AWaitIsSeenNamedAndEnded) {
  Ranks ranks(3);
  for (int i = 0; i < 20; ++i) {  // several in the queue; rank 1 never comes
    ASSERT_TRUE(ranks.Enqueue(0, {Kind::kAllGather, 100, 0, 0}, false).ok());
    ASSERT_TRUE(ranks.Enqueue(2, {Kind::kAllGather, 100, 0, 0}, false).ok());
  }
  Await([&] {
    return (std::atomic_ref(ranks.words(0).stage).load() & transport::p2p::kStageMask) == transport::p2p::kEntering;
  });
  Await([&] { return std::atomic_ref(ranks.words(0).pair[2].ready).load() == 1; });
  EXPECT_TRUE(ranks.runner(0).Pending());
  EXPECT_FALSE(ranks.runner(0).Overdue(0).has_value());  // seen for the first time
  std::this_thread::sleep_for(std::chrono::milliseconds(2));
  EXPECT_FALSE(ranks.runner(0).Overdue(1'000'000'000).has_value());
  const std::optional<CopyWait> wait = ranks.runner(0).Overdue(1'000'000);
  ASSERT_TRUE(wait.has_value());
  EXPECT_EQ(wait->stage, transport::p2p::kEntering);
  EXPECT_EQ(wait->peer, 1);
  EXPECT_FALSE(ranks.runner(2).Drained(0));
  ranks.runner(0).Release(5'000'000'000);
  ranks.runner(2).Release(5'000'000'000);
  EXPECT_TRUE(ranks.stream(0).idle());
  EXPECT_FALSE(ranks.runner(0).Pending());
  EXPECT_TRUE(ranks.runner(2).Drained(0));
}

// Rank 0 puts numbers into rank 1's window, far ahead of it; rank 1 awaits some at a time.
TEST(CopyRunner, SignalsComeBehindWhatWasPut) {
  constexpr int kPuts = 300;
  Ranks ranks(2);
  std::vector<std::uint32_t> from(kPuts), to(kPuts, 0);
  for (std::uint32_t i = 0; i < kPuts; ++i) {
    from[i] = i + 1;
    auto* place = reinterpret_cast<std::byte*>(&to[i]);
    ASSERT_TRUE(ranks.runner(0).Put(1, &from[i], place, sizeof(i), ranks.stream(0).handle()).ok());
  }
  std::atomic<int> wrong{0};
  for (std::uint32_t seen = 0; seen < kPuts; seen += 3) {
    const CopyRunner::Awaited awaited[] = {{0, 1}, {0, 2}};
    ASSERT_TRUE(ranks.runner(1).AwaitSignals(awaited, ranks.stream(1).handle()).ok());
    ranks.stream(1).Push([&, seen] { wrong += std::atomic_ref(to[seen + 2]).load() == seen + 3 ? 0 : 1; });
  }
  ranks.stream(0).Synchronize();
  ranks.stream(1).Synchronize();
  EXPECT_EQ(wrong, 0);
  EXPECT_FALSE(ranks.runner(0).Pending() || ranks.runner(1).Pending());
  // One more than there are.
  ASSERT_TRUE(ranks.runner(1).AwaitSignals(std::array{CopyRunner::Awaited{0, 1}}, ranks.stream(1).handle()).ok());
  Await([&] {
    return (std::atomic_ref(ranks.words(1).stage).load() & transport::p2p::kStageMask) ==
           transport::p2p::kAwaitingSignals;
  });
  EXPECT_FALSE(ranks.runner(1).Overdue(0).has_value());
  std::this_thread::sleep_for(std::chrono::milliseconds(2));
  const std::optional<CopyWait> wait = ranks.runner(1).Overdue(1'000'000);
  EXPECT_TRUE(wait.has_value() && wait->stage == transport::p2p::kAwaitingSignals && wait->peer == 0);
  ranks.runner(1).Release(5'000'000'000);
  EXPECT_TRUE(ranks.stream(1).idle());
}

TEST(CopyRunner, NothingIsOverdueWhileOperationsGoOn) {
  Ranks ranks(2);
  for (int i = 0; i < 300; ++i) {
    for (int rank = 0; rank < 2; ++rank) {
      ASSERT_TRUE(ranks.Enqueue(rank, {Kind::kAllGather, 100, 0, 0}, false).ok());
    }
  }
  while (!ranks.stream(0).idle()) EXPECT_FALSE(ranks.runner(0).Overdue(500'000'000).has_value());
  ranks.stream(1).Synchronize();
}

}  // namespace
}  // namespace tutti::exec::gpu
