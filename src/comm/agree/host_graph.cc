// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "comm/agree/host_graph.h"

#include <fmt/format.h>

#include <cstddef>
#include <filesystem>
#include <map>
#include <mutex>
#include <optional>
#include <tuple>

#include "base/log.h"
#include "sys/os/clock.h"
#include "sys/os/fork.h"
#include "sys/os/text_file.h"
#include "topo/complete.h"
#include "topo/discover.h"
#include "topo/policy.h"
#include "topo/topology_xml.h"

namespace tutti::comm {
namespace {

constexpr std::size_t kMostFileBytes = std::size_t{64} << 20;

using Key = std::tuple<std::string, std::string, std::string, std::string>;  // the file asked for, and HostPlaces

Key KeyOf(const Settings& settings, const HostPlaces& places) {
  return {settings.topo_file, places.root, places.nvml_library, places.file};
}

// What is known of a host by one name.
struct Known {
  std::optional<sys::DeviceTree> tree;       // read once
  std::optional<sys::cuda::NvmlFacts> nvml;  // read once
  std::vector<topo::MeasuredGpu> measured;
  std::shared_ptr<const HostGraph> host, with_gpus;
};

// Of this process. A forked child has a copy: devices do not change by that.
struct Table {
  std::mutex mutex;
  std::map<Key, Known> known;
};
Table& GraphsOfProcess() {
  static auto* const table = [] {
    auto* made = new Table;  // never destroyed: threads may outlive static objects
    sys::FreeInForkedChildren(made->mutex);
    sys::WatchForks();
    return made;
  }();
  return *table;
}

void WarnOnce(const std::string& line) {
  if (log::FirstTime(line)) TUTTI_WARN("{}", line);
}

// What the system says. The tree of devices is read once, whoever asks.
Result<topo::Discovery> AskSystem(const HostPlaces& places, GraphOf what, Known& known) {
  topo::DiscoverOptions options{.root = places.root};
  if (!places.nvml_library.empty()) options.nvml_library = places.nvml_library;
  if (what == GraphOf::kHost) options.nvml_library.clear();
  if (known.tree) options.tree = &*known.tree;
  if (known.nvml) options.nvml = &*known.nvml;
  options.measured = known.measured;
  Result<topo::Discovery> found = topo::Discover(options);
  if (found.ok() && !known.tree) known.tree = found->tree;
  if (found.ok() && !known.nvml) known.nvml = found->nvml;
  return found;
}

// A file's graph, with what the system adds to it.
Result<HostGraph> ReadGraph(const std::string& file, const std::string& asked_by, const HostPlaces& places,
                            Known& known) {
  const Result<std::string> text = sys::ReadRegularFile(file, kMostFileBytes);
  if (!text.ok()) {
    return Status(Code::kInvalidUsage,
                  fmt::format("{}: {}; name a file that every process of this host can read, or unset it", asked_by,
                              text.status().message()));
  }
  Result<topo::TopologyXml> read = topo::ReadTopologyXml(*text, file);
  if (!read.ok()) {
    return Status(Code::kInvalidUsage,
                  fmt::format("{}: {}; mend the file, or unset the variable, so that the system is asked", asked_by,
                              read.status().message()));
  }
  HostGraph host{.graph = std::move(read->graph), .notes = std::move(read->notes), .source = asked_by};
  if (host.graph.hosts().empty()) {
    return Status(Code::kInvalidUsage, fmt::format("{}: {} describes no host: it has no <cpu>; write one with "
                                                   "NCCL_TOPO_DUMP_FILE or `tutti topo --xml`, or unset the variable",
                                                   asked_by, file));
  }
  if (host.graph.hosts().size() > 1) {
    host.notes.push_back(
        fmt::format("{} describes {} hosts; this one counts as the first", file, host.graph.hosts().size()));
  }
  if (!topo::IsIncomplete(host.graph, host.host)) return host;
  const Result<topo::Discovery> found = AskSystem(places, GraphOf::kHostWithGpus, known);
  if (!found.ok()) return host;
  for (std::string& note : topo::Complete(*found, host.host, host.graph)) host.notes.push_back(std::move(note));
  host.peers_refused = topo::RefusedPeersIn(host.graph, host.host, *found);
  return host;
}

Result<HostGraph> Discovered(const HostPlaces& places, GraphOf what, Known& known) {
  Result<topo::Discovery> found = AskSystem(places, what, known);
  if (!found.ok()) return found.status();
  return HostGraph{.graph = std::move(found->graph),
                   .peers_refused = std::move(found->peers_refused),
                   .notes = std::move(found->notes),
                   .unsaid_gpus = std::move(found->unsaid.gpus),
                   .numas = std::move(found->unsaid.numas),
                   .source = found->nvml ? "sysfs and NVML" : "sysfs"};
}

bool Exists(const std::string& file) {
  std::error_code ignored;
  return std::filesystem::exists(file, ignored);
}

Result<HostGraph> Find(const Settings& settings, GraphOf what, const HostPlaces& places, Known& known) {
  if (!settings.topo_file.empty()) {
    const std::string asked_by = "NCCL_TOPO_FILE=" + settings.topo_file;
    if (Exists(settings.topo_file)) return ReadGraph(settings.topo_file, asked_by, places, known);
    WarnOnce(fmt::format("{}: there is no such file; the system is asked instead", asked_by));
    return Discovered(places, what, known);
  }
  if (!Exists(places.file)) return Discovered(places, what, known);
  Result<HostGraph> host = ReadGraph(places.file, places.file, places, known);
  if (host.ok()) return host;
  WarnOnce(fmt::format("the topology of this virtual machine is passed over: {}", host.status().message()));
  return Discovered(places, what, known);
}

}  // namespace

Result<std::shared_ptr<const HostGraph>> FindHostGraph(const Settings& settings, GraphOf what,
                                                       const HostPlaces& places) {
  Table& table = GraphsOfProcess();
  const Key key = KeyOf(settings, places);
  Known seen;
  {
    std::lock_guard lock(table.mutex);
    seen = table.known[key];
  }
  if (seen.with_gpus != nullptr) return seen.with_gpus;
  if (what == GraphOf::kHost && seen.host != nullptr) return seen.host;
  // Without the lock, which every fork of this process takes: looking takes a while, and NVML may fork. Threads that come at the same
  // time each look; the first result holds.
  const std::int64_t begin_ns = sys::NowNs();
  Result<HostGraph> found = Find(settings, what, places, seen);
  if (!found.ok()) return found.status();
  found->found_in_ms = static_cast<double>(sys::NowNs() - begin_ns) / sys::kNsPerMs;
  const bool all = what == GraphOf::kHostWithGpus || !found->source.starts_with("sysfs");
  auto made = std::make_shared<const HostGraph>(std::move(*found));
  std::lock_guard lock(table.mutex);
  Known& known = table.known[key];
  if (!known.tree) known.tree = std::move(seen.tree);
  if (!known.nvml) known.nvml = std::move(seen.nvml);
  if (known.measured.size() != seen.measured.size()) return made;  // more has been measured meanwhile
  std::shared_ptr<const HostGraph>& place = all ? known.with_gpus : known.host;
  if (place == nullptr) place = std::move(made);
  return place;
}

void RememberMeasured(const Settings& settings, std::span<const topo::MeasuredGpu> measured, const HostPlaces& places) {
  Table& table = GraphsOfProcess();
  std::lock_guard lock(table.mutex);
  Known& known = table.known[KeyOf(settings, places)];
  for (const topo::MeasuredGpu& gpu : measured) {
    std::erase_if(known.measured, [&](const topo::MeasuredGpu& other) { return other.bus_id == gpu.bus_id; });
    known.measured.push_back(gpu);
  }
  known.with_gpus = nullptr;
}

topo::PolicyOptions PolicyOf(const Settings& settings, const HostGraph& host) {
  const bool never = settings.p2p_disable;
  return {.peer_level = never                        ? topo::PathType::kLoc
                        : settings.p2p_level.empty() ? topo::PathType::kSys
                                                     : topo::LevelFrom(settings.p2p_level),
          .peers_refused = host.peers_refused,
          .gdr_level = settings.gdr_level.empty() ? std::nullopt : topo::LevelFrom(settings.gdr_level),
          .gdr_read = settings.gdr_read < 0 ? std::nullopt : std::optional(settings.gdr_read == 1)};
}

}  // namespace tutti::comm
