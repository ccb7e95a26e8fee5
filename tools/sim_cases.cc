// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "tools/sim_cases.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <optional>
#include <string_view>
#include <utility>

#include "base/words.h"
#include "tools/sim_options.h"
#include "topo/machine.h"
#include "topo/policy.h"

namespace tutti::tools {
namespace {

template <typename... Values>
Status Bad(fmt::format_string<Values...> format, Values&&... values) {
  return Status(Code::kInvalidArgument, fmt::format(format, std::forward<Values>(values)...));
}

Result<std::vector<sim::LateRank>> ParseLate(const std::vector<std::string>& texts, std::size_t ranks) {
  std::vector<sim::LateRank> late;
  for (const std::string& text : texts) {
    sim::LateRank one;
    int read = 0;
    if (std::sscanf(text.c_str(), "%d:%lf%n", &one.rank, &one.late_us, &read) != 2 ||
        read != static_cast<int>(text.size()) || one.rank < 0 || static_cast<std::size_t>(one.rank) >= ranks ||
        !(one.late_us >= 0)) {
      return Bad("--late {}: write RANK:US, as 5:300; there are {} ranks, from 0", text, ranks);
    }
    late.push_back(one);
  }
  return late;
}

// The link of a port to the network. Nothing: there is no such port, or it is not joined.
std::optional<int> CableOf(const topo::Graph& graph, int host, int number) {
  const std::optional<int> port = graph.PortOf(host, number);
  if (!port) return std::nullopt;
  for (const topo::Neighbour& neighbour : graph.NeighboursOf(*port)) {
    if (graph.link(neighbour.link).kind == topo::LinkKind::kNetwork) return neighbour.link;
  }
  return std::nullopt;
}

// "30:1:0.1", or several with a plus.
Status AddSlowCables(std::string_view texts, SimCase& made) {
  made.setup.options.faults.clear();
  made.fault.clear();
  while (!texts.empty()) {
    const std::string text(texts.substr(0, texts.find('+')));
    texts.remove_prefix(std::min(text.size() + 1, texts.size()));
    int host = 0, port = 0, read = 0;
    double rate = 0;
    if (std::sscanf(text.c_str(), "%d:%d:%lf%n", &host, &port, &rate, &read) != 3 ||
        read != static_cast<int>(text.size()) || !(rate >= 0)) {
      return Bad("--slow {}: write HOST:PORT:RATE, as 30:1:0.1 for a tenth of its rate", text);
    }
    const std::optional<int> cable = CableOf(made.topology.graph, host, port);
    if (!cable) {
      return Bad("--slow {}: host {} of {} has no port {} at a network; both are counted from 0", text, host,
                 made.hosts, port);
    }
    made.setup.options.faults.push_back({.link = *cable, .factor = rate});
    made.fault += fmt::format("{}host {}'s port {} {}", made.fault.empty() ? "" : ", ", host, port,
                              rate == 0 ? "dead" : fmt::format("at {:g} of its rate", rate));
  }
  return Status::Ok();
}

Result<std::vector<int>> HostsOf(const SimOptions& options) {
  std::vector<int> hosts;
  for (const std::string& text : options.hosts) {
    const std::optional<int> number = ParseNumber<int>(text);
    if (!number || *number < 1 || *number > topo::kMostHosts) {
      return Bad("--hosts is a number from 1 to {}, or several with commas, found '{}'", topo::kMostHosts, text);
    }
    hosts.push_back(*number);
  }
  return hosts.empty() ? std::vector<int>{1} : hosts;
}

std::vector<TopoSource> SourcesOf(const SimOptions& options) {
  std::vector<TopoSource> sources;
  for (const std::string& file : options.files) sources.push_back({.file = file, .machine = {}});
  for (const std::string& machine : options.machines) {
    const bool is_file = machine.find_first_of("./") != machine.npos;  // no machine is called so
    sources.push_back(is_file ? TopoSource{.file = machine, .machine = {}}
                              : TopoSource{.file = {}, .machine = machine});
  }
  return sources.empty() ? std::vector<TopoSource>(1) : sources;
}

Status SetUpCase(const SimOptions& options, const TopoSource& source, SimCase& made) {
  made.hosts = source.hosts;
  made.name = made.topology.graph.name;
  if (made.name.empty() && !source.file.empty()) made.name = StemOf(source.file);
  Result<SimSetup> setup = SetUp(made.topology);
  if (!setup.ok()) return setup.status();
  made.setup = std::move(*setup);
  sim::RoutingOptions& routing = made.setup.options.routing;
  routing.seed = static_cast<std::uint64_t>(options.seed);
  if (!options.gdr_level.empty()) {
    routing.policy.gdr_level = topo::LevelFrom(options.gdr_level);
    if (!routing.policy.gdr_level) {
      return Bad("--gdr-level is a level of NCCL's, from LOC to SYS, or its number, found '{}'", options.gdr_level);
    }
  }
  Result<std::vector<sim::LateRank>> late = ParseLate(options.late, made.setup.machine.nodes.size());
  if (!late.ok()) return late.status();
  made.setup.options.late = std::move(*late);
  return Status::Ok();
}

}  // namespace

Status ForEachCase(const SimOptions& options, const std::function<Status(SimCase&)>& run) {
  const Result<std::vector<int>> hosts = HostsOf(options);
  if (!hosts.ok()) return hosts.status();
  int number = 0;
  for (TopoSource source : SourcesOf(options)) {
    for (const int count : *hosts) {
      source.hosts = count;
      Result<SourcedTopology> topology = ReadSource(source);
      // What is wrong with a machine is not wrong with the command line.
      if (!topology.ok()) return Status(Code::kSystem, topology.status().message());
      SimCase made{.topology = std::move(*topology), .setup = {}, .name = {}, .fault = {}, .number = number++};
      TUTTI_RETURN_IF_ERROR(SetUpCase(options, source, made));
      TUTTI_RETURN_IF_ERROR(run(made));
      for (const std::string& slow : options.slow) {
        TUTTI_RETURN_IF_ERROR(AddSlowCables(slow, made));
        made.number = number++;
        TUTTI_RETURN_IF_ERROR(run(made));
      }
    }
  }
  return Status::Ok();
}

int CountCases(const SimOptions& options) {
  const std::size_t machines = std::max<std::size_t>(1, options.files.size() + options.machines.size());
  return static_cast<int>(machines * std::max<std::size_t>(1, options.hosts.size()) * (1 + options.slow.size()));
}

}  // namespace tutti::tools
