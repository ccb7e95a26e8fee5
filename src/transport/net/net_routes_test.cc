// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "transport/net/routes.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace tutti::transport::net {
namespace {

Card At(const std::string& name, int rail, const std::vector<std::string>& addresses) {
  Card card{.name = name, .rail = rail};
  for (const std::string& address : addresses) card.endpoints.push_back(*sys::Endpoint::Parse(address + ":5"));
  return card;
}

std::vector<std::string> To(const Route& route) {
  std::vector<std::string> to;
  for (const sys::Endpoint& endpoint : route.to) to.push_back(endpoint.address.ToString());
  return to;
}

using Lines = std::vector<std::string>;

// Two networks, one for each rail. The peer lists them the other way round, since its second card is closer to it.
const std::vector<Card> kOwn = {At("eth0", 0, {"10.0.0.1"}), At("eth1", 1, {"10.0.1.1"})};
const std::vector<Card> kTheirs = {At("ens1", 1, {"10.0.1.2"}), At("ens0", 0, {"10.0.0.2"})};

TEST(Routes, TheRailComesFirst) {
  const Route first = RouteOf(0, kOwn, kTheirs), second = RouteOf(1, kOwn, kTheirs);
  EXPECT_EQ(first.card, "eth0");
  EXPECT_EQ(To(first), (Lines{"10.0.0.2", "10.0.1.2"}));
  EXPECT_EQ(second.card, "eth1");
  EXPECT_EQ(To(second), (Lines{"10.0.1.2", "10.0.0.2"}));
}

TEST(Routes, RailsAreNotLeftWhereThatIsForbidden) {
  for (const int flow : {0, 1, 2, 3}) {
    const Route route = RouteOf(flow, kOwn, kTheirs, CrossRails::kNever);
    EXPECT_EQ(To(route), Lines{flow % 2 == 0 ? "10.0.0.2" : "10.0.1.2"}) << flow;
  }
  // A host with one card is on one rail only, whatever the flow.
  const std::vector<Card> one = {kOwn[1]};
  for (const int flow : {0, 1}) EXPECT_EQ(To(RouteOf(flow, one, kTheirs, CrossRails::kNever)), Lines{"10.0.1.2"});
}

// Where each host and rail has a network of its own, numbers tell rails apart: what addresses have in common is chance.
TEST(Routes, BehindRoutersNumbersAreRails) {
  const std::vector<Card> own = {At("eth0", 0, {"10.0.1.1"}), At("eth1", 1, {"10.0.2.1"})},
                          theirs = {At("eth0", 0, {"10.0.3.1"}), At("eth1", 1, {"10.0.4.1"})};
  EXPECT_EQ(To(RouteOf(0, own, theirs, CrossRails::kNever)), Lines{"10.0.3.1"});
  EXPECT_EQ(To(RouteOf(1, own, theirs, CrossRails::kNever)), Lines{"10.0.4.1"});
}

// Of one network numbers tell rails apart.
TEST(Routes, OfOneNetworkNumbersAreRails) {
  const std::vector<Card> own = {At("eth0", 0, {"10.0.0.1"}), At("eth1", 1, {"10.0.0.2"})},
                          theirs = {At("eth1", 1, {"10.0.0.3"}), At("eth0", 0, {"10.0.0.5"})};
  EXPECT_EQ(To(RouteOf(0, own, theirs, CrossRails::kNever)), Lines{"10.0.0.5"});
  EXPECT_EQ(To(RouteOf(1, own, theirs, CrossRails::kNever)), Lines{"10.0.0.3"})
      << "although it is nearer to 10.0.0.2 by bits";
  const std::vector<Card> v6 = {At("eth0", 0, {"[fd00::1]"})},
                          v6_theirs = {At("a", 4, {"[fd00::8]"}), At("b", 0, {"[fd00::9]"})};
  EXPECT_EQ(To(RouteOf(0, v6, v6_theirs, CrossRails::kNever)), Lines{"fd00::9"});
}

// NCCL_CROSS_NIC=1: what is closest at both ends goes together.
TEST(Routes, ThePeersOrderCountsWhereRailsAreCrossedFreely) {
  EXPECT_EQ(To(RouteOf(0, kOwn, kTheirs, CrossRails::kFreely)), (Lines{"10.0.1.2", "10.0.0.2"}));
  EXPECT_EQ(To(RouteOf(1, kOwn, kTheirs, CrossRails::kFreely)), (Lines{"10.0.0.2", "10.0.1.2"}));
}

// Rank 1 prefers rail 2, rank 4 rail 0: without crossing both use what rank 1 prefers.
TEST(Routes, DevicesOfPluginsKeepToARail) {
  const std::vector<int> four = {0, 1, 2, 3}, turned = {3, 2, 1, 0}, two = {0, 1};
  const RemotePeer low{.rank = 1, .rail = 2}, high{.rank = 4, .rail = 0};
  for (const CrossRails cross : {CrossRails::kFreely, CrossRails::kWhereNeeded}) {
    EXPECT_EQ(DeviceWith(high, 1, 2, four, cross), 2);
    EXPECT_EQ(DeviceWith(low, 4, 0, four, cross), 0);
  }
  EXPECT_EQ(DeviceWith(high, 1, 2, four, CrossRails::kNever), 2);
  EXPECT_EQ(DeviceWith(low, 4, 0, four, CrossRails::kNever), 2);
  EXPECT_EQ(DeviceWith(low, 4, 3, turned, CrossRails::kNever), 1) << "the device of rail 2";
  EXPECT_EQ(DeviceWith(low, 4, 1, two, CrossRails::kNever), 1) << "there is no such rail here";
  EXPECT_EQ(DeviceWith(low, 4, 0, {}, CrossRails::kNever), 0);
}

TEST(Routes, OtherFamiliesAreNotCalled) {
  const std::vector<Card> own = {At("eth0", 0, {"10.0.0.1"}), At("eth1", 1, {"[fd00::1]"})},
                          theirs = {At("eth0", 0, {"10.0.0.2", "[fd00::2]"})};
  EXPECT_EQ(To(RouteOf(1, own, theirs)), Lines{"fd00::2"});
  EXPECT_EQ(To(RouteOf(1, own, theirs, CrossRails::kFreely)), Lines{"fd00::2"});
  EXPECT_EQ(RouteOf(1, own, theirs).from->ToString(), "fd00::1");
}

}  // namespace
}  // namespace tutti::transport::net
