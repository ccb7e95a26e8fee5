// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "tests/support/rendered_host.h"

#include <fmt/format.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

namespace tutti::tests {
namespace {

constexpr const char* kNvmlVariable = "TUTTI_FAKE_NVML";

std::string LastOf(const std::string& chain) { return chain.substr(chain.rfind('/') + 1); }

// "f,ffff0000" with the bits from `first` to `last`.
std::string MaskOf(int first, int last) {
  std::string mask;
  for (int word = last / 32; word >= 0; --word) {
    unsigned bits = 0;
    for (int cpu = word * 32; cpu < word * 32 + 32; ++cpu)
      bits |= static_cast<unsigned>(cpu >= first && cpu <= last) << (cpu % 32);
    mask += fmt::format("{}{:08x}", mask.empty() ? "" : ",", bits);
  }
  return mask;
}

}  // namespace

RenderedHost::RenderedHost() {
  Write("/proc/sys/kernel/hostname", "rendered");
  SetNvml(nvml_);
}

RenderedHost::~RenderedHost() { unsetenv(kNvmlVariable); }

void RenderedHost::Write(const std::string& path, const std::string& text) const {
  const std::filesystem::path whole = root() + path;
  std::filesystem::create_directories(whole.parent_path());
  std::ofstream(whole) << text << '\n';
}

void RenderedHost::Link(const std::string& path, const std::string& target) const {
  const std::filesystem::path whole = root() + path;
  std::filesystem::create_directories(whole.parent_path());
  std::filesystem::create_symlink(target, whole);
}

void RenderedHost::SetCpu(const std::string& vendor, int family, int model) const {
  Write("/proc/cpuinfo", vendor == "ARM"
                             ? std::string("processor\t: 0\nBogoMIPS\t: 2000.00\nCPU implementer\t: 0x41\n")
                             : fmt::format("processor\t: 0\nvendor_id\t: {}\ncpu family\t: {}\nmodel\t\t: {}\n"
                                           "model name\t: some\n\nprocessor\t: 1\nmodel\t\t: 1\n",
                                           vendor, family, model));
}

void RenderedHost::AddNuma(int node, int first, int last, const std::string& distances, int socket) const {
  const std::string folder = fmt::format("/sys/devices/system/node/node{}/", node);
  Write(folder + "cpulist", fmt::format("{}-{}", first, last));
  Write(folder + "cpumap", MaskOf(first, last));
  Write(folder + "distance", distances);
  for (int cpu = first; cpu <= last; ++cpu) {
    Write(fmt::format("/sys/devices/system/cpu/cpu{}/topology/physical_package_id", cpu), fmt::format("{}", socket));
  }
}

void RenderedHost::AddPci(const std::string& chain, const RenderedPci& facts) const {
  const std::string folder = "/sys/devices/" + chain + "/";
  Write(folder + "class", facts.class_id);
  Write(folder + "vendor", facts.vendor);
  Write(folder + "device", facts.device);
  Write(folder + "subsystem_vendor", facts.vendor);
  Write(folder + "subsystem_device", "0x0001");
  Write(folder + "numa_node", facts.numa);
  if (!facts.best_width.empty()) {
    Write(folder + "current_link_speed", facts.speed);
    Write(folder + "max_link_speed", facts.best_speed);
    Write(folder + "current_link_width", facts.width);
    Write(folder + "max_link_width", facts.best_width);
  }
  Link("/sys/bus/pci/devices/" + LastOf(chain), "../../../devices/" + chain);
}

void RenderedHost::AddPciBelow(const std::string& chain, const RenderedPci& bridges, const RenderedPci& device) const {
  for (std::size_t end = chain.find('/', chain.find('/') + 1); end != std::string::npos;
       end = chain.find('/', end + 1)) {
    const std::string bridge = chain.substr(0, end);
    if (!std::filesystem::exists(root() + "/sys/bus/pci/devices/" + LastOf(bridge))) AddPci(bridge, bridges);
  }
  AddPci(chain, device);
}

void RenderedHost::AddInfiniband(const std::string& name, const std::string& chain, const std::string& rate,
                                 const std::string& state) const {
  const std::string folder = fmt::format("/sys/devices/{}/infiniband/{}/", chain, name);
  Write(folder + "node_guid", "a088:c203:00ab:0001");
  Write(folder + "sys_image_guid", "a088:c203:00ab:0000");
  Write(folder + "ports/1/rate", rate);
  Write(folder + "ports/1/state", state);
  Write(folder + "ports/1/link_layer", "InfiniBand");
  Link("/sys/class/infiniband/" + name, fmt::format("../../devices/{}/infiniband/{}", chain, name));
}

void RenderedHost::AddInterface(const std::string& name, const std::string& chain, const std::string& mbit_per_s,
                                const std::string& state) const {
  const std::string folder = fmt::format("/sys/devices/{}/net/{}/", chain, name);
  Write(folder + "speed", mbit_per_s);
  Write(folder + "operstate", state);
  Link("/sys/class/net/" + name, fmt::format("../../devices/{}/net/{}", chain, name));
}

void RenderedHost::AddGpu(const RenderedGpu& gpu) {
  nvml_ += fmt::format("gpu {}\nname {}\nuuid GPU-{}\nsm {} {}\npcie {}\nlinks {}\n", gpu.bus_id, gpu.name, gpu.bus_id,
                       gpu.major, gpu.minor, gpu.pcie, gpu.nvlinks.size());
  for (std::size_t i = 0; i < gpu.nvlinks.size(); ++i) nvml_ += fmt::format("link {} {}\n", i, gpu.nvlinks[i]);
  nvml_ += gpu.more;
  SetNvml(nvml_);
}

void RenderedHost::SetNvml(const std::string& text) {
  nvml_ = text;
  Write("/nvml.txt", nvml_);
  setenv(kNvmlVariable, (root() + "/nvml.txt").c_str(), 1);
}

std::vector<std::string> NvLinksToSwitch(int count, const std::string& bus_id) {
  return std::vector<std::string>(static_cast<std::size_t>(count), fmt::format("1 2 {} 1", bus_id));
}

}  // namespace tutti::tests
