// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "exec/cpu/huge_buffers.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

namespace tutti::exec::cpu {
namespace {

constexpr std::size_t kPage = sys::kHugePageBytes;

// A system that notes what it is asked to move.
std::vector<std::uintptr_t> asked;  // numbers of pages
sys::MoveToHuge result = sys::MoveToHuge::kMoved;
sys::MoveToHuge Move(std::byte* page) {
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(page) % kPage, 0u);
  asked.push_back(reinterpret_cast<std::uintptr_t>(page) / kPage);
  return result;
}

const std::byte* At(std::size_t page, std::size_t offset = 0) {
  return reinterpret_cast<const std::byte*>(page * kPage + offset);
}

class HugeBuffersTest : public ::testing::Test {
 protected:
  HugeBuffersTest() {
    asked.clear();
    result = sys::MoveToHuge::kMoved;
  }
  void Use(std::uint32_t times, const std::byte* data, std::size_t bytes) {
    for (std::uint32_t i = 0; i < times; ++i) buffers.Use(data, bytes);
  }
  HugeBuffers buffers{&Move};
};

using Numbers = std::vector<std::uintptr_t>;

TEST_F(HugeBuffersTest, MovesWhatComesAgainAndAgain) {
  Use(HugeBuffers::kUsesBefore - 1, At(7), 2 * kPage);
  EXPECT_EQ(asked, Numbers{});
  Use(1, At(7), 2 * kPage);
  EXPECT_EQ(asked, (Numbers{7, 8}));
  Use(HugeBuffers::kUsesBetween - 1, At(7), 2 * kPage);
  EXPECT_EQ(asked.size(), 2u);
  Use(1, At(7), 2 * kPage);
  EXPECT_EQ(asked, (Numbers{7, 8, 7, 8}));
}

TEST_F(HugeBuffersTest, MovesEveryPageThatABufferTouches) {
  Use(HugeBuffers::kUsesBefore, At(3, kPage - 64), kPage + 65);
  EXPECT_EQ(asked, (Numbers{3, 4, 5}));
}

TEST_F(HugeBuffersTest, BuffersOfOnePageCountTogether) {
  for (std::uint32_t i = 0; i < HugeBuffers::kUsesBefore; ++i) buffers.Use(At(5, i * 65536), 65536);
  EXPECT_EQ(asked, Numbers{5});
}

TEST_F(HugeBuffersTest, LeavesShortOnesAndNone) {
  Use(100, At(5), HugeBuffers::kLeastBytes - 1);
  Use(100, At(5), 0);
  Use(100, nullptr, kPage);
  EXPECT_EQ(asked, Numbers{});
}

TEST_F(HugeBuffersTest, ALongBufferTakesSeveralCalls) {
  Use(HugeBuffers::kUsesBefore, At(10), 10 * kPage);
  EXPECT_EQ(asked, (Numbers{10, 11, 12, 13}));
  Use(1, At(10), 10 * kPage);
  EXPECT_EQ(asked.size(), 8u);
  Use(10, At(10), 10 * kPage);
  EXPECT_EQ(asked, (Numbers{10, 11, 12, 13, 14, 15, 16, 17, 18, 19}));
}

TEST_F(HugeBuffersTest, TriesLessOftenWhereItFails) {
  result = sys::MoveToHuge::kCannot;
  Use(HugeBuffers::kUsesBefore + 4 * HugeBuffers::kUsesBetween, At(1), kPage);
  EXPECT_EQ(asked.size(), 2u);
  Use(16 * HugeBuffers::kUsesBetween - 1, At(1), kPage);
  EXPECT_EQ(asked.size(), 2u);
  result = sys::MoveToHuge::kMoved;
  Use(1, At(1), kPage);
  EXPECT_EQ(asked.size(), 3u);
  Use(HugeBuffers::kUsesBetween, At(1), kPage);
  EXPECT_EQ(asked.size(), 4u);
}

TEST_F(HugeBuffersTest, RestsWhereNoHugePageIsFree) {
  result = sys::MoveToHuge::kNoPages;
  Use(HugeBuffers::kUsesBefore, At(10), 3 * kPage);
  EXPECT_EQ(asked, Numbers{10}) << "the others would find none either";
  Use(HugeBuffers::kRest - 1, At(10), 3 * kPage);
  EXPECT_EQ(asked.size(), 1u);
  Use(1, At(10), 3 * kPage);
  EXPECT_EQ(asked, (Numbers{10, 10}));
  Use(2 * HugeBuffers::kRest - 1, At(10), 3 * kPage);
  EXPECT_EQ(asked.size(), 2u) << "twice as long";
  result = sys::MoveToHuge::kMoved;
  Use(1, At(10), 3 * kPage);
  EXPECT_EQ(asked, (Numbers{10, 10, 10, 11, 12}));
  result = sys::MoveToHuge::kNoPages;
  Use(HugeBuffers::kUsesBefore, At(20), kPage);
  Use(HugeBuffers::kRest, At(20), kPage);
  EXPECT_EQ(asked.size(), 7u) << "short again";
}

// Pages that share a place take turns there; one that is not there any more is counted anew.
TEST_F(HugeBuffersTest, ForgetsPagesWhoseSuccessorsCome) {
  constexpr std::size_t kFar = 1024 * 1024;
  Use(HugeBuffers::kUsesBefore - 1, At(2), kPage);
  Use(1, At(2 + kFar), kPage);
  Use(1, At(2), kPage);
  EXPECT_EQ(asked, Numbers{});
  Use(HugeBuffers::kUsesBefore - 1, At(2), kPage);
  EXPECT_EQ(asked, Numbers{2});
}

}  // namespace
}  // namespace tutti::exec::cpu
