// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "doctor/pci.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "base/words.h"

namespace tutti::doctor {
namespace {

constexpr const char* kDevices = "/sys/bus/pci/devices/";

bool IsGpu(const sys::PciDevice& device) { return device.vendor == "0x10de" && device.class_id.starts_with("0x03"); }

double GigatransfersOf(const std::string& speed) {
  const std::string_view number = std::string_view(speed).substr(0, speed.find(' '));
  const std::size_t point = std::min(number.find('.'), number.size());
  const double whole = ParseNumber<int>(number.substr(0, point)).value_or(0);
  return point < number.size() ? whole + ParseNumber<int>(number.substr(point + 1)).value_or(0) / 10.0 : whole;
}

PciLink LinkOf(const sys::DeviceTree& tree, const sys::PciDevice& device, std::string name) {
  PciLink link{.name = std::move(name),
               .gpu = IsGpu(device),
               .speed = device.link_speed,
               .best_speed = device.best_link_speed,
               .width = device.link_width,
               .best_width = device.best_link_width};
  if (device.parent < 0) return link;
  // A port of a virtual machine claims less than what the device below it has right now: then it is not believed.
  const sys::PciDevice& port = tree.pci[static_cast<std::size_t>(device.parent)];
  if (port.best_link_width < device.link_width) return link;
  if (GigatransfersOf(port.best_link_speed) < GigatransfersOf(device.link_speed)) return link;
  link.slot_width = port.best_link_width;
  link.slot_speed = port.best_link_speed;
  return link;
}

PciLink ReadLink(const Root& root, const std::string& folder, std::string name, bool gpu) {
  return {.name = std::move(name),
          .gpu = gpu,
          .speed = root.Text(folder + "/current_link_speed").value_or(""),
          .best_speed = root.Text(folder + "/max_link_speed").value_or(""),
          .width = static_cast<int>(root.Number(folder + "/current_link_width").value_or(0)),
          .best_width = static_cast<int>(root.Number(folder + "/max_link_width").value_or(0))};
}

bool TooNarrow(const PciLink& link) { return link.width > 0 && link.width < link.best_width; }

bool SlotIsSlower(const PciLink& link) {
  const double slot = GigatransfersOf(link.slot_speed);
  return slot > 0 && slot < GigatransfersOf(link.best_speed);
}
// What device and slot can do together.
const std::string& PossibleSpeed(const PciLink& link) { return SlotIsSlower(link) ? link.slot_speed : link.best_speed; }
bool TooSlow(const PciLink& link) {
  const double now = GigatransfersOf(link.speed);
  return now > 0 && now < GigatransfersOf(PossibleSpeed(link));
}

void ExamineLink(const PciLink& link, Findings& findings) {
  const auto add = [&](Severity severity, std::string what, std::string evidence, const char* remedy) {
    findings.push_back({.severity = severity,
                        .check = "pcie",
                        .what = fmt::format("{}: {}", link.name, what),
                        .evidence = std::move(evidence),
                        .remedy = remedy});
  };
  const bool slot_binds = link.slot_width > 0 && link.slot_width < link.best_width;
  const int possible = slot_binds ? link.slot_width : link.best_width;
  if (link.width > 0 && link.width < possible) {
    add(4 * link.width <= possible ? Severity::kCritical : Severity::kWarn, "the PCIe link is narrow",
        fmt::format("{} of {} lanes", link.width, possible),
        "reseat the card or its riser, look for PCIe errors in `dmesg`, and leave the host out until then");
  } else if (TooNarrow(link) && slot_binds) {
    add(Severity::kInfo, "the slot has fewer lanes than the card",
        fmt::format("{} of {} lanes", link.width, link.best_width), "use a slot with more lanes");
  }
  if (!TooSlow(link)) return;
  const std::string evidence = fmt::format("{} of {}", link.speed, PossibleSpeed(link));
  if (link.gpu) {
    add(Severity::kInfo, "the PCIe link runs slowly", evidence, "an idle GPU may; look again while it is used");
  } else {
    add(Severity::kWarn, "the PCIe link runs slowly", evidence,
        "look at the slot's generation and the BIOS's limit; else reseat the card");
  }
}

}  // namespace

std::vector<PciLink> LinksOf(const sys::DeviceTree& tree) {
  std::vector<PciLink> links;
  std::map<int, std::string> cards;  // by index, in the order of their bus ids
  for (const sys::NetworkInterface& interface : tree.interfaces) cards.emplace(interface.pci, interface.name);
  for (const sys::InfinibandDevice& device : tree.infiniband) {
    if (device.pci >= 0) cards[device.pci] = device.name;
  }
  for (std::size_t i = 0; i < tree.pci.size(); ++i) {
    const sys::PciDevice& device = tree.pci[i];
    const auto card = cards.find(static_cast<int>(i));
    if (device.virtual_function) continue;
    if (IsGpu(device)) links.push_back(LinkOf(tree, device, "GPU " + device.bus_id));
    if (card != cards.end())
      links.push_back(LinkOf(tree, device, fmt::format("network card {} {}", card->second, device.bus_id)));
  }
  return links;
}

std::vector<PciLink> ReadLinksQuickly(const Root& root, const std::function<bool()>& stop) {
  std::vector<PciLink> links;
  for (const std::string& bus_id : root.Names("/proc/driver/nvidia/gpus")) {
    if (stop()) return links;
    links.push_back(ReadLink(root, kDevices + bus_id, "GPU " + bus_id, true));
  }
  for (const std::string& name : root.Names("/sys/class/infiniband")) {
    if (stop()) return links;
    links.push_back(ReadLink(root, "/sys/class/infiniband/" + name + "/device", "network card " + name, false));
  }
  return links;
}

void ExamineLinks(const std::vector<PciLink>& links, Findings& findings) {
  const std::size_t before = findings.size();
  std::size_t known = 0;
  for (const PciLink& link : links) {
    known += link.width > 0 && link.best_width > 0;
    ExamineLink(link, findings);
  }
  if (findings.size() > before) return;
  const std::string evidence = fmt::format("{} of {} GPUs and network cards say their width", known, links.size());
  if (links.empty()) {
    findings.push_back({.check = "pcie", .what = "there is neither a GPU nor a network card on PCIe"});
  } else if (known == 0) {
    findings.push_back({.severity = Severity::kInfo,
                        .check = "pcie",
                        .what = "no device says how wide its PCIe link is, as in many virtual machines",
                        .evidence = evidence});
  } else {
    findings.push_back(
        {.check = "pcie", .what = "all PCIe links are as wide and fast as they can be", .evidence = evidence});
  }
}

std::uint16_t AcsControlOf(const std::string& config, bool& cut) {
  constexpr std::size_t kExtended = 0x100,
                        kMost = 64;  // the list of extended capabilities, and a bound against circles
  constexpr unsigned kAcs = 0x0d;
  const auto word = [&](std::size_t at) {
    return static_cast<unsigned>(static_cast<unsigned char>(config[at])) |
           static_cast<unsigned>(static_cast<unsigned char>(config[at + 1])) << 8;
  };
  cut = config.size() < kExtended + 4;
  if (cut) return 0;
  std::size_t at = kExtended;
  for (std::size_t i = 0; i < kMost && at >= kExtended; ++i) {
    if (at + 8 > config.size()) return 0;
    if (word(at) == kAcs) return static_cast<std::uint16_t>(word(at + 6));
    at = word(at + 2) >> 4;
  }
  return 0;
}

namespace {

constexpr unsigned kRedirects = 0x04 | 0x08;  // requests, and completions, for a neighbour go up

// Bridges above GPUs, but for those right below a host bridge, which have no neighbour on the same switch.
std::set<int> SwitchPortsAboveGpus(const sys::DeviceTree& tree) {
  std::set<int> ports;
  for (const sys::PciDevice& device : tree.pci) {
    if (!IsGpu(device)) continue;
    for (int port = device.parent; port >= 0; port = tree.pci[static_cast<std::size_t>(port)].parent) {
      if (tree.pci[static_cast<std::size_t>(port)].parent >= 0) ports.insert(port);
    }
  }
  return ports;
}

void ExamineIommu(const Root& root, const sys::DeviceTree& tree, Findings& findings) {
  int translated = 0, gpus = 0;
  std::string first;
  for (const sys::PciDevice& device : tree.pci) {
    if (!IsGpu(device)) continue;
    ++gpus;
    const std::string type = root.Text(kDevices + device.bus_id + "/iommu_group/type").value_or("");
    if (!type.starts_with("DMA")) continue;
    ++translated;
    if (first.empty()) first = fmt::format("{} has '{}'", device.bus_id, type);
  }
  if (translated == 0) {
    findings.push_back({.check = "iommu",
                        .what = "no IOMMU translates the addresses of GPUs",
                        .evidence = fmt::format("{} GPUs", gpus)});
    return;
  }
  findings.push_back(
      {.severity = Severity::kWarn,
       .check = "iommu",
       .what = "an IOMMU translates the addresses of GPUs, so exchange between GPUs over PCIe is slow or fails",
       .evidence = fmt::format("{} of {} GPUs; {}", translated, gpus, first),
       .remedy = "boot with iommu=pt, or switch it off in the BIOS"});
}

}  // namespace

void ExamineAcs(const Root& root, const sys::DeviceTree& tree, Findings& findings) {
  if (std::ranges::none_of(tree.pci, IsGpu)) return;
  ExamineIommu(root, tree, findings);
  const std::set<int> ports = SwitchPortsAboveGpus(tree);
  std::vector<std::string> redirecting;
  int unread = 0;
  for (const int port : ports) {
    const std::string& bus_id = tree.pci[static_cast<std::size_t>(port)].bus_id;
    bool cut = false;
    const auto config = root.Bytes(kDevices + bus_id + "/config");
    const unsigned control = AcsControlOf(config.value_or(""), cut);
    unread += cut;
    if ((control & kRedirects) != 0) redirecting.push_back(bus_id);
  }
  Finding finding{.check = "acs",
                  .what = "no PCIe switch sends exchange between its devices up to the CPU",
                  .evidence = fmt::format("{} ports of switches above GPUs", ports.size())};
  if (!redirecting.empty()) {
    finding.severity = Severity::kWarn;
    finding.what = "ports of PCIe switches send exchange between GPUs and cards up to the CPU (ACS)";
    finding.evidence = fmt::format("{} of {} ports, {} first", redirecting.size(), ports.size(), redirecting.front());
    finding.remedy =
        "switch ACS off in the BIOS, or by `setpci -s BUS ECAP_ACS+6.w=0000` on each port after each boot; not in a "
        "virtual machine";
  } else if (unread > 0) {
    finding.severity = Severity::kInfo;
    finding.what = "whether PCIe switches send exchange between their devices up to the CPU (ACS) is not known";
    finding.evidence = fmt::format("{} of {} ports cannot be read", unread, ports.size());
    finding.remedy = "look again as root";
  }
  findings.push_back(finding);
}

}  // namespace tutti::doctor
