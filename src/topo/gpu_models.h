// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_TOPO_GPU_MODELS_H_
#define TUTTI_TOPO_GPU_MODELS_H_

// What is the same of all GPUs of a model: facts of NVIDIA's data sheets, by short names without blanks.

#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace tutti::topo {

struct GpuModel {
  std::string_view name;    // "H200", "RTX-PRO-6000"
  int sm = 0;               // compute capability: 90 is 9.0
  int memory_gb = 0;        // of the largest kind that is sold under this name
  int nvlinks = 0;          // that it has, bridges put on
  int pci_generation = 0;   // at best, over 16 lanes
  int multiprocessors = 0;  // 0: not known
};

// In the order of their age.
std::span<const GpuModel> GpuModels();

// By its name in any letters; nothing where there is none.
std::optional<GpuModel> FindGpuModel(std::string_view name);

// The generation of PCI that a GPU of this compute capability has as a rule; 0 where it is not known.
int UsualPciGeneration(int sm);

// A generation of PCI as sysfs writes it: "32.0 GT/s PCIe" is the fifth. Empty where there is none such.
std::string PciSpeedText(int generation);

}  // namespace tutti::topo

#endif  // TUTTI_TOPO_GPU_MODELS_H_
