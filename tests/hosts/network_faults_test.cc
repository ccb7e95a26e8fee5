// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
// What networks and hosts do while a job runs: ranks on hosts that are network name spaces (hosts.h) add up one array after the
// other, and check every sum, while connections are cut, cards go and come, and processes die.
#include <gtest/gtest.h>
#include <signal.h>

#include <chrono>
#include <filesystem>
#include <string>
#include <vector>

#include "tests/hosts/hosts.h"
#include "tests/hosts/steady_job.h"

namespace tutti::tests {
namespace {

using std::chrono::milliseconds;
using Clock = std::chrono::steady_clock;

class NetworkFaultsTest : public SteadyJob {
 protected:
  NetworkFaultsTest() : SteadyJob(TUTTI_HOST_RANK) {}
};

TEST_F(NetworkFaultsTest, AllCardsCarry) {
  Hosts hosts({"east", "west"}, 2);
  Start(hosts, {kEast, kWest});
  for (const int host : {kEast, kWest}) {
    for (const int card : {0, 1}) EXPECT_TRUE(Carries(hosts, host, card)) << host << ' ' << card;
  }
  Finish();
}

TEST_F(NetworkFaultsTest, ConnectionsThatAreResetAreMadeAnew) {
  for (const int cards : {1, 2}) {
    Hosts hosts({"east", "west"}, cards);
    Start(hosts, {kEast, kWest, kWest});
    for (int i = 0; i < 10; ++i) {
      Pause(20 + 17 * i);
      Reset(hosts, i % 2 == 0 ? kEast : kWest, i % 2 == 0 ? kWest : kEast, i % cards);
    }
    Finish();
    ranks_.clear();
    std::filesystem::remove(folder_.Path("id"));
    std::filesystem::remove(folder_.Path("stop"));
  }
}

TEST_F(NetworkFaultsTest, ACardGoesAndComesAndThenTheOther) {
  Hosts hosts({"east", "west"}, 2);
  Start(hosts, {kEast, kWest});
  for (const int card : {1, 0}) {
    ASSERT_TRUE(Carries(hosts, kEast, card));
    hosts.LinkDown(kEast, card);
    EXPECT_TRUE(Carries(hosts, kEast, 1 - card)) << "while the other is down";
    hosts.LinkUp(kEast, card);
    EXPECT_TRUE(Carries(hosts, kEast, card)) << "after it was down";
  }
  Finish();
}

TEST_F(NetworkFaultsTest, ACardThatIsRemovedIsDoneWithout) {
  Hosts hosts({"east", "west"}, 2);
  Start(hosts, {kEast, kWest});
  ASSERT_TRUE(Carries(hosts, kEast, 0));
  hosts.RemoveCard(kEast, 0);
  EXPECT_TRUE(Carries(hosts, kEast, 1));
  Finish();
}

TEST_F(NetworkFaultsTest, WhereLargePacketsGetLostSmallerOnesAreSent) {
  Hosts hosts({"east", "west"});
  Start(hosts, {kEast, kWest});
  for (const int host : {kEast, kWest}) hosts.LoseLarger(host, 1300);
  EXPECT_TRUE(ranks_[0].WaitForOutput("large packets may get lost on the way")) << ranks_[0].output();
  EXPECT_TRUE(Has(ranks_[0].output(), "compare the MTU of eth0")) << ranks_[0].output();
  EXPECT_TRUE(Carries(hosts, kEast, 0));
  Finish();
}

// Longer than the system keeps a connection over which nothing goes, as the rank's process reads nothing.
TEST_F(NetworkFaultsTest, AStoppedRankIsWaitedFor) {
  Hosts hosts({"east", "west"});
  Start(hosts, {kEast, kWest, kWest});
  ranks_[1].Signal(SIGSTOP);
  Pause(8000);
  ranks_[1].Signal(SIGCONT);
  Finish();
  for (const ChildProcess& rank : ranks_) EXPECT_FALSE(Has(rank.output(), "large packets")) << rank.output();
}

// It computes meanwhile, or writes a file. Nothing happens to the connections.
TEST_F(NetworkFaultsTest, ALateRankIsWaitedFor) {
  Hosts hosts({"east", "west"});
  Start(hosts, {kEast, kWest}, {}, {{1, "TUTTI_TEST_LATE_MS=9000"}});
  Pause(9000);
  Finish();
  for (const ChildProcess& rank : ranks_) EXPECT_FALSE(Has(rank.output(), "timed out")) << rank.output();
}

TEST_F(NetworkFaultsTest, ADeadRankIsNamedOnAllHosts) {
  Hosts hosts({"east", "west", "north"});
  Start(hosts, {kEast, kWest, kWest, kNorth});
  ranks_[1].Signal(SIGKILL);
  for (const std::size_t rank : {std::size_t{0}, std::size_t{2}, std::size_t{3}}) {
    EXPECT_EQ(ranks_[rank].Wait(), 1);
    EXPECT_TRUE(Has(ranks_[rank].output(), "rank 1 (pid " + std::to_string(ranks_[1].pid()))) << ranks_[rank].output();
  }
}

TEST_F(NetworkFaultsTest, AHostThatIsCutOffIsNamed) {
  Hosts hosts({"east", "west", "north"});
  Start(hosts, {kEast, kEast, kWest, kWest, kNorth});
  const Clock::time_point then = Clock::now();
  hosts.Unplug(kWest);
  for (const std::size_t rank : {std::size_t{0}, std::size_t{1}, std::size_t{4}}) {
    EXPECT_EQ(ranks_[rank].Wait(), 1);
    EXPECT_TRUE(Has(ranks_[rank].output(), "cannot be reached: host west has not answered for "))
        << ranks_[rank].output();
  }
  RecordProperty("ms", static_cast<int>(std::chrono::duration_cast<milliseconds>(Clock::now() - then).count()));
}

}  // namespace
}  // namespace tutti::tests
