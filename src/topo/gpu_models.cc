// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "topo/gpu_models.h"

#include <algorithm>
#include <array>

#include "base/words.h"

namespace tutti::topo {
namespace {

constexpr std::array kModels = {
    GpuModel{"P100", 60, 16, 4, 3, 56},
    GpuModel{"V100", 70, 32, 6, 3, 80},
    GpuModel{"V100-PCIe", 70, 32, 0, 3, 80},
    GpuModel{"T4", 75, 16, 0, 3, 40},
    GpuModel{"A100", 80, 80, 12, 4, 108},
    GpuModel{"A100-PCIe", 80, 80, 12, 4, 108},
    GpuModel{"A10G", 86, 24, 0, 4, 80},
    GpuModel{"A40", 86, 48, 4, 4, 84},
    GpuModel{"RTX-3090", 86, 24, 4, 4, 82},
    GpuModel{"L4", 89, 24, 0, 4, 58},
    GpuModel{"L40S", 89, 48, 0, 4, 142},
    GpuModel{"RTX-4090", 89, 24, 0, 4, 128},
    GpuModel{"H100", 90, 80, 18, 5, 132},
    GpuModel{"H100-PCIe", 90, 80, 12, 5, 114},
    GpuModel{"H100-NVL", 90, 94, 12, 5, 132},
    GpuModel{"H800", 90, 80, 8, 5, 132},
    GpuModel{"H20", 90, 96, 18, 5, 78},
    GpuModel{"H200", 90, 141, 18, 5, 132},
    GpuModel{"H200-NVL", 90, 141, 18, 5, 132},
    GpuModel{"GH200", 90, 144, 18, 5, 132},
    GpuModel{"B200", 100, 180, 18, 5, 148},
    GpuModel{"GB200", 100, 186, 18, 6, 152},
    GpuModel{"B300", 103, 288, 18, 6},
    GpuModel{"GB300", 103, 288, 18, 6},
    GpuModel{"VR200", 107, 288, 36, 6},
    GpuModel{"RTX-5090", 120, 32, 0, 5, 170},
    GpuModel{"RTX-PRO-6000", 120, 96, 0, 5, 188},
    GpuModel{"GB10", 121, 128, 0, 5, 48},
};

}  // namespace

std::span<const GpuModel> GpuModels() { return kModels; }

std::optional<GpuModel> FindGpuModel(std::string_view name) {
  const auto found = std::ranges::find_if(kModels, [&](const GpuModel& m) { return EqualIgnoringCase(m.name, name); });
  if (found == kModels.end()) return std::nullopt;
  return *found;
}

int UsualPciGeneration(int sm) {
  const auto found = std::ranges::find(kModels, sm, &GpuModel::sm);
  return found == kModels.end() ? 0 : found->pci_generation;
}

std::string PciSpeedText(int generation) {
  constexpr std::array<std::string_view, 7> kSpeeds = {"2.5", "5.0", "8.0", "16.0", "32.0", "64.0", "128.0"};
  if (generation < 1 || generation > static_cast<int>(kSpeeds.size())) return "";
  return std::string(kSpeeds[static_cast<std::size_t>(generation) - 1]) + " GT/s PCIe";
}

}  // namespace tutti::topo
