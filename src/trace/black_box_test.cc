// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
// The black box in memory: what is written is what is read, whatever is written meanwhile or lies there instead.
#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <memory>
#include <random>
#include <thread>
#include <vector>

#include "tests/support/sanitizers.h"
#include "trace/recorder.h"
#include "trace/view.h"

namespace tutti::trace {
namespace {

constexpr int kRanks = 3, kChannels = 2;

struct Memory {
  explicit Memory(std::size_t bytes = BoxBytes(kRanks, kChannels)) : bytes(bytes) {
    data = static_cast<std::byte*>(std::aligned_alloc(4096, (bytes + 4095) / 4096 * 4096));
    std::memset(data, 0, bytes);
  }
  Memory(const Memory& other) : Memory(other.bytes) { std::memcpy(data, other.data, bytes); }
  ~Memory() { std::free(data); }
  std::byte* data;
  std::size_t bytes;
};

Recorder NewRecorder(Memory& memory) {
  return Recorder(memory.data, {.communicator = 0xabcdef,
                                .name = "a name",
                                .rank = 1,
                                .ranks = kRanks,
                                .channels = kChannels,
                                .pid = 77,
                                .created_ns = 5,
                                .created_unix_ns = 6,
                                .start_ticks = 9,
                                .thread = 78,
                                .window = {128, 256, 32}});
}

View ViewOf(const Memory& memory) {
  const Result<View> view = View::Open(memory.data, memory.bytes);
  EXPECT_TRUE(view.ok()) << view.status().message();
  return *view;
}

Operation AllReduceOf(std::uint64_t count) {
  return {.kind = Collective::kAllReduce, .count = count, .type = DataType::kFloat32, .op = ReduceOp::kSum};
}

TEST(BlackBox, SaysWhatItIsAPartOf) {
  Memory memory;
  [[maybe_unused]] const Recorder recorder = NewRecorder(memory);
  EXPECT_EQ(ViewOf(memory).own().whole, 0u);
  EXPECT_EQ(ViewOf(memory).own().rank_of_whole, -1);
  [[maybe_unused]] const Recorder part(
      memory.data,
      {.communicator = 1, .rank = 1, .ranks = kRanks, .channels = kChannels, .whole = 0xbeef, .rank_of_whole = 7});
  EXPECT_EQ(ViewOf(memory).own().whole, 0xbeefu);
  EXPECT_EQ(ViewOf(memory).own().rank_of_whole, 7);
}

TEST(BlackBox, SaysInWhichCallOfItsWholeItWaits) {
  Memory memory;
  Recorder part(memory.data, {.communicator = 1, .ranks = kRanks, .channels = kChannels, .whole = 0xbeef});
  EXPECT_EQ(ViewOf(memory).own().waits_in, std::nullopt);
  const WholeCall call{.number = 40, .sequence = 39, .call = {.word = PackCall(AllReduceOf(5)), .count = 5}};
  part.NoteWhole(call);
  EXPECT_EQ(ViewOf(memory).own().waits_in, call);
  part.NoteWhole(WholeCall{.in_graph = true});
  EXPECT_EQ(ViewOf(memory).own().waits_in, WholeCall{.in_graph = true});
  part.NoteWhole(std::nullopt);
  EXPECT_EQ(ViewOf(memory).own().waits_in, std::nullopt);
  part.NoteWhole(WholeCall{.number = 41, .call = {.word = ~0u, .count = 5}});  // no call at all
  EXPECT_EQ(ViewOf(memory).own().waits_in, std::nullopt);
}

TEST(BlackBox, SaysWhereElseItsProcessWaits) {
  Memory memory;
  [[maybe_unused]] const Recorder recorder = NewRecorder(memory);
  NoteElsewhere(memory.data, 0xbeef, 78);
  EXPECT_EQ(ViewOf(memory).waiter().elsewhere.communicator, 0xbeefu);
  EXPECT_EQ(ViewOf(memory).waiter().elsewhere.thread, 78);
}

TEST(BlackBox, HoldsWhatWasWritten) {
  Memory memory;
  Recorder recorder = NewRecorder(memory);
  const View view = ViewOf(memory);
  EXPECT_EQ(view.rank(), 1);
  EXPECT_EQ(view.ranks(), kRanks);
  EXPECT_EQ(view.channels(), kChannels);
  EXPECT_EQ(view.communicator(), 0xabcdefu);
  EXPECT_EQ(view.name(), "a name");
  EXPECT_EQ(view.pid(), 77);
  EXPECT_EQ(view.start_ticks(), 9u);
  EXPECT_EQ(view.thread(), 78);
  EXPECT_EQ(view.window(), (std::array<std::uint32_t, kBoxProtocols>{128, 256, 32}));
  EXPECT_TRUE(view.records_calls());
  EXPECT_EQ(view.newest(), 0u);
  EXPECT_FALSE(view.Find(1));

  const How how{.algorithm = 3, .protocol = 1, .channels = 2, .by_reference = true};
  EXPECT_EQ(recorder.Add(PackCall(AllReduceOf(1024)), 1024, 41, how.Pack()), 1u);
  EXPECT_EQ(view.newest(), 1u);
  EXPECT_EQ(view.finished(), 0u);
  std::optional<CallRecord> record = view.Find(1);
  ASSERT_TRUE(record);
  EXPECT_EQ(record->call.ToString(), "all_reduce(count 1024, float32, sum)");
  EXPECT_EQ(record->sequence, 41u);
  EXPECT_EQ(record->how.algorithm, 3);
  EXPECT_EQ(record->how.protocol, 1);
  EXPECT_EQ(record->how.channels, 2);
  EXPECT_TRUE(record->how.by_reference);
  EXPECT_EQ(record->enqueued_ns, 0);
  EXPECT_EQ(record->call.signature(), Signature(PackCall(AllReduceOf(1024)), 1024));

  recorder.TimeEnqueued(1, -100, 110);
  recorder.TimeFinished(1, 200);
  recorder.Finish(1);
  record = view.Find(1);
  ASSERT_TRUE(record);
  EXPECT_EQ(record->enqueued_ns, 100);
  EXPECT_TRUE(record->enqueued_at_most);
  EXPECT_EQ(record->started_ns, 110);
  EXPECT_EQ(record->finished_ns, 200);
  EXPECT_EQ(view.finished(), 1u);
}

TEST(BlackBox, HoldsWaitsLinksAndAFailure) {
  Memory memory;
  Recorder recorder = NewRecorder(memory);
  const View view = ViewOf(memory);
  recorder.Wait(1, 2, WaitKind::kRoom, 1, 1000, 2000);
  WaitView wait = view.wait();
  EXPECT_EQ(wait.kind, WaitKind::kRoom);
  EXPECT_EQ(wait.peer, 2);
  EXPECT_EQ(wait.channel, 1);
  EXPECT_EQ(wait.since_ns, 1000);
  EXPECT_EQ(wait.looked_ns, 2000);
  recorder.EndWait();
  wait = view.wait();
  EXPECT_EQ(wait.kind, WaitKind::kNothing);
  EXPECT_EQ(wait.peer, -1);

  recorder.Count(1, 2, {.sent = {1, 2, 3}, .received = {4, 5, 6}, .credit = {7, 8, 9}});
  recorder.AddWaited(1, 2, WaitKind::kData, 50);
  recorder.AddWaited(1, 2, WaitKind::kReaders, 60);
  const LinkView link = view.link(1, 2);
  EXPECT_EQ(link.sent[2], 3u);
  EXPECT_EQ(link.received[0], 4u);
  EXPECT_EQ(link.credit[1], 8u);
  EXPECT_EQ(link.data_wait_ns, 50);
  EXPECT_EQ(link.credit_wait_ns, 60);
  EXPECT_EQ(view.link(0, 2).sent[2], 0u);

  EXPECT_EQ(view.failure(), "");
  EXPECT_EQ(view.failure_code(), Code::kOk);
  recorder.Fail(Code::kTimeout, "too late\n" + std::string(1000, 'x'));
  EXPECT_EQ(view.failure_code(), Code::kTimeout);
  recorder.Fail(Code::kInternal, "later");
  EXPECT_EQ(view.failure().substr(0, 9), "too late?");
  EXPECT_EQ(view.failure().size(), kFailureBytes - 1);
}

// What kernels wait for shows where no thread does.
TEST(BlackBox, HoldsWhatTheGpuDoes) {
  Memory memory;
  Recorder recorder = NewRecorder(memory);
  const View view = ViewOf(memory);
  EXPECT_EQ(view.gpu().number, -1);
  EXPECT_EQ(view.gpu().begun, 0u);
  recorder.NoteGpu({.begun = 7});
  EXPECT_EQ(view.gpu().begun, 7u);
  EXPECT_EQ(view.wait().kind, WaitKind::kNothing);
  recorder.NoteGpu(
      {.begun = 8, .kind = WaitKind::kData, .number = 8, .peer = 2, .channel = 1, .since_ns = 1000, .now_ns = 9000});
  WaitView wait = view.wait();
  EXPECT_TRUE(wait.on_gpu);
  EXPECT_EQ(wait.kind, WaitKind::kData);
  EXPECT_EQ(wait.number, 8u);
  EXPECT_EQ(wait.peer, 2);
  EXPECT_EQ(wait.channel, 1);
  EXPECT_EQ(wait.since_ns, 1000);
  EXPECT_EQ(wait.looked_ns, 9000);
  recorder.Wait(1, 0, WaitKind::kRoom, 0, 3000, 4000);
  wait = view.wait();
  EXPECT_FALSE(wait.on_gpu);
  EXPECT_EQ(wait.kind, WaitKind::kRoom);
  recorder.EndWait();
  EXPECT_TRUE(view.wait().on_gpu);
  recorder.NoteGpu({.begun = 8});
  EXPECT_EQ(view.wait().kind, WaitKind::kNothing);
  EXPECT_EQ(view.waiter().longest_ns, 8000);
}

// Who waited last stays known, and so does the longest wait.
TEST(BlackBox, RemembersWaits) {
  Memory memory;
  Recorder recorder = NewRecorder(memory);
  const View view = ViewOf(memory);
  EXPECT_EQ(view.waiter().thread, 0);
  recorder.EndWait();  // of none
  EXPECT_EQ(view.waiter().longest_ns, 0);
  recorder.Wait(1, 2, WaitKind::kData, 0, 1000, 6000, {.thread = 79, .inside = true});
  EXPECT_EQ(view.waiter().thread, 79);
  EXPECT_TRUE(view.waiter().inside);
  recorder.EndWait();
  recorder.Wait(2, 2, WaitKind::kData, 0, 8000, 9000, {.thread = 80});
  recorder.EndWait();
  EXPECT_EQ(view.wait().kind, WaitKind::kNothing);
  EXPECT_EQ(view.waiter().thread, 80);
  EXPECT_FALSE(view.waiter().inside);
  EXPECT_EQ(view.waiter().longest_ns, 5000);
}

TEST(BlackBox, ListsRunsOfCollectives) {
  Memory memory;
  Recorder recorder = NewRecorder(memory);
  const View view = ViewOf(memory);
  EXPECT_TRUE(view.CollectiveRuns(9).empty());
  recorder.Add(PackCall(AllReduceOf(1)), 1, 1, 0);
  recorder.Repeat();
  recorder.Repeat();
  Operation send = AllReduceOf(3);
  send.kind = Collective::kSend;
  recorder.Add(PackCall(send), 3, 1, 0);
  recorder.Add(PackCall(AllReduceOf(2)), 2, 4, 0);
  const std::vector<CollectiveRun> runs = view.CollectiveRuns(9);
  ASSERT_EQ(runs.size(), 2u);
  EXPECT_EQ(runs[0].first.sequence, 4u);
  EXPECT_EQ(runs[0].last, 4u);
  EXPECT_EQ(runs[1].first.sequence, 1u);
  EXPECT_EQ(runs[1].last, 3u);
  EXPECT_EQ(view.CollectiveRuns(1).size(), 1u);
}

TEST(BlackBox, KeepsTheLatestCalls) {
  Memory memory;
  Recorder recorder = NewRecorder(memory);
  const View view = ViewOf(memory);
  constexpr std::uint64_t kCalls = 3 * kRecords + 17;
  for (std::uint64_t i = 1; i <= kCalls; ++i) {
    // Every third call is a send, which has its own count.
    const bool send = i % 3 == 0;
    Operation o = AllReduceOf(i);
    if (send) o.kind = Collective::kSend;
    recorder.Add(PackCall(o), i, send ? i / 3 : i - i / 3, 0);
    if (i % 5 == 0) recorder.Finish(i);
  }
  EXPECT_EQ(view.newest(), kCalls);
  EXPECT_FALSE(view.Find(kCalls - kRecords));
  EXPECT_FALSE(view.Find(kCalls + 1));
  for (std::uint64_t i = kCalls - kRecords + 1; i <= kCalls; ++i) {
    ASSERT_TRUE(view.Find(i)) << i;
    EXPECT_EQ(view.Find(i)->call.count, i);
  }
  const std::uint64_t one = kCalls - 100 - (kCalls - 100) % 3 + 1;  // a collective
  ASSERT_TRUE(view.FindCollective(one - one / 3));
  EXPECT_EQ(view.FindCollective(one - one / 3)->number, one);
  EXPECT_FALSE(view.FindCollective(1));
  EXPECT_FALSE(view.FindCollective(kCalls));
}

// Calls that are alike share a record, so they stay known however many there were.
TEST(BlackBox, KnowsEveryCallOfARun) {
  Memory memory;
  Recorder recorder = NewRecorder(memory);
  const View view = ViewOf(memory);
  constexpr std::uint64_t kCalls = 10 * kRecords;
  recorder.Add(PackCall(AllReduceOf(1)), 1, 1, 0);
  const std::uint64_t first = recorder.Add(PackCall(AllReduceOf(2)), 2, 2, 0);
  const std::uint64_t run = recorder.run();
  for (std::uint64_t i = 1; i < kCalls; ++i) EXPECT_EQ(recorder.Repeat(), first + i);
  EXPECT_EQ(recorder.run(), run);
  recorder.TimeEnqueued(first + 5 * kRecords, 7, 8);
  Operation send = AllReduceOf(3);
  send.kind = Collective::kSend;
  recorder.Add(PackCall(send), 3, 1, 0);
  EXPECT_NE(recorder.run(), run);
  recorder.Add(PackCall(AllReduceOf(4)), 4, kCalls + 2, 0);

  EXPECT_EQ(view.newest(), kCalls + 3);
  for (const std::uint64_t number : {first, first + 1, first + 5 * kRecords, first + kCalls - 1}) {
    const std::optional<CallRecord> record = view.Find(number);
    ASSERT_TRUE(record) << number;
    EXPECT_EQ(record->number, number);
    EXPECT_EQ(record->call.count, 2u);
    EXPECT_EQ(record->sequence, number);
    EXPECT_EQ(record->enqueued_ns, number == first + 5 * kRecords ? 7 : 0);
    ASSERT_TRUE(view.FindCollective(number));
    EXPECT_EQ(view.FindCollective(number)->number, number);
  }
  EXPECT_EQ(view.Find(1)->call.count, 1u);
  EXPECT_EQ(view.Find(kCalls + 2)->call.function(), Collective::kSend);
  EXPECT_EQ(view.FindCollective(kCalls + 2)->call.count, 4u);
  EXPECT_EQ(view.LastCollective()->call.count, 4u);
  EXPECT_EQ(view.LastCollective(kCalls + 3)->number, kCalls + 1);
  EXPECT_EQ(view.LastCollective(100)->number, 99u);
  std::uint64_t seen = 0, expected = kCalls + 3;
  (void)view.FindLatest([&](const CallRecord& r) {
    EXPECT_EQ(r.number, expected--);
    ++seen;
    return false;
  });
  EXPECT_EQ(seen, kRecords);
}

TEST(BlackBox, SwitchedOffWritesNoCalls) {
  Memory memory;
  Recorder recorder = NewRecorder(memory);
  recorder.Switch(false);
  EXPECT_FALSE(ViewOf(memory).records_calls());
  EXPECT_EQ(recorder.Add(PackCall(AllReduceOf(1)), 1, 1, 0), 0u);
  recorder.Finish(1);
  EXPECT_EQ(ViewOf(memory).newest(), 0u);
  EXPECT_EQ(ViewOf(memory).finished(), 0u);
  recorder.Fail(Code::kTimeout, "too late");
  EXPECT_EQ(ViewOf(memory).failure(), "too late");
}

TEST(BlackBox, WithoutMemoryNothingIsRecorded) {
  Recorder recorder;
  EXPECT_EQ(recorder.Add(PackCall(AllReduceOf(1)), 1, 1, 0), 0u);
  recorder.Finish(1);
  recorder.TimeEnqueued(1, 2, 3);
  recorder.Wait(1, 0, WaitKind::kData, 0, 0, 0);
  recorder.Fail(Code::kTimeout, "x");
  EXPECT_FALSE(recorder.HasTimes(1));
}

// A reader beside a writer that begins a run with every third call: what it gets of a call is that call's.
TEST(BlackBox, ReaderNeverTakesACallForOneOfAnotherRun) {
  Memory memory;
  Recorder recorder = NewRecorder(memory);
  const View view = ViewOf(memory);
  std::atomic<bool> stop{false};
  std::thread writer([&] {
    for (std::uint64_t i = 0; !stop; ++i) {
      const std::uint64_t number = recorder.Add(PackCall(AllReduceOf(i)), i, 3 * i + 1, 0);
      recorder.Finish(number);
      recorder.Repeat();
      recorder.Finish(recorder.Repeat());
    }
  });
  std::uint64_t good = 0;
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  while (good < 20000 && std::chrono::steady_clock::now() < deadline) {
    const std::uint64_t last = view.newest();
    for (std::uint64_t n = last > 60 ? last - 60 : 0; n <= last + 1; ++n) {
      const std::optional<CallRecord> r = view.Find(n);
      if (!r) continue;
      ++good;
      ASSERT_EQ(r->number, n);
      ASSERT_EQ(r->call.count, (n - 1) / 3) << n;
      ASSERT_EQ(r->sequence, n);
    }
  }
  stop = true;
  writer.join();
  EXPECT_GE(good, 1000u);  // how many it takes in that time is another matter
}

// A reader beside the writer: every record that it gets is of one call. The words of a call follow from its number.
TEST(BlackBox, ReaderNeverSeesTwoCallsMixed) {
  Memory memory;
  Recorder recorder = NewRecorder(memory);
  const View view = ViewOf(memory);
  std::atomic<bool> stop{false};
  std::atomic<std::uint64_t> written{0};
  std::thread writer([&] {
    for (std::uint64_t i = 1; !stop; ++i) {
      recorder.Add(PackCall(AllReduceOf(i)), i * 3, i * 5 & 0xffffffffffff, static_cast<std::uint16_t>(i));
      if (i % 7 == 0) recorder.TimeEnqueued(i, static_cast<std::int64_t>(i), static_cast<std::int64_t>(2 * i));
      recorder.Finish(i);
      written = i;
    }
  });
  // How many whole records a second holds depends on which cores the two threads get.
  constexpr std::uint64_t kWanted = 200000, kLeast = 1000;
  std::uint64_t good = 0, torn = 0, timed = 0;
  const auto begin = std::chrono::steady_clock::now();
  const auto goes_on = [&] {
    const auto passed = std::chrono::steady_clock::now() - begin;
    if (good < kLeast || timed == 0) return passed < std::chrono::seconds(120);
    return (good < kWanted || timed < kLeast) && passed < std::chrono::seconds(10);
  };
  while (goes_on()) {
    // The oldest that may still be there: the one about to be overwritten.
    const std::uint64_t last = written.load();
    for (std::uint64_t n = last > kRecords ? last - kRecords : 0; n <= last; n += 97) {
      const std::optional<CallRecord> r = view.Find(n);
      if (!r) {
        ++torn;
        continue;
      }
      ++good;
      ASSERT_EQ(r->call.count, n * 3);
      ASSERT_EQ(r->sequence, n * 5);
      ASSERT_EQ(r->how.Pack(), static_cast<std::uint16_t>(n));
      if (r->enqueued_ns == 0) continue;
      ++timed;
      ASSERT_EQ(r->enqueued_ns, static_cast<std::int64_t>(n));
      ASSERT_EQ(r->started_ns, static_cast<std::int64_t>(2 * n));
    }
  }
  stop = true;
  writer.join();
  EXPECT_GE(good, kLeast);
  EXPECT_GT(timed, 0u);
}

// Copies, taken word by word in any order while the writer goes on: after DropTornRecords what is left is whole.
TEST(BlackBox, CopiesWithoutTornRecords) {
  std::mt19937_64 random(20261121);
  Memory memory;
  Recorder recorder = NewRecorder(memory);
  std::uint64_t last = 0;
  const auto write = [&](std::uint64_t calls) {
    for (std::uint64_t i = 0; i < calls; ++i) {
      ++last;
      recorder.Add(PackCall(AllReduceOf(last)), last * 3, last * 5, 0);
      recorder.Finish(last);
    }
  };
  write(kRecords + 10);
  std::uint64_t kept = 0, dropped = 0;
  for (std::size_t turn = 0; turn < tests::Scaled(50); ++turn) {
    const Memory header = memory;
    // The writer moves on, several laps in some turns, in the middle of the first copy and between the two. The first
    // copy takes each word before or after that by chance.
    const Memory before = memory;
    write(turn % 5 == 0 ? 3 * kRecords : random() % kRecords);
    Memory first = memory;
    for (std::size_t at = kRecordsOffset; at + 8 <= kTimesOffset; at += 8) {
      if (random() % 2 == 0) std::memcpy(first.data + at, before.data + at, 8);
    }
    write(random() % 100);
    const Memory second = memory;
    DropTornRecords(*reinterpret_cast<const BoxHeader*>(header.data), first.data, second.data, first.bytes);
    const View view = ViewOf(first);
    const auto* records = reinterpret_cast<const Record*>(first.data + kRecordsOffset);
    for (std::uint64_t i = 0; i < kRecords; ++i) {
      const std::optional<CallRecord> r = view.Find(records[i].number);
      kept += r ? 1 : 0;
      dropped += r ? 0 : 1;
      if (r) {
        ASSERT_EQ(r->call.count, r->number * 3);
        ASSERT_EQ(r->sequence, r->number * 5);
      }
    }
  }
  EXPECT_GT(kept, 1000u);
  EXPECT_GT(dropped, 1000u);
}

TEST(BlackBox, RefusesWhatIsNotOne) {
  Memory good;
  (void)NewRecorder(good);
  const auto refused = [&](auto&& change, std::string_view because) {
    Memory bad = good;
    change(*reinterpret_cast<BoxHeader*>(bad.data));
    const Result<View> view = View::Open(bad.data, bad.bytes);
    ASSERT_FALSE(view.ok());
    EXPECT_NE(view.status().message().find(because), std::string::npos) << view.status().message();
  };
  refused([](BoxHeader& h) { h.magic = 1; }, "does not begin");
  refused([](BoxHeader& h) { h.version = 12; }, "version 12");
  refused([](BoxHeader& h) { h.records *= 2; }, "version");
  refused([](BoxHeader& h) { h.ranks = 0; }, "can not be");
  refused([](BoxHeader& h) { h.ranks = -5; }, "can not be");
  refused([](BoxHeader& h) { h.rank = kRanks; }, "can not be");
  refused([](BoxHeader& h) { h.channels = 1 << 30; }, "can not be");
  refused([](BoxHeader& h) { h.ranks = 1000; }, "must have");
  EXPECT_FALSE(View::Open(good.data, sizeof(BoxHeader) - 1).ok());
  EXPECT_FALSE(View::Open(good.data, good.bytes - 1).ok());
}

}  // namespace
}  // namespace tutti::trace
