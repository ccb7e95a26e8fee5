// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "sys/os/huge_gaps.h"

#include <gtest/gtest.h>

#include <memory>
#include <vector>

#include "tests/support/gap.h"

namespace tutti::sys {
namespace {

using internal::EndsOfGaps;
using internal::Range;

constexpr std::uint64_t kKib = 1024, kMib = 1024 * kKib;
constexpr std::uint64_t kPage = 64 * kHugePageBytes;

// A gap between two mappings of a library's file.
std::vector<Range> EndsOf(std::uint64_t begin, std::uint64_t end, auto change) {
  Mapping below{.begin = begin - kMib, .end = begin, .readable = true, .path = "/lib/a.so"};
  Mapping above{.begin = end, .end = end + kMib, .readable = true, .path = "/lib/b.so"};
  change(above);
  return EndsOfGaps(std::vector<Mapping>{below, above});
}
std::vector<Range> EndsOf(std::uint64_t begin, std::uint64_t end) {
  return EndsOf(begin, end, [](Mapping&) {});
}

TEST(HugeGaps, EndWhereAHugePageBegins) {
  EXPECT_EQ(EndsOf(kPage - 4 * kMib, kPage + 4096), (std::vector<Range>{{kPage, kPage + 4096}}));
  EXPECT_EQ(EndsOf(kPage - 4 * kMib, kPage + 2 * kMib - 4096), (std::vector<Range>{{kPage, kPage + 2 * kMib - 4096}}));
  EXPECT_EQ(EndsOf(kPage - 4 * kMib, kPage), std::vector<Range>{}) << "it does already";
}

TEST(HugeGaps, OfOneHugePageAreKeptWhole) {
  EXPECT_EQ(EndsOf(kPage + 256 * kKib, kPage + kMib), (std::vector<Range>{{kPage + 256 * kKib, kPage + kMib}}));
}

TEST(HugeGaps, TooShortForABufferAreLeft) {
  EXPECT_EQ(EndsOf(kPage + kKib * 4, kPage + kKib * 128), std::vector<Range>{});
  EXPECT_EQ(EndsOf(kPage + kMib, kPage + kMib), std::vector<Range>{}) << "none";
  EXPECT_EQ(EndsOf(kPage + kMib, kPage + kMib - 4096), std::vector<Range>{}) << "what no kernel says";
}

TEST(HugeGaps, BelowMemoryOfTheProgramAndOfTheKernelAreLeft) {
  const std::uint64_t begin = kPage - 8 * kMib, end = kPage + kMib;
  EXPECT_EQ(EndsOf(begin, end).size(), 1u);
  const auto become_anonymous = [](Mapping& m) {
    m.path.clear();
    m.writable = true;
  };
  EXPECT_TRUE(EndsOf(begin, end, become_anonymous).empty());
  EXPECT_TRUE(EndsOf(begin, end, [](Mapping& m) { m.path = "[stack]"; }).empty());
  const auto become_guard = [](Mapping& m) {
    m.path.clear();
    m.readable = false;
  };
  EXPECT_EQ(EndsOf(begin, end, become_guard).size(), 1u);
  const auto become_shared = [&](Mapping& m) {
    become_anonymous(m);
    m.shared = true;
  };
  EXPECT_EQ(EndsOf(begin, end, become_shared).size(), 1u);
}

TEST(HugeGaps, BelowTheFirstMappingThereIsNone) {
  EXPECT_TRUE(EndsOfGaps({}).empty());
  EXPECT_TRUE(EndsOfGaps(std::vector<Mapping>{{.begin = kPage + kMib, .end = kPage + 2 * kMib}}).empty());
}

TEST(HugeGaps, TakesTheEndsUntilItEnds) {
  const tests::Gap gap;
  EXPECT_FALSE(gap.EndIsTaken());
  {
    const HugeGaps gaps;
    EXPECT_TRUE(gap.EndIsTaken());
    EXPECT_TRUE(gap.RestIsFree());
    EXPECT_GE(gaps.bytes(), tests::Gap::kEndBytes);
    EXPECT_LE(gaps.bytes(), HugeGaps::kMostBytes);
    const HugeGaps more;  // finds that one taken
    EXPECT_TRUE(gap.EndIsTaken());
  }
  EXPECT_FALSE(gap.EndIsTaken());
}

}  // namespace
}  // namespace tutti::sys
