// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
// What networks and hosts do while a job runs: ranks on hosts that are network name spaces (hosts.h) add up one array after the
// other, and check every sum, while connections are cut, cards go and come, and processes die.
#include <gtest/gtest.h>
#include <signal.h>

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include "tests/hosts/hosts.h"
#include "tests/support/scratch_folder.h"

namespace tutti::tests {
namespace {

enum Host { kEast, kWest, kNorth };

using std::chrono::milliseconds;
using Clock = std::chrono::steady_clock;

void Pause(int ms) { std::this_thread::sleep_for(milliseconds(ms)); }

bool Has(const std::string& text, const std::string& piece) { return text.find(piece) != std::string::npos; }

class NetworkFaultsTest : public testing::Test {
 protected:
  void SetUp() override {
    if (const std::string why_not = Hosts::WhyNot(); !why_not.empty()) GTEST_SKIP() << why_not;
  }

  // Starts a rank on each of these hosts, and waits until all are at work.
  void Start(Hosts& hosts, const std::vector<int>& host_of) {
    for (std::size_t rank = 0; rank < host_of.size(); ++rank) {
      ranks_.push_back(hosts.Start(host_of[rank], {TUTTI_HOST_RANK, folder_.Path("id"), folder_.Path("stop")},
                                   {"TUTTI_RANK=" + std::to_string(rank),
                                    "TUTTI_RANKS=" + std::to_string(host_of.size()), "TUTTI_TIMEOUT_MS=60000"}));
    }
    for (ChildProcess& rank : ranks_) ASSERT_TRUE(rank.WaitForOutput("going")) << rank.output();
  }
  // Lets them end, with all sums right.
  void Finish() {
    std::ofstream(folder_.Path("stop")) << "stop\n";
    for (ChildProcess& rank : ranks_) {
      EXPECT_EQ(rank.Wait(), 0) << rank.output();
      EXPECT_TRUE(Has(rank.output(), "the sums are right")) << rank.output();
    }
  }
  // Bytes that a host's card has sent.
  static std::uint64_t Sent(Hosts& hosts, int host, int card) {
    const std::string path = "/sys/class/net/" + Hosts::Card(card) + "/statistics/tx_bytes";
    return std::stoull(hosts.Run(host, {"cat", path}));
  }
  // Waits until a card carries data.
  static bool Carries(Hosts& hosts, int host, int card) {
    constexpr std::uint64_t kMuch = 1'000'000;
    const std::uint64_t before = Sent(hosts, host, card);
    return WaitUntil([&] {
      Pause(20);
      return Sent(hosts, host, card) > before + kMuch;
    });
  }
  // Ends all connections of a host with another, as its kernel can.
  static void Reset(Hosts& hosts, int host, int other, int card) {
    hosts.Run(host, {"ss", "-K", "dst", Hosts::Address(other, card)});
  }

  const ScratchFolder folder_;
  std::vector<ChildProcess> ranks_;
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

TEST_F(NetworkFaultsTest, AStoppedRankIsWaitedFor) {
  Hosts hosts({"east", "west"});
  Start(hosts, {kEast, kWest, kWest});
  ranks_[1].Signal(SIGSTOP);
  Pause(3000);
  ranks_[1].Signal(SIGCONT);
  Finish();
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
  Start(hosts, {kEast, kWest, kNorth});
  const Clock::time_point then = Clock::now();
  hosts.Unplug(kWest);
  for (const std::size_t rank : {std::size_t{0}, std::size_t{2}}) {
    EXPECT_EQ(ranks_[rank].Wait(), 1);
    EXPECT_TRUE(Has(ranks_[rank].output(), "cannot be reached: host west has not answered for "))
        << ranks_[rank].output();
  }
  RecordProperty("ms", static_cast<int>(std::chrono::duration_cast<milliseconds>(Clock::now() - then).count()));
}

}  // namespace
}  // namespace tutti::tests
