// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "topo/findings.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <tuple>
#include <utility>

#include "topo/gpu_models.h"
#include "topo/rates.h"

namespace tutti::topo {
namespace {

constexpr double kTolerance = 0.99;    // of rates that should be equal
constexpr double kStarved = 0.9;       // PCI 5 with 16 lanes counts as 48 GB/s, 400 Gbit/s as 50: that is no fault
constexpr double kNarrowBridge = 0.5;  // of what one device below it has: several share an uplink as a rule
constexpr int kUsualLanes = 16;
constexpr std::size_t kMostNames = 4;

// "GPU 0, GPU 1, GPU 2, GPU 3 and 4 others"
std::string NamesOf(const Graph& graph, std::span<const int> nodes) {
  std::string names;
  for (std::size_t i = 0; i < std::min(nodes.size(), kMostNames); ++i) {
    names += fmt::format("{}{}", i == 0 ? "" : ", ", graph.node(nodes[i]).name);
  }
  if (nodes.size() > kMostNames) names += fmt::format(" and {} others", nodes.size() - kMostNames);
  return names;
}

std::string RatesText(double real, double expected) {
  if (real >= kTolerance * expected) return fmt::format("{:.1f} GB/s at best", expected);
  return fmt::format("{:.1f} instead of {:.1f} GB/s", real, expected);
}

struct PciSpeed {
  std::string link_speed;
  int lanes = 0;

  bool known() const { return PciGigatransfers(link_speed).has_value() && lanes > 0; }
  double gb_per_s() const { return PciRateOf(link_speed, lanes).gb_per_s; }
  std::string text() const { return fmt::format("{} x{}", link_speed, lanes); }
};

PciSpeed NowOf(const Pci& pci) { return {pci.link_speed, pci.link_width}; }

// As far as it is known; else what it runs at.
PciSpeed BestOf(const Pci& pci) {
  const PciSpeed best{pci.best_link_speed, pci.best_link_width};
  return best.known() ? best : NowOf(pci);
}

PciSpeed UsualOf(int sm) { return {PciSpeedText(UsualPciGeneration(sm)), kUsualLanes}; }

class Examiner {
 public:
  Examiner(const Graph& graph, int host, const HostPaths& paths) : graph_(graph), host_(host), paths_(paths) {
    for (const int gpu : paths.gpus()) {
      if (graph.node(gpu).host == host) gpus_.push_back(gpu);
    }
    for (const int port : paths.ports()) {
      if (graph.node(port).host == host) ports_.push_back(port);
    }
    HangDevices();
  }

  std::vector<Finding> Examine() {
    ExamineNvLinks();
    ExaminePci();
    ExamineBridges();
    ExamineNics();
    ExamineGpuDirect();
    ExaminePeers();
    std::ranges::stable_sort(findings_, {}, &Finding::kind);
    return std::move(findings_);
  }

 private:
  // Nodes about which the same sentence is to be said, by what it says.
  using Same = std::map<std::tuple<std::string, double, double>, std::vector<int>>;

  void Add(FindingKind kind, int node, double expected, double real, std::string text) {
    findings_.push_back(
        {.kind = kind, .text = std::move(text), .expected_gb_per_s = expected, .gb_per_s = real, .node = node});
  }

  // Adds a finding for each group: "NAMES: SENTENCE, REAL instead of EXPECTED GB/s; REMEDY".
  void AddAll(FindingKind kind, const Same& same, std::string_view remedy) {
    for (const auto& [what, nodes] : same) {
      const auto& [sentence, expected, real] = what;
      Add(kind, nodes.front(), expected, real,
          fmt::format("{}: {}, {}; {}", NamesOf(graph_, nodes), sentence, RatesText(real, expected), remedy));
    }
  }

  // Finds out what hangs on which PCI device, from the NUMA nodes downwards.
  void HangDevices() {
    std::vector<int> nodes = graph_.All(NodeKind::kNumaNode, host_);
    std::set<int> seen(nodes.begin(), nodes.end());
    for (std::size_t i = 0; i < nodes.size(); ++i) {
      for (const Neighbour& neighbour : graph_.NeighboursOf(nodes[i])) {
        if (graph_.link(neighbour.link).kind != LinkKind::kPci || !seen.insert(neighbour.node).second) continue;
        above_[neighbour.node] = nodes[i];
        uplink_[neighbour.node] = neighbour.link;
        nodes.push_back(neighbour.node);
      }
    }
  }

  bool HasC2c(int node) const {
    return std::ranges::any_of(graph_.NeighboursOf(node),
                               [&](const Neighbour& n) { return graph_.link(n.link).kind == LinkKind::kC2c; });
  }

