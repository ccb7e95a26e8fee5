// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "topo/machine_tree.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/words.h"

namespace tutti::topo {
namespace {

constexpr int kMostNvLinks = 1000;
constexpr double kMostGbit = 1e6;
constexpr double kMostUs = 1e6;
constexpr int kMostLevels = 16;  // of the tree

std::string_view NounOf(NodeKind kind) {
  switch (kind) {
    case NodeKind::kCpu:
      return "socket";
    case NodeKind::kNumaNode:
      return "numa node";
    case NodeKind::kPciSwitch:
      return "switch";
    case NodeKind::kGpu:
      return "gpu";
    default:
      return "nic";
  }
}

std::string_view PropertiesOf(NodeKind kind) {
  switch (kind) {
    case NodeKind::kNumaNode:
      return "`unknown`, or nothing";
    case NodeKind::kPciSwitch:
      return "genG, xL or now";
    case NodeKind::kGpu:
      return "genG, xL, now, N nvlinks, gpudirect on or gpudirect off";
    case NodeKind::kNic:
      return "genG, xL, now, R Gbit/s, N ports, latency N us, reports N us, virtual, gpudirect on or gpudirect off";
    default:
      return "nothing more";
  }
}

std::optional<NodeKind> TakeNoun(MachineWords& words) {
  if (words.TakeIf("socket")) return NodeKind::kCpu;
  if (words.TakeIf("switch") || words.TakeIf("switches")) return NodeKind::kPciSwitch;
  if (words.TakeIf("gpu")) return NodeKind::kGpu;
  if (words.TakeIf("nic")) return NodeKind::kNic;
  if (!words.TakeIf("numa")) return std::nullopt;
  words.TakeIf("node");
  return NodeKind::kNumaNode;
}

enum class When { kNowAndAtBest, kNow };

// Takes "gen5" or "x16" if that is next.
Result<bool> TakePci(MachineWords& words, When when, PciLink& link) {
  const std::string_view word = words.Peek();
  const bool generation = word.size() > 3 && EqualIgnoringCase(word.substr(0, 3), "gen");
  const bool lanes = word.size() > 1 && Lower(word.front()) == 'x';
  if (!generation && !lanes) return false;
  constexpr std::array kLanes = {1, 2, 4, 8, 12, 16, 32};
  const int number = ParseNumber<int>(word.substr(generation ? 3 : 1)).value_or(0);
  if (generation ? number < 1 || number > 7 : std::ranges::find(kLanes, number) == kLanes.end()) {
    return words.Unknown("gen1 to gen7, and x1, x2, x4, x8, x12, x16 or x32");
  }
  words.Take();
  (generation ? link.generation : link.lanes) = number;
  if (when == When::kNowAndAtBest) (generation ? link.best_generation : link.best_lanes) = number;
  return true;
}

Status ReadGpuDirect(MachineWords& words, bool& gdr) {
  gdr = words.TakeIf("on");
  return gdr || words.TakeIf("off") ? Status::Ok() : words.Unknown("gpudirect on or gpudirect off");
}

Status ReadMicroseconds(MachineWords& words, std::string_view what, double& value) {
  const Result<double> number = words.Number(what, 0, kMostUs);
  if (!number.ok()) return number.status();
  value = *number;
  return words.TakeIf("us") ? Status::Ok() : words.Unknown(fmt::format("`{} N us`", what));
}

// A number, and what there are so many of.
Status ReadQuantity(MachineWords& words, double number, HostPart& part) {
  if (part.kind == NodeKind::kNic && words.TakeIf("Gbit/s")) {
    part.nic.gbit_per_s = number;
    return number > 0 && number <= kMostGbit
               ? Status::Ok()
               : words.Error(fmt::format("a port has more than 0 and up to {} Gbit/s", kMostGbit));
  }
  if (part.kind == NodeKind::kNic && words.TakeIf("port")) {
    part.nic.ports = number == 2 || number == 4 || number == 8 ? static_cast<int>(number) : 1;
    return part.nic.ports == number ? Status::Ok() : words.Error("a network card has 1, 2, 4 or 8 ports");
  }
  if (part.kind == NodeKind::kGpu && words.TakeIf("nvlink")) {
    part.nvlinks = static_cast<int>(std::clamp(number, 0.0, double{kMostNvLinks}));
    return part.nvlinks == number ? Status::Ok() : words.Error(fmt::format("a GPU has 0 to {} NVLinks", kMostNvLinks));
  }
  return words.Unknown(fmt::format("for a {}: {}", NounOf(part.kind), PropertiesOf(part.kind)));
}

}  // namespace

Status ReadProperties(MachineWords& words, HostPart& part) {
  const bool gpu = part.kind == NodeKind::kGpu, nic = part.kind == NodeKind::kNic;
  const bool on_pci = gpu || nic || part.kind == NodeKind::kPciSwitch;
  When when = When::kNowAndAtBest;
  while (!words.done()) {
    if (on_pci) {
      const Result<bool> taken = TakePci(words, when, part.pci);
      if (!taken.ok()) return taken.status();
      if (*taken) continue;
    }
    if (on_pci && words.TakeIf("now")) {
      when = When::kNow;
    } else if ((gpu || nic) && words.TakeIf("gpudirect")) {
      TUTTI_RETURN_IF_ERROR(ReadGpuDirect(words, gpu ? part.gdr : part.nic.gdr));
    } else if (nic && words.TakeIf("latency")) {
      TUTTI_RETURN_IF_ERROR(ReadMicroseconds(words, "latency", part.nic.latency_us));
    } else if (nic && words.TakeIf("reports")) {
      TUTTI_RETURN_IF_ERROR(ReadMicroseconds(words, "reports", part.nic.reported_latency_us));
    } else if (nic && words.TakeIf("virtual")) {
      part.nic.is_virtual = true;
    } else if (part.kind == NodeKind::kNumaNode && words.TakeIf("unknown")) {
      part.unknown = true;
    } else if (const std::optional<double> number = words.TakeNumber()) {
      TUTTI_RETURN_IF_ERROR(ReadQuantity(words, *number, part));
    } else {
      return words.Unknown(fmt::format("for a {}: {}", NounOf(part.kind), PropertiesOf(part.kind)));
    }
  }
  return Status::Ok();
}

Status MachineTree::AddLine(MachineWords words) {
  if (lines_.size() >= kMostParts)
    return words.Error(fmt::format("the tree has more than {} lines; write fewer", kMostParts));
  Line line{.words = words};
  const std::optional<int> count = line.words.TakeWhole();
  line.count = count.value_or(1);
  if (line.count < 1 || line.count > kMostParts)
    return words.Error(fmt::format("there can be 1 to {} of a thing", kMostParts));
  const std::optional<NodeKind> kind = TakeNoun(line.words);
  if (!kind) return line.words.Unknown("sockets, numa nodes, switches, gpus or nics, with how many before it");
  line.part.kind = *kind;
  const auto usual = std::ranges::find(usual_, *kind, &HostPart::kind);
  if (usual != usual_.end()) line.part = *usual;
  // Numbers, unless they are quantities: "nic 2 400 Gbit/s" is the NIC 2.
  while (!count && ParseNumber<int>(line.words.Peek())) {
    MachineWords ahead = line.words;
    const int number = *ahead.TakeWhole();
    if (ahead.TakeIf("Gbit/s") || ahead.TakeIf("port") || ahead.TakeIf("nvlink")) break;
    if (number < 0 || number >= kMostParts) return words.Error(fmt::format("numbers go from 0 to {}", kMostParts - 1));
    line.numbers.push_back(number);
    line.words = ahead;
  }
  if (!line.numbers.empty()) line.count = static_cast<int>(line.numbers.size());
  TUTTI_RETURN_IF_ERROR(ReadProperties(line.words, line.part));
  while (!open_.empty() && lines_[open_.back()].words.indent() >= words.indent()) open_.pop_back();
  if (open_.size() >= kMostLevels)
    return words.Error(fmt::format("the tree is deeper than {} levels; make it flatter", kMostLevels));
  if (!open_.empty()) line.parent = open_.back();
  TUTTI_RETURN_IF_ERROR(CheckPlace(line));
  open_.push_back(lines_.size());
  lines_.push_back(std::move(line));
  return Status::Ok();
}

Status MachineTree::CheckPlace(const Line& line) const {
  const NodeKind kind = line.part.kind;
  if (!line.parent) {
    if (kind == NodeKind::kCpu || kind == NodeKind::kNumaNode) return Status::Ok();
    return line.words.Error(
        fmt::format("a {} hangs on nothing; begin the tree with sockets or numa nodes, and write it below one "
                    "of them, further to the right",
                    NounOf(kind)));
  }
  const NodeKind above = lines_[*line.parent].part.kind;
  const bool is_device = kind == NodeKind::kPciSwitch || kind == NodeKind::kGpu || kind == NodeKind::kNic;
  const bool good = above == NodeKind::kCpu || above == NodeKind::kNumaNode || above == NodeKind::kPciSwitch
                        ? is_device || (above == NodeKind::kCpu && kind == NodeKind::kNumaNode)
                        : false;
  if (!good) {
    return line.words.Error(
        fmt::format("a {} cannot hang on a {}; what hangs on what is: numa nodes on sockets; switches, gpus and "
                    "nics on sockets, numa nodes and switches",
                    NounOf(kind), NounOf(above)));
  }
  for (const Line& other : lines_) {
    if (other.parent == line.parent && above == NodeKind::kCpu &&
        (other.part.kind == NodeKind::kNumaNode) != (kind == NodeKind::kNumaNode)) {
      return line.words.Error(
          "a socket has numa nodes or devices, not both; write the devices below one of its numa nodes");
    }
  }
  return Status::Ok();
}

Result<std::vector<HostPart>> MachineTree::Parts() {
  for (std::size_t i = 0; i < lines_.size(); ++i) {
    if (!lines_[i].parent) TUTTI_RETURN_IF_ERROR(Expand(i, -1));
  }
  return std::move(parts_);
}

int MachineTree::NextNumber(NodeKind kind) {
  int& number = next_[kind];
  while (numbers_.contains({kind, number})) ++number;
  return number;
}

Result<int> MachineTree::NumberOf(const Line& line, int index) {
  const NodeKind kind = line.part.kind;
  if (line.numbers.empty()) return NextNumber(kind);
  const int number = line.numbers[static_cast<std::size_t>(index)];
  if (!numbers_.contains({kind, number})) return number;
  return line.words.Error(
      fmt::format("there is a {} {} already; give each one a number of its own, and none to what is repeated",
                  NounOf(kind), number));
}

Status MachineTree::AddPart(const Line& line, const HostPart& part) {
  if (parts_.size() >= kMostParts) {
    return line.words.Error(fmt::format("the host has more than {} parts with these; write fewer", kMostParts));
  }
  numbers_.insert({part.kind, part.number});
  numa_nodes_ += part.kind == NodeKind::kNumaNode ? 1 : 0;
  if (numa_nodes_ > kMostNumaNodes) {
    return line.words.Error(
        fmt::format("the host has more than {} NUMA nodes with these; write fewer", kMostNumaNodes));
  }
  parts_.push_back(part);
  return Status::Ok();
}

Status MachineTree::Expand(std::size_t index, int parent) {
  const Line& line = lines_[index];
  for (int i = 0; i < line.count; ++i) {
    const Result<int> number = NumberOf(line, i);
    if (!number.ok()) return number.status();
    HostPart part = line.part;
    part.number = *number;
    part.parent = parent;
    TUTTI_RETURN_IF_ERROR(AddPart(line, part));
    int above = static_cast<int>(parts_.size()) - 1;
    const bool has_numa = std::ranges::any_of(
        lines_, [&](const Line& other) { return other.parent == index && other.part.kind == NodeKind::kNumaNode; });
    if (part.kind == NodeKind::kCpu && !has_numa) {
      const int numa = NextNumber(NodeKind::kNumaNode);
      TUTTI_RETURN_IF_ERROR(AddPart(line, {.kind = NodeKind::kNumaNode, .number = numa, .parent = above}));
      ++above;
    }
    for (std::size_t child = index + 1; child < lines_.size(); ++child) {
      if (lines_[child].parent == index) TUTTI_RETURN_IF_ERROR(Expand(child, above));
    }
  }
  return Status::Ok();
}

Status ReadBut(MachineWords& words, Machine& machine) {
  std::optional<int> host;
  if (words.TakeIf("host")) {
    const Result<int> number = words.Whole("a host's number", 0, kMostHosts - 1);
    if (!number.ok()) return number.status();
    host = *number;
  }
  const MachineWords start = words;
  const std::optional<NodeKind> kind = TakeNoun(words);
  if (!kind) return words.Unknown("a socket, numa node, switch, gpu or nic, and its number");
  std::vector<std::size_t> parts;
  while (ParseNumber<int>(words.Peek())) {
    MachineWords ahead = words;
    const int number = *ahead.TakeWhole();
    if (ahead.TakeIf("Gbit/s") || ahead.TakeIf("port") || ahead.TakeIf("nvlink")) break;  // a quantity
    const auto found =
        std::ranges::find_if(machine.parts, [&](const HostPart& p) { return p.kind == *kind && p.number == number; });
    if (found == machine.parts.end()) {
      return start.Error(
          fmt::format("there is no {} {} in the tree below `host`; name one that is there", NounOf(*kind), number));
    }
    parts.push_back(static_cast<std::size_t>(found - machine.parts.begin()));
    words = ahead;
  }
  if (parts.empty())
    return start.Error(fmt::format("which {0} is not said; write its number, as `{0} 0`", NounOf(*kind)));
  if (words.done()) return words.Unknown(fmt::format("what is different of it: {}", PropertiesOf(*kind)));
  for (const std::size_t part : parts) {
    MachineWords rest = words;
    HostPart& usual = machine.parts[part];
    if (!host) {
      TUTTI_RETURN_IF_ERROR(ReadProperties(rest, usual));
      continue;
    }
    HostPart changed = usual;
    for (const Machine::Exception& before : machine.exceptions) {
      if (before.host == *host && before.part == static_cast<int>(part)) changed = before.instead;
    }
    TUTTI_RETURN_IF_ERROR(ReadProperties(rest, changed));
    if (changed.nic.ports != usual.nic.ports || changed.nic.is_virtual != usual.nic.is_virtual) {
      return start.Error("all hosts have the same ports; change them without `host`");
    }
    machine.exceptions.push_back({.host = *host, .part = static_cast<int>(part), .instead = changed});
  }
  return Status::Ok();
}

}  // namespace tutti::topo
