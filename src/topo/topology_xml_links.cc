// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "topo/topology_xml_links.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <set>
#include <tuple>
#include <variant>

#include "base/words.h"
#include "topo/rates.h"

namespace tutti::topo {
namespace {

constexpr int kMostLines = 1000;  // that join two devices
constexpr int kMostMbPerS = 1 << 30;

class LinkReader {
 public:
  LinkReader(const XmlDevices& devices, XmlFile& file, Graph& graph) : devices_(devices), file_(file), graph_(graph) {}
  Status AddNvLinks();
  Status AddC2c();
  Status AddPciLinks();

 private:
  using Element = XmlDevices::Element;
  // What two nodes say of the NVLinks between them.
  struct Bundle {
    int from = 0, to = 0;
    int count = 0;
    std::optional<int> count_back;
    pugi::xml_node xml;
  };

  Result<std::optional<int>> TargetOf(const Element& gpu, pugi::xml_node link);
  int NvSwitchOf(int host);
  Status State(const Element& gpu, int to, pugi::xml_node link);
  void AddBundle(const Bundle& bundle);
  void JoinDomains();
  void ExpectNvLinks();

  const Node& NodeOf(int node) const { return graph_.node(node); }
  int NumaNodeOf(int node) const { return devices_.numa_nodes.at({NodeOf(node).host, NodeOf(node).numa}); }
  double PartitionsOf(int gpu) const {
    return static_cast<double>(devices_.gpus_at.at({NodeOf(gpu).host, NodeOf(gpu).pci.bus_id}).size());
  }

