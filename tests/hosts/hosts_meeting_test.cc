// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
// Ranks on several hosts, which are network name spaces (hosts.h): who finds whom, by which network, and what is said where
// somebody is not found.
#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <string>
#include <vector>

#include "comm/identity/unique_id.h"
#include "sys/net/address.h"
#include "tests/hosts/hosts.h"
#include "tests/support/scratch_folder.h"

namespace tutti::tests {
namespace {

enum Host { kEast, kWest, kNorth };

class HostsMeetingTest : public testing::Test {
 protected:
  void SetUp() override {
    if (const std::string why_not = Hosts::WhyNot(); !why_not.empty()) GTEST_SKIP() << why_not;
  }

  ChildProcess StartRank(Hosts& hosts, int host, int rank, int ranks, const std::vector<std::string>& more = {}) {
    std::vector<std::string> environment = {"TUTTI_RANK=" + std::to_string(rank),
                                            "TUTTI_RANKS=" + std::to_string(ranks), "TUTTI_INIT_TIMEOUT_MS=60000",
                                            "NCCL_DEBUG=INFO"};  // says on which hosts the ranks are
    environment.insert(environment.end(), more.begin(), more.end());
    return hosts.Start(host, {TUTTI_HOST_RANK, id_file_}, environment);
  }
  // Rank 0, which makes the id, is on host_of[0], and so on.
  std::vector<ChildProcess> StartRanks(Hosts& hosts, const std::vector<int>& host_of,
                                       const std::vector<std::string>& more = {}) {
    std::vector<ChildProcess> ranks;
    const int count = static_cast<int>(host_of.size());
    for (int rank = 0; rank < count; ++rank) {
      ranks.push_back(StartRank(hosts, host_of[static_cast<std::size_t>(rank)], rank, count, more));
    }
    return ranks;
  }
  // What the id says, as soon as somebody has made it.
  comm::IdParts Id() const {
    std::string hex;
    EXPECT_TRUE(WaitUntil([&] { return static_cast<bool>(std::getline(std::ifstream(id_file_), hex)); }));
    return *comm::ReadId(*UniqueId::FromHex(hex));
  }
  std::vector<std::string> AddressesOfId() const {
    std::vector<std::string> texts;
    for (const sys::Endpoint& endpoint : Id().addresses) texts.push_back(endpoint.address.ToString());
    return texts;
  }

