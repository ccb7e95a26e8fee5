// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
//
// Copies into windows, run by a stand-in for the driver: streams are threads, device memory is the process's own. Ranks
// are late at random, so an order that only luck keeps is found.
#include "exec/gpu/lower/copies.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstring>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <random>
#include <thread>
#include <vector>

#include "tests/support/sanitizers.h"

namespace tutti::exec::gpu {
namespace {

using sys::cuda::Address;
using sys::cuda::Event;
using sys::cuda::MemoryOperation;
using sys::cuda::Stream;
using transport::p2p::CopyWords;
using Kind = Collective;
using Work = std::function<void()>;

constexpr Kind kKinds[] = {Kind::kAllGather, Kind::kAllToAll, Kind::kBroadcast, Kind::kGather, Kind::kScatter};

// A rank's part, everybody sending directly.
plan::RankPlan PlanOf(Kind kind, int rank, int ranks, int root) {
  plan::RankPlan plan(kind, rank, ranks);
  plan.root = root;
  const bool piece_each = kind == Kind::kAllToAll || kind == Kind::kScatter;  // of the input
  const bool of_each = kind == Kind::kAllGather || kind == Kind::kAllToAll || kind == Kind::kGather;
  const bool sends = kind == Kind::kAllGather || kind == Kind::kAllToAll || (rank == root) != (kind == Kind::kGather);
  plan.in_blocks = plan::InPieces(plan.collective, ranks);
  plan.out_blocks = plan::OutPieces(plan.collective, ranks);
  for (int peer = 0; peer < ranks; ++peer) {
    const bool reached = kind != Kind::kGather || peer == root;
    if (peer != rank && sends && reached) plan.Add({plan::In(piece_each ? peer : 0)}, {peer}, plan::kNoBlock);
  }
  for (int peer = 0; peer < ranks; ++peer) {
    const bool gets = kind == Kind::kAllGather || kind == Kind::kAllToAll || (kind == Kind::kGather && rank == root) ||
                      (kind != Kind::kGather && peer == root);
    if (!gets) continue;
    if (peer == rank) {
      plan.Add({plan::In(piece_each ? rank : 0)}, {}, of_each ? rank : 0);
    } else {
      plan.Add({plan::Recv(peer)}, {}, of_each ? peer : 0);
    }
  }
  return plan;
}

CopyList List(const Operation& o, int rank, int ranks) {
  std::vector<plan::RankPlan> plans;
  for (int r = 0; r < ranks; ++r) plans.push_back(PlanOf(o.kind, r, ranks, o.root));
  const Result<PreparedPlan> plan = PreparePlan(plans, rank);
  EXPECT_TRUE(plan.ok());
  return ListCopies(*plan, {.in = o.in, .out = o.out, .count = o.count, .type = o.type});
}

// ---------------------------------------------------------------------------------------------------------------
// The stand-in.

class FakeStream;

// What a graph holds, in an order in which it may run, and the streams that take part while it is captured.
struct FakeCapture {
  unsigned long long id = 0;
  std::vector<Work> work;
  std::vector<FakeStream*> streams;

  void Add(FakeStream& stream);
  void End();
};

std::atomic<bool> g_skip_waits{false};  // the canary: streams that wait for nobody

class FakeStream {
 public:
  FakeStream() : thread_([this] { Loop(); }) {}
  ~FakeStream() {
    Push([this] { ended_ = true; });
    thread_.join();
  }
  void Push(Work work) {
    if (capture != nullptr) {
      capture->work.push_back(std::move(work));
      return;
    }
    std::lock_guard lock(mutex_);
    queue_.push_back(std::move(work));
    ++pushed_;
    changed_.notify_all();
  }
  void Synchronize() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return done_ == pushed_; });
  }
  bool idle() {
    std::lock_guard lock(mutex_);
    return done_ == pushed_;
  }
  Stream handle() { return reinterpret_cast<Stream>(this); }

  FakeCapture* capture = nullptr;

 private:
  void Loop() {
    std::mt19937 random(std::hash<void*>()(this));
    while (!ended_) {
      Work work;
      {
        std::unique_lock lock(mutex_);
        changed_.wait(lock, [&] { return !queue_.empty(); });
        work = std::move(queue_.front());
        queue_.pop_front();
      }
      if (random() % 4 == 0) std::this_thread::sleep_for(std::chrono::microseconds(random() % 100));
      work();
      std::lock_guard lock(mutex_);
      ++done_;
      changed_.notify_all();
    }
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Work> queue_;
  int pushed_ = 0, done_ = 0;
  bool ended_ = false;
  std::thread thread_;
};

