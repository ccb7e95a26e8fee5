// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_TOPO_DISCOVER_PCI_H_
#define TUTTI_TOPO_DISCOVER_PCI_H_

// The part of Discover that places PCI devices below NUMA nodes. discover.h has its rules.

#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "sys/cuda/nvml.h"
#include "sys/os/device_tree.h"
#include "sys/os/notes.h"
#include "topo/graph.h"
#include "topo/measured.h"

namespace tutti::topo::internal {

// A GPU or a card that is to be placed.
struct Endpoint {
  int pci = -1;                   // its index in the device tree; -1: it is not there
  sys::cuda::PcieLink now, best;  // as NVML says, of GPUs
  Node node;                      // in which Describe fills in `numa` and `pci`
  double gb_per_s = 0;            // of its link: from Describe
  double measured_gb_per_s = 0;   // of its link, of which the system does not say enough; else 0: from Describe
  int index = -1;                 // of the node in the graph: from Place
};

class PciPlacement {
 public:
  PciPlacement(const sys::DeviceTree& tree, std::span<const MeasuredGpu> measured, sys::Notes& notes)
      : tree_(tree), measured_(measured), notes_(notes) {}

  // Finds out what the link of each endpoint can carry and to which NUMA node it belongs, and completes their nodes.
  // `numas`: numbers of the NUMA nodes that an endpoint without one may belong to, at least one.
  void Describe(std::vector<Endpoint>& endpoints, const std::vector<int>& numas);
  // Of the GPUs that were described.
  const Unsaid& unsaid() const { return unsaid_; }
  // Adds endpoints and the switches above them to the graph. `numa_nodes`: the graph's nodes by their number. REQUIRES:
  // these are described, and have nodes for all numbers that they were given.
  void Place(std::vector<Endpoint>& endpoints, const std::map<int, int>& numa_nodes, Graph& graph);

 private:
  struct Link {
    std::string speed, best_speed;  // now, and at best
    int width = 0, best_width = 0;
    bool doubted = false;  // what the port at its other end says is not believed
  };
  // What hangs below one root port, and so on one NUMA node.
  struct Unit {
    std::string host_bridge;
    std::vector<Endpoint*> endpoints;
    std::optional<int> numa;      // as the system says or, where it does not, as it may be
    std::optional<int> measured;  // goes before what may be
  };
  const sys::PciDevice& Device(int pci) const { return tree_.pci[static_cast<std::size_t>(pci)]; }
  // From the one below the host bridge to the device itself.
  std::vector<int> ChainOf(int pci) const;
  bool IsBelieved(const sys::PciDevice& port, const sys::PciDevice& below);
  Link LinkOf(int pci);
  static bool IsDescribed(const Link& link);
  double RateOf(const Link& link, const std::string& whose);
  void FillIn(Pci& pci, int index, const Link& link) const;
  void DescribeLink(Endpoint& endpoint);
  // Nothing where `endpoint` is no GPU, or was not measured.
  const MeasuredGpu* MeasuredOf(const Endpoint& endpoint) const;
  double MeasuredLinkOf(const Endpoint& endpoint);
  void AskToMeasure(const Endpoint& endpoint);
  void TakeMeasured(std::map<int, Unit>& units, const std::vector<int>& numas);
  std::optional<int> SaidNuma(const Endpoint& endpoint);
  void FindNumas(std::vector<Endpoint>& endpoints, const std::vector<int>& numas);
  void Spread(const std::vector<Unit*>& units, const std::vector<int>& numas);
  int SwitchNode(int pci, int numa, int above, Graph& graph);

  const sys::DeviceTree& tree_;
  const std::span<const MeasuredGpu> measured_;
  sys::Notes& notes_;
  Unsaid unsaid_;
  std::map<int, const Endpoint*> fastest_;  // below each bridge
  std::map<int, int> switches_;             // the graph's nodes by their bridge
};

}  // namespace tutti::topo::internal

#endif  // TUTTI_TOPO_DISCOVER_PCI_H_
