// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_DOCTOR_PCI_H_
#define TUTTI_DOCTOR_PCI_H_

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "doctor/finding.h"
#include "doctor/root.h"
#include "sys/os/device_tree.h"

namespace tutti::doctor {

// A device whose link matters.
struct PciLink {
  std::string name;               // "GPU 0000:1b:00.0", "network card mlx5_0 0000:1c:00.0"
  bool gpu = false;               // its speed falls while it is idle
  std::string speed, best_speed;  // "32.0 GT/s PCIe"; empty: not known
  int width = 0, best_width = 0;  // lanes; 0: not known
  // What the port above it can have; 0 and empty: not known, or not believed.
  std::string slot_speed;
  int slot_width = 0;
};

// Of NVIDIA's GPUs, and of cards that have an interface or a device of RDMA; without virtual functions.
std::vector<PciLink> LinksOf(const sys::DeviceTree& tree);
// The same, found in a few files: GPUs by their driver, cards by their interfaces. Four reads for each device. `stop` is asked before each.
std::vector<PciLink> ReadLinksQuickly(const Root& root, const std::function<bool()>& stop);

// Width and speed against the best that the device can have.
void ExamineLinks(const std::vector<PciLink>& links, Findings& findings);

// Switches between GPUs and cards whose ports send what is for a neighbour up to the CPU (access control services, ACS), and whether an
// IOMMU translates the addresses of GPUs. Both make exchange between GPUs, and of cards with GPUs, slow or impossible. Says nothing where
// `tree` has no GPU.
void ExamineAcs(const Root& root, const sys::DeviceTree& tree, Findings& findings);

// The control word of ACS in the configuration space of a PCI device; 0: it has none. `cut`: whether the text ends before it could be
// found, as it does for users who may read the first 64 bytes only.
std::uint16_t AcsControlOf(const std::string& config, bool& cut);

}  // namespace tutti::doctor

#endif  // TUTTI_DOCTOR_PCI_H_