void FakeCapture::Add(FakeStream& stream) {
  stream.capture = this;
  streams.push_back(&stream);
}

void FakeCapture::End() {
  for (FakeStream* stream : streams) stream->capture = nullptr;
}

struct FakeEvent {
  FakeCapture* capture = nullptr;  // of the stream that recorded it
  std::shared_ptr<std::atomic<bool>> reached;
};

FakeStream& Of(Stream stream) { return *reinterpret_cast<FakeStream*>(stream); }
FakeEvent& Of(Event event) { return *reinterpret_cast<FakeEvent*>(event); }

void Await(const std::function<bool()>& ready) {
  while (!ready()) std::this_thread::sleep_for(std::chrono::microseconds(5));
}

std::atomic_ref<std::uint32_t> WordAt(Address address) {
  return std::atomic_ref<std::uint32_t>(*reinterpret_cast<std::uint32_t*>(address));
}

void RunOperations(const std::vector<MemoryOperation>& operations) {
  for (const MemoryOperation& o : operations) {
    const auto value = static_cast<std::uint32_t>(o.value);
    if (o.operation == sys::cuda::kWriteWord) WordAt(o.address).store(value);
    if (o.operation == sys::cuda::kWriteLong) {
      std::atomic_ref<std::uint64_t>(*reinterpret_cast<std::uint64_t*>(o.address)).store(o.value);
    }
    if (o.operation != sys::cuda::kWaitWord || g_skip_waits) continue;
    Await([&] {
      const std::uint32_t word = WordAt(o.address).load();
      return o.flags == sys::cuda::kUntilEqual ? word == value : static_cast<std::int32_t>(word - value) >= 0;
    });
  }
}

const sys::cuda::Driver& FakeDriver() {
  static const sys::cuda::Driver& driver = *[] {
    auto* d = new sys::cuda::Driver{};
    d->StreamCreate = [](Stream* stream, unsigned) {
      *stream = (new FakeStream)->handle();
      return 0;
    };
    d->StreamDestroy = [](Stream stream) {
      delete &Of(stream);
      return 0;
    };
    d->StreamGetCaptureInfo = [](Stream stream, int* status, unsigned long long* id, sys::cuda::Graph*, const void**,
                                 std::size_t*) {
      const FakeCapture* capture = Of(stream).capture;
      *status = capture != nullptr ? 1 : 0;
      if (capture != nullptr) *id = capture->id;
      return 0;
    };
    d->EventCreate = [](Event* event, unsigned) {
      *event = reinterpret_cast<Event>(new FakeEvent);
      return 0;
    };
    d->EventDestroy = [](Event event) {
      delete &Of(event);
      return 0;
    };
    d->EventRecord = [](Event event, Stream stream) {
      auto reached = std::make_shared<std::atomic<bool>>(false);
      Of(event) = {Of(stream).capture, reached};
      if (Of(stream).capture == nullptr) Of(stream).Push([reached] { *reached = true; });
      return 0;
    };
    d->StreamWaitEvent = [](Stream stream, Event event, unsigned) {
      if (Of(event).capture != nullptr) {
        EXPECT_TRUE(Of(stream).capture == nullptr || Of(stream).capture == Of(event).capture);
        Of(event).capture->Add(Of(stream));
      } else {
        Of(stream).Push([reached = Of(event).reached] { Await([&] { return reached->load(); }); });
      }
      return 0;
    };
    d->MemcpyAsync = [](Address to, Address from, std::size_t bytes, Stream stream) {
      Of(stream).Push([=] { std::memcpy(reinterpret_cast<void*>(to), reinterpret_cast<const void*>(from), bytes); });
      return 0;
    };
    d->StreamBatchMemOp = [](Stream stream, unsigned count, MemoryOperation* operations, unsigned) {
      Of(stream).Push([list = std::vector(operations, operations + count)] { RunOperations(list); });
      return 0;
    };
    return d;
  }();
  return driver;
}

