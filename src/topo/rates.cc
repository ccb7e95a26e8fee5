// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "topo/rates.h"

#include <algorithm>
#include <array>

#include "base/words.h"

namespace tutti::topo {
namespace {

constexpr double kAssumedGigatransfers = 8;
constexpr int kAssumedLanes = 16;

struct Generation {
  std::string_view text;  // before "GT/s", where ".0" may follow it
  double gigatransfers;
};
constexpr std::array<Generation, 7> kGenerations = {
    {{"2.5", 2.5}, {"5", 5}, {"8", 8}, {"16", 16}, {"32", 32}, {"64", 64}, {"128", 128}}};

// NCCL gives a lane 15, 30, 60, 120, 240 and 480 times 100 Mbit/s, and takes 80 of these for a GB/s (kvDictPciGen in
// topo.cc). The first two generations send 8 bits in 10, the later ones 128 in 130.
double LaneGbPerS(double gigatransfers) { return gigatransfers * (gigatransfers <= 5 ? 6 : 7.5) / 80; }

// By model within family 6: Broadwell and before 6, Skylake 10, Sapphire Rapids 22, Emerald Rapids 40. Granite Rapids
// (0xad, 0xae) and Sierra Forest (0xaf) are newer than their numbers. From BDW_QPI_BW and the like in topo.h, and
// ncclTopoAddCpu in topo.cc.
double IntelGbPerS(const Cpu& cpu) {
  if (cpu.family != 6) return 6;
  if (cpu.model >= 0xcf || (cpu.model >= 0xad && cpu.model <= 0xaf)) return 40;
  if (cpu.model >= 0x8f) return 22;
  return cpu.model >= 0x55 ? 10 : 6;
}

// By family: Zen 1 and 2 16, Zen 3 and 4 24, Zen 5 32 (AMD_ZEN12_BW and the like in topo.h).
double AmdGbPerS(const Cpu& cpu) {
  if (cpu.family == 26 || cpu.family == 191) return 32;
  if (cpu.family == 25 || cpu.family == 175) return 24;
  return 16;
}

}  // namespace

std::optional<double> PciGigatransfers(std::string_view link_speed) {
  const std::string_view text = Trim(link_speed);
  const std::size_t unit = text.find("GT/s");
  if (unit == std::string_view::npos) return std::nullopt;
  const std::string_view rest = Trim(text.substr(unit + 4));
  if (!rest.empty() && rest != "PCIe") return std::nullopt;
  std::string_view number = Trim(text.substr(0, unit));
  if (number.ends_with(".0")) number.remove_suffix(2);
  const auto found = std::ranges::find(kGenerations, number, &Generation::text);
  if (found == kGenerations.end()) return std::nullopt;
  return found->gigatransfers;
}

PciRate PciRateOf(std::string_view link_speed, int lanes) {
  const std::optional<double> gigatransfers = PciGigatransfers(link_speed);
  return {.gb_per_s = LaneGbPerS(gigatransfers.value_or(kAssumedGigatransfers)) * (lanes > 0 ? lanes : kAssumedLanes),
          .speed_known = gigatransfers.has_value()};
}

// SM60_NVLINK_BW, SM70_, SM80_, SM86_, SM90_, SM100_ and RUBIN_NVLINK_BW in topo.h.
double NvLinkGbPerS(int sm) {
  if (sm == 107) return 31.2;
  if (sm >= 100) return 40.1;
  if (sm >= 90) return 20.6;
  if (sm == 86) return 12;
  return sm >= 60 && sm < 70 ? 18 : 20;
}

// As many as NCCL asks for (ncclTopoGetXmlFromGpu in xml.cc: 4, 6, 12, 18). The 36 of Rubin are those of a VR200 in
// NCCL's documentation. GPUs of other numbers have none, or as many as their bridge.
int MostNvLinks(int sm) {
  switch (sm) {
    case 60:
      return 4;
    case 70:
      return 6;
    case 80:
      return 12;
    case 90:
    case 100:
    case 103:
      return 18;
    case 107:
      return 36;
    default:
      return 0;
  }
}

// MI200_XGMI_WIDTH, GFX94X_, GFX95X_ and VEGA_XGMI_WIDTH in RCCL's topo.h.
double XgmiGbPerS(std::string_view architecture) {
  if (architecture.starts_with("gfx90a")) return 36;
  return architecture.starts_with("gfx94") || architecture.starts_with("gfx95") ? 48 : 24;
}

double C2cGbPerS(int lines, int mb_per_s) { return static_cast<double>(lines) * mb_per_s / 1000; }

// P9_BW 32, ARM_BW 6, ZPI_BW 6 and YONGFENG_ZPI_BW 9 in topo.h. Zhaoxin's CPUs call themselves "CentaurHauls" or
// "  Shanghai  ".
double SocketGbPerS(const Cpu& cpu) {
  if (cpu.arch == "ppc64") return 32;
  if (cpu.vendor == "GenuineIntel") return IntelGbPerS(cpu);
  if (cpu.vendor == "AuthenticAMD") return AmdGbPerS(cpu);
  if (cpu.vendor == "CentaurHauls" || Trim(cpu.vendor) == "Shanghai") {
    return cpu.family == 7 && cpu.model == 0x5b ? 9 : 6;
  }
  return 6;
}

double PortGbPerS(double gbit_per_s) { return (gbit_per_s > 0 ? gbit_per_s : kAssumedPortGbit) / 8; }

}  // namespace tutti::topo
