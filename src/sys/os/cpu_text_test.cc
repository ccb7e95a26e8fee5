// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "sys/os/cpu_text.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace tutti::sys {
namespace {

using Cpus = std::vector<int>;

TEST(CpuText, Lists) {
  EXPECT_EQ(ParseCpuList("0-3,8"), (Cpus{0, 1, 2, 3, 8}));
  EXPECT_EQ(ParseCpuList("5"), Cpus{5});
  EXPECT_EQ(ParseCpuList(""), Cpus());
  EXPECT_EQ(ParseCpuList("16383"), Cpus{16383});
  for (const char* bad : {"0-", "-3", "a", "3-1", "1,1", "2,1", "0-3,,8", "16384", "0-4294967295", "0-99999", "1 2"}) {
    EXPECT_EQ(ParseCpuList(bad), std::nullopt) << bad;
  }
}

TEST(CpuText, Masks) {
  EXPECT_EQ(ParseCpuMask("3"), (Cpus{0, 1}));
  EXPECT_EQ(ParseCpuMask("1,80000001"), (Cpus{0, 31, 32}));
  EXPECT_EQ(ParseCpuMask("00000000"), Cpus());
  for (const char* bad : {"", "g", "1,,1", "123456789", "0x1"}) EXPECT_EQ(ParseCpuMask(bad), std::nullopt) << bad;
  std::string wide = "1";
  for (int i = 0; i < kMostCpus / 32; ++i) wide += ",0";
  EXPECT_EQ(ParseCpuMask(wide), std::nullopt);
}

TEST(CpuText, Processors) {
  const CpuModel intel = ParseCpuInfo(
      "processor\t: 0\nvendor_id\t: GenuineIntel\ncpu family\t: 6\nmodel\t\t: 207\nmodel name\t: x\n\n"
      "processor\t: 1\nmodel\t\t: 1\n");
  EXPECT_EQ(intel.arch, "x86_64");
  EXPECT_EQ(intel.vendor, "GenuineIntel");
  EXPECT_EQ(intel.family, 6);
  EXPECT_EQ(intel.model, 207);
  const CpuModel arm = ParseCpuInfo("processor\t: 0\nBogoMIPS\t: 2000.00\nCPU implementer\t: 0x41\n");
  EXPECT_EQ(arm.arch, "arm64");
  EXPECT_EQ(arm.vendor, "");
  EXPECT_EQ(arm.family, -1);
  EXPECT_EQ(ParseCpuInfo("processor\t: 0\ncpu\t\t: POWER9, altivec supported\n").arch, "ppc64");
  const CpuModel odd = ParseCpuInfo("vendor_id: AuthenticAMD\ncpu family: Unknown\nmodel: -\n");
  EXPECT_EQ(odd.vendor, "AuthenticAMD");
  EXPECT_EQ(odd.family, -1);
  EXPECT_EQ(odd.model, -1);
  EXPECT_EQ(ParseCpuInfo("").vendor, "");
  EXPECT_EQ(ParseCpuInfo("").arch, ParseCpuInfo("nonsense\n:\n\n").arch);  // that of this build
}

}  // namespace
}  // namespace tutti::sys
