// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "sys/mappings.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "sys/memory.h"
#include "sys/process.h"

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

}  // namespace
}  // namespace tutti::sys