// ---------------------------------------------------------------------------------------------------------------

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
      CopyRunner::Options options{.driver = &FakeDriver(), .rank = rank, .ranks = ranks, .own = &pages_[rank]};
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
    CopyRunner::Outputs outputs{};
    for (int peer = 0; peer < count(); ++peer) outputs[peer] = reinterpret_cast<std::byte*>(out_[peer].data());
    return runner(rank).Run(List(o, rank, count()), outputs, stream(rank).handle(), captured);
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
    const Shots shots = ShotsOf(o, rank, count());
    stream(rank).Push([=, this, &in, &inbox] {
      std::ranges::fill(out_[rank], std::uint8_t{0x5a});
      for (std::size_t i = 0; i < o.count; ++i) in[i] = ValueOf(rank, i, seed);
      inbox.sent[rank].assign(in.begin(), in.begin() + static_cast<std::ptrdiff_t>(o.count));
      ++inbox.senders;
      Await([&] { return inbox.senders == count(); });
      auto* folded = static_cast<std::uint8_t*>(shots.scatter.out);
      for (std::size_t i = 0; i < shots.scatter.count; ++i) {
        folded[i] = 0;
        for (const auto& sent : inbox.sent) folded[i] += sent[rank * piece + i];
      }
    });
    CopyRunner::Outputs outputs{};
    for (int peer = 0; peer < count(); ++peer) outputs[peer] = reinterpret_cast<std::byte*>(out_[peer].data());
    ASSERT_TRUE(runner(rank).Run(List(shots.gather, rank, count()), outputs, stream(rank).handle(), false).ok());
    stream(rank).Push([=, this] {
      for (std::size_t i = 0; i < out_[rank].size(); ++i) {
        std::uint8_t expected = i < o.count ? 0 : 0x5a;
        for (int peer = 0; i < o.count && peer < count(); ++peer) expected += ValueOf(peer, i, seed);
        if (out_[rank][i] != expected) ++wrong_;
      }
    });
  }

 private:
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
        const Kind kind = kKinds[random() % std::size(kKinds)];
        const std::size_t piece = 1 + random() % 3000;
        const int root = static_cast<int>(random() % static_cast<unsigned>(count));
        ranks.Check(rank, {kind, piece, root, i}, false);
      }
      ranks.stream(rank).Synchronize();
      EXPECT_TRUE(g_skip_waits || !ranks.runner(rank).Pending());
    });
  }
  for (std::thread& thread : threads) thread.join();
  return ranks.wrong();
}

TEST(Copies, ShotsUseTheBuffersOfTheAllReduce) {
  float in[12], out[12];
  const Operation o{
      .kind = Kind::kAllReduce, .in = in, .out = out, .count = 12, .type = DataType::kFloat32, .op = ReduceOp::kAvg};
  const Shots shots = ShotsOf(o, 2, 3);
  EXPECT_EQ(shots.scatter.kind, Kind::kReduceScatter);
  EXPECT_EQ(shots.scatter.op, ReduceOp::kAvg);
  EXPECT_EQ(shots.scatter.count, 4u);
  EXPECT_EQ(shots.scatter.in, in);
  EXPECT_EQ(shots.scatter.out, out + 8);
  EXPECT_EQ(shots.gather.kind, Kind::kAllGather);
  EXPECT_EQ(shots.gather.count, 4u);
  EXPECT_EQ(shots.gather.in, out + 8);
  EXPECT_EQ(shots.gather.out, out);
}

