// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_TOPO_TOPOLOGY_XML_EXAMPLES_H_
#define TUTTI_TOPO_TOPOLOGY_XML_EXAMPLES_H_

// Machines for tests, as text of NCCL's topology files.

#include <fmt/format.h>

#include <array>
#include <cstddef>
#include <string>
#include <string_view>

namespace tutti::topo {

inline std::string PciOf(std::string_view bus_id, std::string_view class_id, std::string_view speed, int width,
                         std::string_view inside) {
  return fmt::format("<pci busid=\"{}\" class=\"{}\" link_speed=\"{}\" link_width=\"{}\">{}</pci>\n", bus_id, class_id,
                     speed, width, inside);
}

inline std::string NicOf(int dev, int mbit_per_s, std::string_view more = "") {
  return fmt::format(
      "<nic><net name=\"mlx5_{0}\" dev=\"{0}\" speed=\"{1}\" port=\"1\" guid=\"0x{2:x}\" gdr=\"1\"{3}/></nic>", dev,
      mbit_per_s, 0xabc000 + dev, more);
}

inline std::string CpuOf(int numa, std::string_view cpu, std::string_view inside) {
  return fmt::format("<cpu numaid=\"{}\" affinity=\"ffff,0000ffff\" {}>\n{}</cpu>\n", numa, cpu, inside);
}

inline std::string SystemOf(std::string_view inside, int version = 1) {
  return fmt::format("<system version=\"{}\">\n{}</system>\n", version, inside);
}

inline constexpr std::string_view kSapphireRapids = R"(arch="x86_64" vendor="GenuineIntel" familyid="6" modelid="143")";
inline constexpr std::string_view kBroadwell = R"(arch="x86_64" vendor="GenuineIntel" familyid="6" modelid="79")";
inline constexpr std::string_view kGrace = R"(arch="arm64")";

// Two sockets with two switches each, behind each of them two GPUs and two cards; all GPUs on four NVSwitches.
inline std::string HgxH100() {
  std::string cpus;
  for (int cpu = 0; cpu < 2; ++cpu) {
    std::string switches;
    for (int s = 2 * cpu; s < 2 * cpu + 2; ++s) {
      std::string devices;
      for (int i = 0; i < 2; ++i) {
        const int dev = 2 * s + i;
        std::string links;
        for (int nv = 0; nv < 4; ++nv) {
          links += fmt::format("<nvlink target=\"0000:{:02x}:00.0\" count=\"{}\" tclass=\"0x068000\"/>", 0xf0 + nv,
                               nv < 2 ? 5 : 4);
        }
        devices += PciOf(fmt::format("0000:{:02x}:00.0", 0x20 * (s + 1) + i), "0x030200", "32.0 GT/s PCIe", 16,
                         fmt::format("<gpu dev=\"{0}\" sm=\"90\" rank=\"{0}\" gdr=\"1\">{1}</gpu>", dev, links));
        devices += PciOf(fmt::format("0000:{:02x}:00.0", 0x20 * (s + 1) + 8 + i), "0x020700", "32.0 GT/s PCIe", 16,
                         NicOf(dev, 400000));
      }
      switches += PciOf(fmt::format("0000:{:02x}:00.0", 0x20 * (s + 1) - 1), "0x060400", "32.0 GT/s PCIe", 16, devices);
    }
    cpus += CpuOf(cpu, kSapphireRapids, switches);
  }
  return SystemOf(cpus);
}

// Eight V100 on four switches. GPUs of a half are joined each with each, one line or two, and with one GPU of the other
// half.
inline std::string Dgx1() {
  constexpr std::array<std::array<int, 8>, 8> kLines = {{{0, 1, 1, 2, 2, 0, 0, 0},
                                                         {1, 0, 2, 1, 0, 2, 0, 0},
                                                         {1, 2, 0, 2, 0, 0, 1, 0},
                                                         {2, 1, 2, 0, 0, 0, 0, 1},
                                                         {2, 0, 0, 0, 0, 1, 1, 2},
                                                         {0, 2, 0, 0, 1, 0, 2, 1},
                                                         {0, 0, 1, 0, 1, 2, 0, 2},
                                                         {0, 0, 0, 1, 2, 1, 2, 0}}};
  std::string cpus;
  for (int cpu = 0; cpu < 2; ++cpu) {
    std::string switches;
    for (int s = 2 * cpu; s < 2 * cpu + 2; ++s) {
      std::string devices =
          PciOf(fmt::format("0000:{:02x}:10.0", s + 1), "0x020700", "8.0 GT/s PCIe", 16, NicOf(s, 100000));
      for (int gpu = 2 * s; gpu < 2 * s + 2; ++gpu) {
        std::string links;
        for (int other = 0; other < 8; ++other) {
          const int count = kLines[static_cast<std::size_t>(gpu)][static_cast<std::size_t>(other)];
          if (count == 0) continue;
          links += fmt::format("<nvlink target=\"0000:0{}:00.0\" count=\"{}\" tclass=\"0x030200\"/>", other, count);
        }
        devices += PciOf(fmt::format("0000:0{}:00.0", gpu), "0x030200", "8.0 GT/s PCIe", 16,
                         fmt::format("<gpu dev=\"{0}\" sm=\"70\" rank=\"{0}\" gdr=\"1\">{1}</gpu>", gpu, links));
      }
      switches += PciOf(fmt::format("0000:{:02x}:08.0", s + 0x80), "0x060400", "8.0 GT/s PCIe", 16, devices);
    }
    cpus += CpuOf(cpu, kBroadwell, switches);
  }
  return SystemOf(cpus);
}

// All on one root, behind bridges that claim to be slow, and no NUMA node is named.
inline std::string Vm() {
  std::string devices;
  for (int i = 0; i < 8; ++i) {
    const std::string gpu =
        PciOf(fmt::format("0000:a{}:00.0", i), "0x030200", "16.0 GT/s", 16,
              fmt::format("<gpu dev=\"{0}\" sm=\"90\" rank=\"{0}\" gdr=\"1\">"
                          "<nvlink target=\"fffffff:ff:ff.0\" count=\"18\" tclass=\"0x068000\"/></gpu>",
                          i));
    devices += PciOf(fmt::format("0000:0{}:01.0", i), "0x060400", "2.5 GT/s PCIe", 1, gpu);
    devices += PciOf(fmt::format("0000:b{}:00.0", i), "0x020700", "", 0, NicOf(i, 400000));
  }
  return SystemOf(CpuOf(-1, kSapphireRapids, devices));
}

inline std::string Tray(std::string_view host_hash, int first_rank, std::string_view name) {
  std::string cpus;
  for (int cpu = 0; cpu < 2; ++cpu) {
    std::string devices;
    for (int i = 2 * cpu; i < 2 * cpu + 2; ++i) {
      const std::string gpu =
          PciOf(fmt::format("000{}:06:00.0", i), "0x030200", "64.0 GT/s PCIe", 16,
                fmt::format("<gpu dev=\"{}\" sm=\"100\" rank=\"{}\" gdr=\"1\"><nvlink target=\"fffffff:ffff:ff\" "
                            "count=\"18\" tclass=\"0x068000\"/><c2c bw=\"44712\" count=\"5\"/></gpu>",
                            i, first_rank + i));
      devices += PciOf(fmt::format("000{}:01:00.0", i), "0x060400", "16.0 GT/s PCIe", 1, gpu);
      devices += PciOf(fmt::format("001{}:03:00.0", i), "0x020700", "32.0 GT/s PCIe", 16, NicOf(i, 400000, name));
    }
    cpus += CpuOf(cpu, fmt::format("host_hash=\"{}\" {}", host_hash, kGrace), devices);
  }
  return cpus;
}
inline std::string Gb200() {
  return SystemOf(Tray("0xa", 0, R"( latency="2.5" rail="3" plane="1" coll="1" maxconn="131072")"));
}

// More than 256 elements.
inline std::string ManyNics() {
  std::string cpus;
  for (int cpu = 0; cpu < 2; ++cpu) {
    std::string switches;
    for (int s = 16 * cpu; s < 16 * cpu + 16; ++s) {
      std::string devices = PciOf(fmt::format("00{:02x}:01:00.0", s), "0x020000", "32.0 GT/s PCIe", 8,
                                  "<nic><net name=\"efa\" dev=\"" + std::to_string(s) +
                                      "\" speed=\"100000\" latency=\"75\" maxconn=\"262144\" gdr=\"1\"/></nic>");
      if (s % 4 == 0) {
        devices +=
            PciOf(fmt::format("00{:02x}:02:00.0", s), "0x030200", "32.0 GT/s PCIe", 16,
                  fmt::format("<gpu dev=\"{0}\" sm=\"90\" rank=\"{0}\" gdr=\"1\"><nvlink target=\"fffffff:ffff:ff\" "
                              "count=\"18\" tclass=\"0x068000\"/></gpu>",
                              s / 4));
      }
      for (int deep = 0; deep < 5; ++deep) {
        devices = PciOf(fmt::format("00{:02x}:0{}:08.0", s, deep), "0x060400", "32.0 GT/s PCIe", 16, devices);
      }
      switches += devices;
    }
    cpus += CpuOf(cpu, kSapphireRapids, switches);
  }
  return SystemOf(cpus);
}

// Four MI300X, each joined with each.
inline std::string Mi300x() {
  std::string devices;
  for (int i = 0; i < 4; ++i) {
    std::string links;
    for (int j = 0; j < 4; ++j) {
      if (i != j) links += fmt::format("<xgmi target=\"00{}1:00:00.0\" count=\"1\" tclass=\"0x120000\"/>", j);
    }
    devices +=
        PciOf(fmt::format("00{}1:00:00.0", i), "0x120000", "32.0 GT/s PCIe", 16,
              fmt::format("<gpu dev=\"{0}\" sm=\"304\" gcn=\"gfx942\" arch=\"38911\" rank=\"{0}\" gdr=\"1\">{1}</gpu>",
                          i, links));
  }
  return SystemOf(CpuOf(0, R"(arch="x86_64" vendor="AuthenticAMD" familyid="25" modelid="17")", devices), 2);
}

inline std::string TwoGpus(std::string_view first_links, std::string_view second_links) {
  const auto gpu = [](int dev, std::string_view links) {
    return PciOf(fmt::format("0000:0{}:00.0", dev), "0x030200", "8 GT/s", 16,
                 fmt::format("<gpu dev=\"{0}\" sm=\"80\" rank=\"{0}\" gdr=\"1\">{1}</gpu>", dev, links));
  };
  return SystemOf(CpuOf(0, kBroadwell, gpu(0, first_links) + gpu(1, second_links)));
}

}  // namespace tutti::topo

#endif  // TUTTI_TOPO_TOPOLOGY_XML_EXAMPLES_H_
