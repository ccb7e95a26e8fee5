// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_TOPO_DISCOVER_H_
#define TUTTI_TOPO_DISCOVER_H_

// Draws the graph of this host from what Linux says of its devices and what NVML says of its GPUs.
//
// What is a node:
// * A NUMA node that has cores, or a device that is drawn. A host that names none has one, with the number -1.
// * A CPU for each socket, where every NUMA node is known to belong to one.
// * GPUs: those that NVML lists, or all of NVIDIA's display devices where there is no NVML. Cards that have a port with
//   a link; the functions of one PCI device are one card. Virtual functions are left out where their card is here too.
// * PCI switches above them. Of the bridges above a device the first one below the host bridge, a root port, is none:
//   its link is that of what hangs on it. From there on bridges come in pairs, the upstream port of a switch and a
//   downstream port; the former stands for the switch. A bridge without a second one, such as one from PCIe to PCI, is
//   a switch too.
// * One NVSwitch for all of the host's.
//
// What a link can carry is taken from rates.h, by its best speed, since links slow down when nobody uses them, and by
// the lanes that it has now, since these stay. Pci has both, so what is slower than it could be can be told.
//
// What the system does not say, or what cannot be so, is replaced by what is most likely, and a note says so:
// * A bridge that claims a link slower or narrower than the device below it has right now is emulated; so is one of 2.5
//   GT/s and one lane above a wider device. Neither limits anything.
// * Devices without a NUMA node get that which was measured to be the nearest to a GPU beside them, else that of others
//   below the same host bridge, else they are spread evenly in order of their bus ids.
// * An NVLink with an unknown other end is one to an NVSwitch.

#include <optional>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "sys/cuda/nvml.h"
#include "sys/os/device_tree.h"
#include "topo/graph.h"
#include "topo/measured.h"
#include "tutti/status.h"

namespace tutti::topo {

struct DiscoverOptions {
  std::string root;                                    // goes before /sys and /proc
  std::string nvml_library = sys::cuda::kNvmlLibrary;  // to open; empty: NVML is not asked
  const sys::DeviceTree* tree = nullptr;               // read before; null: it is read
  const sys::cuda::NvmlFacts* nvml = nullptr;          // read before; null: NVML is asked
  std::span<const MeasuredGpu> measured;               // counts where the system says nothing
};

struct Discovery {
  Graph graph;  // of one host
  // What was not said or not believed, what was taken instead, and what is broken: a sentence each.
  std::vector<std::string> notes;
  // Pairs of GPUs, as nodes, the lower one first, to which NVML says that they do not reach each other's memory.
  std::set<std::pair<int, int>> peers_refused;
  Unsaid unsaid;  // but for what was measured
  // What the graph was drawn from. The fabric of GPUs stands here only.
  sys::DeviceTree tree;
  std::optional<sys::cuda::NvmlFacts> nvml;  // nothing: it could not be asked
};

// kInvalidArgument where the root is no folder. All else that is missing makes the graph smaller, or less sure.
//
// Latencies of links between NUMA nodes come from their distances, where 10 stands for a memory access of 0.1 us;
// others are left 0. Gpu::gdr and Port::gdr say whether a module is loaded that lets cards into GPU memory; the way by
// dma-buf is not seen from here. Gpu::nvlinks_expected is the most that a GPU of the same model has in this host; 0 for
// one that has none, where they lead to no NVSwitch. Threads: any.
Result<Discovery> Discover(const DiscoverOptions& options = {});

}  // namespace tutti::topo

#endif  // TUTTI_TOPO_DISCOVER_H_
