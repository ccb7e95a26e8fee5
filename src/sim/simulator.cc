// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "sim/simulator.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>
#include <unordered_set>

#include "sim/engine.h"

namespace tutti::sim {
namespace {

template <typename... Values>
Status Bad(fmt::format_string<Values...> format, Values&&... values) {
  return Status(Code::kInvalidArgument, fmt::format(format, std::forward<Values>(values)...));
}

Status CheckMachine(const Machine& machine, const Options& options) {
  if (options.loggops) return Status::Ok();
  if (machine.graph == nullptr)
    return Bad("the simulation has neither a graph nor LogGOPS parameters; give one of them");
  for (std::size_t rank = 0; rank < machine.nodes.size(); ++rank) {
    const int node = machine.nodes[rank];
    if (node < 0 || static_cast<std::size_t>(node) >= machine.graph->nodes().size()) {
      return Bad("rank {} is on node {}, but the graph has nodes 0 to {}", rank, node,
                 static_cast<int>(machine.graph->nodes().size()) - 1);
    }
    const topo::Node& place = machine.graph->node(node);
    const bool good = place.gpu() != nullptr || place.kind == topo::NodeKind::kNumaNode;
    if (!good || place.host < 0) {
      return Bad("rank {} is on a {}; ranks are on GPUs or NUMA nodes of hosts", rank, topo::ToString(place.kind));
    }
  }
  return Status::Ok();
}

Status CheckFaults(const Machine& machine, const Options& options) {
  const auto ranks = static_cast<int>(machine.nodes.size());
  for (const LateRank& late : options.late) {
    if (late.rank < 0 || late.rank >= ranks)
      return Bad("rank {} is to be late, but there are {} ranks", late.rank, ranks);
    if (!(late.late_us >= 0))
      return Bad("rank {} is to be {} us late; that must not be negative", late.rank, late.late_us);
  }
  if (options.loggops) return Status::Ok();
  for (const LinkFault& fault : options.faults) {
    if (fault.link < 0 || static_cast<std::size_t>(fault.link) >= machine.graph->links().size()) {
      return Bad("a fault is of link {}, but the graph has {} links", fault.link, machine.graph->links().size());
    }
    if (!(fault.factor >= 0 && fault.from_us >= 0)) {
      return Bad("the fault of link {} has factor {} from {} us on; neither may be negative", fault.link, fault.factor,
                 fault.from_us);
    }
  }
  return Status::Ok();
}

Status CheckCommunicators(const Job& job, int ranks) {
  for (std::size_t i = 0; i < job.communicators.size(); ++i) {
    std::unordered_set<int> seen;
    for (const int rank : job.communicators[i].ranks) {
      if (rank < 0 || rank >= ranks) return Bad("communicator {} has rank {}, but there are {} ranks", i, rank, ranks);
      if (!seen.insert(rank).second) return Bad("communicator {} has rank {} twice", i, rank);
    }
  }
  return Status::Ok();
}

Status CheckSwitched(const Operation& operation, const Options& options) {
  if (!UsesSwitches(operation)) return Status::Ok();
  if (operation.protocol != proto::Protocol::kSimple) {
    return Bad(
        "operation {} has values that switches fold or copy, but {} puts flags between data, which no switch can fold; "
        "use Simple",
        operation.name, proto::Name(operation.protocol));
  }
  if (options.loggops)
    return Bad("operation {} has values that switches fold or copy, which LogGOPS knows nothing of; give a graph",
               operation.name);
  return Status::Ok();
}

Status CheckOperations(const Job& job, const Options& options) {
  if (job.operations.size() > kMostOperations)
    return Bad("{} operations; {} are the most", job.operations.size(), kMostOperations);
  for (const Operation& operation : job.operations) {
    const bool known =
        operation.communicator >= 0 && static_cast<std::size_t>(operation.communicator) < job.communicators.size();
    if (!known)
      return Bad("operation {} is of communicator {}, which there is not", operation.name, operation.communicator);
    if (operation.plans == nullptr) return Bad("operation {} has no plans", operation.name);
    if (operation.channels < 1 || operation.channels > std::numeric_limits<std::uint16_t>::max()) {
      return Bad("operation {} has {} channels; 1 to 65535 are possible", operation.name, operation.channels);
    }
    if (operation.granule_bytes < 1)
      return Bad("operation {} has a granule of 0 bytes; the least is 1", operation.name);
    TUTTI_RETURN_IF_ERROR(CheckSwitched(operation, options));
  }
  return Status::Ok();
}

Status CheckTasks(const Job& job, int ranks) {
  std::vector<std::unordered_set<int>> members(job.communicators.size());
  for (std::size_t i = 0; i < members.size(); ++i) {
    members[i].insert(job.communicators[i].ranks.begin(), job.communicators[i].ranks.end());
  }
  std::set<std::pair<int, int>> parts;
  for (std::size_t i = 0; i < job.tasks.size(); ++i) {
    const Task& task = job.tasks[i];
    if (task.rank < 0 || task.rank >= ranks)
      return Bad("task {} is of rank {}, but there are {} ranks", i, task.rank, ranks);
    if (!(task.compute_us >= 0 && std::isfinite(task.compute_us)))
      return Bad("task {} computes for {} us", i, task.compute_us);
    for (const int other : task.after) {
      if (other < 0 || static_cast<std::size_t>(other) >= job.tasks.size()) {
        return Bad("task {} waits for task {}, but there are {} tasks", i, other, job.tasks.size());
      }
    }
    if (task.operation < 0) continue;
    if (static_cast<std::size_t>(task.operation) >= job.operations.size()) {
      return Bad("task {} is of operation {}, but there are {}", i, task.operation, job.operations.size());
    }
    const Operation& operation = job.operations[static_cast<std::size_t>(task.operation)];
    if (!members[static_cast<std::size_t>(operation.communicator)].contains(task.rank)) {
      return Bad("task {} is rank {}'s part of {}, but the rank is not in its communicator", i, task.rank,
                 operation.name);
    }
    if (!parts.emplace(task.operation, task.rank).second) {
      return Bad("rank {} has two parts of {}", task.rank, operation.name);
    }
  }
  return Status::Ok();
}

}  // namespace

Result<Outcome> Simulate(const Job& job, const Machine& machine, const Options& options) {
  const int ranks = static_cast<int>(machine.nodes.size());
  if (options.routing.flows < 1) return Bad("a wire has {} flows; the least is 1", options.routing.flows);
  TUTTI_RETURN_IF_ERROR(CheckMachine(machine, options));
  TUTTI_RETURN_IF_ERROR(CheckFaults(machine, options));
  TUTTI_RETURN_IF_ERROR(CheckCommunicators(job, ranks));
  TUTTI_RETURN_IF_ERROR(CheckOperations(job, options));
  TUTTI_RETURN_IF_ERROR(CheckTasks(job, ranks));
  return Engine(job, machine, options).Execute();
}

std::optional<Binding> FindBinding(std::span<const LinkUse> links, Time during) {
  const auto most = std::ranges::max_element(links, {}, &LinkUse::busy);
  if (most == links.end() || most->messages == 0 || during <= 0) return std::nullopt;
  return Binding{.arc = static_cast<topo::Arc>(most - links.begin()),
                 .share = static_cast<double>(most->busy) / static_cast<double>(during)};
}

std::string NameOf(const topo::Graph& graph, topo::Arc arc) {
  const topo::Link& link = graph.link(topo::LinkOf(arc));
  const auto name = [&](int node) {
    const topo::Node& each = graph.node(node);
    return each.name.empty() ? fmt::format("{} (node {})", topo::ToString(each.kind), node) : each.name;
  };
  const int from = arc % 2 == 0 ? link.from : link.to, to = arc % 2 == 0 ? link.to : link.from;
  const int host = std::max(graph.node(from).host, graph.node(to).host);
  const std::string way = fmt::format("{} -> {}", name(from), name(to));
  if (host < 0 || static_cast<std::size_t>(host) >= graph.hosts().size()) return way;
  const std::string& host_name = graph.hosts()[static_cast<std::size_t>(host)];
  return host_name.empty() ? fmt::format("host {}: {}", host, way) : fmt::format("{}: {}", host_name, way);
}

}  // namespace tutti::sim
