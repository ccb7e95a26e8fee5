// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_COMM_AGREE_CLOSE_CARDS_H_
#define TUTTI_COMM_AGREE_CLOSE_CARDS_H_

// Which of a host's network cards are closest to a rank's data, by the host's graph.

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tutti/settings.h"

namespace tutti::topo {
struct Channels;
}

namespace tutti::comm {

struct HostGraph;

// A network interface, a network's device, or several that work as one.
struct CardId {
  std::string name;    // "eth0", "mlx5_0", "mlx5_0+mlx5_1"
  std::string bus_id;  // "0000:1b:00.0"; empty: not known, the names count
};

// Where a rank's data are, and which rank of its host it is.
struct DataPlace {
  std::string gpu_bus_id;  // empty: in host memory
  std::vector<int> cpus;   // that the rank may run on
  int index = 0;           // among the ranks of its host
};

struct CloseCards {
  std::vector<int> order;  // of all cards, the closest first
  std::vector<std::string>
      types;  // by card: of the path, "PIX"; empty where nothing is known of the cards or of the place
  bool reads = false,
       writes = false;  // the first card may read the GPU's memory, and write to it, by level and hardware
};

// A GPU's first card is the one that NCCL's rule gives it (topo/policy.h), or that a ring of `given` gives it, where that is among the
// cards; the others follow by rate and type of path. A rank in host memory whose cores are all of one NUMA node has the cards of that
// node first. Among equals the order stays. Where some card is not in the graph, or the place is not known, all stay as they are.
// `given`: the rings of NCCL_GRAPH_FILE; null: none.
CloseCards OrderByCloseness(const Settings& settings, const HostGraph& host, std::span<const CardId> cards,
                            const DataPlace& place, const topo::Channels* given);

// The card for a rank that uses one: the first, or of those as close as it the rank's share, where nothing else tells ranks apart.
int ShareOf(const CloseCards& close, const DataPlace& place);

// The numbers in a list as the kernel writes it: "0-3,8,10-11". Those beyond 65535 are left out.
std::vector<int> ParseCpuList(std::string_view text);
// The CPUs that this thread may run on; empty: not known.
std::vector<int> OwnCpus();

}  // namespace tutti::comm

#endif  // TUTTI_COMM_AGREE_CLOSE_CARDS_H_
