// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_COMM_AGREE_HOST_GRAPH_H_
#define TUTTI_COMM_AGREE_HOST_GRAPH_H_

// This host as a graph (topo/graph.h), for the choices of communicators: found once in a process, when one first asks, from what the
// system says or from NCCL_TOPO_FILE.

#include <cstdint>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "topo/graph.h"
#include "tutti/settings.h"
#include "tutti/status.h"

namespace tutti::topo {
struct MeasuredGpu;
struct PolicyOptions;
}  // namespace tutti::topo

namespace tutti::comm {

struct HostGraph {
  topo::Graph graph;
  int host = 0;  // this one, of a file with several
  // Pairs of GPUs, as nodes, the lower one first, to which NVML says that they do not reach each other's memory.
  std::set<std::pair<int, int>> peers_refused;
  // What was assumed, passed over or taken over, a sentence each.
  std::vector<std::string> notes;
  std::vector<std::string> unsaid_gpus;  // bus ids of those of which a measurement would tell more
  std::vector<int> numas;                // the numbers of the NUMA nodes that they may belong to
  std::string source;                    // "sysfs and NVML", "NCCL_TOPO_FILE=topo.xml"
  double found_in_ms = 0;                // what it has cost
};

// Whether it matters what joins GPUs. Where it does not, NVML is not asked, which may take long.
enum class GraphOf : std::uint8_t { kHost, kHostWithGpus };

// Where things are that tests have elsewhere.
struct HostPlaces {
  std::string root;                         // goes before /sys and /proc
  std::string nvml_library;                 // empty: that of the driver
  std::string file = kVirtualTopologyFile;  // taken where NCCL_TOPO_FILE is not set and this exists
  static constexpr const char* kVirtualTopologyFile = "/var/run/nvidia-topologyd/virtualTopology.xml";
};

// The same object to all that ask alike. An error names the file, the line, what is wrong there and what to do. A file that is not there
// is a warning, as in NCCL, and one that nobody has asked for is passed over with a warning where it cannot be read; then the system
// is asked. Threads: any; the others wait for the one that looks.
Result<std::shared_ptr<const HostGraph>> FindHostGraph(const Settings& settings, GraphOf what,
                                                       const HostPlaces& places = {});

// Adds to what is known of this host's GPUs. Graphs that are found from now on by the same settings and places have it; those that were
// found before are left as they are. Threads: any.
void RememberMeasured(const Settings& settings, std::span<const topo::MeasuredGpu> measured,
                      const HostPlaces& places = {});

// What the settings say of paths that may be used.
topo::PolicyOptions PolicyOf(const Settings& settings, const HostGraph& host);

}  // namespace tutti::comm

#endif  // TUTTI_COMM_AGREE_HOST_GRAPH_H_
