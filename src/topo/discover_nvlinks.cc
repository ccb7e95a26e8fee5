// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "topo/discover_nvlinks.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include "topo/rates.h"

namespace tutti::topo::internal {
namespace {

using sys::cuda::NvLink;
using sys::cuda::NvLinkEnd;
using sys::cuda::NvLinkState;
using sys::cuda::NvmlGpu;

bool IsUp(const NvLink& link) { return link.state != NvLinkState::kDown && link.state != NvLinkState::kNoTraffic; }

class NvLinks {
 public:
  NvLinks(const sys::cuda::NvmlFacts& facts, const sys::DeviceTree& tree, const std::vector<int>& gpus,
          const std::map<int, int>& numa_nodes, Graph& graph, sys::Notes& notes)
      : facts_(facts), tree_(tree), gpus_(gpus), numa_nodes_(numa_nodes), graph_(graph), notes_(notes) {}

  void Add() {
    for (std::size_t i = 0; i < gpus_.size(); ++i) {
      for (const NvLink& link : facts_.gpus[i].nvlinks) {
        if (IsUp(link)) Count(i, link);
      }
      AddC2c(i);
    }
    CompareWithModel();
    for (const auto& [pair, count] : between_gpus_) AddBetweenGpus(pair.first, pair.second, count);
    for (const auto& [gpu, count] : to_switch_) AddLink(gpu, nvswitch_, LinkKind::kNvLink, count);
    for (const auto& [gpu, count] : to_cpu_) AddLink(gpu, NumaNodeOf(gpu), LinkKind::kC2c, count);
  }

 private:
  // Where both ends are a GPU each counts, the one with the lower node first.
  struct Ends {
    int lower = 0, upper = 0;
  };

  int NumaNodeOf(int gpu) const { return numa_nodes_.at(graph_.node(gpu).numa); }
  void AddLink(int from, int to, LinkKind kind, int count) {
    const double one = NvLinkGbPerS(graph_.node(from).gpu()->sm);
    graph_.AddLink({.from = from, .to = to, .kind = kind, .count = count, .rated_gb_per_s = count * one});
  }

  // The node of the GPU with this bus id.
  std::optional<int> FindGpu(const std::string& bus_id) const {
    const auto found = std::ranges::find(facts_.gpus, bus_id, &NvmlGpu::bus_id);
    if (bus_id.empty() || found == facts_.gpus.end()) return std::nullopt;
    return gpus_[static_cast<std::size_t>(found - facts_.gpus.begin())];
  }

  // What a link leads to, from its bus id where NVML does not say it.
  NvLinkEnd EndOf(const NvLink& link, const std::string& gpu) {
    if (link.end != NvLinkEnd::kUnknown) return link.end;
    if (FindGpu(link.bus_id)) return NvLinkEnd::kGpu;
    const int pci = tree_.FindPci(link.bus_id);
    const std::string class_id = pci < 0 ? "" : tree_.pci[static_cast<std::size_t>(pci)].class_id;
    if (class_id.starts_with("0x03")) return NvLinkEnd::kGpu;
    if (class_id == "0x068001") return NvLinkEnd::kCpu;  // as NCCL reads it: the bridge of a POWER9
    if (class_id != "0x068000") {
      notes_.Add("unknown end",
                 fmt::format("nobody says where NVLink {} of {} leads: to an NVSwitch is assumed", link.number, gpu));
    }
    return NvLinkEnd::kSwitch;
  }

  void Count(std::size_t index, const NvLink& link) {
    const int gpu = gpus_[index];
    const std::string& name = graph_.node(gpu).name;
    if (!link.p2p) {
      notes_.Add("no P2P", fmt::format("NVLink {} of {} is up, but not for P2P: it is left out", link.number, name));
      return;
    }
    const NvLinkEnd end = EndOf(link, name);
    if (end == NvLinkEnd::kSwitch) {
      if (nvswitch_ < 0) nvswitch_ = graph_.AddNode({.kind = NodeKind::kNvSwitch, .name = "NVSwitch"});
      ++to_switch_[gpu];
    } else if (end == NvLinkEnd::kCpu) {
      ++to_cpu_[gpu];
    } else if (const std::optional<int> other = FindGpu(link.bus_id); !other || *other == gpu) {
      notes_.Add("no such GPU",
                 fmt::format("NVLink {} of {} leads to the GPU {}, which {}: it is left out", link.number, name,
                             link.bus_id.empty() ? "with an unknown bus id" : link.bus_id,
                             other ? "is that GPU itself" : "NVML does not list"));
    } else {
      Ends& ends = between_gpus_[std::minmax(gpu, *other)];
      ++(gpu < *other ? ends.lower : ends.upper);
    }
  }