  const XmlDevices& devices_;
  XmlFile& file_;
  Graph& graph_;
  std::vector<Bundle> bundles_;
  std::map<std::pair<int, int>, std::size_t> bundle_of_;  // by the lower and the higher node
  std::map<int, int> nv_switches_;                        // by host
};

// The node that a GPU's link leads to. Nothing, and a note, where the file has no such GPU: NCCL keeps the links to
// GPUs that a job does not use.
Result<std::optional<int>> LinkReader::TargetOf(const Element& gpu, pugi::xml_node link) {
  const int host = NodeOf(gpu.node).host;
  const std::string_view kind = link.attribute("tclass").value(), target = link.attribute("target").value();
  if (kind.starts_with("0x068001")) return std::optional(NumaNodeOf(gpu.node));
  const std::string bus_id = BusIdFrom(target);
  const auto known = devices_.gpus_at.find({host, bus_id});
  const bool is_gpu = known != devices_.gpus_at.end();
  if ((bus_id.starts_with("fffffff:") && !is_gpu) || (kind.empty() ? !is_gpu && !bus_id.empty() : !IsGpuClass(kind))) {
    return std::optional(NvSwitchOf(host));
  }
  if (bus_id.empty()) {
    return file_.Refuse(link, fmt::format("target=\"{}\" is no bus id of PCI, as 0000:1b:00.0 is one", Shown(target)));
  }
  if (!is_gpu) {
    file_.Note(link, fmt::format("target {} is no GPU of this file, the link is passed over", bus_id));
    return std::optional<int>();
  }
  if (known->second.front() == gpu.node) {
    file_.Note(link, "it leads to the GPU where it begins, and is passed over");
    return std::optional<int>();
  }
  return std::optional(known->second.front());
}

int LinkReader::NvSwitchOf(int host) {
  const auto [known, is_new] = nv_switches_.try_emplace(host, -1);
  if (is_new) known->second = graph_.AddNode({.kind = NodeKind::kNvSwitch, .host = host, .name = "NVSwitch"});
  return known->second;
}

Status LinkReader::State(const Element& gpu, int to, pugi::xml_node link) {
  int count = 0;
  TUTTI_RETURN_IF_ERROR(file_.Require(link, "count", 0, kMostLines, count));
  const auto [at, is_new] = bundle_of_.try_emplace(std::minmax({gpu.node, to}), bundles_.size());
  if (is_new) bundles_.push_back({.from = gpu.node, .to = to, .xml = link});
  Bundle& bundle = bundles_[at->second];
  if (bundle.from != gpu.node && !bundle.count_back) bundle.count_back = 0;
  int& sum = bundle.from == gpu.node ? bundle.count : *bundle.count_back;
  sum += count;
  if (sum > kMostLines) return file_.Refuse(link, fmt::format("more than {} links lead there", kMostLines));
  return Status::Ok();
}

Status LinkReader::AddNvLinks() {
  for (const Element& gpu : devices_.gpus) {
    for (const pugi::xml_node link : gpu.xml.children()) {
      const std::string_view name = link.name();
      if (name != "nvlink" && name != "xgmi") continue;
      const Result<std::optional<int>> to = TargetOf(gpu, link);
      if (!to.ok()) return to.status();
      if (*to) TUTTI_RETURN_IF_ERROR(State(gpu, **to, link));
    }
  }
  for (const Bundle& bundle : bundles_) AddBundle(bundle);
  JoinDomains();
  ExpectNvLinks();
  return Status::Ok();
}

void LinkReader::AddBundle(const Bundle& bundle) {
  int lines = bundle.count;
  if (NodeOf(bundle.to).gpu() != nullptr) {
    lines = std::min(lines, bundle.count_back.value_or(lines));
    if (bundle.count_back != bundle.count) {
      file_.Note(bundle.xml, fmt::format("{} has {} links to {}, which says {}: {} are counted",
                                         NodeOf(bundle.from).name, bundle.count, NodeOf(bundle.to).name,
                                         bundle.count_back ? std::to_string(*bundle.count_back) : "nothing", lines));
    }
  }
  const Gpu& gpu = *NodeOf(bundle.from).gpu();
  const double rate = gpu.name.empty() ? NvLinkGbPerS(gpu.sm) : XgmiGbPerS(gpu.name);
  graph_.AddLink({.from = bundle.from,
                  .to = bundle.to,
                  .kind = LinkKind::kNvLink,
                  .count = lines,
                  .rated_gb_per_s = lines * rate / PartitionsOf(bundle.from)});
}

// Several hosts are in one file only where they are of one NVLink domain. What one host has in links is what it can
// send to all others: the switch of the first one stands for the domain's.
void LinkReader::JoinDomains() {
  if (nv_switches_.size() < 2) return;
  const int first = nv_switches_.begin()->second;
  for (const auto& [host, node] : nv_switches_) {
    if (node == first) continue;
    Link link = {.from = first, .to = node, .kind = LinkKind::kNvLink, .count = 0};
    for (const Neighbour& neighbour : graph_.NeighboursOf(node)) {
      link.count += graph_.link(neighbour.link).count;
      link.rated_gb_per_s += graph_.link(neighbour.link).rated_gb_per_s;
    }
    graph_.AddLink(link);
  }
}

void LinkReader::ExpectNvLinks() {
  struct Links {
    int count = 0;
    bool any = false, to_switch = false;
  };
  const auto links_of = [&](int gpu) {
    Links links;
    for (const Neighbour& neighbour : graph_.NeighboursOf(gpu)) {
      const Link& link = graph_.link(neighbour.link);
      if (link.kind != LinkKind::kNvLink) continue;
      links.count += link.count;
      links.any = true;
      links.to_switch |= NodeOf(neighbour.node).kind == NodeKind::kNvSwitch;
    }
    return links;
  };
  const auto kind_of = [&](int gpu) {
    return std::tuple(NodeOf(gpu).host, NodeOf(gpu).gpu()->sm, NodeOf(gpu).gpu()->name);
  };
  std::map<std::tuple<int, int, std::string>, Links> best;
  for (const Element& gpu : devices_.gpus) {
    const Links links = links_of(gpu.node);
    Links& most = best[kind_of(gpu.node)];
    most.count = std::max(most.count, links.count);
    most.to_switch |= links.to_switch;
  }
  for (const Element& gpu : devices_.gpus) {
    const Links& most = best[kind_of(gpu.node)];
    if (!most.to_switch && !links_of(gpu.node).any) continue;
    Gpu& is = *std::get_if<Gpu>(&graph_.node(gpu.node).is);
    is.nvlinks_expected = most.count > 0 ? most.count : MostNvLinks(is.sm);
  }
}

Status LinkReader::AddC2c() {
  for (const Element& gpu : devices_.gpus) {
    for (const pugi::xml_node c2c : gpu.xml.children("c2c")) {
      int mb_per_s = 0, count = 0;
      TUTTI_RETURN_IF_ERROR(file_.Require(c2c, "bw", 0, kMostMbPerS, mb_per_s));
      TUTTI_RETURN_IF_ERROR(file_.Require(c2c, "count", 0, kMostLines, count));
      const double rate = C2cGbPerS(count, mb_per_s) / PartitionsOf(gpu.node);
      graph_.AddLink({.from = gpu.node,
                      .to = NumaNodeOf(gpu.node),
                      .kind = LinkKind::kC2c,
                      .count = count,
                      .rated_gb_per_s = rate});
    }
  }
  return Status::Ok();
}

// Both switches may say that they are joined.
Status LinkReader::AddPciLinks() {
  std::set<std::pair<int, int>> joined;
  for (const Element& from : devices_.switches) {
    for (const pugi::xml_node link : from.xml.children("pcilink")) {
      const std::string_view target = link.attribute("target").value();
      const auto to = devices_.switches_at.find({NodeOf(from.node).host, BusIdFrom(target)});
      if (to == devices_.switches_at.end()) {
        file_.Note(link, fmt::format("target {} is no switch of this file, the link is passed over", Shown(target)));
      } else if (to->second == from.node) {
        file_.Note(link, "it leads to the switch where it begins, and is passed over");
      } else if (joined.insert(std::minmax(from.node, to->second)).second) {
        graph_.AddLink({.from = from.node, .to = to->second, .kind = LinkKind::kLocal, .rated_gb_per_s = kLocalGbPerS});
      }
    }
  }
  return Status::Ok();
}

}  // namespace

std::string BusIdFrom(std::string_view text) {
  std::string id = Lower(Trim(text));
  if (id.size() < 4 || id.size() > 20 || id.find(':') == std::string::npos ||
      id.find_first_not_of("0123456789abcdef:.") != std::string::npos) {
    return {};
  }
  while (id.find(':') > 4 && id.front() == '0') id.erase(0, 1);
  return id;
}

bool IsGpuClass(std::string_view class_id) {
  return class_id.starts_with("0x03") || class_id.starts_with("0x12") || class_id.starts_with("0x13");
}

Status AddXmlLinks(const XmlDevices& devices, XmlFile& file, Graph& graph) {
  LinkReader reader(devices, file, graph);
  TUTTI_RETURN_IF_ERROR(reader.AddNvLinks());
  TUTTI_RETURN_IF_ERROR(reader.AddC2c());
  return reader.AddPciLinks();
}

}  // namespace tutti::topo
