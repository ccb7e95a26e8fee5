// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
// `tutti run --hosts` over hosts that are network name spaces: the agent is `ip netns exec`, and the ranks meet in the process
// of `tutti run` on one of the hosts.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <string>

#include "tests/hosts/hosts.h"

namespace tutti::tests {
namespace {

class HostsRunTest : public testing::Test {
 protected:
  void SetUp() override {
    if (const std::string why_not = Hosts::WhyNot(); !why_not.empty()) GTEST_SKIP() << why_not;
  }
};

bool Has(const std::string& text, const std::string& piece) { return text.find(piece) != std::string::npos; }

TEST_F(HostsRunTest, RanksOfTwoHosts) {
  Hosts hosts({"east", "west"});
  const std::string list = fmt::format("{}:2,{}:1", hosts.NameSpace(0), hosts.NameSpace(1));
  ChildProcess run = hosts.Start(
      0, {TUTTI_TOOL, "run", "--hosts", list, "--agent", "ip netns exec", "--tag-output", TUTTI_HOST_RANK, "--twice"});
  EXPECT_EQ(run.Wait(), 0) << run.output();
  for (int rank = 0; rank < 3; ++rank) {
    EXPECT_TRUE(Has(run.output(), fmt::format("[{0}] rank {0}: the sums are right", rank))) << run.output();
  }
}

TEST_F(HostsRunTest, RanksOfOneHostFromAnother) {
  Hosts hosts({"east", "west"});
  ChildProcess run = hosts.Start(0, {TUTTI_TOOL, "run", "--hosts", hosts.NameSpace(1) + ":3", "--agent",
                                     "ip netns exec", "--tag-output", TUTTI_HOST_RANK});
  EXPECT_EQ(run.Wait(), 0) << run.output();
  for (int rank = 0; rank < 3; ++rank) {
    EXPECT_TRUE(Has(run.output(), fmt::format("[{0}] rank {0}: the sums are right", rank))) << run.output();
  }
}

TEST_F(HostsRunTest, AHostThatDoesNotExist) {
  Hosts hosts({"east"});
  ChildProcess run = hosts.Start(
      0, {TUTTI_TOOL, "run", "--hosts", hosts.NameSpace(0) + ",nowhere", "--agent", "ip netns exec", TUTTI_HOST_RANK});
  EXPECT_NE(run.Wait(), 0);
  EXPECT_TRUE(Has(run.output(), "host nowhere was not reached, so no rank was started: ip (pid ")) << run.output();
  EXPECT_FALSE(Has(run.output(), "rank 0: ")) << run.output();
}

TEST_F(HostsRunTest, AHostWithoutANetwork) {
  Hosts hosts({"east", "west"});
  hosts.LinkDown(0);
  hosts.Run(0, {"ip", "link", "set", "lo", "down"});
  ChildProcess run =
      hosts.Start(0, {TUTTI_TOOL, "run", "--hosts", fmt::format("{},{}", hosts.NameSpace(0), hosts.NameSpace(1)),
                      "--agent", "ip netns exec", TUTTI_HOST_RANK});
  EXPECT_EQ(run.Wait(), 1);
  EXPECT_TRUE(Has(run.output(), "tutti run: no network interface of this host can be used")) << run.output();
}

}  // namespace
}  // namespace tutti::tests