TEST(Copies, ListsOfAllRanksFitTogether) {
  for (const Kind kind : kKinds) {
    for (int ranks = 1; ranks <= transport::p2p::kMostCopyRanks; ++ranks) {
      std::vector<CopyList> lists;
      for (int rank = 0; rank < ranks; ++rank) {
        const Operation o{.kind = kind, .count = 10, .type = DataType::kFloat32, .root = ranks / 2};
        lists.push_back(List(o, rank, ranks));
      }
      for (int a = 0; a < ranks; ++a) {
        for (int b = 0; b < ranks; ++b) {
          EXPECT_EQ(lists[a].writes_to >> b & 1, lists[b].written_by >> a & 1);
        }
        EXPECT_EQ(lists[a].writes_to >> a & 1, 0u);
        // At any time all ranks write to different ones, where all write.
        for (int b = 0; b < a && (kind == Kind::kAllGather || kind == Kind::kAllToAll); ++b) {
          for (int i = 0; i < ranks; ++i) EXPECT_NE(lists[a].copies[i].peer, lists[b].copies[i].peer);
        }
      }
    }
  }
}

TEST(Copies, EveryOperationInAnyOrder) {
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

TEST(Copies, SecondShotsOfAllReduces) {
  for (const int ranks : {2, 3, 5}) EXPECT_EQ(RunAllReduces(ranks, 60, 11u + static_cast<unsigned>(ranks)), 0);
}

TEST(Copies, CanaryWithoutWaitsIsFound) {
#if defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "the sanitizer finds it, and calls it an error of the test";
#endif
  g_skip_waits = true;
  int wrong = 0;
  for (std::uint32_t seed = 0; seed < 20 && wrong == 0; ++seed) wrong = RunSequence(3, 50, seed);
  EXPECT_GT(wrong, 0);
  wrong = 0;
  for (std::uint32_t seed = 0; seed < 20 && wrong == 0; ++seed) wrong = RunAllReduces(3, 50, seed);
  g_skip_waits = false;
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
      for (int i = 0; i < 5; ++i) ranks.Check(rank, {kKinds[i], piece, i % kRanks, i}, true);
      captures[rank].End();
      for (int replay = 0; replay < replays; ++replay) {
        for (const Work& work : captures[rank].work) stream.Push(work);
        if (replay % 3 == 0) ranks.Check(rank, {Kind::kAllToAll, piece - 1, 0, 100 + replay}, false);
      }
      stream.Synchronize();
      EXPECT_FALSE(ranks.runner(rank).Pending());
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(ranks.wrong(), 0);
}

TEST(Copies, GraphsAreReplayed) {
  ReplayGraphs(700, 20);
  ReplayGraphs(std::size_t{1} << 20, static_cast<int>(tests::Scaled(8)));
}

TEST(Copies, AWaitIsSeenNamedAndEnded) {
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
  const std::optional<CopyRunner::Wait> wait = ranks.runner(0).Overdue(1'000'000);
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
TEST(Copies, SignalsComeBehindWhatWasPut) {
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
  const std::optional<CopyRunner::Wait> wait = ranks.runner(1).Overdue(1'000'000);
  EXPECT_TRUE(wait.has_value() && wait->stage == transport::p2p::kAwaitingSignals && wait->peer == 0);
  ranks.runner(1).Release(5'000'000'000);
  EXPECT_TRUE(ranks.stream(1).idle());
}

TEST(Copies, NothingIsOverdueWhileOperationsGoOn) {
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
