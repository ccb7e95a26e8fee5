// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "comm/gpu/kernel_waits.h"

#include <gtest/gtest.h>

#include <array>

#include "exec/gpu/format/program.h"
#include "exec/gpu/lower/compile.h"

namespace tutti::comm {
namespace {

using exec::gpu::Failures;
using exec::gpu::kWaitedForData;
using exec::gpu::kWaitedForRoom;
using exec::gpu::PackWait;
using trace::GpuNote;
using trace::WaitKind;

constexpr std::int64_t kMs = 1'000'000, kStart = 5'000'000 * kMs;

// Words as kernels would write them.
class KernelWaitsTest : public testing::Test {
 protected:
  KernelWaitsTest() {
    failures_.Use(words_.data(), words_.data());
    (void)failures_.WordsForBatch(plan_);
  }
  void Write(int seat, std::uint64_t number, std::int64_t waited_ms, int what = kWaitedForData, int block = 3) {
    words_[0].waits[seat] =
        PackWait(what, static_cast<std::uint32_t>(block), number, static_cast<std::uint64_t>(waited_ms * kMs));
  }
  GpuNote Look(std::int64_t at_ms, std::uint64_t called = 100) {
    return waits_.Look(failures_, called, kStart + at_ms * kMs);
  }

  exec::gpu::PreparedPlan plan_{};
  std::array<exec::gpu::HostWords, Failures::kSlots> words_{};
  Failures failures_;
  KernelWaits waits_;
};

TEST_F(KernelWaitsTest, TellsForWhomAndSinceWhen) {
  EXPECT_EQ(Look(0).kind, WaitKind::kNothing);
  Write(2, 98, 300);
  GpuNote note = Look(100);
  EXPECT_EQ(note.kind, WaitKind::kData);
  EXPECT_EQ(note.peer, 2);
  EXPECT_EQ(note.number, 98u);
  EXPECT_EQ(note.channel, 3);
  EXPECT_NEAR(static_cast<double>(note.since_ns), static_cast<double>(kStart - 200 * kMs), 2e6);
  EXPECT_EQ(note.now_ns, kStart + 100 * kMs);
  // The same wait of another thread, that began a little later, through another block.
  const std::int64_t since_ns = note.since_ns;
  Write(2, 98, 380, kWaitedForData, 1);
  note = Look(200);
  EXPECT_EQ(note.since_ns, since_ns) << "what stands still looks the same";
  EXPECT_EQ(note.channel, 3);
  // It has got on, and waits anew.
  Write(2, 98, 60);
  EXPECT_NEAR(static_cast<double>(Look(300).since_ns), static_cast<double>(kStart + 240 * kMs), 2e6);
}

// Threads that have begun to wait at different moments write the same word in turn.
TEST_F(KernelWaitsTest, StandsStillWhereManyThreadsWait) {
  Write(2, 98, 300);
  Look(100);
  Write(2, 98, 100);  // it has begun at 100
  const std::int64_t since_ns = Look(200).since_ns;
  EXPECT_NEAR(static_cast<double>(since_ns), static_cast<double>(kStart + 100 * kMs), 2e6);
  for (int at = 300; at < 3000; at += 100) {
    const bool first = at % 300 != 0;
    Write(2, 98, at - (first ? -200 : 100));
    EXPECT_EQ(Look(at).since_ns, since_ns) << at;
  }
  // What another kind of wait for that peer does changes nothing.
  Write(2, 98, 60, kWaitedForRoom);
  EXPECT_EQ(Look(3000).kind, WaitKind::kData);
  EXPECT_EQ(Look(3000).since_ns, since_ns);
  Write(2, 98, 200);
  EXPECT_GT(Look(3100).since_ns, since_ns) << "one has got on";
}

TEST_F(KernelWaitsTest, IsOverWhenNobodyRenewsIt) {
  Write(1, 100, 300);
  EXPECT_EQ(Look(0).kind, WaitKind::kData);
  EXPECT_EQ(Look(300).kind, WaitKind::kData);
  EXPECT_EQ(Look(360).kind, WaitKind::kNothing);
  Write(1, 100, 900, kWaitedForRoom);
  EXPECT_EQ(Look(600).kind, WaitKind::kRoom);
}

TEST_F(KernelWaitsTest, StaysWithOneOfSeveral) {
  Write(1, 100, 200);
  Write(2, 100, 210);
  EXPECT_EQ(Look(0).peer, 2) << "the longest";
  Write(1, 100, 320);
  Write(2, 100, 305);
  EXPECT_EQ(Look(100).peer, 2) << "still there";
  Write(1, 100, 720);
  EXPECT_EQ(Look(500).peer, 1);
}

TEST_F(KernelWaitsTest, ReadsNumbersOfManyCallsAndOfGraphs) {
  constexpr std::uint64_t kMany = (std::uint64_t{7} << exec::gpu::kWaitNumberBits) + 5;
  Write(1, kMany, 200);
  EXPECT_EQ(Look(0, kMany + 3).number, kMany);
  Write(1, kMany - 10, 300);
  EXPECT_EQ(Look(100, kMany + 3).number, kMany - 10) << "the low bits have come round";
  Write(1, 0, 400);
  EXPECT_EQ(Look(200, kMany + 3).number, 0u);
  Write(1, 90, 500);
  EXPECT_EQ(Look(300, 80).number, 0u) << "it was not called";
}

TEST(KernelWaits, TimesGoUpToYears) {
  const auto unpacked = exec::gpu::UnpackWait(PackWait(kWaitedForRoom, 200, 12, std::uint64_t{1} << 62));
  EXPECT_EQ(unpacked.block, 63);
  EXPECT_EQ(unpacked.number, 12u);
  EXPECT_EQ(unpacked.what, kWaitedForRoom);
  EXPECT_GT(unpacked.waited_ns, 2 * 86'400 * 1'000'000'000ll);
}

}  // namespace
}  // namespace tutti::comm
