// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "topo/machine_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/words.h"
#include "topo/gpu_models.h"
#include "topo/machine_tree.h"
#include "topo/machine_words.h"

namespace tutti::topo {
namespace {

constexpr int kMostNvLinks = 1000;
constexpr int kMostCount = 100000;  // of whatever is counted in a fabric
constexpr int kMostHostsPerLeaf = 4096;
constexpr std::size_t kMostPairs = 4096;
constexpr int kMostGroup = 64;  // GPUs of which each two have links of their own
constexpr std::string_view kKeywords = "name, gpu, cpu, pci, nic, c2c, nvlink, host, but or fabric";

std::string NamesOfGpus() {
  std::string names;
  for (const GpuModel& model : GpuModels()) names += fmt::format("{}{}", names.empty() ? "" : " ", model.name);
  return names;
}

Status ReadName(MachineWords& words, std::string_view line, Machine& machine) {
  line = Trim(line.substr(0, line.find('#')), " \t\r");
  machine.name = Excerpt(Trim(line.substr(4), " \t\r:"));
  return machine.name.empty() ? words.Error("the name is missing; write what people call the machine") : Status::Ok();
}

Status ReadGpuModel(MachineWords& words, Machine& machine) {
  if (const std::optional<GpuModel> model = FindGpuModel(words.Peek())) {
    machine.gpu = model->name;
    machine.sm = model->sm;
    machine.memory_gb = model->memory_gb;
    machine.nvlinks = model->nvlinks;
    words.Take();
    return Status::Ok();
  }
  const std::string_view word = words.Peek();
  const bool explicitly = word.size() > 2 && EqualIgnoringCase(word.substr(0, 2), "sm");
  machine.sm = ParseNumber<int>(word.substr(explicitly ? 2 : word.size())).value_or(0);
  if (machine.sm < 10 || machine.sm > 999) {
    return words.Unknown(
        fmt::format("the model: {}; or what the GPU is, as `gpu sm90, 18 nvlinks, 80 GB`", NamesOfGpus()));
  }
  words.Take();
  machine.gpu = fmt::format("sm{}", machine.sm);
  MachineWords ahead = words;
  while (const std::optional<int> number = ahead.TakeWhole()) {
    const bool links = ahead.TakeIf("nvlink");
    if (!links && !ahead.TakeIf("GB")) break;
    if (*number < 0 || *number > (links ? kMostNvLinks : kMostCount))
      return words.Unknown("0 to 1000 nvlinks, 0 to 100000 GB");
    (links ? machine.nvlinks : machine.memory_gb) = *number;
    words = ahead;
  }
  return Status::Ok();
}

Status ReadCpu(MachineWords& words, Machine& machine) {
  Cpu& cpu = machine.cpu;
  if (words.TakeIf("arm64")) {
    cpu.arch = "arm64";
  } else if (words.TakeIf("ppc64")) {
    cpu.arch = "ppc64";
  } else {
    cpu.vendor = words.TakeIf("intel")     ? "GenuineIntel"
                 : words.TakeIf("amd")     ? "AuthenticAMD"
                 : words.TakeIf("zhaoxin") ? "CentaurHauls"
                                           : "";
    if (cpu.vendor.empty()) return words.Unknown("Intel, AMD, Zhaoxin, arm64 or ppc64");
    const std::string_view word = words.Peek();
    const std::size_t slash = std::min(word.find('/'), word.size());
    cpu.family = ParseNumber<int>(word.substr(0, slash)).value_or(-1);
    cpu.model = ParseNumber<int>(word.substr(std::min(slash + 1, word.size()))).value_or(-1);
    if (cpu.family < 0 || cpu.model < 0) return words.Unknown("family and model by CPUID, as Intel 6/143");
    words.Take();
  }
  return words.done() ? Status::Ok() : words.Unknown("nothing more");
}

Status ReadC2c(MachineWords& words, Machine& machine) {
  const Result<int> lines = words.Whole("the number of lines", 1, kMostNvLinks);
  if (!lines.ok()) return lines.status();
  words.TakeIf("line");
  const Result<int> rate = words.Whole("the rate of a line", 1, 10000000);
  if (!rate.ok()) return rate.status();
  if (!words.TakeIf("MB/s") || !words.done()) return words.Unknown("`c2c N lines of R MB/s`");
  machine.c2c_lines = *lines;
  machine.c2c_mb_per_s = *rate;
  return Status::Ok();
}

constexpr std::string_view kNvLinkForms =
    "`nvlink switch`, `nvlink switch across N hosts`, `nvlink groups of N`, or `nvlink N per pair: A-B A-B`";

Status ReadPairs(MachineWords& words, int count, Machine& machine) {
  NvLinks& nvlink = machine.nvlink;
  if (!words.TakeIf("pair") || words.done()) return words.Unknown(kNvLinkForms);
  nvlink.kind = NvLinks::Kind::kPairs;
  while (!words.done()) {
    const std::string_view word = words.Peek();
    const std::size_t dash = std::min(word.find('-'), word.size());
    const int a = ParseNumber<int>(word.substr(0, dash)).value_or(-1);
    const int b = ParseNumber<int>(word.substr(std::min(dash + 1, word.size()))).value_or(-1);
    const auto is_gpu = [&](int gpu) {
      return std::ranges::any_of(machine.parts,
                                 [&](const HostPart& p) { return p.kind == NodeKind::kGpu && p.number == gpu; });
    };
    if (a == b || !is_gpu(a) || !is_gpu(b)) return words.Unknown("two GPUs that are there, as 0-1");
    const bool again = std::ranges::any_of(
        nvlink.pairs, [&](const NvLinks::Pair& p) { return std::minmax(p.a, p.b) == std::minmax(a, b); });
    if (again) return words.Error(fmt::format("the GPUs {} and {} are joined already; leave one of the two", a, b));
    if (nvlink.pairs.size() == kMostPairs)
      return words.Error(fmt::format("there are more than {} pairs; write fewer", kMostPairs));
    words.Take();
    nvlink.pairs.push_back({.a = a, .b = b, .count = count});
  }
  return Status::Ok();
}

Status ReadNvLink(MachineWords& words, Machine& machine) {
  NvLinks& nvlink = machine.nvlink;
  const int gpus = machine.Count(NodeKind::kGpu);
  if (const std::optional<int> count = words.TakeWhole()) {
    if (nvlink.kind != NvLinks::Kind::kNone && nvlink.kind != NvLinks::Kind::kPairs) {
      return words.Error("the NVLinks are said in another line already; leave one of the two");
    }
    if (*count < 1 || *count > kMostNvLinks) return words.Error("a pair has 1 to 1000 NVLinks");
    return ReadPairs(words, *count, machine);
  }
  if (nvlink.kind != NvLinks::Kind::kNone)
    return words.Error("the NVLinks are said in another line already; leave one of the two");
  if (gpus == 0) return words.Error("there is no GPU that NVLinks could join; write gpus below `host`");
  const bool switches = words.TakeIf("switch");
  nvlink.kind = switches ? NvLinks::Kind::kSwitch : NvLinks::Kind::kGroups;
  if (switches && words.TakeIf("across")) {
    const Result<int> hosts = words.Whole("the number of hosts that share the switches", 2, kMostHosts);
    if (!hosts.ok()) return hosts.status();
    if (!words.TakeIf("host")) return words.Unknown(kNvLinkForms);
    nvlink.hosts = *hosts;
  } else if (words.TakeIf("group")) {
    const Result<int> size =
        words.Whole("the number of GPUs in a group", 2, switches ? gpus : std::min(gpus, kMostGroup));
    if (!size.ok()) return size.status();
    if (gpus % *size != 0)
      return words.Error(fmt::format("{} GPUs are no groups of {}; write a number that divides them", gpus, *size));
    nvlink.group = *size;
  } else if (!switches) {
    return words.Unknown(kNvLinkForms);
  }
  const bool numbered = std::ranges::all_of(
      machine.parts, [&](const HostPart& p) { return p.kind != NodeKind::kGpu || p.number < gpus; });
  if (!numbered)
    return words.Error(
        fmt::format("the {} GPUs have numbers beyond {}; number them from 0 without gaps", gpus, gpus - 1));
  return words.done() ? Status::Ok() : words.Unknown(kNvLinkForms);
}

constexpr std::string_view kFabricForms =
    "one switch, rails, fat tree, rail-optimised or none, and then N levels, N ports, N spines, N planes, N hosts per "
    "leaf, N leaves "
    "per rail, oversubscription R, uplinks R Gbit/s, hop N us, hash or adaptive, reduces";

Status ReadFabricKind(MachineWords& words, Fabric& fabric) {
  if (words.TakeIf("none")) {
    fabric.levels = 0;
  } else if (words.TakeIf("rail")) {
    fabric.places = PortPlaces::kByRail;
  } else if (words.TakeIf("rail-optimised") || words.TakeIf("rail-optimized")) {
    fabric.places = PortPlaces::kByRail;
    fabric.levels = kTwoOrThree;
  } else if (words.TakeIf("fat") && words.TakeIf("tree")) {
    fabric.levels = kTwoOrThree;
  } else if (!words.TakeIf("one") || !words.TakeIf("switch")) {
    return words.Unknown(kFabricForms);
  }
  return Status::Ok();
}

// A whole number, and what there are so many of.
Status ReadFabricCount(MachineWords& words, int number, Fabric& fabric) {
  if (words.TakeIf("level")) {
    fabric.levels = number;
    return number <= 3 ? Status::Ok() : words.Error("a fabric has 1 to 3 levels");
  }
  if (words.TakeIf("plane")) {
    fabric.planes = number;
    return number <= 8 ? Status::Ok() : words.Error("a fabric has 1 to 8 planes");
  }
  if (words.TakeIf("port")) {
    fabric.ports = number;
  } else if (words.TakeIf("spine")) {
    fabric.spines = number;
  } else if (words.TakeIf("host") && words.TakeIf("leaf")) {
    fabric.hosts_per_leaf = number;
    if (number > kMostHostsPerLeaf) return words.Error(fmt::format("a leaf has up to {} hosts", kMostHostsPerLeaf));
  } else if ((words.TakeIf("leaves") || words.TakeIf("leaf")) && words.TakeIf("rail")) {
    fabric.leaves_per_rail = number;
  } else {
    return words.Unknown(kFabricForms);
  }
  return Status::Ok();
}

Status ReadFabricRate(MachineWords& words, Fabric& fabric) {
  const std::string_view what = words.Peek();
  double* const value = words.TakeIf("oversubscription") ? &fabric.oversubscription
                        : words.TakeIf("uplink")         ? &fabric.uplink_gbit_per_s
                        : words.TakeIf("hop")            ? &fabric.hop_us
                                                         : nullptr;
  if (value == nullptr) return words.Unknown(kFabricForms);
  const Result<double> number = words.Number(what,
                                             value == &fabric.oversubscription ? 0.1
                                             : value == &fabric.hop_us         ? 0
                                                                               : 0.001,
                                             1e6);
  if (!number.ok()) return number.status();
  *value = *number;
  if (value == &fabric.uplink_gbit_per_s && !words.TakeIf("Gbit/s")) return words.Unknown("`uplinks R Gbit/s`");
  if (value == &fabric.hop_us && !words.TakeIf("us")) return words.Unknown("`hop N us`");
  return Status::Ok();
}

Status ReadFabric(MachineWords& words, Machine& machine) {
  Fabric& fabric = machine.fabric;
  TUTTI_RETURN_IF_ERROR(ReadFabricKind(words, fabric));
  while (!words.done()) {
    if (words.TakeIf("hash")) {
      fabric.routing = Routing::kHash;
    } else if (words.TakeIf("adaptive")) {
      fabric.routing = Routing::kAdaptive;
    } else if (words.TakeIf("reduces")) {
      fabric.reduces = true;
    } else if (const std::optional<int> number = words.TakeWhole()) {
      if (*number < 1 || *number > kMostCount)
        return words.Error(fmt::format("a fabric has 1 to {} of a thing", kMostCount));
      TUTTI_RETURN_IF_ERROR(ReadFabricCount(words, *number, fabric));
    } else {
      TUTTI_RETURN_IF_ERROR(ReadFabricRate(words, fabric));
    }
  }
  if (fabric.leaves_per_rail > 0 && (fabric.places != PortPlaces::kByRail || fabric.hosts_per_leaf > 0)) {
    return words.Error(
        "leaves per rail are for rail-optimised fabrics, instead of hosts per leaf; write one of the two");
  }
  if (fabric.levels == kTwoOrThree && (fabric.ports == 0 || fabric.spines > 0)) fabric.levels = 2;
  if (fabric.levels > 1 && fabric.ports == 0 && (fabric.spines == 0 || fabric.levels == 3)) {
    return words.Error("how many switches there are is not said; write `N ports` of each, or `N spines` of 2 levels");
  }
  return Status::Ok();
}

class Reader {
 public:
  Reader(std::string_view text, std::string_view where) : where_(where) { Sort(text); }