  int NvLinksOf(int gpu) const {
    int links = 0;
    for (const Neighbour& neighbour : graph_.NeighboursOf(gpu)) {
      const Link& link = graph_.link(neighbour.link);
      if (link.kind == LinkKind::kNvLink && link.gb_per_s() > 0) links += link.count;
    }
    return links;
  }

  void ExamineNvLinks() {
    Same same;
    for (const int gpu : gpus_) {
      const Gpu& own = *graph_.node(gpu).gpu();
      int expected = own.nvlinks_expected;
      for (const int other : gpus_) {
        if (graph_.node(other).gpu()->sm == own.sm) expected = std::max(expected, NvLinksOf(other));
      }
      const int links = NvLinksOf(gpu);
      if (links >= expected) continue;
      const double rate = NvLinkGbPerS(own.sm);
      same[{fmt::format("{} of {} NVLinks work", links, expected), expected * rate, links * rate}].push_back(gpu);
    }
    AddAll(FindingKind::kNvLinksMissing, same,
           "`nvidia-smi nvlink --status` shows which are down; reset the GPU, look at the fabric manager's log, or "
           "leave this GPU out");
  }

  void ExaminePci() {
    Same slow_now, slow_at_best;
    for (const auto& [node, parent] : above_) {
      const PciSpeed now = NowOf(graph_.node(node).pci), best = BestOf(graph_.node(node).pci);
      if (!now.known()) continue;
      if (now.gb_per_s() < kTolerance * best.gb_per_s()) {
        slow_now[{fmt::format("the PCI link runs at {} of {}", now.text(), best.text()), best.gb_per_s(),
                  now.gb_per_s()}]
            .push_back(node);
      }
      const Gpu* gpu = graph_.node(node).gpu();
      const PciSpeed usual = gpu != nullptr && !HasC2c(node) ? UsualOf(gpu->sm) : PciSpeed();
      if (!usual.known() || best.gb_per_s() >= kTolerance * usual.gb_per_s()) continue;
      slow_at_best[{fmt::format("the PCI link is {} where such GPUs have {}", best.text(), usual.text()),
                    usual.gb_per_s(), best.gb_per_s()}]
          .push_back(node);
    }
    AddAll(FindingKind::kPciSlowNow, slow_now,
           "it may be asleep: look again while it is used; if it stays so, reseat the card or look for PCI errors in "
           "the kernel's log");
    AddAll(FindingKind::kPciSlowAtBest, slow_at_best,
           "use a slot with more lanes or of a later generation, or look at the BIOS's limits");
  }

  void ExamineBridges() {
    std::map<int, double> below;  // what the fastest device below a bridge can do
    std::set<int> spared;         // bridges of GPUs that go to their CPU by C2C
    for (const auto& [node, parent] : above_) {
      const PciSpeed best = BestOf(graph_.node(node).pci);
      if (graph_.node(node).kind == NodeKind::kPciSwitch || !best.known()) continue;
      for (auto bridge = above_.find(parent); bridge != above_.end(); bridge = above_.find(bridge->second)) {
        below[bridge->first] = std::max(below[bridge->first], best.gb_per_s());
        if (HasC2c(node)) spared.insert(bridge->first);
      }
    }
    Same narrow;
    for (const auto& [bridge, needed] : below) {
      const PciSpeed best = BestOf(graph_.node(bridge).pci);
      if (!best.known() || best.gb_per_s() >= kNarrowBridge * needed || spared.contains(bridge)) continue;
      narrow[{fmt::format("the link of this bridge towards the CPU is {}", best.text()), needed, best.gb_per_s()}]
          .push_back(bridge);
    }
    AddAll(FindingKind::kPciSlowAtBest, narrow,
           "a bridge of a virtual machine only claims this: say what is true in a topology file (NCCL_TOPO_FILE); else "
           "look at the "
           "BIOS's lanes for this slot");
  }

  double RateOf(int port) const { return PortGbPerS(graph_.node(port).port()->gbit_per_s); }

