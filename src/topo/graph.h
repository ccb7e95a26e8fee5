// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_TOPO_GRAPH_H_
#define TUTTI_TOPO_GRAPH_H_

// One machine, or many with the network between them, as a graph. Nodes are what data comes from, goes to or passes; links are what
// joins two of them, with a rate in each direction.
//
//   GPU --NVLink-- NVSwitch --NVLink-- GPU          what NVLinks join
//    |                                  |
//   PCI switch --PCI-- NUMA node --socket-- NUMA node --PCI-- NIC -- port --network-- network switch
//                         |                    |
//                        CPU                  CPU   (a socket, where the system says which NUMA nodes are its own)
//
// A graph is filled once, from the system (discover.h), from NCCL's XML (topology_xml.h) or from a machine's text (machine_text.h),
// and read from then on. It does not know ranks: who uses a graph says which rank has which GPU.

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace tutti::topo {

enum class NodeKind : std::uint8_t {
  kGpu,
  kNvSwitch,   // all NVSwitches of a host that GPUs reach alike are one
  kPciSwitch,  // a PCI switch or bridge
  kNumaNode,   // memory, the cores beside it, and the root of its PCI devices
  kCpu,        // a socket
  kNic,        // a network card: a PCI device
  kPort,       // what one can connect by: a card has one or more
  kNetworkSwitch,
};
inline constexpr int kNodeKinds = 8;

enum class LinkKind : std::uint8_t {
  kLocal,  // inside a device: a port and its card
  kNvLink,
  kC2c,  // NVLink between a GPU and its CPU
  kPci,
  kSocket,  // between NUMA nodes and CPUs
  kNetwork,
};
inline constexpr int kLinkKinds = 6;

// "GPU", "NVSwitch", "PCI switch", "NUMA node", "CPU", "NIC", "port", "network switch".
std::string_view ToString(NodeKind kind);
// "local", "NVLink", "C2C", "PCI", "socket", "network".
std::string_view ToString(LinkKind kind);

// What is known of a PCI device. Texts are as sysfs and NCCL's files write them; empty: not known.
struct Pci {
  std::string bus_id;                                              // "0000:1b:00.0"
  std::string class_id;                                            // "0x030200"
  std::string vendor, device, subsystem_vendor, subsystem_device;  // "0x10de"
  std::string link_speed;                                          // of the link towards the CPU: "32.0 GT/s PCIe"
  int link_width = 0;                                              // lanes of it; 0: not known
  // At best, of the slower of both ends. Where the link runs slower now it may be asleep, or bad.
  std::string best_link_speed;
  int best_link_width = 0;
  std::string host_bridge;  // "pci0000:15", the root that it hangs below; empty: not known
};

struct Gpu {
  int dev = 0;       // as NVML counts
  int sm = 0;        // compute capability: 90 is 9.0; 0: not known
  int rank = -1;     // that an XML file gives it
  bool gdr = false;  // network cards may read and write its memory
  int mlopart = -1;  // partition of an MPS server, as an XML file says it
  std::string name;  // "NVIDIA H200"
  std::string uuid;
  int nvlinks_expected = 0;  // that a GPU of this kind has; 0: not known
};

struct Cpu {
  std::string arch;    // "x86_64", "arm64", "ppc64"
  std::string vendor;  // "GenuineIntel"; empty: not known
  int family = -1;     // CPUID's
  int model = -1;
  std::string affinity;  // of a NUMA node: its cores as a mask, "ffff,ffffffff"
};

struct Port {
  int dev = 0;       // as the network counts its ports, over the host
  std::string name;  // "mlx5_0"
  double gbit_per_s = 0;
  double latency_us = 0;
  int port = 1;              // on the card
  std::uint64_t guid = 0;    // alike for ports of one card
  int max_connections = 0;   // 0: not known
  bool gdr = false;          // reaches memory of GPUs
  bool collectives = false;  // the network itself can reduce (CollNet, SHARP)
  int rail = -1, plane = -1;
};

struct Node {
  NodeKind kind = NodeKind::kGpu;
  int host = 0;      // index of its host; -1: of no host (network switches)
  int numa = -1;     // number of the NUMA node it belongs to; -1: the system does not say
  std::string name;  // for people: "GPU 3", "NUMA node 0", "mlx5_0", "leaf 2"
  Pci pci;
  std::variant<std::monostate, Gpu, Cpu, Port> is;

  const Gpu* gpu() const { return std::get_if<Gpu>(&is); }
  const Cpu* cpu() const { return std::get_if<Cpu>(&is); }
  const Port* port() const { return std::get_if<Port>(&is); }
};

// Rates hold in each direction, both at once.
struct Link {
  int from = 0, to = 0;  // nodes
  LinkKind kind = LinkKind::kPci;
  int count = 1;                 // parallel lines that it stands for (NVLinks)
  double rated_gb_per_s = 0;     // of all lines together
  double measured_gb_per_s = 0;  // 0: not measured
  double latency_us = 0;         // that a message needs to cross it, beside its bytes

  double gb_per_s() const { return measured_gb_per_s > 0 ? measured_gb_per_s : rated_gb_per_s; }
};

// The end of a link as one of its nodes sees it.
struct Neighbour {
  int node = 0;
  int link = 0;
};

class Graph {
 public:
  // Return the index of what was added. REQUIRES: the link's nodes are there, and are two.
  int AddNode(Node node);
  int AddLink(const Link& link);
  // Returns its index.
  int AddHost(std::string name);

  std::span<const Node> nodes() const { return nodes_; }
  std::span<const Link> links() const { return links_; }
  std::span<const std::string> hosts() const { return hosts_; }
  const Node& node(int index) const { return nodes_[static_cast<std::size_t>(index)]; }
  const Link& link(int index) const { return links_[static_cast<std::size_t>(index)]; }
  Node& node(int index) { return nodes_[static_cast<std::size_t>(index)]; }
  Link& link(int index) { return links_[static_cast<std::size_t>(index)]; }
  std::span<const Neighbour> NeighboursOf(int node) const { return neighbours_[static_cast<std::size_t>(node)]; }

  // Nodes of a kind, in the order in which they were added; of one host, where one is named.
  std::vector<int> All(NodeKind kind, std::optional<int> host = {}) const;
  // The GPU or the port with this number in a host; nothing where there is none.
  std::optional<int> GpuOf(int host, int dev) const;
  std::optional<int> PortOf(int host, int dev) const;
  std::optional<int> FindBusId(int host, std::string_view bus_id) const;

  std::string name;  // of the machine; may be empty

 private:
  std::vector<Node> nodes_;
  std::vector<Link> links_;
  std::vector<std::vector<Neighbour>> neighbours_;  // by node
  std::vector<std::string> hosts_;
};

// Appends all of `part`, which gets new indices; its hosts follow those of `graph`. Returns the index of its first node.
int Append(const Graph& part, Graph& graph);

}  // namespace tutti::topo

#endif  // TUTTI_TOPO_GRAPH_H_
