// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "comm/gpu/program_calls.h"

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <optional>
#include <vector>

#include "trace/recorder.h"

namespace tutti::comm {
namespace {

using trace::WaitKind;
using trace::WholeCall;

constexpr std::size_t kBytes = trace::BoxBytes(4, 1);

// A program that has called an all_reduce, and then, as one group, sends and receives with ranks 1 and 2 and a broadcast.
struct Program {
  Program() {
    std::memset(memory.get(), 0, kBytes);
    recorder = trace::Recorder(memory.get(), {.communicator = 1, .ranks = 4});
    Add(Collective::kAllReduce, 0, 1);
    for (const Collective kind : {Collective::kSend, Collective::kRecv}) {
      for (const int peer : {1, 2}) Add(kind, peer, 1);
    }
    Add(Collective::kBroadcast, 3, 2);
  }
  void Add(Collective kind, int root, std::uint64_t sequence) {
    recorder.Add(trace::PackCall({.kind = kind, .type = DataType::kFloat32, .root = root}), 10, sequence, 0);
  }
  std::optional<WholeCall> Waits(const ProgramCalls& calls, WaitKind kind, int peer,
                                 const std::vector<int>& in_whole = {}) const {
    return CallThatWaits(*trace::View::Open(memory.get(), kBytes), calls, {.kind = kind, .peer = peer}, in_whole);
  }
  std::unique_ptr<std::byte, decltype(&std::free)> memory{
      static_cast<std::byte*>(std::aligned_alloc(4096, (kBytes + 4095) / 4096 * 4096)), &std::free};
  trace::Recorder recorder;
};
constexpr ProgramCalls kGroup{.last = 6, .count = 5};

TEST(ProgramCalls, AreTakenOneByOne) {
  EXPECT_EQ(kGroup.Only(0).last, 2u);
  EXPECT_EQ(kGroup.Only(4).last, 6u);
  EXPECT_EQ(kGroup.Only(4).count, 1u);
  EXPECT_EQ((ProgramCalls{.count = 2, .captured = true}.Only(0).last), 0u);
}

TEST(ProgramCalls, TellTheSendOrReceiveWithWhoIsWaitedFor) {
  const Program program;
  EXPECT_EQ(program.Waits(kGroup, WaitKind::kData, 2)->number, 5u);
  EXPECT_EQ(program.Waits(kGroup, WaitKind::kData, 2)->call.ToString(), "recv(count 10, float32, from rank 2)");
  EXPECT_EQ(program.Waits(kGroup, WaitKind::kRoom, 1)->number, 2u);
  EXPECT_EQ(program.Waits(kGroup, WaitKind::kReaders, 1)->call.ToString(), "send(count 10, float32, to rank 1)");
}

TEST(ProgramCalls, KnowThePeerByItsRankInTheWhole) {
  const Program program;
  EXPECT_EQ(program.Waits(kGroup, WaitKind::kData, 0, {2, 3})->number, 5u);
  EXPECT_EQ(program.Waits(kGroup, WaitKind::kData, 1, {3, 1})->number, 4u);
}

TEST(ProgramCalls, TellTheCollectiveElse) {
  const Program program;
  EXPECT_EQ(program.Waits(kGroup, WaitKind::kData, 3)->number, 6u);
  EXPECT_EQ(program.Waits(kGroup, WaitKind::kData, 3)->sequence, 2u);
  EXPECT_EQ(program.Waits({.last = 1, .count = 1}, WaitKind::kData, 2)->number, 1u);
}

TEST(ProgramCalls, AreFoundByThoseOfAPart) {
  EnqueuedCalls enqueued;
  EXPECT_EQ(enqueued.Find(1), std::nullopt);
  enqueued.Add(5, 7, {.last = 1, .count = 1});
  enqueued.Add(9, 9, {.last = 4, .count = 3});
  EXPECT_EQ(enqueued.Find(4), std::nullopt);
  EXPECT_EQ(enqueued.Find(5)->last, 1u);
  EXPECT_EQ(enqueued.Find(7)->last, 1u);
  EXPECT_EQ(enqueued.Find(8), std::nullopt);
  EXPECT_EQ(enqueued.Find(9)->count, 3u);
  for (std::uint64_t i = 0; i < trace::kRecords; ++i) enqueued.Add(10 + i, 10 + i, {.last = 5 + i, .count = 1});
  EXPECT_EQ(enqueued.Find(9), std::nullopt);
  EXPECT_EQ(enqueued.Find(10)->last, 5u);
}

TEST(ProgramCalls, SayWhereItIsNotKnown) {
  const Program program;
  EXPECT_EQ(program.Waits({.last = 5, .count = 4}, WaitKind::kData, 3), std::nullopt);
  EXPECT_EQ(program.Waits({.last = 70, .count = 4}, WaitKind::kData, 3), std::nullopt);
  EXPECT_EQ(program.Waits({.last = 0, .count = 1}, WaitKind::kData, 3), std::nullopt);  // the black box is off
  EXPECT_EQ(program.Waits({.count = 1, .captured = true}, WaitKind::kData, 3), WholeCall{.in_graph = true});
}

}  // namespace
}  // namespace tutti::comm
