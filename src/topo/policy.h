// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_TOPO_POLICY_H_
#define TUTTI_TOPO_POLICY_H_

// What a graph says about how data should go, decided as NCCL decides it: which GPUs write to each other's memory, which network cards
// read and write a GPU's memory, and which ports a GPU uses. Its rules are in NCCL's src/graph/paths.cc (ncclTopoCheckP2p,
// ncclTopoCheckGdr, ncclTopoComputePaths) and topo.cc (ncclTopoGetLocalNet).

#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "topo/graph.h"
#include "topo/paths.h"

namespace tutti::topo {

struct PolicyOptions {
  // NCCL_P2P_LEVEL: GPUs write to each other's memory where their path is this close. NCCL_P2P_DISABLE=1 is kLoc. Nothing: kPxb, and
  // kSys on a host with AMD's CPUs and up to two GPUs.
  std::optional<PathType> peer_level;
  // Pairs of GPUs, as nodes of the graph, the lower one first, between which the driver refuses it.
  std::set<std::pair<int, int>> peers_refused;
  // NCCL_NET_GDR_LEVEL. Nothing: kP2c, or kPxb with NCCL_NET_GDR_C2C=0.
  std::optional<PathType> gdr_level;
  bool gdr_c2c = true;  // NCCL_NET_GDR_C2C
  // NCCL_NET_GDR_READ: whether cards may read GPU memory. Nothing: from compute capability 8.0 on, where NVLinks join GPUs, and where a
  // GPU is alone.
  std::optional<bool> gdr_read;
  bool pxn = true;      // NCCL_PXN_DISABLE=0
  bool pxn_c2c = true;  // NCCL_PXN_C2C
  // NCCL_NETDEVS_POLICY. MAX:N is N, ALL is kAllPorts; nothing: AUTO, as many as a GPU's share.
  std::optional<int> ports_per_gpu;
};
inline constexpr int kAllPorts = std::numeric_limits<int>::max();

// A level as NCCL's variables write it: a name from LOC to SYS in any letters, or a number of old: 0 LOC, 1 PIX, 2 PXB, 3 PHB, from 4 on
// SYS. Nothing where it is neither.
std::optional<PathType> LevelFrom(std::string_view text);

enum class Direction : std::uint8_t { kSend, kReceive };

// How data goes from a GPU to another one or to a port.
struct DecidedPath {
  // Rates and hops are those of the way that is taken; of a way through host memory those of its halves after each other.
  Path path;
  int relay = -1;       // the GPU through which a send goes to a card (PXN); -1: none
  bool staged = false;  // through host memory
  // Bytes that each byte takes on PCI links: Intel's CPUs cut what GPUs send each other into packets of 64 bytes, which costs 6/5.
  double pci_charge = 1;
};

// The decisions for one host, or for hosts whose GPUs NVLinks join; made once, when it is constructed. All GPUs, ports and NUMA nodes
// are named by their nodes in the graph, and must be of these hosts. It keeps no reference to the graph.
class HostPaths {
 public:
  HostPaths(const Graph& graph, std::span<const int> hosts, const PolicyOptions& options = {});

  std::span<const int> gpus() const { return gpus_; }
  std::span<const int> ports() const { return ports_; }
  // The NUMA node with the fewest hops from a GPU; -1: none.
  int NumaOf(int gpu) const;

  // As the graph has it, whatever is decided about it; but with type kP2c, where a GPU's closest ports are reached by its C2C.
  const Path& Direct(int from_gpu, int to) const;
  // As it is decided.
  const DecidedPath& Between(int from_gpu, int to_gpu) const;
  const DecidedPath& ToPort(int gpu, int port, Direction direction) const;

  // Whether one GPU writes to the other one's memory. GPUs of two hosts do so by NVLinks only.
  bool PeerToPeer(int a, int b) const;
  // Whether a port's card reads the GPU's memory (kSend) or writes to it (kReceive). Where another GPU relays it is that one's memory,
  // and how close that one is counts.
  bool DirectToNetwork(int gpu, int port, Direction direction) const;
  // The port that a GPU uses for a channel: of the fastest the closest ones, spread over the GPUs that share them and over channels.
  // Nothing where the GPU reaches no port.
  std::optional<int> PortOf(int gpu, int channel) const;

 private:
  using Pair = std::pair<int, int>;
  struct GpuFacts {
    int host = 0, dev = 0, sm = 0;
    bool gdr = false;
    bool has_nvlink = false;  // by which it reaches another GPU
    int numa = -1;
  };
  enum class Ways { kDirect, kDecided };

  void FindPaths(const Graph& graph, std::span<const int> hosts);
  void DecidePeers(const Graph& graph);
  void MarkP2c();
  void DecideRelays();
  void DecideStaging();
  DecidedPath Staged(int gpu, int to) const;
  bool WithinGdrLevel(PathType type) const;
  bool AllowsGdr(int gpu, int port, Direction direction) const;
  std::vector<int> PortsNextTo(int gpu, Ways ways) const;
  std::vector<int> GpusNextTo(int port, Ways ways) const;
  std::optional<int> ChoosePort(int gpu, int channel, Ways ways) const;
  std::optional<int> GpuNextTo(int port) const;

  PolicyOptions options_;
  std::vector<int> gpus_, ports_, numas_;
  std::map<int, GpuFacts> facts_;  // by GPU
  std::map<int, bool> port_gdr_;   // by port
  std::set<int> intel_;            // NUMA nodes
  std::set<int> pci_links_;
  std::map<int, double> link_gb_per_s_;
  std::map<Pair, Path> direct_;  // from GPUs to GPUs, ports and NUMA nodes, and from NUMA nodes to GPUs and ports
  std::map<Pair, DecidedPath> peers_;
  std::map<Pair, DecidedPath> sends_, receives_;
};

// All hosts that have GPUs which those of this one reach over NVSwitches, itself included, in order.
std::vector<int> HostsJoinedByNvLinks(const Graph& graph, int host);

}  // namespace tutti::topo

#endif  // TUTTI_TOPO_POLICY_H_
