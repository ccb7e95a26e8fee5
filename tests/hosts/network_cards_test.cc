// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
// What becomes of a job on two hosts with two network cards each when one card is slow, or when what comes by it is lost: by the
// bytes that each card carries, and by what the log says.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <regex>
#include <string>
#include <vector>

#include "tests/hosts/hosts.h"
#include "tests/hosts/steady_job.h"

namespace tutti::tests {
namespace {

class NetworkCardsTest : public SteadyJob {
 protected:
  NetworkCardsTest() : SteadyJob(TUTTI_HOST_RANK) {}

  // The ports on which processes of a host listen.
  static std::vector<int> Listening(Hosts& hosts, int host) {
    const std::string said = hosts.Run(host, {"ss", "-Hltn"});
    std::vector<int> ports;
    const std::regex local(R"(:(\d+)\s+\S+:\*)");
    for (std::sregex_iterator at(said.begin(), said.end(), local), end; at != end; ++at) {
      ports.push_back(std::stoi((*at)[1]));
    }
    return ports;
  }
  // The first line of a rank's log that matches; its groups. Empty where there is none in time.
  static std::smatch AwaitLine(const ChildProcess& rank, const std::string& pattern, std::string& said) {
    const std::regex line(pattern);
    std::smatch found;
    EXPECT_TRUE(WaitUntil([&] {
      said = rank.output();
      return std::regex_search(said, found, line);
    })) << pattern
        << "\n"
        << said;
    return found;
  }
};

// The fast card can carry ten times as much as the slow one. Halves for each would let it carry no more than that one.
TEST_F(NetworkCardsTest, ASlowCardDoesNotDragTheOtherDown) {
  Hosts hosts({"east", "west"}, 2);
  Start(hosts, {kEast, kWest});
  for (const int card : {0, 1}) ASSERT_TRUE(Carries(hosts, kEast, card));
  for (const int host : {kEast, kWest}) {
    hosts.Slow(host, "100mbit", 0);
    hosts.Slow(host, "10mbit", 1);
  }
  // What had been handed to the slow card before is under way for a while.
  Pause(2000);
  constexpr std::uint64_t kMuch = 20'000'000;
  const std::uint64_t fast_then = Sent(hosts, kEast, 0), slow_then = Sent(hosts, kEast, 1);
  ASSERT_TRUE(WaitUntil([&] {
    Pause(50);
    return Sent(hosts, kEast, 0) - fast_then > kMuch;
  }));
  const std::uint64_t fast = Sent(hosts, kEast, 0) - fast_then, slow = Sent(hosts, kEast, 1) - slow_then;
  fmt::print("the fast card has carried {:.1f} MB, the slow one {:.1f}\n", static_cast<double>(fast) / 1e6,
             static_cast<double>(slow) / 1e6);
  EXPECT_GT(fast, 3 * slow);
  Finish();
}

// What comes to a host by one card is lost, and then the other card's connections are reset.
TEST_F(NetworkCardsTest, ABlockedCardIsDoneWithoutAndTakenBack) {
  Hosts hosts({"east", "west"}, 2);
  Start(hosts, {kEast, kWest}, {"NCCL_DEBUG=INFO", "NCCL_DEBUG_SUBSYS=NET"});
  for (const int card : {0, 1}) ASSERT_TRUE(Carries(hosts, kEast, card));
  hosts.BlockCard(kEast, 1);
  std::string said;
  const std::smatch out = AwaitLine(
      ranks_[1],
      R"(flow 1 by eth1 to rank 0 on host east carries nothing since [0-9.]+ s ago, and the others do its work at about ([0-9.e+]+) MB/s: )",
      said);
  ASSERT_FALSE(out.empty());
  EXPECT_GT(std::stod(out[1]), 0.1) << out[0];
  EXPECT_TRUE(Carries(hosts, kEast, 0)) << "while the other is blocked";
  Reset(hosts, kEast, kWest, 0);
  EXPECT_TRUE(Carries(hosts, kEast, 0)) << "after the second fault";
  const auto all_said = [&] { return ranks_[0].output() + ranks_[1].output(); };
  const std::regex again(R"(flow 1 by eth1 to rank \d on host \w+ carries data again, after [0-9.]+ s)");
  EXPECT_FALSE(std::regex_search(all_said(), again)) << all_said();
  hosts.Unblock(kEast);
  EXPECT_TRUE(Carries(hosts, kEast, 1)) << "after it was blocked";
  EXPECT_TRUE(WaitUntil([&] { return std::regex_search(all_said(), again); })) << all_said();
  Finish();
}

// Nothing gets to the ports of west any more, on either card. West calls east instead.
TEST_F(NetworkCardsTest, WhereAPortIsBlockedTheOtherSideCalls) {
  Hosts hosts({"east", "west"}, 2);
  Start(hosts, {kEast, kWest});
  for (const int card : {0, 1}) ASSERT_TRUE(Carries(hosts, kEast, card));
  const std::vector<int> ports = Listening(hosts, kWest);
  ASSERT_FALSE(ports.empty());
  for (const int port : ports) hosts.BlockPort(kWest, port);
  for (const int card : {0, 1}) Reset(hosts, kEast, kWest, card);
  for (const int card : {0, 1}) EXPECT_TRUE(Carries(hosts, kEast, card)) << card;
  Reset(hosts, kWest, kEast, 0);
  for (const int card : {0, 1}) EXPECT_TRUE(Carries(hosts, kEast, card)) << "after the second fault, " << card;
  Finish();
}

}  // namespace
}  // namespace tutti::tests
