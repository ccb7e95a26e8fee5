// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "topo/rates.h"

#include <gtest/gtest.h>

namespace tutti::topo {
namespace {

TEST(Rates, PciSpeedsInAllTheirSpellings) {
  for (const std::string_view text : {"2.5 GT/s", "2.5 GT/s PCIe"}) EXPECT_EQ(PciGigatransfers(text), 2.5) << text;
  for (const std::string_view text : {"5 GT/s", "5.0 GT/s PCIe", "5.0 GT/s"}) EXPECT_EQ(PciGigatransfers(text), 5);
  for (const std::string_view text : {"8 GT/s", "8.0 GT/s PCIe", " 8.0 GT/s "}) EXPECT_EQ(PciGigatransfers(text), 8);
  for (const std::string_view text : {"16 GT/s", "16.0 GT/s PCIe", "16.0 GT/s", "16GT/s"}) {
    EXPECT_EQ(PciGigatransfers(text), 16) << text;
  }
  for (const std::string_view text : {"32 GT/s", "32.0 GT/s PCIe"}) EXPECT_EQ(PciGigatransfers(text), 32);
  EXPECT_EQ(PciGigatransfers("64.0 GT/s PCIe"), 64);
  EXPECT_EQ(PciGigatransfers("128.0 GT/s PCIe"), 128);
  for (const std::string_view text : {"", "Unknown", "Unknown speed", "0 GT/s", "GT/s", "-8 GT/s", "8", "8 GT/s or so",
                                      "80 GT/s", "8.00 GT/s", "1e300 GT/s"}) {
    EXPECT_EQ(PciGigatransfers(text), std::nullopt) << text;
  }
}

// 12 GB/s for 16 lanes of the third generation, and twice that for each one after it.
TEST(Rates, PciLinks) {
  EXPECT_EQ(PciRateOf("2.5 GT/s", 16).gb_per_s, 3);
  EXPECT_EQ(PciRateOf("5.0 GT/s PCIe", 16).gb_per_s, 6);
  EXPECT_EQ(PciRateOf("8 GT/s", 16).gb_per_s, 12);
  EXPECT_EQ(PciRateOf("16.0 GT/s", 16).gb_per_s, 24);
  EXPECT_EQ(PciRateOf("32.0 GT/s PCIe", 16).gb_per_s, 48);
  EXPECT_EQ(PciRateOf("64.0 GT/s PCIe", 2).gb_per_s, 12);
  EXPECT_EQ(PciRateOf("2.5 GT/s PCIe", 1).gb_per_s, 0.1875);
  EXPECT_TRUE(PciRateOf("2.5 GT/s PCIe", 1).speed_known);
  EXPECT_EQ(PciRateOf("", 0).gb_per_s, 12);
  EXPECT_FALSE(PciRateOf("", 0).speed_known);
  EXPECT_EQ(PciRateOf("Unknown", 4).gb_per_s, 3);
}

TEST(Rates, NvLinksByComputeCapability) {
  EXPECT_EQ(NvLinkGbPerS(60), 18);
  EXPECT_EQ(NvLinkGbPerS(70), 20);
  EXPECT_EQ(NvLinkGbPerS(80), 20);
  EXPECT_EQ(NvLinkGbPerS(86), 12);
  EXPECT_EQ(NvLinkGbPerS(90), 20.6);
  EXPECT_EQ(NvLinkGbPerS(100), 40.1);
  EXPECT_EQ(NvLinkGbPerS(103), 40.1);
  EXPECT_EQ(NvLinkGbPerS(107), 31.2);
  EXPECT_EQ(NvLinkGbPerS(0), 20);
  EXPECT_EQ(MostNvLinks(60), 4);
  EXPECT_EQ(MostNvLinks(70), 6);
  EXPECT_EQ(MostNvLinks(80), 12);
  EXPECT_EQ(MostNvLinks(90), 18);
  EXPECT_EQ(MostNvLinks(107), 36);
  EXPECT_EQ(MostNvLinks(89), 0);
  EXPECT_EQ(XgmiGbPerS("gfx906"), 24);
  EXPECT_EQ(XgmiGbPerS("gfx90a"), 36);
  EXPECT_EQ(XgmiGbPerS("gfx942"), 48);
  EXPECT_EQ(XgmiGbPerS("gfx950"), 48);
  EXPECT_EQ(C2cGbPerS(5, 44712), 223.56);
}

TEST(Rates, SocketsByCpu) {
  const auto intel = [](int model) {
    return SocketGbPerS({.arch = "x86_64", .vendor = "GenuineIntel", .family = 6, .model = model});
  };
  EXPECT_EQ(intel(0x4f), 6);
  EXPECT_EQ(intel(0x55), 10);
  EXPECT_EQ(intel(0x6a), 10);
  EXPECT_EQ(intel(0x8f), 22);
  EXPECT_EQ(intel(0xac), 22);
  EXPECT_EQ(intel(0xad), 40);
  EXPECT_EQ(intel(0xaf), 40);
  EXPECT_EQ(intel(0xb0), 22);
  EXPECT_EQ(intel(0xcf), 40);
  const auto amd = [](int family) {
    return SocketGbPerS({.arch = "x86_64", .vendor = "AuthenticAMD", .family = family});
  };
  EXPECT_EQ(amd(23), 16);
  EXPECT_EQ(amd(143), 16);
  EXPECT_EQ(amd(25), 24);
  EXPECT_EQ(amd(175), 24);
  EXPECT_EQ(amd(26), 32);
  EXPECT_EQ(amd(191), 32);
  EXPECT_EQ(SocketGbPerS({.arch = "x86_64", .vendor = "CentaurHauls", .family = 7, .model = 0x5b}), 9);
  EXPECT_EQ(SocketGbPerS({.arch = "x86_64", .vendor = "  Shanghai  ", .family = 7, .model = 0x3b}), 6);
  EXPECT_EQ(SocketGbPerS({.arch = "ppc64"}), 32);
  EXPECT_EQ(SocketGbPerS({.arch = "arm64"}), 6);
  EXPECT_EQ(SocketGbPerS({}), 6);
}

TEST(Rates, Ports) {
  EXPECT_EQ(PortGbPerS(400), 50);
  EXPECT_EQ(PortGbPerS(0), 1.25);
  EXPECT_EQ(PortGbPerS(-1), 1.25);
}

}  // namespace
}  // namespace tutti::topo