  Result<Machine> Read() {
    TUTTI_RETURN_IF_ERROR(sorted_);
    if (tree_.empty() && !lines_.contains("gpu")) return MissingGpu();
    if (tree_.empty()) return Missing("tree of a host; write `host`, and below it what a host is made of");
    if (lines_.contains("cpu")) TUTTI_RETURN_IF_ERROR(ReadCpu(lines_.at("cpu"), machine_));
    TUTTI_RETURN_IF_ERROR(ReadParts());
    for (MachineWords& words : nvlinks_) TUTTI_RETURN_IF_ERROR(ReadNvLink(words, machine_));
    if (lines_.contains("c2c")) TUTTI_RETURN_IF_ERROR(ReadC2c(lines_.at("c2c"), machine_));
    if (lines_.contains("fabric")) TUTTI_RETURN_IF_ERROR(ReadFabric(lines_.at("fabric"), machine_));
    for (MachineWords& words : buts_) TUTTI_RETURN_IF_ERROR(ReadBut(words, machine_));
    int ports = 0;
    for (const HostPart& part : machine_.parts) ports += part.kind == NodeKind::kNic ? part.nic.ports : 0;
    if (ports % machine_.fabric.planes != 0) {
      return lines_.at("fabric").Error(
          fmt::format("{} ports of a host cannot be shared out among {} planes; write cards with as many "
                      "ports as planes",
                      ports, machine_.fabric.planes));
    }
    return std::move(machine_);
  }

