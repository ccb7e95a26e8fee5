// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "transport/net/fabric/rails.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "tests/support/scratch_folder.h"
#include "transport/net/fabric/fabric.h"

namespace tutti::transport::net::fabric {
namespace {

const std::vector<Offer> kOffers = {
    {"shm", "shm"},
    {"sockets", "eth0", Family::kV4},
    {"tcp;ofi_rxm", "eth1", Family::kV4},
    {"tcp;ofi_rxm", "eth0", Family::kV6},
    {"tcp;ofi_rxm", "eth0", Family::kV4},
    {"tcp;ofi_rxm", "lo", Family::kV4},
    {"tcp;ofi_rxm", "eth0", Family::kV4},
    {"verbs;ofi_rxm", "mlx5_10"},
    {"verbs;ofi_rxm", "mlx5_2"},
    {"verbs;ofi_rxm", "mlx5_2"},
    {"verbs;ofi_rxm", "bnxt0"},
};

// "provider: domain domain", or the error.
std::string Chosen(const RailWishes& wishes, const std::vector<Offer>& offers = kOffers) {
  const Result<std::vector<std::size_t>> rails = ChooseRails(offers, wishes);
  if (!rails.ok()) return rails.status().message();
  std::string all = offers[rails->front()].provider + ":";
  for (const std::size_t i : *rails) all += " " + offers[i].domain;
  return all;
}

const RailWishes kTwoCards = {.interfaces = {{.name = "eth0"}, {.name = "eth1"}}};

TEST(FabricRailsTest, NetworkCardsComeBeforeTcpInTheOrderOfTheirNames) {
  EXPECT_EQ(Chosen(kTwoCards), "verbs;ofi_rxm: bnxt0 mlx5_2 mlx5_10");
}

TEST(FabricRailsTest, HcaFiltersAsNcclDoes) {
  RailWishes wishes = kTwoCards;
  wishes.hca = "mlx5_1";  // a beginning
  EXPECT_EQ(Chosen(wishes), "verbs;ofi_rxm: mlx5_10");
  wishes.hca = "=mlx5_1";
  EXPECT_EQ(Chosen(wishes), "tcp;ofi_rxm: eth0 eth1");
  wishes.hca = "^mlx5_10:1";
  EXPECT_EQ(Chosen(wishes), "verbs;ofi_rxm: bnxt0 mlx5_2");
  wishes.hca = "=mlx5_2,bnxt0";
  EXPECT_EQ(Chosen(wishes), "verbs;ofi_rxm: bnxt0 mlx5_2");
}

TEST(FabricRailsTest, OverIpTheInterfacesThatConnectHosts) {
  RailWishes wishes = kTwoCards;
  wishes.no_verbs = true;
  EXPECT_EQ(Chosen(wishes), "tcp;ofi_rxm: eth0 eth1");
  wishes.interfaces = {{.name = "eth0", .family = Family::kV6}};
  EXPECT_EQ(Chosen(wishes), "tcp;ofi_rxm: eth0");
  wishes.interfaces = {{.name = "lo"}};
  EXPECT_EQ(Chosen(wishes), "tcp;ofi_rxm: lo");
}

TEST(FabricRailsTest, SharedMemoryOnlyWhereNothingElseIsOffered) {
  EXPECT_EQ(Chosen(kTwoCards, {{"shm", "shm"}}), "shm: shm");
}

TEST(FabricRailsTest, WithoutBeingAskedForOnlyNetworkCards) {
  RailWishes wishes = kTwoCards;
  wishes.hardware_only = true;
  EXPECT_EQ(Chosen(wishes), "verbs;ofi_rxm: bnxt0 mlx5_2 mlx5_10");
  wishes.no_verbs = true;
  EXPECT_NE(Chosen(wishes).find("eth0 of tcp;ofi_rxm: it is no network card"), std::string::npos) << Chosen(wishes);
  EXPECT_NE(Chosen(wishes).find("mlx5_2 of verbs;ofi_rxm: NCCL_IB_DISABLE"), std::string::npos) << Chosen(wishes);
}

TEST(FabricRailsTest, HardwareIsWhatTheSystemLists) {
  const tests::ScratchFolder folder;
  EXPECT_FALSE(HasHardware(folder.Path("none")));
  std::filesystem::create_directories(folder.Path("a/sys/class/infiniband"));
  EXPECT_FALSE(HasHardware(folder.Path("a")));
  std::filesystem::create_directories(folder.Path("a/sys/class/infiniband/mlx5_0"));
  EXPECT_TRUE(HasHardware(folder.Path("a")));
  std::filesystem::create_directories(folder.Path("b/sys/class/cxi/cxi0"));
  EXPECT_TRUE(HasHardware(folder.Path("b")));
}

}  // namespace
}  // namespace tutti::transport::net::fabric
