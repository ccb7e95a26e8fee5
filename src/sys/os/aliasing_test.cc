// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "sys/os/aliasing.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <vector>

#include "sys/os/process.h"

namespace tutti::sys {
namespace {

const auto* const kPage = reinterpret_cast<const std::byte*>(std::uintptr_t{1} << 20);

TEST(AliasingTest, OnlyTargetsRightAboveTheirSourceWithinPages) {
  EXPECT_FALSE(CopyAliases(kPage + 8192, kPage, 65536));
  EXPECT_TRUE(CopyAliases(kPage + 8193, kPage, 65536));
  EXPECT_TRUE(CopyAliases(kPage + 16, kPage + 8192, 65536));  // the pages' numbers do not count
  EXPECT_TRUE(CopyAliases(kPage + 8192 + 31, kPage, 65536));
  EXPECT_FALSE(CopyAliases(kPage + 8192 + 64, kPage, 65536));
  EXPECT_FALSE(CopyAliases(kPage, kPage + 8192 + 16, 65536));
  EXPECT_FALSE(CopyAliases(kPage + 8193, kPage, kLeastAliased - 1));
}

// Whatever way the data take: every distance, whole parts of the way around and what is left.
TEST(AliasingTest, ReadsAndWritesAreRightAtEveryDistance) {
  constexpr std::size_t kMost = 70'000, kRoom = kMost + 8192;
  std::vector<unsigned char> from(kRoom), to(kRoom);
  for (std::size_t i = 0; i < kRoom; ++i) from[i] = static_cast<unsigned char>(i * 7 + i / 251);
  for (const std::size_t bytes : {std::size_t{100}, std::size_t{2048}, std::size_t{16384}, std::size_t{16385}, kMost}) {
    for (const std::size_t source : {0, 5, 2048, 4095}) {
      for (const std::size_t target : {0, 1, 5, 21, 2064, 4095}) {
        for (const bool writes : {false, true}) {
          std::ranges::fill(to, static_cast<unsigned char>(0xaa));
          const Result<std::size_t> moved =
              writes ? WriteProcessMemory(getpid(), to.data() + target, from.data() + source, bytes)
                     : ReadProcessMemory(getpid(), from.data() + source, to.data() + target, bytes);
          if (!moved.ok() && moved.status().code() == Code::kSystem) GTEST_SKIP() << moved.status().ToString();
          ASSERT_TRUE(moved.ok()) << moved.status().ToString();
          ASSERT_EQ(*moved, bytes);
          ASSERT_EQ(std::memcmp(to.data() + target, from.data() + source, bytes), 0) << source << " to " << target;
          ASSERT_TRUE(std::all_of(to.begin(), to.begin() + target, [](unsigned char c) { return c == 0xaa; }));
          ASSERT_TRUE(std::all_of(to.begin() + target + bytes, to.end(), [](unsigned char c) { return c == 0xaa; }));
        }
      }
    }
  }
}

}  // namespace
}  // namespace tutti::sys
