// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "sys/os/memory.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdint>
#include <cstring>
#include <fstream>
#include <iterator>
#include <string>
#include <utility>

#include "sys/os/huge_pages.h"

namespace tutti::sys {
namespace {

TEST(MemoryTest, TwoMappingsShowTheSamePages) {
  Result<Fd> fd = CreateSharedMemory("tutti-test", 100'000);
  ASSERT_TRUE(fd.ok()) << fd.status().ToString();
  Result<SharedMapping> writer = Map(*fd, 100'000, Access::kReadWrite);
  Result<SharedMapping> reader = Map(*fd, 100'000, Access::kRead);
  ASSERT_TRUE(writer.ok() && reader.ok());
  EXPECT_EQ(reader->bytes(), 100'000u);
  EXPECT_EQ(std::to_integer<int>(reader->data()[99'999]), 0);
  writer->data()[99'999] = std::byte{42};
  EXPECT_EQ(std::to_integer<int>(reader->data()[99'999]), 42);
}

TEST(MemoryTest, MappingOutlivesDescriptorAndMoves) {
  SharedMapping kept;
  {
    Result<Fd> fd = CreateSharedMemory("tutti-test", 4096);
    ASSERT_TRUE(fd.ok());
    Result<SharedMapping> mapping = Map(*fd, 4096, Access::kReadWrite);
    ASSERT_TRUE(mapping.ok());
    kept = std::move(*mapping);
    EXPECT_EQ(mapping->data(), nullptr);
  }
  kept.data()[0] = std::byte{1};
  SharedMapping moved(std::move(kept));
  EXPECT_EQ(kept.data(), nullptr);
  EXPECT_EQ(std::to_integer<int>(moved.data()[0]), 1);
}

TEST(MemoryTest, AProcessMapsAnObjectOnce) {
  Result<Fd> fd = CreateSharedMemory("tutti-test", 8192);
  Result<Fd> other = CreateSharedMemory("tutti-test", 8192);
  ASSERT_TRUE(fd.ok() && other.ok());
  Result<SharedMapping> owner = MapOnce(*fd, 8192, Access::kReadWrite);
  const Result<Fd> passed_on = ReopenReadOnly(*fd);
  ASSERT_TRUE(owner.ok() && passed_on.ok());
  Result<SharedMapping> peer = MapOnce(*passed_on, 8192, Access::kRead);
  ASSERT_TRUE(peer.ok());
  EXPECT_EQ(peer->data(), owner->data());
  EXPECT_NE(MapOnce(*other, 8192, Access::kRead)->data(), owner->data());
  owner->Unmap();
  EXPECT_EQ(std::to_integer<int>(peer->data()[8191]), 0);  // one holder is enough
  EXPECT_EQ(MapOnce(*fd, 8192, Access::kRead)->data(), peer->data());
}

TEST(MemoryTest, MapOnceNeverGivesLessThanWasAskedFor) {
  Result<Fd> fd = CreateSharedMemory("tutti-test", 8192);
  ASSERT_TRUE(fd.ok());
  Result<SharedMapping> half = MapOnce(*fd, 4096, Access::kRead);
  Result<SharedMapping> whole = MapOnce(*fd, 8192, Access::kRead);
  Result<SharedMapping> writable = MapOnce(*fd, 8192, Access::kReadWrite);
  ASSERT_TRUE(half.ok() && whole.ok() && writable.ok());
  EXPECT_EQ(whole->bytes(), 8192u);
  writable->data()[8191] = std::byte{7};
  EXPECT_EQ(std::to_integer<int>(whole->data()[8191]), 7);
}

// A part is another mapping, of its own access, that the process makes once too.
TEST(MemoryTest, APartIsMappedBesideTheWhole) {
  Result<Fd> fd = CreateSharedMemory("tutti-test", 16384);
  ASSERT_TRUE(fd.ok());
  Result<SharedMapping> whole = MapOnce(*fd, 16384, Access::kRead);
  Result<SharedMapping> part = MapOnce(*fd, 8192, Access::kReadWrite, 8192);
  ASSERT_TRUE(whole.ok() && part.ok());
  EXPECT_EQ(whole->access(), Access::kRead);
  EXPECT_EQ(part->access(), Access::kReadWrite);
  part->data()[1] = std::byte{7};
  EXPECT_EQ(std::to_integer<int>(whole->data()[8193]), 7);
  EXPECT_EQ(MapOnce(*fd, 8192, Access::kReadWrite, 8192)->data(), part->data());
  EXPECT_EQ(MapOnce(*fd, 16384, Access::kRead)->data(), whole->data());
  EXPECT_EQ(MapOnce(*fd, 4096, Access::kRead, 8192)->access(), Access::kReadWrite);
  EXPECT_FALSE(MapOnce(*fd, 8192, Access::kRead, 12288).ok());
  EXPECT_FALSE(Map(*fd, 4096, Access::kRead, std::size_t{0} - 4096).ok());
}

// Memory of the program beside it could not move to huge pages (docs/decisions/0029).
TEST(MemoryTest, MappingsShareNoHugePageWithOtherMemory) {
  const Result<Fd> object = CreateSharedMemory("tutti-test", 3 * kHugePageBytes);
  ASSERT_TRUE(object.ok());
  for (const std::size_t bytes : {std::size_t{4096}, kHugePageBytes, kHugePageBytes + 8192}) {
    std::byte* where = nullptr;
    const std::size_t whole = (bytes + kHugePageBytes - 1) / kHugePageBytes * kHugePageBytes;
    {
      const Result<SharedMapping> shared = Map(*object, bytes, Access::kReadWrite);
      const Result<PrivatePages> own = PrivatePages::Make(bytes);
      ASSERT_TRUE(shared.ok() && own.ok());
      where = shared->data();
      for (std::byte* const data : {shared->data(), own->data()}) {
        EXPECT_EQ(reinterpret_cast<std::uintptr_t>(data) % kHugePageBytes, 0u);
        EXPECT_TRUE(internal::MissingBytes({data + whole - kHugePageBytes, kHugePageBytes}).has_value())
            << "all of it is taken";
        data[0] = data[bytes - 1] = std::byte{1};
      }
    }
    EXPECT_FALSE(internal::MissingBytes({where + whole - kHugePageBytes, kHugePageBytes}).has_value())
        << "all of it is given back";
  }
}

TEST(MemoryTest, LyingAboutTheSizeIsAnError) {
  Result<Fd> fd = CreateSharedMemory("tutti-test", 4096);
  ASSERT_TRUE(fd.ok());
  Result<SharedMapping> mapping = Map(*fd, 8192, Access::kRead);
  ASSERT_FALSE(mapping.ok());
  EXPECT_EQ(mapping.status().code(), Code::kInvalidArgument);
  EXPECT_NE(mapping.status().message().find("8192"), std::string::npos);
  EXPECT_FALSE(Map(*fd, 0, Access::kRead).ok());
  EXPECT_FALSE(CreateSharedMemory("tutti-test", 0).ok());
  const Fd pipe_like(open("/dev/zero", O_RDWR | O_CLOEXEC));
  EXPECT_FALSE(Map(pipe_like, 4096, Access::kRead).ok());
}

TEST(MemoryTest, NobodyCanShrinkIt) {
  Result<Fd> fd = CreateSharedMemory("tutti-test", 8192);
  ASSERT_TRUE(fd.ok());
  EXPECT_NE(ftruncate(fd->get(), 4096), 0);
  EXPECT_NE(ftruncate(fd->get(), 16384), 0);
}

TEST(MemoryTest, ReadOnlyDescriptorCannotBeMappedForWriting) {
  Result<Fd> fd = CreateSharedMemory("tutti-test", 4096);
  ASSERT_TRUE(fd.ok());
  Result<Fd> copy = ReopenReadOnly(*fd);
  ASSERT_TRUE(copy.ok());
  EXPECT_TRUE(Map(*copy, 4096, Access::kRead).ok());
  EXPECT_FALSE(Map(*copy, 4096, Access::kReadWrite).ok());
  void* mapping = mmap(nullptr, 4096, PROT_READ, MAP_SHARED, copy->get(), 0);
  ASSERT_NE(mapping, MAP_FAILED);
  EXPECT_NE(mprotect(mapping, 4096, PROT_READ | PROT_WRITE), 0);
  munmap(mapping, 4096);
}

TEST(MemoryTest, FallbackFileWorksAndNoticesAFullFileSystem) {
  Result<Fd> fd = internal::CreateUnlinkedFile("/tmp", 10'000);
  ASSERT_TRUE(fd.ok()) << fd.status().ToString();
  EXPECT_TRUE(Map(*fd, 10'000, Access::kReadWrite).ok());
  const Result<Fd> huge = internal::CreateUnlinkedFile("/tmp", std::size_t{1} << 55);
  ASSERT_FALSE(huge.ok());
  EXPECT_NE(huge.status().message().find("/tmp"), std::string::npos) << huge.status().ToString();
  EXPECT_FALSE(internal::CreateUnlinkedFile("/no/such/place", 10).ok());
}

TEST(MemoryTest, ExhaustedDescriptorsNameTheRemedy) {
  const pid_t child = fork();
  if (child == 0) {
    const rlimit limit = {.rlim_cur = 3, .rlim_max = 3};
    setrlimit(RLIMIT_NOFILE, &limit);
    const Result<Fd> fd = CreateSharedMemory("tutti-test", 4096);
    _exit(!fd.ok() && fd.status().message().find("ulimit -n") != std::string::npos ? 0 : 1);
  }
  int status = 0;
  waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
}

TEST(MemoryTest, PagesAreOnTheNumaNodeThatIsAskedFor) {
  Result<PrivatePages> pages = PrivatePages::Make(8192);
  ASSERT_TRUE(pages.ok());
  EXPECT_FALSE(pages->PlaceOn(1000, 8192)) << "no machine has so many";
  EXPECT_FALSE(pages->PlaceOn(-1, 8192));
  EXPECT_FALSE(pages->PlaceOn(1024, 8192));
  if (!pages->PlaceOn(0, 8192)) GTEST_SKIP() << "the system does not let this process choose";
  pages->data()[4096] = std::byte{1};
  std::ifstream file("/proc/self/numa_maps");
  const std::string maps(std::istreambuf_iterator<char>(file), {});
  const std::size_t line = maps.find(fmt::format("{:x} bind:0", reinterpret_cast<std::uintptr_t>(pages->data())));
  if (maps.empty()) GTEST_SKIP() << "the kernel does not show where pages are";
  ASSERT_NE(line, std::string::npos) << maps;
  EXPECT_NE(maps.substr(line, maps.find('\n', line) - line).find("N0=1"), std::string::npos);
}

TEST(MemoryTest, LeaksNoDescriptors) {
  const int before = CountOpenFds();
  for (int i = 0; i < 10; ++i) {
    Result<Fd> fd = CreateSharedMemory("tutti-test", 4096);
    Result<Fd> copy = ReopenReadOnly(*fd);
    Result<SharedMapping> mapping = Map(*copy, 4096, Access::kRead);
    ASSERT_TRUE(mapping.ok());
    (void)Map(*copy, 8192, Access::kRead).ok();
    Fd moved = std::move(*fd);
    moved = std::move(*copy);
  }
  EXPECT_EQ(CountOpenFds(), before);
}

}  // namespace
}  // namespace tutti::sys
