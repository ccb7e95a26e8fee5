// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "sys/os/mappings.h"

#include <gtest/gtest.h>
#include <sys/mman.h>

#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <string>

#include "sys/os/huge_pages.h"
#include "sys/os/memory.h"
#include "sys/os/process.h"

namespace tutti::sys {
namespace {

TEST(Mappings, ParsesLines) {
  const std::vector<Mapping> m = ParseMappings(
      "7f0a1000-7f0a3000 rw-s 00001000 00:01 1034       /memfd:tutti (deleted)\n"
      "nonsense\n"
      "7f0a3000-7f0a2000 rw-s 00000000 00:01 1034\n"
      "55d0-55d1 r--p 00000000 00:00 0 \n"
      "7f0b1000-7f0b3000 r--s 00000000 08:01 77 /dev/shm/tutti-x1 (deleted)\n"
      "7f0c1000-7f0c3000 r-xp 00000000 08:01 77 /usr/lib/a name with spaces.so");
  ASSERT_EQ(m.size(), 4u);
  EXPECT_EQ(m[0].begin, 0x7f0a1000u);
  EXPECT_EQ(m[0].end, 0x7f0a3000u);
  EXPECT_EQ(m[0].offset, 0x1000u);
  EXPECT_TRUE(m[0].readable && m[0].writable && m[0].shared);
  EXPECT_EQ(m[0].path, "/memfd:tutti (deleted)");
  EXPECT_TRUE(m[0].IsSharedMemory("tutti"));
  EXPECT_FALSE(m[0].IsSharedMemory("other"));
  EXPECT_EQ(m[1].path, "");
  EXPECT_FALSE(m[1].shared);
  EXPECT_TRUE(m[2].IsSharedMemory("tutti"));
  EXPECT_FALSE(m[2].writable);
  EXPECT_EQ(m[3].path, "/usr/lib/a name with spaces.so");
  EXPECT_FALSE(m[3].IsSharedMemory("tutti"));
}

TEST(Mappings, FindsOwnSharedMemory) {
  const Result<Fd> fd = CreateSharedMemory("mappings-test", 8192);
  ASSERT_TRUE(fd.ok());
  const Result<SharedMapping> mapping = Map(*fd, 8192, Access::kReadWrite);
  ASSERT_TRUE(mapping.ok());
  const Result<std::vector<Mapping>> all = ReadMappings(Self().pid);
  ASSERT_TRUE(all.ok()) << all.status().message();
  EXPECT_EQ(std::ranges::count_if(*all,
                                  [&](const Mapping& m) {
                                    return m.IsSharedMemory("mappings-test") &&
                                           m.begin == reinterpret_cast<std::uint64_t>(mapping->data()) &&
                                           m.end == m.begin + 8192;
                                  }),
            1);
}

TEST(Mappings, SaysWhatIsWrong) {
  const Result<std::vector<Mapping>> none = ReadMappings(0x7ffffff0);
  ASSERT_FALSE(none.ok());
  EXPECT_EQ(none.status().code(), Code::kInvalidArgument);
  EXPECT_NE(none.status().message().find("no process 2147483632"), std::string::npos);
}

// The system's words end without a full stop, so that sentences around them read as one.
TEST(Mappings, ReadsAsOneSentenceWhereItMayNotLook) {
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  const pid_t child = fork();
  if (child == 0) {
    if (geteuid() == 0 && setuid(65534) != 0) _exit(1);
    const std::string said = ReadMappings(1).status().message();
    _exit(write(ends[1], said.data(), said.size()) == static_cast<ssize_t>(said.size()) ? 0 : 1);
  }
  close(ends[1]);
  char buffer[1000] = {};
  ASSERT_GT(read(ends[0], buffer, sizeof(buffer) - 1), 0);
  close(ends[0]);
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  ASSERT_EQ(status, 0);
  const std::string said = buffer;
  if (said.starts_with("there is no process 1")) GTEST_SKIP() << "/proc hides other users' processes";
  EXPECT_NE(said.find("may not be looked at: cannot open /proc/1/maps: Permission denied (errno 13). Run this as"),
            std::string::npos)
      << said;
}

TEST(Mappings, MemoryIsMappedOnlyWhereThereIsNone) {
  const std::span<std::byte> range = ReserveHugePages(kHugePageBytes);
  ASSERT_FALSE(range.empty());
  EXPECT_FALSE(MapIfFree(range, PROT_READ | PROT_WRITE));
  ASSERT_EQ(munmap(range.data(), range.size()), 0);
  ASSERT_TRUE(MapIfFree(range, PROT_READ | PROT_WRITE));
  range[0] = std::byte{1};
  EXPECT_FALSE(MapIfFree(range.first(4096), PROT_READ | PROT_WRITE));
  EXPECT_EQ(range[0], std::byte{1});
  ASSERT_EQ(munmap(range.data(), range.size()), 0);
}

}  // namespace
}  // namespace tutti::sys
