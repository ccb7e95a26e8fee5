// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "topo/discover.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <string_view>
#include <utility>

#include "sys/os/notes.h"
#include "topo/discover_nvlinks.h"
#include "topo/discover_pci.h"
#include "topo/rates.h"

namespace tutti::topo {
namespace {

using internal::Endpoint;

// How much longer a memory access takes for each 10 of a NUMA distance: what the nearest one takes, about.
constexpr double kMemoryAccessUs = 0.1;
constexpr int kUsualDistance = 20;

bool MayAccess(sys::cuda::P2pStatus status) {
  return status == sys::cuda::P2pStatus::kOk || status == sys::cuda::P2pStatus::kUnknown;
}

class Drawing {
 public:
  Drawing(Discovery& discovery, std::span<const MeasuredGpu> measured)
      : d_(discovery), tree_(discovery.tree), graph_(discovery.graph), measured_(measured) {}

  void Draw() {
    graph_.AddHost(tree_.host_name.empty() ? "this host" : tree_.host_name);
    FindGpus();
    const std::size_t gpu_count = endpoints_.size();
    FindCards();
    internal::PciPlacement placement(tree_, measured_, notes_);
    const std::vector<int> with_cores = NumbersWithCores();
    placement.Describe(endpoints_, with_cores);
    d_.unsaid = placement.unsaid();
    AddNumaNodes(with_cores);
    AddSockets();
    placement.Place(endpoints_, numa_nodes_, graph_);
    AddPorts();
    if (d_.nvml) {
      std::vector<int> gpus;
      for (std::size_t i = 0; i < gpu_count; ++i) gpus.push_back(endpoints_[i].index);
      internal::AddNvLinks(*d_.nvml, tree_, gpus, numa_nodes_, graph_, notes_);
      for (const sys::cuda::P2p& pair : d_.nvml->p2p) {
        if (!MayAccess(pair.read) || !MayAccess(pair.write)) {
          d_.peers_refused.insert(
              std::minmax(gpus.at(static_cast<std::size_t>(pair.from)), gpus.at(static_cast<std::size_t>(pair.to))));
        }
      }
    }
    std::ranges::move(notes_.Lines(), std::back_inserter(d_.notes));
  }

 private:
  struct DrawnPort {
    std::size_t card = 0;  // index in endpoints_
    Port port;
    std::string name;
  };

  const sys::PciDevice& Device(int pci) const { return tree_.pci[static_cast<std::size_t>(pci)]; }

  // Those of NVML by its index, or else those of the device tree by bus id.
  void FindGpus() {
    std::vector<int> unclaimed;
    for (std::size_t i = 0; i < tree_.pci.size(); ++i) {
      const sys::PciDevice& device = tree_.pci[i];
      if (device.vendor == "0x10de" && device.class_id.starts_with("0x03") && !device.virtual_function) {
        unclaimed.push_back(static_cast<int>(i));
      }
    }
    if (!d_.nvml) {
      for (const int pci : unclaimed) AddGpu(pci, {.index = static_cast<int>(endpoints_.size())});
      return;
    }
    std::vector<int> places;
    for (const sys::cuda::NvmlGpu& gpu : d_.nvml->gpus) {
      places.push_back(tree_.FindPci(gpu.bus_id));
      std::erase(unclaimed, places.back());
      if (!gpu.bus_id.empty() && places.back() < 0) {
        notes_.Add("GPU not in sysfs",
                   fmt::format("GPU {} ({}) is not among the PCI devices of sysfs", gpu.index, gpu.bus_id));
      }
    }
    // GPUs that NVML counts but cannot tell of, such as those that have fallen off the bus: it counts in the order of
    // bus ids.
    const auto lost = std::ranges::count(d_.nvml->gpus, "", &sys::cuda::NvmlGpu::bus_id);
    const bool same = lost == static_cast<std::ptrdiff_t>(unclaimed.size());
    for (std::size_t i = 0; i < places.size(); ++i) {
      const sys::cuda::NvmlGpu& gpu = d_.nvml->gpus[i];
      if (gpu.bus_id.empty() && same) {
        places[i] = unclaimed.front();
        unclaimed.erase(unclaimed.begin());
        notes_.Add("lost GPU",
                   fmt::format("NVML does not say where GPU {} is: it is taken to be {}", i, Device(places[i]).bus_id));
      }
      AddGpu(places[i], gpu);
    }
    if (!unclaimed.empty()) {
      notes_.Add("GPU not in NVML",
                 fmt::format("NVML does not list {} GPUs of sysfs, {} the first of them; another program or machine "
                             "may have them: they are left out",
                             unclaimed.size(), Device(unclaimed.front()).bus_id));
    }
  }

  void AddGpu(int pci, const sys::cuda::NvmlGpu& facts) {
    Endpoint endpoint{.pci = pci, .now = facts.pcie, .best = facts.best};
    endpoint.node = {.kind = NodeKind::kGpu, .name = fmt::format("GPU {}", facts.index)};
    endpoint.node.pci.bus_id = facts.bus_id;
    endpoint.node.is =
        Gpu{.dev = facts.index, .sm = facts.sm, .gdr = tree_.gpu_memory_module, .name = facts.name, .uuid = facts.uuid};
    endpoints_.push_back(std::move(endpoint));
  }