  void ExamineNics() {
    double fastest = 0, total = 0;
    std::map<int, double> needs;  // by card
    for (const int port : ports_) {
      fastest = std::max(fastest, RateOf(port));
      total += RateOf(port);
      for (const Neighbour& neighbour : graph_.NeighboursOf(port)) {
        if (graph_.node(neighbour.node).kind == NodeKind::kNic) needs[neighbour.node] += RateOf(port);
      }
    }
    Same remote, unequal, starved;
    for (const int port : ports_) {
      PathType type = PathType::kDis;
      double rate = 0;
      for (const int gpu : gpus_) {
        const Path& path = paths_.Direct(gpu, port);
        type = std::min(type, path.type);
        rate = std::max(rate, path.gb_per_s);
      }
      if (type == PathType::kSys) remote[{"on another socket than every GPU", RateOf(port), rate}].push_back(port);
      if (RateOf(port) < kTolerance * fastest)
        unequal[{"slower than other ports", fastest, RateOf(port)}].push_back(port);
    }
    for (const auto& [card, need] : needs) {
      const auto uplink = uplink_.find(card);
      const double has = uplink == uplink_.end() ? need : graph_.link(uplink->second).gb_per_s();
      if (has < kStarved * need) starved[{"its PCI link carries less than its ports", need, has}].push_back(card);
    }
    AddAll(FindingKind::kNicRemote, remote, "move the card to a socket that has GPUs, or use GPUs of its own socket");
    AddAll(FindingKind::kNicsUnequal, unequal,
           "check its cable and its switch port, or leave it out (NCCL_IB_HCA), for all wait for it");
    AddAll(FindingKind::kNicStarved, starved, "use a slot with more lanes or of a later generation");
    const double wanted = fastest * static_cast<double>(gpus_.size());
    if (!ports_.empty() && 2 * ports_.size() < gpus_.size()) {
      Add(FindingKind::kFewNics, ports_.front(), wanted, total,
          fmt::format(
              "{} for {} GPUs: {:.1f} instead of {:.1f} GB/s with one for each; what leaves the host takes turns",
              ports_.size() == 1 ? "1 port" : fmt::format("{} ports", ports_.size()), gpus_.size(), total, wanted));
    }
  }

  void ExamineGpuDirect() {
    const bool gpus_allow = std::ranges::any_of(gpus_, [&](int gpu) { return graph_.node(gpu).gpu()->gdr; });
    Same off, far;
    for (const int port : ports_) {
      PathType type = PathType::kDis;
      double rate = 0;
      bool direct = false;
      for (const int gpu : gpus_) {
        direct = direct || paths_.DirectToNetwork(gpu, port, Direction::kReceive);
        type = std::min(type, paths_.Direct(gpu, port).type);
        rate = std::max(rate, paths_.ToPort(gpu, port, Direction::kReceive).path.gb_per_s);
      }
      if (direct || type == PathType::kDis) continue;
      const bool port_allows = graph_.node(port).port()->gdr;
      const std::string why = !port_allows  ? "the network does not reach GPU memory"
                              : !gpus_allow ? "no GPU lets cards reach its memory"
                                            : fmt::format("the closest GPU is too far ({})", ToString(type));
      (port_allows && gpus_allow ? far : off)[{"data go through host memory: " + why, RateOf(port), rate}].push_back(
          port);
    }
    AddAll(FindingKind::kNoGpuDirect, off, "load nvidia-peermem, or a driver and a network plugin with dma-buf");
    AddAll(FindingKind::kNoGpuDirect, far,
           "move the card next to a GPU, say in a topology file where it is, or allow it by NCCL_NET_GDR_LEVEL=SYS");
  }

  void ExaminePeers() {
    int pairs = 0, staged = 0;
    std::optional<std::pair<int, int>> first;
    for (std::size_t i = 0; i < gpus_.size(); ++i) {
      for (std::size_t j = i + 1; j < gpus_.size(); ++j) {
        ++pairs;
        if (paths_.PeerToPeer(gpus_[i], gpus_[j])) continue;
        ++staged;
        if (!first) first.emplace(gpus_[i], gpus_[j]);
      }
    }
    if (!first) return;
    const auto [a, b] = *first;
    const Path& direct = paths_.Direct(a, b);
    const double real = paths_.Between(a, b).path.gb_per_s;
    Add(FindingKind::kNoPeerToPeer, a, direct.gb_per_s, real,
        fmt::format("{} of {} pairs of GPUs exchange data through host memory, {} and {} first: their path is {}, {}; "
                    "where the driver "
                    "allows more, NCCL_P2P_LEVEL=SYS does",
                    staged, pairs, graph_.node(a).name, graph_.node(b).name, ToString(direct.type),
                    RatesText(real, direct.gb_per_s)));
  }

  const Graph& graph_;
  int host_;
  const HostPaths& paths_;
  std::vector<int> gpus_, ports_;
  std::map<int, int> above_;   // PCI devices, and what each hangs on
  std::map<int, int> uplink_;  // the link there
  std::vector<Finding> findings_;
};

}  // namespace

std::string_view ToString(FindingKind kind) {
  constexpr std::array<std::string_view, 9> kNames = {"NVLinks missing", "PCI slow now", "PCI slow at best",
                                                      "NIC remote",      "NICs unequal", "NIC starved",
                                                      "few NICs",        "no GPUDirect", "no peer to peer"};
  return kNames[static_cast<std::size_t>(kind)];
}

std::vector<Finding> FindingsOf(const Graph& graph, int host, const HostPaths& paths) {
  return Examiner(graph, host, paths).Examine();
}

}  // namespace tutti::topo
