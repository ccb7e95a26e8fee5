// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_TESTS_HOSTS_HOSTS_H_
#define TUTTI_TESTS_HOSTS_HOSTS_H_

// Several hosts on one machine: a network name space each, joined by a switch for each network card.
//
//     east: eth0 10.77.0.1/24, eth1 10.77.1.1/24           west: eth0 10.77.0.2/24, eth1 10.77.1.2/24
//             |                  |                                 |                  |
//             +-------- eth0 of the switch, a bridge --------------+                  |
//                                +-------- eth1 of the switch ------------------------+
//
// The switch is a name space too, so nothing of this is seen on the machine itself, and all of it goes with the name spaces.
// These are called tutti-<pid of the test>-east and so on; what a test left that died is removed by the next one. Needs root,
// `ip` and `tc` of iproute2, and `nft` of nftables for what blocks.

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "tests/support/child_process.h"

namespace tutti::tests {

class Hosts {
 public:
  // Why this machine cannot have such hosts; empty where it can. For GTEST_SKIP.
  static std::string WhyNot();

  // `names`: of the hosts, at most 8 letters each; their processes see it as the host's name. Each has `cards` network
  // cards, eth0 and so on. What cannot be made fails the test.
  explicit Hosts(std::vector<std::string> names, int cards = 1);
  ~Hosts();
  Hosts(const Hosts&) = delete;
  Hosts& operator=(const Hosts&) = delete;

  // What `ip netns exec` takes.
  std::string NameSpace(int host) const;
  static std::string Card(int card);
  static std::string Address(int host, int card = 0);

  // Starts a program on a host. `environment`, "NAME=value", comes to that of this process without what could name a rank or
  // change a setting: NCCL_*, TUTTI_* and the variables of launchers.
  ChildProcess Start(int host, const std::vector<std::string>& words, const std::vector<std::string>& environment = {});
  // The same with a function, in a forked child.
  ChildProcess Start(int host, const std::function<int()>& body);
  // Runs a program of the system on a host, to its end; a failure of it fails the test. What it has written.
  std::string Run(int host, const std::vector<std::string>& words);

  // Waits until a network interface of a host has a link, or has none: the kernel may take a second to see it. What follows
  // waits for the card that it changes.
  enum class Link { kNone, kThere };
  void AwaitLink(int host, const std::string& interface, Link link);
  // Switches a card off and on, as its host's administrator does: its routes go with it.
  void LinkDown(int host, int card = 0);
  void LinkUp(int host, int card = 0);
  // Takes the cable out at the switch: the card has no link, its addresses and routes stay.
  void Unplug(int host, int card = 0);
  void Plug(int host, int card = 0);
  // Removes the card from its host, for good.
  void RemoveCard(int host, int card = 0);
  // What leaves the host by the card has this rate from now on, as `tc` writes it: "10mbit".
  void Slow(int host, const std::string& rate, int card = 0);
  // The largest packet, in bytes. All hosts of a switch should have the same.
  void SetMtu(int host, int bytes, int card = 0);
  // The switch loses larger packets of a host from now on, without a word to it.
  void LoseLarger(int host, int bytes, int card = 0);
  // Drops what comes to a TCP port of the host, without a word to the sender.
  void BlockPort(int host, int port);
  // The TCP connections that a host's processes have with others.
  struct Connection {
    std::string own, peer;  // "10.77.0.1:5000"
    pid_t pid = 0;
    std::uint64_t sent = 0;  // bytes
  };
  std::vector<Connection> Connections(int host);
  // Drops what comes to the host over a connection; `connection` as its other end has it.
  void Block(int host, const Connection& connection);
  // Drops all that comes to the host by a card, or by all.
  void BlockCard(int host, int card);
  void BlockAll(int host);
  // Undoes all of that.
  void Unblock(int host);

 private:
  std::string Switch() const;
  std::string PortOf(int host, int card) const;
  void Connect(int host, int card);
  void Drop(int host, const std::string& what);

  const std::vector<std::string> names_;
  const int cards_;
  const pid_t owner_;  // also in forked children
};

// Removes the name spaces of tests that are no more.
void SweepHosts();

}  // namespace tutti::tests

#endif  // TUTTI_TESTS_HOSTS_HOSTS_H_