  // Ports of RDMA devices first, as networks that use them count them, then interfaces of cards without such.
  void FindCards() {
    std::vector<int> with_rdma;
    for (const sys::InfinibandDevice& device : tree_.infiniband) {
      if (IsLeftOut(device.name, device.pci)) continue;
      with_rdma.push_back(device.pci);
      for (const sys::InfinibandPort& port : device.ports) {
        const std::string name = device.ports.size() > 1 ? fmt::format("{}:{}", device.name, port.number) : device.name;
        if (!port.active) {
          notes_.Add("port is down",
                     fmt::format("the port {} has no link (its state is '{}'): it is left out", name, port.state));
          continue;
        }
        AddPort(device.pci, name,
                {.name = device.name,
                 .gbit_per_s = port.gbit_per_s,
                 .port = port.number,
                 .guid = device.guid,
                 .gdr = tree_.gpu_memory_module});
      }
    }
    for (const sys::NetworkInterface& interface : tree_.interfaces) {
      if (std::ranges::find(with_rdma, interface.pci) != with_rdma.end() || IsLeftOut(interface.name, interface.pci))
        continue;
      if (interface.up) {
        AddPort(interface.pci, interface.name,
                {.name = interface.name, .gbit_per_s = static_cast<double>(interface.mbit_per_s) / 1000});
      } else {
        notes_.Add("interface is down",
                   fmt::format("the network interface {} has no link: it is left out", interface.name));
      }
    }
  }

  bool IsLeftOut(const std::string& name, int pci) {
    if (pci < 0) notes_.Add("no PCI device", fmt::format("{} is no PCI device: it is left out", name));
    if (pci < 0 || !Device(pci).virtual_function) return pci < 0;
    notes_.Add("virtual function",
               fmt::format("{} is a virtual function of a card that is here too: it is left out", name));
    return true;
  }

  void AddPort(int pci, const std::string& name, Port port) {
    // "0000:1b:00" of "0000:1b:00.1"
    const std::string card = Device(pci).bus_id.substr(0, Device(pci).bus_id.rfind('.'));
    const auto [known, is_new] = cards_.try_emplace(card, endpoints_.size());
    if (is_new) {
      endpoints_.push_back({.pci = pci, .node = {.kind = NodeKind::kNic, .name = fmt::format("NIC {}", name)}});
    }
    if (port.gbit_per_s <= 0) {
      notes_.Add("port rate",
                 fmt::format("the system does not say how fast {} is: {} Gbit/s are assumed", name, kAssumedPortGbit));
    }
    port.dev = static_cast<int>(ports_.size());
    ports_.push_back({.card = known->second, .port = std::move(port), .name = name});
  }

  std::vector<int> NumbersWithCores() {
    std::vector<int> numbers;
    for (const sys::NumaNode& node : tree_.numa_nodes) {
      if (!node.cpus.empty()) numbers.push_back(node.number);
    }
    if (numbers.empty()) {
      notes_.Add("no NUMA nodes", "the system names no NUMA nodes with cores: one is assumed");
      numbers.push_back(tree_.numa_nodes.empty() ? -1 : tree_.numa_nodes.front().number);
    }
    return numbers;
  }

  // Those with cores, and those of devices.
  void AddNumaNodes(std::vector<int> numbers) {
    for (const Endpoint& endpoint : endpoints_) numbers.push_back(endpoint.node.numa);
    std::ranges::sort(numbers);
    numbers.erase(std::unique(numbers.begin(), numbers.end()), numbers.end());  // clang 14 knows no std::ranges::unique
    for (const int number : numbers) {
      const auto facts = std::ranges::find(tree_.numa_nodes, number, &sys::NumaNode::number);
      Cpu cpu = CpuModel();
      if (facts != tree_.numa_nodes.end()) cpu.affinity = facts->cpu_mask;
      numa_nodes_[number] = graph_.AddNode({.kind = NodeKind::kNumaNode,
                                            .numa = number,
                                            .name = number < 0 ? "NUMA node" : fmt::format("NUMA node {}", number),
                                            .is = std::move(cpu)});
    }
    for (std::size_t i = 0; i < numbers.size(); ++i) {
      for (std::size_t j = i + 1; j < numbers.size(); ++j) {
        if (!IsDirect(numbers, numbers[i], numbers[j])) continue;
        graph_.AddLink({.from = numa_nodes_[numbers[i]],
                        .to = numa_nodes_[numbers[j]],
                        .kind = LinkKind::kSocket,
                        .rated_gb_per_s = SocketGbPerS(CpuModel()),
                        .latency_us = (Distance(numbers[i], numbers[j]) - 10) / 10.0 * kMemoryAccessUs});
      }
    }
  }

