// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
// The hosts that other tests use (hosts.h): what they do to a network is seen in it, and nothing of them stays.
#include <gtest/gtest.h>
#include <sys/types.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <string>

#include "tests/hosts/hosts.h"

namespace tutti::tests {
namespace {

class NameSpacesTest : public testing::Test {
 protected:
  void SetUp() override {
    if (const std::string why_not = Hosts::WhyNot(); !why_not.empty()) GTEST_SKIP() << why_not;
  }
};

int NameSpacesOf(pid_t pid) {
  const std::string start = "tutti-" + std::to_string(pid) + "-";
  int count = 0;
  for (const auto& entry : std::filesystem::directory_iterator("/run/netns")) {
    count += entry.path().filename().string().starts_with(start) ? 1 : 0;
  }
  return count;
}

// What a host's card is, as `ip` says it.
std::string Shown(Hosts& hosts, int host, int card = 0) {
  return hosts.Run(host, {"ip", "link", "show", Hosts::Card(card)});
}

bool Has(const std::string& text, const std::string& piece) { return text.find(piece) != std::string::npos; }

TEST_F(NameSpacesTest, NothingStays) {
  {
    Hosts hosts({"east", "west"}, 2);
    EXPECT_EQ(NameSpacesOf(getpid()), 3);
  }
  EXPECT_EQ(NameSpacesOf(getpid()), 0);
}

TEST_F(NameSpacesTest, TheNextTestRemovesWhatADeadOneLeft) {
  ChildProcess dead([] {
    new Hosts({"east", "west"});
    return 7;
  });
  EXPECT_EQ(dead.Wait(), 7);
  EXPECT_EQ(NameSpacesOf(dead.pid()), 3);
  SweepHosts();
  EXPECT_EQ(NameSpacesOf(dead.pid()), 0);
}

TEST_F(NameSpacesTest, AProcessIsOnItsHost) {
  Hosts hosts({"east", "west"}, 2);
  setenv("NCCL_DEBUG", "INFO", 1);
  ChildProcess process =
      hosts.Start(1, {"sh", "-c", "hostname; ls /sys/class/net; echo $A $NCCL_DEBUG; exit 3"}, {"A=1 2"});
  unsetenv("NCCL_DEBUG");
  EXPECT_EQ(process.Wait(), 3);
  EXPECT_EQ(process.output(), "west\neth0\neth1\nlo\n1 2\n");
  ChildProcess function = hosts.Start(0, [] { return 4; });
  EXPECT_EQ(function.Wait(), 4);
  ChildProcess killed = hosts.Start(0, {"sleep", "60"});
  killed.Signal(SIGKILL);
  EXPECT_EQ(killed.Wait(), 128 + SIGKILL);
}

TEST_F(NameSpacesTest, LinksGoAndCome) {
  Hosts hosts({"east", "west"}, 2);
  EXPECT_TRUE(Has(Shown(hosts, 0), "LOWER_UP"));
  hosts.Unplug(0);
  EXPECT_TRUE(Has(Shown(hosts, 0), "NO-CARRIER")) << Shown(hosts, 0);
  EXPECT_TRUE(Has(Shown(hosts, 1), "LOWER_UP"));
  hosts.Plug(0);
  EXPECT_TRUE(Has(Shown(hosts, 0), "LOWER_UP"));
  hosts.LinkDown(0);
  EXPECT_FALSE(Has(hosts.Run(0, {"ip", "route"}), "eth0"));
  hosts.LinkUp(0);
  EXPECT_TRUE(Has(hosts.Run(0, {"ip", "route"}), "eth0"));
  hosts.RemoveCard(0, 1);
  EXPECT_FALSE(Has(hosts.Run(0, {"ip", "link"}), "eth1"));
  EXPECT_TRUE(Has(hosts.Run(1, {"ip", "link"}), "eth1"));
}

TEST_F(NameSpacesTest, LinksHaveARateAndAPacketSize) {
  Hosts hosts({"east", "west"});
  hosts.Slow(0, "5mbit");
  EXPECT_TRUE(Has(hosts.Run(0, {"tc", "qdisc", "show", "dev", "eth0"}), "rate 5Mbit"));
  hosts.Slow(0, "1mbit");
  EXPECT_TRUE(Has(hosts.Run(0, {"tc", "qdisc", "show", "dev", "eth0"}), "rate 1Mbit"));
  hosts.SetMtu(0, 900);
  EXPECT_TRUE(Has(Shown(hosts, 0), "mtu 900"));
}

TEST_F(NameSpacesTest, WhatIsBlockedDoesNotArrive) {
  Hosts hosts({"east", "west"});
  const auto rules = [&] { return hosts.Run(0, {"nft", "list", "ruleset"}); };
  hosts.BlockPort(0, 4711);
  hosts.BlockPort(0, 4712);
  EXPECT_TRUE(Has(rules(), "tcp dport 4711 drop") && Has(rules(), "tcp dport 4712 drop")) << rules();
  hosts.Unblock(0);
  EXPECT_EQ(rules(), "");
  hosts.BlockAll(0);
  EXPECT_TRUE(Has(rules(), "iifname != \"lo\" drop")) << rules();
}

}  // namespace
}  // namespace tutti::tests
