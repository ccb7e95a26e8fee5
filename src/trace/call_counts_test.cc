// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
// How many calls of each function a black box says there were, also when most of them are recorded no more.
#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <random>
#include <thread>

#include "trace/recorder.h"
#include "trace/view.h"

namespace tutti::trace {
namespace {

std::byte* Zeros(std::size_t bytes) {
  return static_cast<std::byte*>(std::memset(std::aligned_alloc(4096, bytes), 0, bytes));
}

struct Box {
  const std::unique_ptr<std::byte, decltype(&std::free)> memory{Zeros(BoxBytes(1, 1)), &std::free};
  Recorder recorder{memory.get(), {.communicator = 1}};
  View view() const { return *View::Open(memory.get(), BoxBytes(1, 1)); }
};

CallWord WordOf(Collective kind) {
  return PackCall({.kind = kind, .count = 1, .type = DataType::kFloat32, .op = ReduceOp::kSum});
}

TEST(CallCounts, AreKeptForEver) {
  Box box;
  Recorder& recorder = box.recorder;
  const View view = box.view();
  std::array<std::uint64_t, kFunctions> calls{};
  EXPECT_EQ(view.CallsByFunction(), calls);
  std::mt19937_64 random(20261126);
  // Far more runs than are kept.
  for (std::uint64_t run = 1; run <= 3 * kRecords; ++run) {
    constexpr std::array kKinds = {Collective::kAllReduce, Collective::kBroadcast, Collective::kBarrier,
                                   Collective::kSend};
    const Collective kind = kKinds[random() % kKinds.size()];
    recorder.Add(WordOf(kind), run, run, 0);
    const std::uint64_t more = random() % 3;
    for (std::uint64_t i = 0; i < more; ++i) recorder.Repeat();
    calls[static_cast<std::size_t>(kind)] += 1 + more;
    ASSERT_EQ(view.CallsByFunction(), calls) << run;
  }
}

// A reader beside the writer finds counts that were right at one moment: here the functions take turns, so they differ by one at most.
TEST(CallCounts, AreOfOneMoment) {
  Box box;
  Recorder& recorder = box.recorder;
  const View view = box.view();
  std::atomic<bool> stop{false};
  std::thread writer([&] {
    for (std::uint64_t i = 1; !stop; i += 2) {
      recorder.Add(WordOf(Collective::kAllReduce), 1, i, 0);
      recorder.Add(WordOf(Collective::kBroadcast), 1, i + 1, 0);
      // A program does something between its calls.
      for (int pause = 0; pause < 2000; ++pause) asm volatile("");
    }
  });
  int exact = 0;
  for (int i = 0; i < 20'000; ++i) {
    const std::uint64_t before = view.newest();
    const auto calls = view.CallsByFunction();
    const std::uint64_t first = calls[static_cast<std::size_t>(Collective::kAllReduce)];
    const std::uint64_t second = calls[static_cast<std::size_t>(Collective::kBroadcast)];
    exact += first - second <= 1 && first + second >= before ? 1 : 0;
  }
  stop = true;
  writer.join();
  EXPECT_GT(exact, 19'000);
}

}  // namespace
}  // namespace tutti::trace