  // Whether no third node is nearer to both than they are to each other: else the way leads over that one.
  bool IsDirect(const std::vector<int>& numbers, int from, int to) const {
    const int straight = Distance(from, to);
    return std::ranges::none_of(numbers, [&](int between) {
      return between != from && between != to && Distance(from, between) < straight && Distance(between, to) < straight;
    });
  }

  // The same both ways: the larger one.
  int Distance(int from, int to) const {
    const auto one_way = [&](int a, int b) {
      const auto row = std::ranges::find(tree_.numa_nodes, a, &sys::NumaNode::number);
      const auto column = std::ranges::find(tree_.numa_nodes, b, &sys::NumaNode::number);
      if (row == tree_.numa_nodes.end() || column == tree_.numa_nodes.end() || row->distances.empty())
        return kUsualDistance;
      return row->distances[static_cast<std::size_t>(column - tree_.numa_nodes.begin())];
    };
    return std::max(one_way(from, to), one_way(to, from));
  }

  // Nothing where a NUMA node has cores of several sockets, or of none: a virtual machine may have a socket for each
  // core.
  void AddSockets() {
    std::map<int, std::vector<int>> nodes_of_socket;  // by their number
    for (const sys::NumaNode& node : tree_.numa_nodes) {
      int socket = -1;
      for (const int cpu : node.cpus) {
        const auto index = static_cast<std::size_t>(cpu);
        const int said = index < tree_.socket_of_cpu.size() ? tree_.socket_of_cpu[index] : -1;
        if (said < 0) continue;  // it is switched off
        if (socket >= 0 && said != socket) {
          notes_.Add("sockets",
                     fmt::format("NUMA node {} has cores of several sockets: sockets are left out", node.number));
          return;
        }
        socket = said;
      }
      if (socket < 0 && !node.cpus.empty()) {
        notes_.Add(
            "sockets",
            fmt::format("the system does not say which socket has the cores of NUMA node {}: sockets are left out",
                        node.number));
        return;
      }
      if (socket >= 0) nodes_of_socket[socket].push_back(node.number);
    }
    for (const auto& [socket, numbers] : nodes_of_socket) {
      const int cpu = graph_.AddNode({.kind = NodeKind::kCpu, .name = fmt::format("CPU {}", socket), .is = CpuModel()});
      for (const int number : numbers) {
        graph_.AddLink({.from = numa_nodes_.at(number),
                        .to = cpu,
                        .kind = LinkKind::kSocket,
                        .rated_gb_per_s = SocketGbPerS(CpuModel())});
      }
    }
  }

  Cpu CpuModel() const {
    return {.arch = tree_.cpu.arch, .vendor = tree_.cpu.vendor, .family = tree_.cpu.family, .model = tree_.cpu.model};
  }

  void AddPorts() {
    for (DrawnPort& drawn : ports_) {
      const Endpoint& card = endpoints_[drawn.card];
      const double gb_per_s = PortGbPerS(drawn.port.gbit_per_s);
      const int port = graph_.AddNode(
          {.kind = NodeKind::kPort, .numa = card.node.numa, .name = drawn.name, .is = std::move(drawn.port)});
      graph_.AddLink({.from = card.index, .to = port, .kind = LinkKind::kLocal, .rated_gb_per_s = gb_per_s});
    }
  }

  Discovery& d_;
  const sys::DeviceTree& tree_;
  Graph& graph_;
  const std::span<const MeasuredGpu> measured_;
  sys::Notes notes_;
  std::vector<Endpoint> endpoints_;           // GPUs, then cards
  std::map<std::string, std::size_t> cards_;  // endpoints by bus id without the function
  std::vector<DrawnPort> ports_;
  std::map<int, int> numa_nodes_;  // the graph's nodes by number
};

bool HasNvidiaDevices(const sys::DeviceTree& tree) {
  return std::ranges::any_of(tree.pci, [](const sys::PciDevice& device) {
    return device.vendor == "0x10de" && device.class_id.starts_with("0x03");
  });
}

}  // namespace

Result<Discovery> Discover(const DiscoverOptions& options) {
  Result<sys::DeviceTree> tree = options.tree != nullptr ? *options.tree : sys::ReadDeviceTree(options.root);
  if (!tree.ok()) return tree.status();
  Discovery discovery;
  discovery.tree = std::move(*tree);
  discovery.notes = discovery.tree.notes;
  if (options.nvml_library.empty()) {
    Drawing(discovery, options.measured).Draw();
    return discovery;
  }
  Result<sys::cuda::NvmlFacts> nvml =
      options.nvml != nullptr ? *options.nvml : sys::cuda::ReadNvml(options.nvml_library);
  if (nvml.ok()) {
    discovery.nvml = std::move(*nvml);
    std::ranges::copy(discovery.nvml->notes, std::back_inserter(discovery.notes));
  } else if (HasNvidiaDevices(discovery.tree)) {
    discovery.notes.push_back(
        fmt::format("GPUs are drawn without NVLinks, from sysfs alone: {}", nvml.status().message()));
  }
  Drawing(discovery, options.measured).Draw();
  return discovery;
}

}  // namespace tutti::topo
