// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_TOPO_MACHINE_H_
#define TUTTI_TOPO_MACHINE_H_

// A kind of host and the network between such hosts, and the graph of any number of them. A machine is read from a text
// (machine_text.h) or filled by a program.

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "topo/fabric.h"
#include "topo/graph.h"
#include "tutti/status.h"

namespace tutti::topo {

// The PCI link of a device towards the CPU: as it runs, and as it could.
struct PciLink {
  int generation = 3, lanes = 16;
  int best_generation = 3, best_lanes = 16;
};

struct NicKind {
  double gbit_per_s = 400;  // of each port
  int ports = 1;
  // From memory of one host to memory of another one, without switches. The default is what UCX counts with for InfiniBand from EDR to
  // XDR (ib_iface.c); Amazon's EFA takes 18 to 20 (the model of its plugin's tuner).
  double latency_us = 0.6;
  double reported_latency_us = 0;  // that the network tells NCCL, which adds it to each of its steps
  bool gdr = true;                 // reaches memory of GPUs
  bool is_virtual = false;         // is no PCI device, and hangs on its NUMA node
};

// One thing in a host, and what it hangs on.
struct HostPart {
  NodeKind kind = NodeKind::kGpu;  // kCpu (a socket), kNumaNode, kPciSwitch, kGpu or kNic
  int number = 0;                  // among those of its kind, from 0
  int parent = -1;                 // index of the part above, which comes before; -1: none
  PciLink pci;                     // of switches, GPUs and NICs
  int nvlinks = 0;                 // of GPUs: those that work
  bool gdr = true;                 // of GPUs: network cards reach their memory
  bool unknown = false;  // of NUMA nodes: the system does not say which one it is, as in many virtual machines
  NicKind nic;           // of NICs
};

// How NVLinks join the GPUs.
struct NvLinks {
  enum class Kind { kNone, kSwitch, kGroups, kPairs };
  Kind kind = Kind::kNone;
  int group = 0;  // kSwitch, kGroups: GPUs with neighbouring numbers that are joined; 0: all
  int hosts = 1;  // kSwitch: hosts whose switches are joined, as in a rack
  struct Pair {
    int a = 0, b = 0, count = 0;
  };
  std::vector<Pair> pairs;  // kPairs
};

struct Machine {
  std::string name;
  std::string gpu;  // model
  int sm = 0;       // compute capability of its GPUs: 90 is 9.0
  int memory_gb = 0;
  int nvlinks = 0;  // that a sound GPU has
  NvLinks nvlink;
  int c2c_lines = 0, c2c_mb_per_s = 0;  // NVLinks of each GPU to its CPU, and the rate of one
  Cpu cpu;
  std::vector<HostPart> parts;  // of a host; each comes after its parent
  struct Exception {
    int host = 0;
    int part = 0;  // index
    HostPart instead;
  };
  std::vector<Exception> exceptions;  // what is different in one host
  Fabric fabric;

  int Count(NodeKind kind) const;
};

inline constexpr int kMostHosts = 65536;
inline constexpr int kMostNodes = 1 << 22;  // of a graph's hosts, and as many links

// So many hosts of this kind and the network between them. Hosts, GPUs and ports have their numbers in order: the nodes of a host follow
// each other, and are in the same order in all hosts.
//
// Rates are those of rates.h; of PCI links by their best speed, since they slow down when nobody uses them, and by the lanes that they
// have now. Links of the network have the latency of half a switch for each of their ends that is one, so that a way pays for all
// switches that it passes, and a port's link to its card has half of NicKind::latency_us. Other links have none: what an exchange costs
// there besides its bytes belongs to the protocols.
//
// Fails for fewer than 1 or more than kMostHosts hosts, more than kMostNodes nodes or links, and where the network has too few ports.
// 2048 hosts of 8 GPUs and 8 NICs take about 0.2 s.
Result<Graph> BuildGraph(const Machine& machine, int hosts);

}  // namespace tutti::topo

#endif  // TUTTI_TOPO_MACHINE_H_