  const ScratchFolder folder_;
  const std::string id_file_ = folder_.Path("id");
};

// That all ranks have found each other, on these hosts, and their sums are right.
void ExpectTogether(std::vector<ChildProcess>& ranks, const std::string& on_which_hosts) {
  std::string said;
  for (ChildProcess& rank : ranks) {
    EXPECT_EQ(rank.Wait(), 0) << rank.output();
    EXPECT_NE(rank.output().find("the sums are right"), std::string::npos) << rank.output();
    said += rank.output();
  }
  EXPECT_NE(said.find("ranks are on " + on_which_hosts), std::string::npos) << said;
}

TEST_F(HostsMeetingTest, RanksOfTwoHosts) {
  Hosts hosts({"east", "west"});
  std::vector<ChildProcess> ranks = StartRanks(hosts, {kEast, kEast, kWest, kWest});
  ExpectTogether(ranks, "2 hosts: east (ranks 0 and 1), west (ranks 2 and 3)");
}

TEST_F(HostsMeetingTest, RanksOfThreeHostsInAnyOrder) {
  Hosts hosts({"east", "west", "north"});
  std::vector<ChildProcess> ranks = StartRanks(hosts, {kNorth, kEast, kWest, kEast, kNorth});
  ExpectTogether(ranks, "3 hosts: north (ranks 0 and 4), east (ranks 1 and 3), west (rank 2)");
}

TEST_F(HostsMeetingTest, TheProcessThatMadeTheIdNeedBeNoRank) {
  Hosts hosts({"east", "west"});
  const ChildProcess maker = hosts.Start(kEast, {TUTTI_HOST_RANK, "--make-id", id_file_});
  Id();
  std::vector<ChildProcess> ranks;
  for (const int host : {kEast, kWest}) {
    ranks.push_back(hosts.Start(host, {TUTTI_HOST_RANK},
                                {"TUTTI_ID=" + comm::MakeId(Id()).ToHex(), "TUTTI_RANKS=2",
                                 "TUTTI_RANK=" + std::to_string(host), "NCCL_DEBUG=INFO"}));
  }
  ExpectTogether(ranks, "2 hosts: east (rank 0), west (rank 1)");
}

TEST_F(HostsMeetingTest, OverASlowNetworkOfSmallPackets) {
  Hosts hosts({"east", "west"});
  for (const int host : {kEast, kWest}) {
    hosts.Slow(host, "1mbit");
    hosts.SetMtu(host, 600);
  }
  std::vector<ChildProcess> ranks = StartRanks(hosts, {kEast, kWest});
  ExpectTogether(ranks, "2 hosts: east (rank 0), west (rank 1)");
}

// East and west wait for rank 2, which is on a host without a link.
TEST_F(HostsMeetingTest, SaysAfterTenSecondsWhoIsMissing) {
  Hosts hosts({"east", "west", "north"});
  hosts.Unplug(kNorth);
  std::vector<ChildProcess> ranks = StartRanks(hosts, {kEast, kWest, kNorth});
  const std::string where = Id().addresses.at(0).ToString();
  EXPECT_TRUE(ranks[0].WaitForOutput("still waits for")) << ranks[0].output();
  EXPECT_NE(ranks[0].output().find("still waits for rank 2 of 3"), std::string::npos) << ranks[0].output();
  for (const char* piece : {"east (rank 0)", "west (rank 1)"}) {
    EXPECT_NE(ranks[0].output().find(piece), std::string::npos) << ranks[0].output();
  }
  EXPECT_TRUE(ranks[2].WaitForOutput("still waits for")) << ranks[2].output();
  const std::string told = "other hosts meet at " + where + ", which host north cannot reach: ";
  EXPECT_NE(ranks[2].output().find(told), std::string::npos) << ranks[2].output();
  hosts.Plug(kNorth);
  ExpectTogether(ranks, "3 hosts: east (rank 0), west (rank 1), north (rank 2)");
}

TEST_F(HostsMeetingTest, ABlockedPortIsNamedWithinTheInitTimeout) {
  Hosts hosts({"east", "west"});
  const ChildProcess maker = hosts.Start(kEast, {TUTTI_HOST_RANK, "--make-id", id_file_});
  const sys::Endpoint where = Id().addresses.at(0);
  hosts.BlockPort(kEast, where.port);
  std::vector<ChildProcess> ranks;
  const auto begin = std::chrono::steady_clock::now();
  for (const int host : {kEast, kWest}) {
    ranks.push_back(hosts.Start(host, {TUTTI_HOST_RANK},
                                {"TUTTI_ID=" + comm::MakeId(Id()).ToHex(), "TUTTI_RANKS=2",
                                 "TUTTI_INIT_TIMEOUT_MS=3000", "TUTTI_RANK=" + std::to_string(host)}));
  }
  for (ChildProcess& rank : ranks) EXPECT_EQ(rank.Wait(), 1);
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(20));
  const std::string told = "other hosts meet at " + where.ToString() + ", which host west cannot reach: ";
  EXPECT_NE(ranks[1].output().find(told), std::string::npos) << ranks[1].output();
}

// Both hosts have a switch for containers with the same address, as Docker makes them, and a tunnel.
TEST_F(HostsMeetingTest, NetworksWithinAHostAreNotChosen) {
  Hosts hosts({"east", "west"});
  for (const int host : {kEast, kWest}) {
    hosts.Run(host, {"ip", "link", "add", "docker0", "type", "bridge"});
    hosts.Run(host, {"ip", "link", "add", "veth7", "type", "veth", "peer", "name", "inside"});
    hosts.Run(host, {"ip", "link", "set", "veth7", "master", "docker0", "up"});
    hosts.Run(host, {"ip", "link", "set", "inside", "up"});
    hosts.Run(host, {"ip", "addr", "add", "172.17.0.1/16", "dev", "docker0"});
    hosts.Run(host, {"ip", "link", "set", "docker0", "up"});
    hosts.Run(host, {"sh", "-c",
                     "if ip link add vpn0 type vxlan id 4 remote 10.77.0.9 dstport 4789; then "
                     "ip addr add 192.168.7.1/24 dev vpn0 && ip link set vpn0 up; fi"});
  }
  for (const int host : {kEast, kWest}) hosts.AwaitLink(host, "docker0", Hosts::Link::kThere);
  std::vector<ChildProcess> ranks = StartRanks(hosts, {kEast, kWest});
  EXPECT_EQ(AddressesOfId(), std::vector<std::string>{hosts.Address(kEast)});
  ExpectTogether(ranks, "2 hosts: east (rank 0), west (rank 1)");
}

TEST_F(HostsMeetingTest, TheSecondCardWhereASettingNamesIt) {
  Hosts hosts({"east", "west"}, 2);
  hosts.BlockCard(kEast, 0);
  std::vector<ChildProcess> ranks = StartRanks(hosts, {kEast, kWest}, {"NCCL_SOCKET_IFNAME=eth1"});
  EXPECT_EQ(AddressesOfId(), std::vector<std::string>{hosts.Address(kEast, 1)});
  ExpectTogether(ranks, "2 hosts: east (rank 0), west (rank 1)");
}

TEST_F(HostsMeetingTest, TheSecondCardWhereTheFirstLeadsNowhere) {
  Hosts hosts({"east", "west"}, 2);
  hosts.LinkDown(kWest, 0);
  std::vector<ChildProcess> ranks = StartRanks(hosts, {kEast, kWest});
  EXPECT_EQ(AddressesOfId(), (std::vector<std::string>{hosts.Address(kEast, 0), hosts.Address(kEast, 1)}));
  ExpectTogether(ranks, "2 hosts: east (rank 0), west (rank 1)");
}

TEST_F(HostsMeetingTest, HostIdsMakeTwoHostsOfOne) {
  Hosts hosts({"east"});
  std::vector<ChildProcess> ranks;
  ranks.push_back(StartRank(hosts, kEast, 0, 2, {"NCCL_HOSTID=first"}));
  ranks.push_back(StartRank(hosts, kEast, 1, 2, {"NCCL_HOSTID=second"}));
  ExpectTogether(ranks, "2 hosts: first (rank 0), second (rank 1)");
}

// A host of no job: connects again and again, and says rubbish or nothing.
int BeAStranger(const sys::Endpoint& where) {
  const std::string rubbish(3000, '\x5a');
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(where.port);
  inet_pton(AF_INET, where.address.ToString().c_str(), &address.sin_addr);
  for (int i = 0;; ++i) {
    const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0) {  // all are in use: the next begin anew
      for (int open = 3; open < 1024; ++open) close(open);
      continue;
    }
    if (connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof(address)) != 0) return 1;
    if (i % 3 == 0) (void)!send(fd, rubbish.data(), static_cast<std::size_t>(1 + i % 3000), MSG_NOSIGNAL);
    if (i % 3 == 1) close(fd);
    if (i == 20) (void)!write(STDOUT_FILENO, "many\n", 5);
    usleep(2000);
  }
}

TEST_F(HostsMeetingTest, StrangersChangeNothing) {
  Hosts hosts({"east", "west", "north"});
  std::vector<ChildProcess> ranks;
  ranks.push_back(StartRank(hosts, kEast, 0, 2));
  const sys::Endpoint where = Id().addresses.at(0);
  ChildProcess stranger = hosts.Start(kNorth, [&] { return BeAStranger(where); });
  EXPECT_TRUE(stranger.WaitForOutput("many")) << stranger.output();
  ranks.push_back(StartRank(hosts, kWest, 1, 2));
  ExpectTogether(ranks, "2 hosts: east (rank 0), west (rank 1)");
}

}  // namespace
}  // namespace tutti::tests
