// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "topo/topology_xml.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <tuple>
#include <utility>

#include "base/words.h"
#include "topo/rates.h"
#include "topo/topology_xml_links.h"
#include "topo/xml_file.h"

namespace tutti::topo {
namespace {

constexpr std::size_t kMostNumaNodes = 256;  // of a host
constexpr int kMostLanes = 32;               // that PCI has
constexpr int kMostNumber = 1 << 30;
constexpr std::string_view kSwitchClass = "0x060400", kGpuClass = "0x030200";

const std::vector<XmlRule>& Rules() {
  static const std::vector<std::string_view> port = {"name", "dev",     "latency", "speed", "port",
                                                     "guid", "maxconn", "gdr",     "coll",  "net",
                                                     "gin",  "rma",     "rail",    "plane", "keep"};
  static const std::vector<XmlRule> rules = {
      {"system", {""}, {"version", "name"}},
      {"cpu",
       {"system"},
       {"host_hash", "numaid", "affinity", "affinity_offset", "arch", "vendor", "familyid", "modelid"}},
      {"pci",
       {"cpu", "pci"},
       {"busid", "class", "vendor", "device", "subsystem_vendor", "subsystem_device", "link_speed", "link_width"}},
      {"gpu", {"pci"}, {"dev", "sm", "rank", "gdr", "mlopart", "gcn", "arch", "keep"}},
      {"nvlink", {"gpu"}, {"target", "count", "tclass"}},
      {"xgmi", {"gpu"}, {"target", "count", "tclass"}},
      {"c2c", {"gpu"}, {"bw", "count"}},
      {"pcilink", {"pci"}, {"target"}},
      {"nic", {"pci", "cpu"}, {}},
      {"net", {"nic"}, port},
      {"gin", {"nic"}, port},  // uses of a port that a graph does not know
      {"rma", {"nic"}, port},
  };
  return rules;
}

// RCCL's older files have a number in its place (convertGcnArchToGcnArchName in archinfo.cc).
std::string ArchitectureFrom(std::string_view gcn) {
  if (gcn == "910") return "gfx90a";
  return gcn.starts_with("gfx") ? std::string(gcn) : fmt::format("gfx{}", gcn);
}

class Reader {
 public:
  explicit Reader(const std::string& where) : file_(where) {}
  Result<TopologyXml> Read(std::string_view text);

 private:
  // Where a device hangs.
  struct Place {
    int parent = 0, host = 0, numa = -1;
  };
  using Element = XmlDevices::Element;

  Status AddCpu(pugi::xml_node cpu);
  void JoinSockets();
  Status AddPci(pugi::xml_node pci, const Place& place);
  Status AddGpu(pugi::xml_node gpu, const Pci& pci, const Place& place);
  Status AddNic(std::span<const pugi::xml_node> nics, const Pci& pci, const Place& place);
  Status AddPort(pugi::xml_node net, int nic);
  int Attach(Node node, const Place& place);
  void NumberGpus();

  const Node& NodeOf(int node) const { return graph_.node(node); }
  Gpu& GpuAt(int node) { return *std::get_if<Gpu>(&graph_.node(node).is); }

