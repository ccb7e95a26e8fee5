// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "topo/discover_pci.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <string_view>
#include <utility>

#include "topo/gpu_models.h"
#include "topo/rates.h"

namespace tutti::topo::internal {
namespace {

double Gigatransfers(std::string_view speed) { return PciGigatransfers(speed).value_or(0); }

const std::string& Faster(const std::string& a, const std::string& b) {
  return Gigatransfers(a) >= Gigatransfers(b) ? a : b;
}

// An end that says nothing does not count.
const std::string& Slower(const std::string& a, const std::string& b) {
  if (Gigatransfers(a) == 0 || Gigatransfers(b) == 0) return Faster(a, b);
  return Gigatransfers(a) <= Gigatransfers(b) ? a : b;
}

int Narrower(int a, int b) { return a == 0 || b == 0 ? std::max(a, b) : std::min(a, b); }

// What emulated bridges have.
bool IsLeast(std::string_view speed, int width) { return Gigatransfers(speed) == 2.5 && width == 1; }

std::string LinkText(std::string_view speed, int width) {
  return fmt::format("{} x{}", speed.empty() ? "unknown speed" : speed, width > 0 ? fmt::format("{}", width) : "?");
}

}  // namespace

std::vector<int> PciPlacement::ChainOf(int pci) const {
  std::vector<int> chain;
  for (; pci >= 0; pci = Device(pci).parent) chain.push_back(pci);
  std::ranges::reverse(chain);
  return chain;
}

// Both ends of a link have the same speed and width, so a port cannot be less than what the device has now.
bool PciPlacement::IsBelieved(const sys::PciDevice& port, const sys::PciDevice& below) {
  const double port_speed = Gigatransfers(port.best_link_speed);
  const bool narrower = port.best_link_width > 0 && below.link_width > port.best_link_width;
  const bool slower = port_speed > 0 && Gigatransfers(below.link_speed) > port_speed;
  const bool least =
      IsLeast(port.best_link_speed, port.best_link_width) && below.best_link_width > 1 && below.link_width != 1;
  if (!narrower && !slower && !least) return true;
  notes_.Add("emulated port",
             fmt::format(
                 "the bridge {} claims {} at best, but {} below it has {} and could have {}: the bridge is taken for "
                 "emulated and limits nothing",
                 port.bus_id, LinkText(port.best_link_speed, port.best_link_width), below.bus_id,
                 LinkText(below.link_speed, below.link_width), LinkText(below.best_link_speed, below.best_link_width)));
  return false;
}

PciPlacement::Link PciPlacement::LinkOf(int pci) {
  const sys::PciDevice& device = Device(pci);
  Link link{.speed = device.link_speed,
            .best_speed = device.best_link_speed,
            .width = device.link_width,
            .best_width = device.best_link_width};
  if (device.parent < 0) return link;
  link.doubted = !IsBelieved(Device(device.parent), device);
  if (!link.doubted) {
    const sys::PciDevice& port = Device(device.parent);
    link.best_speed = Slower(link.best_speed, port.best_link_speed);
    link.best_width = Narrower(link.best_width, port.best_link_width);
  }
  return link;
}

bool PciPlacement::IsDescribed(const Link& link) {
  return PciRateOf(link.best_speed, link.best_width).speed_known && link.best_width > 0;
}

double PciPlacement::RateOf(const Link& link, const std::string& whose) {
  const bool lanes_lost = link.width > 0 && link.width < link.best_width;
  const PciRate rate = PciRateOf(link.best_speed, lanes_lost ? link.width : link.best_width);
  if (lanes_lost) {
    notes_.Add("lanes",
               fmt::format("{} uses {} of its {} PCI lanes: {:.3g} GB/s instead of {:.3g}", whose, link.width,
                           link.best_width, rate.gb_per_s, PciRateOf(link.best_speed, link.best_width).gb_per_s));
  }
  if (!IsDescribed(link)) {
    notes_.Add("unknown link", fmt::format("the PCI link of {} is not fully described ({}): {:.3g} GB/s are assumed",
                                           whose, LinkText(link.best_speed, link.best_width), rate.gb_per_s));
  }
  return rate.gb_per_s;
}

void PciPlacement::FillIn(Pci& pci, int index, const Link& link) const {
  if (index >= 0) {
    const sys::PciDevice& device = Device(index);
    pci.bus_id = device.bus_id;
    pci.class_id = device.class_id;
    pci.vendor = device.vendor;
    pci.device = device.device;
    pci.subsystem_vendor = device.subsystem_vendor;
    pci.subsystem_device = device.subsystem_device;
  }
  pci.link_speed = link.speed;
  pci.link_width = link.width;
  pci.best_link_speed = link.best_speed;
  pci.best_link_width = link.best_width;
}

void PciPlacement::DescribeLink(Endpoint& endpoint) {
  Link link = endpoint.pci >= 0 ? LinkOf(endpoint.pci) : Link();
  const std::string now = PciSpeedText(endpoint.now.generation), best = PciSpeedText(endpoint.best.generation);
  // Asking NVML may have woken the link, but what it has now it can have at best.
  link.best_speed = Faster(Faster(link.best_speed, best), Faster(link.speed, now));
  link.best_width = std::max({link.best_width, endpoint.best.width, link.width, endpoint.now.width});
  if (Gigatransfers(link.speed) == 0) link.speed = now;
  link.width = std::max(link.width, endpoint.now.width);
  FillIn(endpoint.node.pci, endpoint.pci, link);
  if (link.doubted || !IsDescribed(link)) endpoint.measured_gb_per_s = MeasuredLinkOf(endpoint);
  if (endpoint.measured_gb_per_s > 0) {
    notes_.Add("measured link", fmt::format("{} takes {:.3g} GB/s from host memory, as was measured",
                                            endpoint.node.name, endpoint.measured_gb_per_s));
  }
  const bool known_by_measurement = endpoint.measured_gb_per_s > 0 && !IsDescribed(link);
  endpoint.gb_per_s = known_by_measurement ? endpoint.measured_gb_per_s : RateOf(link, endpoint.node.name);
  for (int bridge = endpoint.pci >= 0 ? Device(endpoint.pci).parent : -1; bridge >= 0; bridge = Device(bridge).parent) {
    const Endpoint*& fastest = fastest_[bridge];
    if (fastest == nullptr || fastest->gb_per_s < endpoint.gb_per_s) fastest = &endpoint;
  }
}

const MeasuredGpu* PciPlacement::MeasuredOf(const Endpoint& endpoint) const {
  if (endpoint.node.kind != NodeKind::kGpu) return nullptr;
  const auto found = std::ranges::find(measured_, endpoint.node.pci.bus_id, &MeasuredGpu::bus_id);
  return found == measured_.end() ? nullptr : &*found;
}

void PciPlacement::AskToMeasure(const Endpoint& endpoint) {
  const std::string& bus_id = endpoint.node.pci.bus_id;
  if (endpoint.node.kind != NodeKind::kGpu || bus_id.empty()) return;
  if (std::ranges::find(unsaid_.gpus, bus_id) == unsaid_.gpus.end()) unsaid_.gpus.push_back(bus_id);
}

// GB/s; 0: not measured.
double PciPlacement::MeasuredLinkOf(const Endpoint& endpoint) {
  const MeasuredGpu* const measured = MeasuredOf(endpoint);
  if (measured == nullptr) AskToMeasure(endpoint);
  return measured == nullptr ? 0 : measured->gb_per_s;
}

// Of units without a NUMA node.
void PciPlacement::TakeMeasured(std::map<int, Unit>& units, const std::vector<int>& numas) {
  for (auto& [key, unit] : units) {
    for (const Endpoint* endpoint : unit.endpoints) {
      if (unit.numa || unit.measured) break;
      const MeasuredGpu* const measured = MeasuredOf(*endpoint);
      if (measured == nullptr) {
        if (numas.size() > 1) AskToMeasure(*endpoint);
      } else if (std::ranges::find(numas, measured->numa) != numas.end()) {
        unit.measured = measured->numa;
        notes_.Add(
            "measured NUMA node",
            fmt::format("the system does not say to which NUMA node {} belongs: it is taken to be {}, from where "
                        "it was measured to take most, {:.3g} GB/s",
                        endpoint->node.name, measured->numa, measured->gb_per_s));
      }
    }
  }
}

void PciPlacement::Describe(std::vector<Endpoint>& endpoints, const std::vector<int>& numas) {
  unsaid_.numas = numas;
  for (Endpoint& endpoint : endpoints) DescribeLink(endpoint);
  FindNumas(endpoints, numas);
}

// What the device says, or else the nearest bridge above it that says something.
std::optional<int> PciPlacement::SaidNuma(const Endpoint& endpoint) {
  for (int pci = endpoint.pci; pci >= 0; pci = Device(pci).parent) {
    const int numa = Device(pci).numa;
    if (numa < 0) continue;
    if (std::ranges::find(tree_.numa_nodes, numa, &sys::NumaNode::number) != tree_.numa_nodes.end()) return numa;
    notes_.Add("no such NUMA node",
               fmt::format("{} claims to belong to NUMA node {}, which is not there", Device(pci).bus_id, numa));
  }
  return std::nullopt;
}

void PciPlacement::FindNumas(std::vector<Endpoint>& endpoints, const std::vector<int>& numas) {
  std::map<int, Unit> units;         // by what is first below the host bridge; those that are not in the tree come last
  std::map<std::string, int> known;  // NUMA nodes by host bridge
  int unknown = static_cast<int>(tree_.pci.size());
  for (Endpoint& endpoint : endpoints) {
    Unit& unit = units[endpoint.pci >= 0 ? ChainOf(endpoint.pci).front() : unknown++];
    if (endpoint.pci >= 0) unit.host_bridge = Device(endpoint.pci).host_bridge;
    unit.endpoints.push_back(&endpoint);
    const std::optional<int> said = SaidNuma(endpoint);
    if (!said) continue;
    if (unit.numa && *unit.numa != *said) {
      notes_.Add("two NUMA nodes",
                 fmt::format("{} and {} hang on one port of the CPU and claim to belong to NUMA nodes {} and {}; "
                             "the first is believed",
                             unit.endpoints.front()->node.name, endpoint.node.name, *unit.numa, *said));
    }
    if (!unit.numa) unit.numa = said;
    if (!unit.host_bridge.empty()) known.try_emplace(unit.host_bridge, *unit.numa);
  }
  TakeMeasured(units, numas);
  std::vector<Unit*> homeless;
  for (auto& [key, unit] : units) {
    if (const auto neighbour = known.find(unit.host_bridge); !unit.numa && neighbour != known.end()) {
      unit.numa = neighbour->second;
      if (unit.measured) continue;
      notes_.Add(
          "NUMA node of a neighbour",
          fmt::format(
              "the system does not say to which NUMA node {} belongs: it is taken to be {}, as of others below {}",
              unit.endpoints.front()->node.name, *unit.numa, unit.host_bridge));
    }
    if (!unit.numa) homeless.push_back(&unit);
  }
  Spread(homeless, numas);
  for (auto& [key, unit] : units) {
    for (Endpoint* endpoint : unit.endpoints) endpoint->node.numa = unit.measured.value_or(*unit.numa);
  }
}

// Those with GPUs and those without in equal shares each, as if nothing had been measured. What hangs on one host bridge stays together,
// where there are several.
void PciPlacement::Spread(const std::vector<Unit*>& units, const std::vector<int>& numas) {
  const auto has_gpu = [](const Unit* unit) {
    return std::ranges::any_of(unit->endpoints, [](const Endpoint* e) { return e->node.kind == NodeKind::kGpu; });
  };
  std::set<std::string> bridges;
  std::size_t gpus = 0, cards = 0;
  for (const Unit* unit : units) {
    bridges.insert(unit->host_bridge);
    if (unit->measured) continue;
    for (const Endpoint* endpoint : unit->endpoints) ++(endpoint->node.kind == NodeKind::kGpu ? gpus : cards);
  }
  for (const bool with_gpu : {true, false}) {
    std::vector<std::vector<Unit*>> groups;
    for (Unit* unit : units) {
      if (has_gpu(unit) != with_gpu) continue;
      const bool joins =
          bridges.size() > 1 && !groups.empty() && groups.back().front()->host_bridge == unit->host_bridge;
      if (!joins) groups.emplace_back();
      groups.back().push_back(unit);
    }
    for (std::size_t i = 0; i < groups.size(); ++i) {
      for (Unit* unit : groups[i]) unit->numa = numas[i * numas.size() / groups.size()];
    }
  }
  if (gpus + cards == 0 || numas.size() < 2) return;
  notes_.Add(
      "spread",
      fmt::format("the system does not say to which of {} NUMA nodes {} GPUs and {} network cards belong: they are "
                  "spread evenly in the order of their bus ids",
                  numas.size(), gpus, cards));
}

int PciPlacement::SwitchNode(int pci, int numa, int above, Graph& graph) {
  if (const auto known = switches_.find(pci); known != switches_.end()) return known->second;
  Node node{.kind = NodeKind::kPciSwitch, .numa = numa, .name = fmt::format("PCI switch {}", Device(pci).bus_id)};
  Link link = LinkOf(pci);
  const Pci& fastest = fastest_.at(pci)->node.pci;
  const bool least = IsLeast(link.best_speed, link.best_width) &&
                     PciRateOf(fastest.best_link_speed, fastest.best_link_width).gb_per_s >
                         PciRateOf(link.best_speed, link.best_width).gb_per_s;
  if (least || Gigatransfers(link.best_speed) == 0 || link.best_width == 0) {
    notes_.Add(
        "emulated switch",
        fmt::format("the switch {} says {} of its link to the CPU, which is not believed: it is taken to be as "
                    "fast as {} below "
                    "it",
                    Device(pci).bus_id, LinkText(link.best_speed, link.best_width), fastest_.at(pci)->node.name));
    link = {.best_speed = fastest.best_link_speed, .best_width = fastest.best_link_width};
  }
  const double gb_per_s = RateOf(link, node.name);
  FillIn(node.pci, pci, link);
  const int index = graph.AddNode(std::move(node));
  graph.AddLink({.from = above, .to = index, .kind = LinkKind::kPci, .rated_gb_per_s = gb_per_s});
  switches_[pci] = index;
  return index;
}

void PciPlacement::Place(std::vector<Endpoint>& endpoints, const std::map<int, int>& numa_nodes, Graph& graph) {
  std::vector<int> above;
  for (const Endpoint& endpoint : endpoints) {
    const int numa = endpoint.node.numa;
    above.push_back(numa_nodes.at(numa));
    const std::vector<int> chain = endpoint.pci >= 0 ? ChainOf(endpoint.pci) : std::vector<int>();
    for (std::size_t i = 1; i + 1 < chain.size(); i += 2)
      above.back() = SwitchNode(chain[i], numa, above.back(), graph);
  }
  for (std::size_t i = 0; i < endpoints.size(); ++i) {
    Endpoint& endpoint = endpoints[i];
    endpoint.index = graph.AddNode(endpoint.node);
    graph.AddLink({.from = above[i],
                   .to = endpoint.index,
                   .kind = LinkKind::kPci,
                   .rated_gb_per_s = endpoint.gb_per_s,
                   .measured_gb_per_s = endpoint.measured_gb_per_s});
  }
}

}  // namespace tutti::topo::internal
