// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_SIM_WAYS_H_
#define TUTTI_SIM_WAYS_H_

// Which way an operation is done: what a chooser answers, or a workload file says.

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "algo/algorithm.h"
#include "proto/protocol.h"
#include "sim/merge.h"
#include "sim/plans.h"
#include "tutti/status.h"
#include "tutti/types.h"

namespace tutti::sim {

struct Machine;
struct Operation;
struct Options;

struct Way {
  algo::Algorithm algorithm = algo::Algorithm::kRing;
  proto::Protocol protocol = proto::Protocol::kSimple;
  int channels = 1;
  std::uint64_t chunk_bytes = 0;
  Order order = Order::kByRank;
  Merge merge = Merge::kNo;
};

// A call of a communicator.
struct Call {
  Collective collective = Collective::kAllReduce;
  std::uint64_t bytes = 0;     // of a piece, as in plan.h
  std::span<const int> ranks;  // of the simulation
  algo::Hosts hosts;           // of these ranks
  int root = 0;
};
using Chooser = std::function<Result<Way>(const Call&)>;

// The hosts of ranks of a machine; one where there is no graph.
algo::Hosts HostsOf(const Machine& machine, std::span<const int> ranks);

// In which order a hierarchy of hosts, or a ring through them, uses all network cards: turned where hosts are several of one size.
Order OrderFor(const algo::Hosts& hosts);

// The operation of a communicator by that way. Fails where the algorithm cannot do it.
Result<Operation> MakeOperation(const Call& call, const Way& way, int communicator);

// Simulates the call alone by every algorithm of the registry, with each of `channels` and each protocol, and answers the fastest. Calls
// of the same collective, size and shape of hosts are answered alike, from memory. `machine`, and what `options` points to, must outlive
// it; faults do not count.
Chooser ChooseBySimulation(const Machine& machine, const Options& options, std::vector<int> channels,
                           std::uint64_t chunk_bytes);

}  // namespace tutti::sim

#endif  // TUTTI_SIM_WAYS_H_
