// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "sys/net/interface_choice.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <initializer_list>
#include <string>
#include <vector>

namespace tutti::sys {
namespace {

constexpr InterfaceKind kPlain = InterfaceKind::kPlain, kBridge = InterfaceKind::kBridge;

Interface Make(const char* name, std::initializer_list<const char*> addresses, InterfaceKind kind = kPlain) {
  Interface made;
  made.name = name;
  made.kind = kind;
  made.up = made.running = true;
  for (const char* address : addresses) {
    const Result<IpAddress> parsed = IpAddress::Parse(address);
    EXPECT_TRUE(parsed.ok()) << address;
    if (parsed.ok()) made.addresses.push_back(*parsed);
  }
  return made;
}
Interface Lo() { return Make("lo", {"127.0.0.1", "::1"}, InterfaceKind::kLoopback); }
Interface Docker() { return Make("docker0", {"172.17.0.1", "fe80::42%lo"}, kBridge); }

// A host with much in it: a management network with the default route, two cards for data, and what programs have added.
std::vector<Interface> Host() {
  std::vector<Interface> host = {Lo(),
                                 Make("ens1", {"10.1.0.7", "fe80::1%lo"}),
                                 Make("ens2", {"10.2.0.7", "fd02::7"}),
                                 Make("mgmt0", {"192.168.0.7", "fd00::7", "fe80::3%lo"}),
                                 Docker(),
                                 Make("virbr0", {"192.168.122.1"}, kBridge),
                                 Make("veth12", {"fe80::4%lo"}, InterfaceKind::kVeth),
                                 Make("tun0", {"10.8.0.2"}, InterfaceKind::kTunnel),
                                 Make("usb0", {"169.254.3.1"}),
                                 Make("ens3", {"10.3.0.7"}),
                                 Make("ens4", {"10.4.0.7"}),
                                 Make("ens5", {})};
  for (std::size_t i = 0; i < host.size(); ++i) host[i].index = static_cast<std::uint32_t>(i + 1);
  host[3].default_v4 = true;
  host[6].member_of = "docker0";
  host[9].up = host[9].running = false;
  host[10].running = false;
  return host;
}

// "mgmt0=192.168.0.7,fd00::7 ens1=10.1.0.7", or the sentence of the error.
std::string Chosen(const std::vector<Interface>& host, const Settings& settings = {},
                   NetworkUse use = NetworkUse::kData) {
  const InterfaceChoice choice = ChooseInterfaces(host, settings, use);
  EXPECT_EQ(choice.chosen.size() + choice.refused.size(), host.size());
  if (choice.chosen.empty()) return choice.Usable().message();
  EXPECT_TRUE(choice.Usable().ok());
  std::string text;
  for (const Interface& interface : choice.chosen) {
    text += (text.empty() ? "" : " ") + interface.name + "=";
    for (const IpAddress& address : interface.addresses) {
      text += (text.ends_with('=') ? "" : ",") + address.ToString();
    }
  }
  return text;
}

Settings Named(const char* list, const char* family = "") {
  Settings settings;
  settings.socket_ifname = list;
  settings.socket_family = family;
  return settings;
}

std::string Reason(const std::vector<Interface>& host, const char* name, const Settings& settings = {}) {
  const InterfaceChoice choice = ChooseInterfaces(host, settings, NetworkUse::kData);
  for (const RefusedInterface& refused : choice.refused) {
    if (refused.interface.name == name) return refused.reason;
  }
  return "it was chosen";
}

TEST(InterfaceChoiceTest, TheDefaultRouteComesFirstAndAccidentsDoNotHappen) {
  EXPECT_EQ(Chosen(Host()), "mgmt0=192.168.0.7,fd00::7 ens1=10.1.0.7 ens2=10.2.0.7,fd02::7");
  EXPECT_EQ(Reason(Host(), "lo"), "it does not leave this host");
  EXPECT_EQ(Reason(Host(), "docker0"), "it is a bridge of containers or virtual machines of this host");
  EXPECT_EQ(Reason(Host(), "virbr0"), "it is a bridge of containers or virtual machines of this host");
  EXPECT_EQ(Reason(Host(), "veth12"), "it is a member of docker0, whose addresses count");
  EXPECT_EQ(Reason(Host(), "tun0"), "it is a tunnel");
  EXPECT_EQ(Reason(Host(), "usb0"), "it has link-local addresses only");
  EXPECT_EQ(Reason(Host(), "ens3"), "it is down; `ip link set ens3 up` switches it on");
  EXPECT_EQ(Reason(Host(), "ens4"), "it has no link: look at the cable or at the other end");
  EXPECT_EQ(Reason(Host(), "ens5"), "it has no address");
}

TEST(InterfaceChoiceTest, TheFamilyDecidesWhichDefaultRouteCounts) {
  std::vector<Interface> host = Host();
  host[2].default_v6 = true;
  EXPECT_EQ(Chosen(host), "mgmt0=192.168.0.7,fd00::7 ens2=10.2.0.7,fd02::7 ens1=10.1.0.7");
  EXPECT_EQ(Chosen(host, Named("", "AF_INET")), "mgmt0=192.168.0.7 ens1=10.1.0.7 ens2=10.2.0.7");
  EXPECT_EQ(Chosen(host, Named("", "AF_INET6")), "ens2=fd02::7 mgmt0=fd00::7");
  EXPECT_EQ(Reason(host, "usb0", Named("", "AF_INET6")), "it has no IPv6 address");
  EXPECT_EQ(Reason(host, "ens1", Named("", "AF_INET6")), "it has link-local addresses only");
  EXPECT_EQ(Reason({Make("ens1", {"fd00::1"})}, "ens1", Named("", "AF_INET")), "it has no IPv4 address");
}

// What NCCL_SOCKET_IFNAME means to NCCL, one spelling per row.
TEST(InterfaceChoiceTest, TheListIsReadAsNcclDoes) {
  struct Row {
    const char* list;
    const char* names;  // of those chosen
  };
  constexpr Row kRows[] = {
      {"ens", "ens1 ens2"},
      {"ens2", "ens2"},
      {"ens2,ens1", "ens1 ens2"},
      {"ens1,mgmt", "mgmt0 ens1"},
      {"=ens1,ens2", "ens1 ens2"},
      {"=ens2", "ens2"},
      {"^ens", "mgmt0"},
      {"^mgmt,ens1", "ens2"},
      {"^=mgmt,ens1", "mgmt0 ens2"},
      {"^=mgmt0,ens1", "ens2"},
      {"^docker0,lo", "mgmt0 ens1 ens2"},  // the others still do not come by accident
      {"docker", "docker0"},
      {"lo", "lo"},
      {"tun", "tun0"},
      {"usb0,veth", "veth12 usb0"},
      {"ens2:1,", "ens2"},
      {" ens2 , ens1", "ens1 ens2"},
      {"", "mgmt0 ens1 ens2"},
      {",", "mgmt0 ens1 ens2"},
      {"=", "mgmt0 ens1 ens2"},
      {"^", "mgmt0 ens1 ens2"},
      {"^lo,mgmt,ens,docker", "no network interface"},
  };
  for (const Row& row : kRows) {
    std::string names;
    for (const Interface& interface : ChooseInterfaces(Host(), Named(row.list), NetworkUse::kData).chosen) {
      names += (names.empty() ? "" : " ") + interface.name;
    }
    if (names.empty()) names = "no network interface";
    EXPECT_EQ(names, row.names) << '"' << row.list << '"';
  }
}

TEST(InterfaceChoiceTest, WhatIsAskedForIsTakenUnlessItCannotWork) {
  EXPECT_EQ(Chosen(Host(), Named("lo")), "lo=127.0.0.1,::1");
  EXPECT_EQ(Chosen(Host(), Named("lo", "AF_INET6")), "lo=::1");
  EXPECT_EQ(Chosen(Host(), Named("docker")), "docker0=172.17.0.1");
  EXPECT_EQ(Chosen(Host(), Named("usb0")), "usb0=169.254.3.1");
  EXPECT_NE(Chosen(Host(), Named("ens3")).find("ens3 (10.3.0.7): it is down"), std::string::npos);
  EXPECT_NE(Chosen(Host(), Named("ens4")).find("ens4 (10.4.0.7): it has no link"), std::string::npos);
}

TEST(InterfaceChoiceTest, LoopbackIsTheLastResort) {
  EXPECT_EQ(Chosen({Lo()}), "lo=127.0.0.1,::1");
  EXPECT_EQ(Chosen({Lo(), Docker()}), "lo=127.0.0.1,::1");
  EXPECT_EQ(Chosen({Lo(), Make("eth0", {"10.0.0.1"})}), "eth0=10.0.0.1");
  EXPECT_EQ(Chosen({Lo(), Make("eth0", {"10.0.0.1"})}, Named("^eth")), "lo=127.0.0.1,::1");
  // An address that is routed to the host by several cards, which have none of their own.
  const Interface routed = Make("lo", {"127.0.0.1", "10.9.0.1", "::1"}, InterfaceKind::kLoopback);
  EXPECT_EQ(Chosen({routed, Make("eth0", {"fe80::1%lo"})}), "lo=10.9.0.1");
  const Interface dummy = Make("dummy0", {"10.9.0.1"}, InterfaceKind::kDummy);
  EXPECT_EQ(Chosen({Lo(), dummy}), "dummy0=10.9.0.1");
  EXPECT_EQ(Reason({Lo(), dummy}, "lo"), "it does not leave this host, and another one has an address of its own");
  EXPECT_EQ(Chosen({Lo(), dummy, Make("eth0", {"10.0.0.1"})}), "eth0=10.0.0.1");
}

TEST(InterfaceChoiceTest, ABridgeWithACardIsAWayOut) {
  Interface bridge = Make("br0", {"10.0.0.1"}, kBridge);
  EXPECT_EQ(Chosen({Lo(), bridge}), "lo=127.0.0.1,::1");
  bridge.uplink = true;
  EXPECT_EQ(Chosen({Lo(), bridge}), "br0=10.0.0.1");
  bridge.uplink = false;
  bridge.default_v4 = true;
  EXPECT_EQ(Chosen({Lo(), bridge}), "br0=10.0.0.1");
  // A container's way out is one end of a veth.
  EXPECT_EQ(Chosen({Lo(), Make("eth0", {"172.17.0.2"}, InterfaceKind::kVeth)}), "eth0=172.17.0.2");
}

TEST(InterfaceChoiceTest, HostsMayMeetOverInterfacesOfTheirOwn) {
  Settings settings = Named("ens");
  settings.oob_net_ifname = "mgmt";
  EXPECT_EQ(Chosen(Host(), settings, NetworkUse::kMeeting), "ens1=10.1.0.7 ens2=10.2.0.7,fd02::7");  // not enabled
  settings.oob_net_enable = true;
  EXPECT_EQ(Chosen(Host(), settings, NetworkUse::kMeeting), "mgmt0=192.168.0.7,fd00::7");
  EXPECT_EQ(Chosen(Host(), settings, NetworkUse::kData), "ens1=10.1.0.7 ens2=10.2.0.7,fd02::7");
  settings.oob_net_ifname = "mlx5_0";
  EXPECT_NE(Chosen(Host(), settings, NetworkUse::kMeeting).find("NCCL_OOB_NET_IFNAME=mlx5_0 leaves it out"),
            std::string::npos);
  settings.oob_net_ifname = "";
  EXPECT_EQ(Chosen(Host(), settings, NetworkUse::kMeeting), "ens1=10.1.0.7 ens2=10.2.0.7,fd02::7");
}

TEST(InterfaceChoiceTest, WhereNothingCanBeUsedEachOneSaysWhy) {
  const std::vector<Interface> host = {Lo(), Make("ib0", {}), Make("eth0", {"10.0.0.1", "fd00::1"}), Docker()};
  const Status none = ChooseInterfaces(host, Named("=ib0", "AF_INET"), NetworkUse::kData).Usable();
  EXPECT_EQ(none.code(), Code::kInvalidUsage);
  EXPECT_EQ(
      none.message(),
      "no network interface of this host can be used with NCCL_SOCKET_IFNAME==ib0 and NCCL_SOCKET_FAMILY=AF_INET: "
      "lo (127.0.0.1, ::1): NCCL_SOCKET_IFNAME==ib0 leaves it out; "
      "eth0 (10.0.0.1, fd00::1): NCCL_SOCKET_IFNAME==ib0 leaves it out; "
      "docker0 (172.17.0.1, fe80::42%lo): NCCL_SOCKET_IFNAME==ib0 leaves it out; "
      "ib0: it has no IPv4 address. "
      "Name one that other hosts reach in NCCL_SOCKET_IFNAME, or take away what leaves it out");
  EXPECT_NE(Chosen({}).find("can be used: there is none. Name"), std::string::npos);
  EXPECT_NE(Chosen({Docker()}).find("docker0 (172.17.0.1, fe80::42%lo): it is a bridge"), std::string::npos);
  // On a host of many containers the sentence stays bearable.
  std::vector<Interface> many;
  for (int i = 0; i < 500; ++i) many.push_back(Make(fmt::format("cali{}", i).c_str(), {"fe80::1%lo"}));
  EXPECT_NE(Chosen(many).find("; and 484 more. Name"), std::string::npos);
  EXPECT_LT(Chosen(many).size(), 2000u);
}

}  // namespace
}  // namespace tutti::sys