  XmlFile file_;
  Graph graph_;
  XmlDevices devices_;
  std::map<std::string, int> hosts_;
  std::vector<std::vector<int>> numa_nodes_of_;  // by host
  std::set<std::pair<int, int>> ports_;          // by host and number
};

Result<TopologyXml> Reader::Read(std::string_view text) {
  TUTTI_RETURN_IF_ERROR(file_.Parse(text, Rules()));
  const pugi::xml_node system = file_.root().child("system");
  if (!system) return file_.Refuse(file_.root().first_child(), "this is no topology: it has no <system>");
  int version = 0;
  TUTTI_RETURN_IF_ERROR(file_.Require(system, "version", 0, kMostNumber, version));
  if (version != 1 && version != 2) {
    return file_.Refuse(system, fmt::format("version {} is not known; NCCL writes 1 and RCCL 2", version));
  }
  graph_.name = system.attribute("name").value();
  if (const pugi::xml_node second = system.next_sibling("system")) file_.Note(second, "only the first <system> counts");
  for (const pugi::xml_node cpu : system.children("cpu")) TUTTI_RETURN_IF_ERROR(AddCpu(cpu));
  JoinSockets();
  NumberGpus();
  TUTTI_RETURN_IF_ERROR(AddXmlLinks(devices_, file_, graph_));
  return TopologyXml{std::move(graph_), file_.TakeNotes()};
}

Status Reader::AddCpu(pugi::xml_node cpu) {
  Cpu is = {.arch = cpu.attribute("arch").value(),
            .vendor = cpu.attribute("vendor").value(),
            .affinity = cpu.attribute("affinity").value()};
  int numa = -1;
  TUTTI_RETURN_IF_ERROR(file_.Read(cpu, "numaid", -1, kMostNumber, numa));
  TUTTI_RETURN_IF_ERROR(file_.Read(cpu, "familyid", -1, kMostNumber, is.family));
  TUTTI_RETURN_IF_ERROR(file_.Read(cpu, "modelid", -1, kMostNumber, is.model));
  const std::string hash = cpu.attribute("host_hash").value();
  const auto [host, new_host] = hosts_.try_emplace(hash, static_cast<int>(graph_.hosts().size()));
  if (new_host) {
    graph_.AddHost(hash);
    numa_nodes_of_.emplace_back();
  }
  const auto [known, new_node] = devices_.numa_nodes.try_emplace({host->second, numa}, -1);
  if (new_node) {
    const std::string name = numa < 0 ? "NUMA node" : fmt::format("NUMA node {}", numa);
    known->second = graph_.AddNode({.kind = NodeKind::kNumaNode,
                                    .host = host->second,
                                    .numa = numa,
                                    .name = name,
                                    .pci = {},
                                    .is = std::move(is)});
    numa_nodes_of_[static_cast<std::size_t>(host->second)].push_back(known->second);
  } else {
    file_.Note(cpu, fmt::format("numaid {} is there twice in a host, and taken for one NUMA node", numa));
  }
  if (numa_nodes_of_[static_cast<std::size_t>(host->second)].size() > kMostNumaNodes) {
    return file_.Refuse(cpu, fmt::format("the host has more than {} NUMA nodes", kMostNumaNodes));
  }
  const Place place = {.parent = known->second, .host = host->second, .numa = numa};
  for (const pugi::xml_node child : cpu.children()) {
    if (std::string_view(child.name()) == "pci") TUTTI_RETURN_IF_ERROR(AddPci(child, place));
    if (std::string_view(child.name()) == "nic") {
      TUTTI_RETURN_IF_ERROR(AddNic(std::span<const pugi::xml_node>(&child, 1), {}, place));
    }
  }
  return Status::Ok();
}

void Reader::JoinSockets() {
  for (const std::vector<int>& nodes : numa_nodes_of_) {
    for (std::size_t i = 0; i < nodes.size(); ++i) {
      for (std::size_t j = i + 1; j < nodes.size(); ++j) {
        const double rate = std::min(SocketGbPerS(*NodeOf(nodes[i]).cpu()), SocketGbPerS(*NodeOf(nodes[j]).cpu()));
        graph_.AddLink({.from = nodes[i], .to = nodes[j], .kind = LinkKind::kSocket, .rated_gb_per_s = rate});
      }
    }
  }
}

Status Reader::AddPci(pugi::xml_node pci, const Place& place) {
  Pci is = {.bus_id = BusIdFrom(pci.attribute("busid").value()),
            .class_id = pci.attribute("class").value(),
            .vendor = pci.attribute("vendor").value(),
            .device = pci.attribute("device").value(),
            .subsystem_vendor = pci.attribute("subsystem_vendor").value(),
            .subsystem_device = pci.attribute("subsystem_device").value(),
            .link_speed = pci.attribute("link_speed").value()};
  if (is.bus_id.empty()) {
    return file_.Refuse(pci, fmt::format("busid=\"{}\" is no bus id of PCI, as 0000:1b:00.0 is one",
                                         Shown(pci.attribute("busid").value())));
  }
  TUTTI_RETURN_IF_ERROR(file_.Read(pci, "link_width", 0, kMostLanes, is.link_width));
  const pugi::xml_node gpu = pci.child("gpu"), nic = pci.child("nic"), inner = pci.child("pci");
  if ((gpu && nic) || (gpu && inner) || (nic && inner)) {
    return file_.Refuse(pci, "a device holds gpu or nic, a switch pci, and none of them two");
  }
  const bool is_gpu = gpu || (!nic && !inner && IsGpuClass(is.class_id));
  const bool is_nic = nic || (!inner && is.class_id.starts_with("0x02"));
  const bool is_switch = is.class_id.starts_with("0x0604") || is.class_id.starts_with("0x0801");
  if (!is_gpu && !is_nic && !is_switch && !inner) {
    file_.Note(pci, fmt::format("{} is no PCI switch, GPU or card, and passed over", is.bus_id));
    return Status::Ok();
  }
  const XmlDevices::BusId bus_id = {place.host, is.bus_id};
  const bool known = devices_.gpus_at.contains(bus_id) || devices_.nics_at.contains(bus_id);
  if (known && (is_gpu || is_nic))
    return file_.Refuse(pci, fmt::format("busid {} is there twice in a host", is.bus_id));
  if (known || devices_.switches_at.contains(bus_id)) {
    file_.Note(pci, fmt::format("a switch has the busid {} of another device", is.bus_id));
  }
  if ((inner && !is_switch) || (gpu && !IsGpuClass(is.class_id))) {
    if (!is.class_id.empty()) file_.Note(pci, fmt::format("class \"{}\" is none of what it holds", Shown(is.class_id)));
    is.class_id = inner ? kSwitchClass : kGpuClass;
  }
  if (!PciRateOf(is.link_speed, is.link_width).speed_known) {
    file_.Note(pci, fmt::format("link_speed=\"{}\" is no known speed, 8 GT/s are assumed", Shown(is.link_speed)));
  }
  if (is_gpu) {
    if (!gpu) return AddGpu(gpu, is, place);
    for (const pugi::xml_node each : pci.children("gpu")) TUTTI_RETURN_IF_ERROR(AddGpu(each, is, place));
    return Status::Ok();
  }
  if (is_nic) {
    const auto nics = pci.children("nic");
    return AddNic(std::vector<pugi::xml_node>(nics.begin(), nics.end()), is, place);
  }
  const Place below = {
      .parent = Attach({.kind = NodeKind::kPciSwitch, .name = "PCI switch " + is.bus_id, .pci = is}, place),
      .host = place.host,
      .numa = place.numa};
  devices_.switches_at.try_emplace(bus_id, below.parent);
  devices_.switches.push_back({.node = below.parent, .xml = pci});
  for (const pugi::xml_node child : pci.children("pci")) TUTTI_RETURN_IF_ERROR(AddPci(child, below));
  return Status::Ok();
}

// Adds a device and its link towards the CPU.
int Reader::Attach(Node node, const Place& place) {
  node.host = place.host;
  node.numa = place.numa;
  const Pci pci = node.pci;
  const int index = graph_.AddNode(std::move(node));
  double rate = kLocalGbPerS;
  if (!pci.bus_id.empty()) {
    rate = PciRateOf(pci.link_speed, pci.link_width).gb_per_s;
  }
  graph_.AddLink({.from = place.parent, .to = index, .kind = LinkKind::kPci, .rated_gb_per_s = rate});
  return index;
}

// `gpu` may be none.
Status Reader::AddGpu(pugi::xml_node gpu, const Pci& pci, const Place& place) {
  Gpu is = {.dev = -1};
  int gdr = 0;
  TUTTI_RETURN_IF_ERROR(file_.Read(gpu, "dev", 0, kMostNumber, is.dev));
  TUTTI_RETURN_IF_ERROR(file_.Read(gpu, "sm", 0, kMostNumber, is.sm));
  TUTTI_RETURN_IF_ERROR(file_.Read(gpu, "rank", -1, kMostNumber, is.rank));
  TUTTI_RETURN_IF_ERROR(file_.Read(gpu, "gdr", 0, kMostNumber, gdr));
  TUTTI_RETURN_IF_ERROR(file_.Read(gpu, "mlopart", -1, kMostNumber, is.mlopart));
  is.gdr = gdr != 0;
  if (const pugi::xml_attribute gcn = gpu.attribute("gcn")) {
    is.name = ArchitectureFrom(gcn.value());
    is.sm = 0;
  }
  std::vector<int>& nodes = devices_.gpus_at[{place.host, pci.bus_id}];
  for (const int other : nodes) {
    if (NodeOf(other).gpu()->mlopart != is.mlopart) continue;
    file_.Note(gpu, fmt::format("rank {} shares the GPU of rank {}", is.rank, NodeOf(other).gpu()->rank));
    return Status::Ok();
  }
  const int node = Attach({.kind = NodeKind::kGpu, .pci = pci, .is = is}, place);
  for (const int other : nodes) {
    graph_.AddLink({.from = other, .to = node, .kind = LinkKind::kLocal, .rated_gb_per_s = kPartitionGbPerS});
  }
  nodes.push_back(node);
  devices_.gpus.push_back({.node = node, .xml = gpu});
  return Status::Ok();
}

// GPUs without a number get free ones, in the order of their bus ids.
void Reader::NumberGpus() {
  std::set<std::pair<int, int>> taken;  // host and number
  std::vector<Element> left;
  for (const Element& gpu : devices_.gpus) {
    const int dev = GpuAt(gpu.node).dev;
    if (dev < 0) left.push_back(gpu);
    if (dev >= 0 && !taken.insert({NodeOf(gpu.node).host, dev}).second) {
      file_.Note(gpu.xml, fmt::format("dev {} is there twice in a host", dev));
    }
  }
  const auto bus_id = [&](const Element& gpu) { return std::pair(NodeOf(gpu.node).host, NodeOf(gpu.node).pci.bus_id); };
  std::ranges::stable_sort(left, {}, bus_id);
  std::map<int, int> next;  // by host
  for (const Element& gpu : left) {
    const int host = NodeOf(gpu.node).host;
    int& dev = next[host];
    while (!taken.insert({host, dev}).second) ++dev;
    GpuAt(gpu.node).dev = dev;
  }
  for (const Element& gpu : devices_.gpus) graph_.node(gpu.node).name = fmt::format("GPU {}", GpuAt(gpu.node).dev);
}

Status Reader::AddNic(std::span<const pugi::xml_node> nics, const Pci& pci, const Place& place) {
  const int nic = Attach({.kind = NodeKind::kNic, .pci = pci}, place);
  if (!pci.bus_id.empty()) devices_.nics_at[{place.host, pci.bus_id}] = nic;
  for (const pugi::xml_node element : nics) {
    for (const pugi::xml_node net : element.children("net")) TUTTI_RETURN_IF_ERROR(AddPort(net, nic));
  }
  const std::span<const Neighbour> ports = graph_.NeighboursOf(nic).subspan(1);
  graph_.node(nic).name = ports.empty() ? "NIC " + pci.bus_id : NodeOf(ports.front().node).name;
  return Status::Ok();
}

Status Reader::AddPort(pugi::xml_node net, int nic) {
  Port is = {.name = net.attribute("name").value()};
  int mbit_per_s = 0, counts = 1, gdr = 0, collectives = 0, dev = -1;
  TUTTI_RETURN_IF_ERROR(file_.Read(net, "net", 0, 1, counts));
  TUTTI_RETURN_IF_ERROR(file_.Read(net, "dev", 0, kMostNumber, dev));
  if (counts == 0 || dev < 0) {
    file_.Note(net, counts == 0 ? "net=\"0\": it is part of another one, and passed over"
                                : "it has no dev, and is passed over");
    return Status::Ok();
  }
  is.dev = dev;
  if (!ports_.insert({NodeOf(nic).host, dev}).second)
    file_.Note(net, fmt::format("dev {} is there twice in a host", dev));
  TUTTI_RETURN_IF_ERROR(file_.Read(net, "speed", -1, kMostNumber, mbit_per_s));
  TUTTI_RETURN_IF_ERROR(file_.Read(net, "latency", 0.0, 1e9, is.latency_us));
  TUTTI_RETURN_IF_ERROR(file_.Read(net, "port", 0, kMostNumber, is.port));
  TUTTI_RETURN_IF_ERROR(file_.Read(net, "maxconn", 0, kMostNumber, is.max_connections));
  TUTTI_RETURN_IF_ERROR(file_.Read(net, "gdr", 0, kMostNumber, gdr));
  TUTTI_RETURN_IF_ERROR(file_.Read(net, "coll", 0, kMostNumber, collectives));
  TUTTI_RETURN_IF_ERROR(file_.Read(net, "rail", -1, kMostNumber, is.rail));
  TUTTI_RETURN_IF_ERROR(file_.Read(net, "plane", -1, kMostNumber, is.plane));
  // NCCL marks with this bit what it has made up itself (NCCL_TOPO_UNDEF_BIT in xml.h).
  if (is.rail >= 1 << 16) is.rail = -1;
  if (is.plane >= 1 << 16) is.plane = -1;
  if (mbit_per_s <= 0) file_.Note(net, fmt::format("the speed is not known, {} Gbit/s are assumed", kAssumedPortGbit));
  is.gbit_per_s = mbit_per_s > 0 ? mbit_per_s / 1000.0 : kAssumedPortGbit;
  is.gdr = gdr != 0;
  is.collectives = collectives != 0;
  std::string_view guid = Trim(net.attribute("guid").value());
  if (guid.starts_with("0x")) guid.remove_prefix(2);
  const std::optional<std::uint64_t> number = ParseNumber<std::uint64_t>(guid, 16);
  if (!number && !guid.empty()) file_.Note(net, fmt::format("guid=\"{}\" is no number, and passed over", Shown(guid)));
  is.guid = number.value_or(0);
  const std::string name = is.name.empty() ? fmt::format("port {}", dev) : is.name;
  const double rate = PortGbPerS(is.gbit_per_s);
  const int port = graph_.AddNode(
      {.kind = NodeKind::kPort, .host = NodeOf(nic).host, .numa = NodeOf(nic).numa, .name = name, .is = std::move(is)});
  graph_.AddLink({.from = nic, .to = port, .kind = LinkKind::kLocal, .rated_gb_per_s = rate});
  return Status::Ok();
}

}  // namespace

Result<TopologyXml> ReadTopologyXml(std::string_view text, const std::string& where) {
  return Reader(where).Read(text);
}

}  // namespace tutti::topo