 private:
  // Puts the lines where they are read from.
  void Sort(std::string_view text) {
    bool in_host = false;
    for (int number = 1; !text.empty() && sorted_.ok(); ++number) {
      const std::string_view line = TakeLine(text);
      MachineWords words(line, number, where_);
      if (words.done()) continue;
      if (in_host && words.indent() > 0) {
        tree_.push_back(words);
        continue;
      }
      sorted_ = SortLine(words, line);
      in_host = EqualIgnoringCase(Trim(line.substr(0, line.find('#'))), "host");
    }
  }

  Status SortLine(MachineWords& words, std::string_view line) {
    if (words.indent() > 0) return words.Error("only lines below `host` begin with blanks; remove them");
    const MachineWords whole = words;
    const std::string keyword = Lower(words.Take());
    static const std::set<std::string, std::less<>> kOnce = {"name", "gpu", "cpu",  "pci",
                                                             "nic",  "c2c", "host", "fabric"};
    if (keyword == "but") {
      buts_.push_back(words);
    } else if (keyword == "nvlink") {
      nvlinks_.push_back(words);
    } else if (!kOnce.contains(keyword)) {
      return whole.Unknown(kKeywords);
    } else if (!lines_.emplace(keyword, words).second) {
      return words.Error(fmt::format("there is a line `{}` already; leave one of the two", keyword));
    } else if (keyword == "host" && !words.done()) {
      return words.Unknown("nothing behind `host`; the tree comes below it");
    } else if (keyword == "name") {
      return ReadName(words, line, machine_);
    }
    return Status::Ok();
  }