  // A link works if both ends say so. An end that says nothing at all has not been asked with success.
  void AddBetweenGpus(int lower, int upper, Ends ends) {
    if (ends.lower != ends.upper) {
      notes_.Add("ends differ", fmt::format("{} has {} NVLinks to {}, which has {} to it", graph_.node(lower).name,
                                            ends.lower, graph_.node(upper).name, ends.upper));
    }
    const int both = std::min(ends.lower, ends.upper);
    AddLink(lower, upper, LinkKind::kNvLink, both > 0 ? both : std::max(ends.lower, ends.upper));
  }

  void AddC2c(std::size_t index) {
    const sys::cuda::C2c& c2c = facts_.gpus[index].c2c;
    const int gpu = gpus_[index];
    if (c2c.links_up < c2c.links) {
      notes_.Add("C2C",
                 fmt::format("{} of the {} C2C links of {} are up", c2c.links_up, c2c.links, graph_.node(gpu).name));
    }
    if (c2c.links_up == 0) return;
    graph_.AddLink({.from = gpu,
                    .to = NumaNodeOf(gpu),
                    .kind = LinkKind::kC2c,
                    .count = c2c.links_up,
                    .rated_gb_per_s = C2cGbPerS(c2c.links_up, c2c.mb_per_s)});
  }

  // As many NVLinks as the best GPU of a model has here all of them should have. Where they lead from GPU to GPU, one
  // that has none may just lack a bridge.
  void CompareWithModel() {
    struct Model {
      int most = 0;
      bool to_switch = false;
    };
    std::map<std::pair<std::string, int>, Model> models;
    const auto up = [](const NvmlGpu& gpu) { return static_cast<int>(std::ranges::count_if(gpu.nvlinks, IsUp)); };
    for (std::size_t i = 0; i < gpus_.size(); ++i) {
      Model& model = models[{facts_.gpus[i].name, facts_.gpus[i].sm}];
      model.most = std::max(model.most, up(facts_.gpus[i]));
      model.to_switch |= to_switch_.contains(gpus_[i]);
    }
    for (std::size_t i = 0; i < gpus_.size(); ++i) {
      const NvmlGpu& gpu = facts_.gpus[i];
      const Model& model = models[{gpu.name, gpu.sm}];
      if (up(gpu) == 0 && !model.to_switch) continue;
      std::get<Gpu>(graph_.node(gpus_[i]).is).nvlinks_expected = model.most;
      if (up(gpu) < model.most) NoteDead(gpu, graph_.node(gpus_[i]).name, up(gpu), model.most);
    }
  }

  void NoteDead(const NvmlGpu& gpu, const std::string& name, int up, int expected) {
    std::vector<int> down;
    for (const NvLink& link : gpu.nvlinks) {
      if (!IsUp(link)) down.push_back(link.number);
    }
    notes_.Add(fmt::format("dead NVLinks of {}", name),
               fmt::format("{} of the {} NVLinks that others of its model have are up on {} (down: {})", up, expected,
                           name, down.empty() ? "not listed" : fmt::format("{}", fmt::join(down, ", "))));
  }

  const sys::cuda::NvmlFacts& facts_;
  const sys::DeviceTree& tree_;
  const std::vector<int>& gpus_;
  const std::map<int, int>& numa_nodes_;
  Graph& graph_;
  sys::Notes& notes_;
  int nvswitch_ = -1;
  std::map<std::pair<int, int>, Ends> between_gpus_;
  std::map<int, int> to_switch_, to_cpu_;  // how many, by GPU
};

}  // namespace

void AddNvLinks(const sys::cuda::NvmlFacts& facts, const sys::DeviceTree& tree, const std::vector<int>& gpus,
                const std::map<int, int>& numa_nodes, Graph& graph, sys::Notes& notes) {
  NvLinks(facts, tree, gpus, numa_nodes, graph, notes).Add();
}

}  // namespace tutti::topo::internal
