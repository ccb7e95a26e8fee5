// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "sys/os/huge_edges.h"

#include <gtest/gtest.h>
#include <sys/mman.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <vector>

#include "tests/support/huge_memory.h"

namespace tutti::sys {
namespace {

using internal::Unmapped;
using internal::UnmappedOf;
using tests::HugeKib;
using tests::HugeMemory;

constexpr std::size_t kMib = std::size_t{1} << 20;
constexpr std::uint64_t kPage = 64 * kHugePageBytes;

Mapping Anonymous(std::uint64_t begin, std::uint64_t end) {
  return {.begin = begin, .end = end, .readable = true, .writable = true};
}

TEST(HugeEdges, AreWhatLiesBesideTheOnlyMapping) {
  const std::vector<Mapping> elsewhere = {Anonymous(kPage - kMib, kPage),
                                          Anonymous(kPage + 2 * kMib, kPage + 3 * kMib)};
  EXPECT_EQ(UnmappedOf(elsewhere, kPage), std::nullopt);
  const auto with = [&](Mapping mapping) {
    std::vector<Mapping> all = elsewhere;
    all.insert(all.begin() + 1, mapping);
    return UnmappedOf(all, kPage);
  };
  EXPECT_EQ(with(Anonymous(kPage + kMib, kPage + 2 * kMib)), (Unmapped{.before = kMib}));
  EXPECT_EQ(with(Anonymous(kPage, kPage + kMib)), (Unmapped{.behind = kMib}));
  EXPECT_EQ(with(Anonymous(kPage + 4096, kPage + kMib)), (Unmapped{.before = 4096, .behind = kMib}));
  EXPECT_EQ(UnmappedOf(std::vector<Mapping>{Anonymous(kPage - kMib, kPage + 3 * kMib)}, kPage), Unmapped{});
}

TEST(HugeEdges, AreNoneBesideOtherKindsOfMemory) {
  const auto with = [](auto change) {
    Mapping mapping = Anonymous(kPage, kPage + kMib);
    change(mapping);
    return UnmappedOf(std::vector<Mapping>{mapping}, kPage);
  };
  EXPECT_NE(with([](Mapping&) {}), std::nullopt);
  EXPECT_EQ(with([](Mapping& m) { m.path = "[heap]"; }), std::nullopt);
  EXPECT_EQ(with([](Mapping& m) { m.path = "[stack]"; }), std::nullopt);
  EXPECT_EQ(with([](Mapping& m) { m.shared = true; }), std::nullopt);
  EXPECT_EQ(with([](Mapping& m) { m.writable = false; }), std::nullopt);
  EXPECT_EQ(with([](Mapping& m) { m.readable = false; }), std::nullopt);
  const std::vector<Mapping> two = {Anonymous(kPage, kPage + 4096), Anonymous(kPage + 8192, kPage + kMib)};
  EXPECT_EQ(UnmappedOf(two, kPage), std::nullopt);
}

bool IsMapped(std::byte* data, std::size_t bytes) { return internal::MissingBytes({data, bytes}).has_value(); }

// A huge page whose first and last parts are not mapped; the rest has been touched.
class Island {
 public:
  Island(std::size_t before, std::size_t behind) : before_(before), behind_(behind) {
    for (std::size_t i = before; i < kHugePageBytes - behind; ++i) page()[i] = static_cast<std::byte>(i % 251);
    munmap(page(), before);
    munmap(page() + kHugePageBytes - behind, behind);
  }
  std::byte* page() const { return memory_.data(); }
  std::byte* own() const { return page() + before_; }
  bool EdgesAreMapped() const {
    return IsMapped(page(), before_) && IsMapped(page() + kHugePageBytes - behind_, behind_);
  }
  bool NoneIsMapped() const {
    return !IsMapped(page(), before_) && !IsMapped(page() + kHugePageBytes - behind_, behind_);
  }
  void ExpectKept() const {
    for (std::size_t i = before_; i < kHugePageBytes - behind_; ++i)
      ASSERT_EQ(page()[i], static_cast<std::byte>(i % 251)) << i;
  }

 private:
  HugeMemory memory_{kHugePageBytes};
  std::size_t before_, behind_;
};

TEST(HugeEdges, AreMappedUntilTheObjectEnds) {
  if (tests::HugePagesUnasked()) GTEST_SKIP() << "memory lies in huge pages from the start";
  const bool works = tests::KernelMovesMemory();
  const Island island(kMib, kMib / 4);
  {
    HugeEdges edges;
    errno = EXDEV;
    EXPECT_EQ(edges.Move(island.page()) == MoveToHuge::kMoved, works);
    EXPECT_EQ(edges.Move(island.page()) == MoveToHuge::kMoved, works) << "again";
    EXPECT_EQ(errno, EXDEV);
    EXPECT_EQ(HugeKib(island.own()), works ? 2048 : 0);
    EXPECT_TRUE(works ? island.EdgesAreMapped() : island.NoneIsMapped());
    island.ExpectKept();
  }
  EXPECT_TRUE(island.NoneIsMapped());
  island.ExpectKept();
}

TEST(HugeEdges, ThatCanNotBeMovedAreNotMapped) {
  const auto stays = [](HugeEdges& edges, const Island& island, const char* why) {
    EXPECT_EQ(edges.Move(island.page()), MoveToHuge::kCannot) << why;
    EXPECT_TRUE(island.NoneIsMapped()) << why;
    island.ExpectKept();
  };
  HugeEdges edges, small(kMib);
  const Island one(kMib, 4096), most(kMib, 3 * kMib / 4), forbidden(kMib, 4096), hole(kMib / 2, kMib / 4);
  stays(small, one, "no room for more");
  stays(edges, most, "less than a quarter is the program's");
  madvise(forbidden.own(), kMib - 4096, MADV_NOHUGEPAGE);
  stays(edges, forbidden, "the program has forbidden it");
  munmap(hole.page() + kMib, 4096);
  EXPECT_EQ(edges.Move(hole.page()), MoveToHuge::kCannot);
  EXPECT_TRUE(hole.NoneIsMapped());
}

TEST(HugeEdges, StayAsTheyAreBesideMemoryThatNobodyHasTouched) {
  if (tests::HugePagesUnasked()) GTEST_SKIP() << "a touch takes the whole page";
  HugeEdges edges;
  const Island island(kMib, 4096);
  madvise(island.own(), kMib / 2, MADV_DONTNEED);
  EXPECT_EQ(edges.Move(island.page()), MoveToHuge::kCannot);
  EXPECT_TRUE(island.NoneIsMapped());
}

}  // namespace
}  // namespace tutti::sys
