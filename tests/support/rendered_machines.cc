// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "tests/support/rendered_machines.h"

#include <fmt/format.h>

namespace tutti::tests {

RenderedPci GpuDevice(const std::string& numa) {
  return {.class_id = "0x030200", .vendor = "0x10de", .device = "0x2330", .numa = numa};
}

RenderedPci CardDevice(const std::string& numa) {
  return {.class_id = "0x020700", .vendor = "0x15b3", .device = "0x1021", .numa = numa};
}

void AddTwoSockets(const RenderedHost& host) {
  host.SetCpu("GenuineIntel", 6, 143);
  host.AddNuma(0, 0, 3, "10 21", 0);
  host.AddNuma(1, 4, 7, "21 10", 1);
}

void AddHgx(RenderedHost& host, const std::string& gpu_3_more) {
  AddTwoSockets(host);
  for (int s = 0; s < 4; ++s) {
    const std::string numa = s < 2 ? "0" : "1";
    const RenderedPci bridge{.vendor = "0x1000", .device = "0xc030", .numa = numa};
    const std::string above = fmt::format("pci0000:{0:x}0/0000:{0:x}0:01.0/0000:{0:x}1:00.0", s + 1);
    for (int i = 0; i < 4; ++i) {
      const std::string chain = fmt::format("{0}/0000:{1:x}2:0{2}.0/0000:{1:x}{3}:00.0", above, s + 1, i, i + 3);
      host.AddPciBelow(chain, bridge, i < 2 ? GpuDevice(numa) : CardDevice(numa));
      if (i >= 2) host.AddInfiniband(fmt::format("mlx5_{}", s * 2 + i - 2), chain);
    }
    host.AddPciBelow(fmt::format("pci0000:90/0000:90:0{}.0/0000:9{}:00.0", s, s + 1), RenderedPci(),
                     {.class_id = "0x068000", .vendor = "0x10de", .device = "0x22a3", .width = "2", .best_width = "2"});
  }
  host.AddPciBelow("pci0000:a0/0000:a0:01.0/0000:a1:00.0", RenderedPci(),
                   {.class_id = "0x020000",
                    .speed = "8.0 GT/s PCIe",
                    .best_speed = "8.0 GT/s PCIe",
                    .width = "8",
                    .best_width = "8"});
  host.AddInterface("eno1", "pci0000:a0/0000:a0:01.0/0000:a1:00.0", "25000");
  host.Write("/sys/module/nvidia_peermem/version", "580");
  for (int i = 0; i < 8; ++i) {
    host.AddGpu({.bus_id = fmt::format("0000:{:x}{}:00.0", i / 2 + 1, i % 2 + 3),
                 .nvlinks = NvLinksToSwitch(18, fmt::format("0000:9{}:00.0", i % 4 + 1)),
                 .more = i == 3 ? gpu_3_more : ""});
  }
}

void AddVirtualHgx(RenderedHost& host) {
  AddTwoSockets(host);
  for (int i = 0; i < 8; ++i) {
    RenderedPci gpu = GpuDevice("-1");
    gpu.speed = gpu.best_speed = "16.0 GT/s PCIe";
    const std::string card = fmt::format("pci0000:00/0000:00:{:02x}.0", 16 + i);
    host.AddPci(fmt::format("pci0000:00/0000:00:{:02x}.0", 5 + i), gpu);
    host.AddPci(card, CardDevice("-1"));
    host.AddInfiniband(fmt::format("mlx5_{}", i), card);
    host.AddGpu({.bus_id = fmt::format("0000:00:{:02x}.0", 5 + i), .nvlinks = NvLinksToSwitch(18)});
  }
}

const std::vector<std::pair<std::pair<int, int>, int>> kCubeMesh = {
    {{0, 1}, 1}, {{0, 2}, 1}, {{0, 3}, 2}, {{0, 4}, 2}, {{1, 2}, 2}, {{1, 3}, 1}, {{1, 5}, 2}, {{2, 3}, 1},
    {{2, 6}, 2}, {{3, 7}, 2}, {{4, 5}, 1}, {{4, 6}, 1}, {{4, 7}, 2}, {{5, 6}, 2}, {{5, 7}, 1}, {{6, 7}, 1}};

void AddCubeMesh(RenderedHost& host, const std::string& state) {
  host.SetCpu("GenuineIntel", 6, 79);
  host.AddNuma(0, 0, 3, "10 21", 0);
  host.AddNuma(1, 4, 7, "21 10", 1);
  std::vector<std::vector<std::string>> nvlinks(8);
  const auto bus_id = [](int gpu) { return fmt::format("0000:{}{}:00.0", gpu / 2 + 1, gpu % 2 + 5); };
  for (const auto& [pair, count] : kCubeMesh) {
    for (int i = 0; i < count; ++i) {
      const std::string own = pair == std::pair(0, 3) && i == 1 ? state : "1";
      nvlinks[static_cast<std::size_t>(pair.first)].push_back(fmt::format("{} 0 {} 1", own, bus_id(pair.second)));
      nvlinks[static_cast<std::size_t>(pair.second)].push_back(fmt::format("{} 0 {} 1", own, bus_id(pair.first)));
    }
  }
  for (int i = 0; i < 8; ++i) {
    const std::string numa = i < 4 ? "0" : "1";
    RenderedPci bridge, gpu = GpuDevice(numa);
    for (RenderedPci* pci : {&bridge, &gpu}) pci->speed = pci->best_speed = "8.0 GT/s PCIe";
    host.AddPciBelow(
        fmt::format("pci0000:{0}0/0000:{0}0:01.0/0000:{0}1:00.0/0000:{0}2:0{1}.0/{2}", i / 2 + 1, i % 2, bus_id(i)),
        bridge, gpu);
    host.AddGpu({.bus_id = bus_id(i),
                 .name = "Tesla V100-SXM2-16GB",
                 .major = 7,
                 .pcie = "3 16 3 16",
                 .nvlinks = nvlinks[static_cast<std::size_t>(i)]});
  }
}

RenderedPci GpuInAnOlderSlot() {
  RenderedPci gpu = GpuDevice();
  gpu.speed = "16.0 GT/s PCIe";
  return gpu;
}

void AddPcieBox(RenderedHost& host, const RenderedPci& gpu_1, const std::string& gpu_1_pcie) {
  host.SetCpu("AuthenticAMD", 25, 1);
  host.AddNuma(0, 0, 3, "10", 0);
  const RenderedPci port{.speed = "16.0 GT/s PCIe", .best_speed = "16.0 GT/s PCIe"};
  RenderedPci gpu_0 = GpuInAnOlderSlot();
  gpu_0.class_id = "0x030000";
  host.AddPciBelow("pci0000:00/0000:00:01.1/0000:01:00.0", port, gpu_0);
  host.AddPciBelow("pci0000:40/0000:40:01.1/0000:41:00.0", port, gpu_1);
  host.AddPciBelow("pci0000:40/0000:40:02.1/0000:42:00.0", port,
                   {.class_id = "0x030000", .vendor = "0x1a03"});  // of the board
  for (const char* bus_id : {"0000:01:00.0", "0000:41:00.0"}) {
    host.AddGpu({.bus_id = bus_id,
                 .name = "NVIDIA GeForce RTX 4090",
                 .major = 8,
                 .minor = 9,
                 .pcie = bus_id == std::string("0000:01:00.0") ? "4 16 4 16" : gpu_1_pcie});
  }
}

}  // namespace tutti::tests
