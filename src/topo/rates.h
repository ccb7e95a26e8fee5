// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_TOPO_RATES_H_
#define TUTTI_TOPO_RATES_H_

// What a link can carry by what it is: GB/s (10^9 bytes) in each direction, both at once. The figures are those that
// NCCL counts with, so that a machine looks to Tutti as it looks to NCCL. They are what transfers reach, not what the
// wire has: 12 GB/s for PCI of the third generation with 16 lanes, whose wire has 15.75. A rate that was measured goes
// before these. Sources: src/graph/topo.h, topo.cc and xml.cc of NVIDIA/nccl 2.31, src/graph/topo.h of ROCm/rccl.

#include <optional>
#include <string_view>

#include "topo/graph.h"

namespace tutti::topo {

// GT/s of a lane, as sysfs and NCCL's files write it: "2.5 GT/s", "16.0 GT/s PCIe", "32 GT/s". Nothing where the text
// says no speed that a generation of PCI has (2.5, 5, 8, 16, 32, 64, 128).
std::optional<double> PciGigatransfers(std::string_view link_speed);

struct PciRate {
  double gb_per_s = 0;
  bool speed_known = true;  // false: that of the third generation is assumed
};
// Of a link of so many lanes. 0 lanes: not known, 16 are assumed.
PciRate PciRateOf(std::string_view link_speed, int lanes);

// Of one NVLink of a GPU. `sm`: compute capability, 90 is 9.0; 0: not known.
double NvLinkGbPerS(int sm);

// NVLinks that a GPU of this compute capability has in its largest form: 90 is 18. 0: not known, or none.
int MostNvLinks(int sm);

// Of one xGMI link of an AMD GPU. `architecture`: "gfx942".
double XgmiGbPerS(std::string_view architecture);

// Of `lines` NVLinks between a GPU and its CPU, as NVML states what one has.
double C2cGbPerS(int lines, int mb_per_s);

// Between two NUMA nodes of this CPU. Of a CPU that is not known the least is assumed. The families of AMD's CPUs are
// taken in CPUID's own numbers (23, 25, 26) and in those that NCCL up to 2.30 writes (143, 175, 191).
double SocketGbPerS(const Cpu& cpu);

// Of a port. 0 Gbit/s or less: not known, kAssumedPortGbit is taken.
double PortGbPerS(double gbit_per_s);
inline constexpr double kAssumedPortGbit = 10;

// Where nothing limits: between the parts of one PCI switch, and between a CPU and a card that is no PCI device.
inline constexpr double kLocalGbPerS = 5000;
// Between two partitions of one GPU.
inline constexpr double kPartitionGbPerS = 2618;

}  // namespace tutti::topo

#endif  // TUTTI_TOPO_RATES_H_
