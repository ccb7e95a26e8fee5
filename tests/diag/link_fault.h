// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_TESTS_DIAG_LINK_FAULT_H_
#define TUTTI_TESTS_DIAG_LINK_FAULT_H_

// What is done to the network of hosts that are name spaces.

#include <sys/types.h>

#include <set>
#include <string>
#include <vector>

#include "tests/diag/host_case.h"

namespace tutti::tests {

class Hosts;

class LinkFault {
 public:
  // Both outlive it.
  LinkFault(const HostCase& what, Hosts& hosts) : what_(what), hosts_(hosts) {}

  // Before the ranks start: the cards get a speed, where that shall sink.
  void Prepare();
  // `pids`: of the ranks. Where a connection is to be chosen data have to flow; an error in words where none does.
  std::string Begin(const std::vector<pid_t>& pids);
  void End();

  // Of a stalled link: between whom. Over one connection go the data of one direction and what is said of those of the other.
  bool IsBetween(int from, int to) const;
  std::set<int> ends() const { return {from_, to_}; }
  // "rank 1 to rank 2, 10.77.0.1:5000 to 10.77.0.2:37000", or which speed; empty where nothing was chosen.
  const std::string& chosen() const { return chosen_; }

 private:
  std::string SlowDown(double part);
  std::string Stall(const std::vector<pid_t>& pids);
  int victim_host() const { return what_.host_of[static_cast<std::size_t>(what_.victim)]; }

  const HostCase& what_;
  Hosts& hosts_;
  int from_ = -1, to_ = -1;
  std::string chosen_;
};

}  // namespace tutti::tests

#endif  // TUTTI_TESTS_DIAG_LINK_FAULT_H_
