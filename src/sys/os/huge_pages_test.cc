// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "sys/os/huge_pages.h"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <span>
#include <vector>

#include "tests/support/huge_memory.h"

namespace tutti::sys {
namespace {

using tests::HugeKib;
using tests::HugeMemory;

TEST(HugePages, ReadsWhatTheSystemSays) {
  EXPECT_TRUE(internal::AllowsHugePages("always [madvise] never\n", "2097152\n"));
  EXPECT_TRUE(internal::AllowsHugePages("[always] madvise never\n", "2097152\n"));
  EXPECT_FALSE(internal::AllowsHugePages("always madvise [never]\n", "2097152\n"));
  EXPECT_FALSE(internal::AllowsHugePages("[always] madvise never\n", "536870912\n"));
  EXPECT_FALSE(internal::AllowsHugePages("[always] madvise never\n", ""));
  EXPECT_FALSE(internal::AllowsHugePages("", "2097152\n"));
}

TEST(HugePages, MovesMemoryThatIsThere) {
  if (tests::HugePagesUnasked()) GTEST_SKIP() << "memory lies in huge pages from the start";
  const HugeMemory memory(2 * kHugePageBytes);
  for (std::size_t i = 0; i < 2 * kHugePageBytes; ++i) memory.data()[i] = static_cast<std::byte>(i % 251);
  const std::vector<std::byte> before(memory.data(), memory.data() + 2 * kHugePageBytes);
  errno = EXDEV;
  const bool works = tests::KernelMovesMemory();
  EXPECT_EQ(MoveToHugePage(memory.data()) == MoveToHuge::kMoved, works);
  EXPECT_EQ(MoveToHugePage(memory.data()) == MoveToHuge::kMoved, works) << "again";
  EXPECT_EQ(errno, EXDEV);
  EXPECT_EQ(HugeKib(memory.data()), works ? 2048 : 0);
  EXPECT_EQ(std::memcmp(memory.data(), before.data(), before.size()), 0);
}

TEST(HugePages, LeavesMemoryThatNobodyHasTouched) {
  if (tests::HugePagesUnasked()) GTEST_SKIP() << "a touch takes the whole page";
  const HugeMemory memory(kHugePageBytes);
  const std::size_t page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  std::memset(memory.data(), 1, kHugePageBytes - kMostMissingBytes - page);
  EXPECT_EQ(MoveToHugePage(memory.data()), MoveToHuge::kCannot);
  EXPECT_EQ(HugeKib(memory.data()), 0);
}

TEST(HugePages, MovesMemoryOfWhichALittleHasNotBeenTouched) {
  if (tests::HugePagesUnasked()) GTEST_SKIP() << "a touch takes the whole page";
  const HugeMemory memory(kHugePageBytes);
  std::memset(memory.data() + kMostMissingBytes, 1, kHugePageBytes - kMostMissingBytes);
  const bool works = tests::KernelMovesMemory();
  EXPECT_EQ(MoveToHugePage(memory.data()) == MoveToHuge::kMoved, works);
  EXPECT_EQ(HugeKib(memory.data()), works ? 2048 : 0);
  const std::span<const std::byte> missing(memory.data(), kMostMissingBytes);
  EXPECT_EQ(std::ranges::count(missing, std::byte{0}), static_cast<std::ptrdiff_t>(kMostMissingBytes));
  EXPECT_EQ(memory.data()[kMostMissingBytes], std::byte{1});
}

TEST(HugePages, LeavesMemoryThatIsNotMapped) {
  const HugeMemory memory(kHugePageBytes);
  std::memset(memory.data(), 1, kHugePageBytes);
  ASSERT_EQ(munmap(memory.data() + 4096, 4096), 0);
  EXPECT_EQ(MoveToHugePage(memory.data()), MoveToHuge::kCannot);
}

TEST(HugePages, AreReservedWhole) {
  for (const std::size_t bytes : {std::size_t{1}, kHugePageBytes - 1, kHugePageBytes, kHugePageBytes + 1}) {
    const std::span<std::byte> reserved = ReserveHugePages(bytes);
    ASSERT_FALSE(reserved.empty());
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(reserved.data()) % kHugePageBytes, 0u);
    EXPECT_EQ(reserved.size(), bytes <= kHugePageBytes ? kHugePageBytes : 2 * kHugePageBytes);
    EXPECT_TRUE(internal::MissingBytes(reserved.first(kHugePageBytes)).has_value());
    ASSERT_EQ(munmap(reserved.data(), reserved.size()), 0);
    EXPECT_FALSE(internal::MissingBytes(reserved.first(kHugePageBytes)).has_value());
  }
  EXPECT_TRUE(ReserveHugePages(std::size_t{1} << 62).empty());
}

// What becomes of shared memory is the system's affair, but two mappings of it stay the same memory.
TEST(HugePages, SharedMemoryStaysShared) {
  const int fd = memfd_create("tutti-test", MFD_CLOEXEC);
  ASSERT_GE(fd, 0);
  ASSERT_EQ(ftruncate(fd, kHugePageBytes), 0);
  const HugeMemory one(kHugePageBytes, MAP_SHARED, fd);
  void* const other = mmap(nullptr, kHugePageBytes, PROT_READ, MAP_SHARED, fd, 0);
  close(fd);
  std::memset(one.data(), 1, kHugePageBytes);
  MoveToHugePage(one.data());
  std::memset(one.data(), 2, kHugePageBytes);
  const std::span seen(static_cast<const std::byte*>(other), kHugePageBytes);
  EXPECT_EQ(std::ranges::count(seen, std::byte{2}), static_cast<std::ptrdiff_t>(kHugePageBytes));
  munmap(other, kHugePageBytes);
}

}  // namespace
}  // namespace tutti::sys
