// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_SIM_JOB_H_
#define TUTTI_SIM_JOB_H_

// What is simulated, on what, and what comes of it (simulator.h).

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "proto/protocol.h"
#include "sim/costs.h"
#include "sim/link_use.h"
#include "sim/loggops.h"
#include "sim/merge.h"
#include "sim/routing.h"
#include "sim/time.h"
#include "topo/graph.h"
#include "tutti/status.h"

namespace tutti::sim {

class MessageLog;
class PlanSource;

struct Communicator {
  std::vector<int> ranks;  // of the simulation, in the communicator's own order
};

struct Operation {
  std::string name;  // for people
  int communicator = 0;
  std::shared_ptr<const PlanSource> plans;
  // Of a piece, as in plan.h: what one rank has to give or to get. Plans with sizes of their own take no notice.
  std::uint64_t bytes = 0;
  proto::Protocol protocol = proto::Protocol::kSimple;
  int channels = 1;
  std::uint64_t chunk_bytes = 0;     // most bytes of a message; 0: whole blocks
  std::uint64_t granule_bytes = 16;  // that parts and blocks are multiples of
  Merge merge = Merge::kNo;
};

// Whether its plans have values that switches copy or fold. REQUIRES: it has plans.
bool UsesSwitches(const Operation& operation);

// What a rank does on a stream, after all tasks of that stream that come before it in Job::tasks.
struct Task {
  int rank = 0;
  int stream = 0;
  int operation = -1;      // its part of that; -1: it computes
  double compute_us = 0;   // how long
  std::vector<int> after;  // tasks of the same rank that it waits for as well
};

struct Job {
  std::vector<Communicator> communicators;
  std::vector<Operation> operations;
  std::vector<Task> tasks;
};

// Adds a task for every rank of the operation's communicator. REQUIRES: that is there.
void AddOperation(const Operation& operation, Job& job, int stream = 0);

// From `from_us` on a link has `factor` of its rate in both directions; 0: it is dead.
struct LinkFault {
  int link = 0;
  double factor = 0;
  double from_us = 0;
};

// A rank that begins everything so much later.
struct LateRank {
  int rank = 0;
  double late_us = 0;
};

struct Machine {
  const topo::Graph* graph = nullptr;  // not needed with LogGops
  std::vector<int> nodes;              // by rank
};

struct Options {
  Costs costs;
  RoutingOptions routing;
  std::vector<LinkFault> faults;
  std::vector<LateRank> late;
  // In place of graph and costs: the LogGOPS model, in which ranks have one core and a network without links.
  std::optional<LogGops> loggops;
  MessageLog* log = nullptr;  // of messages; null: none is kept
};

struct Span {
  Time start = kNever, end = kNever;  // kNever: it has not come to that
};

struct Outcome {
  Time end = 0;  // of the last task
  std::vector<Span> tasks;
  // From when the first rank began it until the last one had ended it.
  std::vector<Span> operations;
  std::vector<Time> last_start;  // by operation: when its last rank began
  std::vector<Time> rank_end;    // of each rank's last task
  std::vector<LinkUse> links;    // by topo::Arc of the machine's graph
  std::uint64_t messages = 0, events = 0;
  std::uint64_t resent = 0;  // messages that met a dead link and found another way
  // Not ok where ranks wait for ever: the sentence says who waits for whom, in which step, and between whom no link leads on. All the
  // rest is as far as it came.
  Status stuck;
};

}  // namespace tutti::sim

#endif  // TUTTI_SIM_JOB_H_