  Status Missing(std::string_view what) const {
    return Status(Code::kInvalidArgument, fmt::format("{} has no {}", Excerpt(where_), what));
  }

  Status MissingGpu() const { return Missing("line `gpu`; write the model, as `gpu H100`"); }

  Status ReadParts() {
    const bool has_gpus = lines_.contains("gpu");
    if (has_gpus) TUTTI_RETURN_IF_ERROR(ReadGpuModel(lines_.at("gpu"), machine_));
    const std::optional<GpuModel> model = FindGpuModel(machine_.gpu);
    const int usual = model ? model->pci_generation : UsualPciGeneration(machine_.sm);
    const int generation = usual == 0 ? 3 : usual;
    HostPart bridge{.kind = NodeKind::kPciSwitch,
                    .pci = {.generation = generation, .lanes = 16, .best_generation = generation, .best_lanes = 16}};
    if (lines_.contains("pci")) TUTTI_RETURN_IF_ERROR(ReadProperties(lines_.at("pci"), bridge));
    HostPart gpu{.kind = NodeKind::kGpu, .pci = bridge.pci, .nvlinks = machine_.nvlinks};
    if (has_gpus) TUTTI_RETURN_IF_ERROR(ReadProperties(lines_.at("gpu"), gpu));
    HostPart nic{.kind = NodeKind::kNic, .pci = bridge.pci};
    if (lines_.contains("nic")) TUTTI_RETURN_IF_ERROR(ReadProperties(lines_.at("nic"), nic));
    MachineTree tree({bridge, gpu, nic});
    for (const MachineWords& words : tree_) TUTTI_RETURN_IF_ERROR(tree.AddLine(words));
    Result<std::vector<HostPart>> parts = tree.Parts();
    if (!parts.ok()) return parts.status();
    machine_.parts = std::move(*parts);
    return has_gpus || machine_.Count(NodeKind::kGpu) == 0 ? Status::Ok() : MissingGpu();
  }

  std::string_view where_;
  Status sorted_;
  std::map<std::string, MachineWords, std::less<>> lines_;
  std::vector<MachineWords> nvlinks_, buts_, tree_;
  Machine machine_;
};

}  // namespace

Result<Machine> ReadMachineText(std::string_view text, std::string_view where) { return Reader(text, where).Read(); }

}  // namespace tutti::topo
