// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_SIM_SWITCH_TRAFFIC_H_
#define TUTTI_SIM_SWITCH_TRAFFIC_H_

// Values on their way through switches. Each is a message on every segment of its tree (switch_trees.h). At a switch where several ways
// meet a message waits until all are there: its head goes on with the last of their heads, and its tail not before the last of their tails.
// Where ways part it becomes several, each as early.

#include <cstdint>
#include <map>
#include <span>
#include <utility>
#include <vector>

#include "sim/messages.h"
#include "sim/switch_trees.h"
#include "sim/time.h"
#include "tutti/status.h"

namespace tutti::sim {

// A value of a rank that enters the tree of its group.
struct SwitchedValue {
  std::uint32_t run = 0;     // of the operation
  std::uint32_t wire = 0;    // one of those that it belongs to, for who wants to know where a message was lost
  std::uint64_t group = 0;   // that tells the group, and the round, from others of the operation
  std::uint32_t member = 0;  // which of SwitchedFlow::from it is
  std::uint64_t wire_bytes = 0;
  Time sent = 0;
  Time after = 0;  // from its arrival until it is received, beside what a reading takes
};

class SwitchTraffic {
 public:
  // What a receiver is told of: the message of that number of a wire.
  struct Receipt {
    std::uint32_t wire = 0, order = 0;
  };

  // All of these must outlive it.
  SwitchTraffic(const topo::Graph& graph, std::span<const int> nodes, const topo::PolicyOptions& policy,
                const SwitchCosts& costs, Router& router, Messages& messages);

  // The tree of a group. Fails as SwitchTrees::Find.
  Result<std::uint32_t> TreeOf(const SwitchedFlow& flow) { return trees_.Find(flow); }
  const SwitchTree& tree(std::uint32_t index) const { return trees_.tree(index); }

  // Returns the value's message, before its first link. `receipts`: for each of SwitchedFlow::to, what it is told of this value when
  // what comes of it is there; nothing for a rank's own copy.
  std::uint32_t Enter(std::uint32_t tree, const SwitchedValue& value, std::span<const std::vector<Receipt>> receipts);
  // The head of a message is at the end of its segment; the message is gone. Returned: messages whose heads go on from there. Valid until
  // the next call.
  std::span<const std::uint32_t> Meet(std::uint32_t message);
  // A message is with its receiver; it is gone. Returned: what that one is told.
  std::vector<Receipt> Arrive(std::uint32_t message);

  // SwitchTrees::Forget.
  void Forget() { trees_.Forget(); }

 private:
  // What has come to a place where ways meet.
  struct Joint {
    std::uint32_t left = 0;  // to come
    Time tail = 0;
  };
  struct Flight {
    std::uint32_t tree = 0;
    SwitchedValue value;
    std::vector<Joint> joints;                   // by segment that begins there, and the root at the end
    std::vector<std::vector<Receipt>> receipts;  // by receiver
    std::uint32_t left = 0;                      // receivers to come
  };

  std::uint32_t FlightOf(std::uint32_t tree, const SwitchedValue& value);
  // Segments are numbered upwards first, then downwards.
  std::uint32_t Start(std::uint32_t flight, std::uint32_t segment, Time tail);

  SwitchTrees trees_;
  double read_us_;
  Messages& messages_;
  std::vector<Flight> flights_;
  std::vector<std::uint32_t> free_;  // of flights_
  std::map<std::pair<std::uint32_t, std::uint64_t>, std::uint32_t>
      known_;  // runs and groups of flights that values still enter
  std::vector<std::uint32_t> started_;
};

}  // namespace tutti::sim

#endif  // TUTTI_SIM_SWITCH_TRAFFIC_H_
