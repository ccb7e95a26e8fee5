// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_TESTS_SUPPORT_RENDERED_HOST_H_
#define TUTTI_TESTS_SUPPORT_RENDERED_HOST_H_

// A host that is made of files: a folder in the shape of / with what /sys and /proc say of its devices, and the text
// from which tests/topo/fake_nvml.c answers for its GPUs.

#include <string>
#include <vector>

#include "tests/support/scratch_folder.h"

namespace tutti::tests {

struct RenderedPci {
  std::string class_id = "0x060400";  // a bridge
  std::string vendor = "0x8086", device = "0x352a";
  std::string speed = "32.0 GT/s PCIe", best_speed = "32.0 GT/s PCIe";
  std::string width = "16", best_width = "16";
  std::string numa = "0";
};

// Of all NVLinks of a GPU together, one line each: "1 2 0008:00:00.0 1" is state, kind of the other end, its bus id,
// P2P.
struct RenderedGpu {
  std::string bus_id;
  std::string name = "NVIDIA H100 80GB HBM3";
  int major = 9, minor = 0;
  std::string pcie = "5 16 5 16";  // generation and lanes, now and at best
  std::vector<std::string> nvlinks;
  std::string more;  // lines as fake_nvml.c reads them
};

class RenderedHost {
 public:
  RenderedHost();
  ~RenderedHost();

  const std::string& root() const { return folder_.path(); }
  // A file, with a line end, and a symbolic link, whose target need not be there. Paths begin with '/'.
  void Write(const std::string& path, const std::string& text) const;
  void Link(const std::string& path, const std::string& target) const;

  void SetCpu(const std::string& vendor, int family, int model) const;
  // A NUMA node with the cores from `first` to `last`, all of one socket.
  void AddNuma(int node, int first, int last, const std::string& distances, int socket) const;
  // `chain`: the way from the host bridge to the device, "pci0000:16/0000:16:01.0/0000:17:00.0".
  void AddPci(const std::string& chain, const RenderedPci& facts = {}) const;
  // All bridges of a chain that ends with a device, as far as they are not there, and the device.
  void AddPciBelow(const std::string& chain, const RenderedPci& bridges, const RenderedPci& device) const;
  void AddInfiniband(const std::string& name, const std::string& chain, const std::string& rate = "400 Gb/sec (4X NDR)",
                     const std::string& state = "4: ACTIVE") const;
  void AddInterface(const std::string& name, const std::string& chain, const std::string& mbit_per_s,
                    const std::string& state = "up") const;

  // What the fake NVML says from now on, in this process.
  void AddGpu(const RenderedGpu& gpu);
  void SetNvml(const std::string& text);

 private:
  ScratchFolder folder_;
  std::string nvml_ = "driver 580.159.04\n";
};

// `count` NVLinks to an NVSwitch that can be seen, or cannot as in a virtual machine.
std::vector<std::string> NvLinksToSwitch(int count, const std::string& bus_id = "ffffffff:ff:ff.0");

}  // namespace tutti::tests

#endif  // TUTTI_TESTS_SUPPORT_RENDERED_HOST_H_
