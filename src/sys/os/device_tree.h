// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_SYS_OS_DEVICE_TREE_H_
#define TUTTI_SYS_OS_DEVICE_TREE_H_

// What Linux says of this host's devices, in /sys and /proc: facts as they stand there, from which topo/discover.h
// draws the machine.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sys/os/cpu_text.h"
#include "tutti/status.h"

namespace tutti::sys {

// Its link, as this end of it says: a link can do what both its ends can. Of a root port, and of the downstream port of
// a switch, it is the link to what is below; of all others that to what is above.
struct PciDevice {
  std::string bus_id;    // "0000:1b:00.0"
  std::string class_id;  // "0x030200"; this and all other texts may be empty: not known
  std::string vendor, device, subsystem_vendor, subsystem_device;  // "0x10de"
  std::string link_speed, best_link_speed;                         // now and at best: "32.0 GT/s PCIe"
  int link_width = 0, best_link_width = 0;                         // lanes; 0: not known
  int numa = -1;                                                   // -1: the system does not say
  int parent = -1;  // index of the bridge above it; -1: it is the first one below its host bridge, or nobody says
  std::string host_bridge;        // "pci0000:16"
  bool virtual_function = false;  // of a device that is here too
};

struct NumaNode {
  int number = 0;
  std::vector<int> cpus;  // in order
  std::string cpu_mask;   // the same as text: "ffff,ffffffff"
  // To each of DeviceTree::numa_nodes, itself too: 10 is its own memory, 20 is twice as far. Empty: not known.
  std::vector<int> distances;
};

struct NetworkInterface {
  std::string name;             // "eth0"
  int pci = -1;                 // index of its PCI device
  bool up = false;              // has a link, or does not say
  std::int64_t mbit_per_s = 0;  // 0: not known
};

struct InfinibandPort {
  int number = 1;
  double gbit_per_s = 0;   // 0: not known
  bool active = false;     // has a link, and its subnet knows it
  std::string state;       // "4: ACTIVE"
  std::string link_layer;  // "InfiniBand", "Ethernet"
};

// A device of the RDMA subsystem: InfiniBand, RoCE, EFA.
struct InfinibandDevice {
  std::string name;        // "mlx5_0"
  int pci = -1;            // index of its PCI device; -1: it has none
  std::uint64_t guid = 0;  // alike for all devices of a card; 0: not known
  std::vector<InfinibandPort> ports;
};

struct DeviceTree {
  std::string host_name;  // empty: not known
  CpuModel cpu;
  std::vector<PciDevice> pci;                // by domain, bus, device and function
  std::vector<NumaNode> numa_nodes;          // by number
  std::vector<int> socket_of_cpu;            // by the CPU's number; -1: not known
  std::vector<NetworkInterface> interfaces;  // those that a PCI device is behind, by name
  std::vector<InfinibandDevice> infiniband;  // by name; 2 comes before 10
  bool gpu_memory_module = false;  // a module is loaded that lets RDMA devices into GPU memory (nvidia_peermem)
  std::vector<std::string> notes;  // what was there and could not be read or believed, a line for each kind

  // The index of a PCI device; -1: there is none.
  int FindPci(std::string_view bus_id) const;
};

// "0000:1b:00.0" of a bus id in any letters and with a domain of up to 8 digits; nothing where the text is none.
std::optional<std::string> NormalBusId(std::string_view text);

// Reads all of it, below `root`: "" is this machine, tests have a folder of their own. What is missing, unreadable or
// nonsense stays not known. kInvalidArgument where `root` is no folder. Costs about ten file reads for each PCI device:
// 500 of them take some 25 ms.
Result<DeviceTree> ReadDeviceTree(const std::string& root = "");

}  // namespace tutti::sys

#endif  // TUTTI_SYS_OS_DEVICE_TREE_H_
