// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "tune/nccl_machine.h"

#include <algorithm>
#include <array>
#include <span>
#include <vector>

namespace tutti::tune {
namespace {

constexpr std::array<std::string_view, kNcclAlgorithms> kNames = {"Tree", "Ring", "NVLS", "NVLSTree"};
constexpr int kMostChannels = 32, kMostHeads = 32, kFewChannels = 16;

// The speeds per channel that NCCL's search tries, GB/s, best first (NCCL's graph/search.cc).
std::span<const double> SpeedsInside(GpuGeneration generation) {
  static constexpr double kOlder[] = {40, 30, 20, 18, 15, 12, 10, 9, 7, 6, 5, 4, 3};
  static constexpr double kHopper[] = {60, 50, 40, 30, 24, 20, 15, 12, 11, 6, 3};
  static constexpr double kBlackwell[] = {90, 80, 70, 60, 50, 45, 40, 30, 24, 20, 19, 18};
  if (generation == GpuGeneration::kBlackwell) return kBlackwell;
  return generation == GpuGeneration::kHopper ? std::span<const double>(kHopper) : kOlder;
}

std::span<const double> SpeedsBetween(GpuGeneration generation) {
  static constexpr double kOlder[] = {48, 30, 28, 24, 20, 18, 15, 12, 10, 9, 7, 6, 5, 4, 3, 2.4, 1.2, .24};
  static constexpr double kHopper[] = {48, 45, 42, 40, 30, 24, 22, 20, 17.5, 15, 12, 6, 3, 2.4, 1.2, .24};
  static constexpr double kBlackwell[] = {96, 86,   80, 48, 45.1, 42, 40,  30,  24, 22,
                                          20, 17.5, 15, 12, 6,    3,  2.4, 1.2, .24};
  if (generation == GpuGeneration::kBlackwell) return kBlackwell;
  return generation == GpuGeneration::kHopper ? std::span<const double>(kHopper) : kOlder;
}

// The first speed up to `most`, else the last.
double Fastest(std::span<const double> speeds, double most) {
  const auto found = std::ranges::find_if(speeds, [most](double speed) { return speed <= most; });
  return found == speeds.end() ? speeds.back() : *found;
}

// Where a channel is fast the search ends with twice as many of half the speed.
void SplitFastChannels(const NcclMachine& machine, NcclGraph& graph) {
  constexpr double kFast = 25, kVeryFast = 50;  // GB/s
  constexpr int kMany = 4;
  const bool newer = machine.generation > GpuGeneration::kAmpere;
  const bool keep = newer && graph.ring_gb_per_s < kVeryFast && graph.ring_channels > kMany;
  if (graph.ring_gb_per_s < kFast || keep || 2 * graph.ring_channels > kMostChannels) return;
  graph.ring_channels *= 2;
  graph.ring_gb_per_s /= 2;
}

// Inside a host: the speed that keeps most of the links busy.
void PlanInside(const NcclMachine& machine, NcclGraph& graph) {
  double best = 0;
  for (const double speed : SpeedsInside(machine.generation)) {
    const int channels = std::min(static_cast<int>(machine.inside_gb_per_s() / speed), kFewChannels);
    if (channels * speed <= best) continue;
    best = channels * speed;
    graph.ring_channels = channels;
    graph.ring_gb_per_s = speed;
  }
  SplitFastChannels(machine, graph);
  graph.tree_intra_gb_per_s = graph.ring_gb_per_s;
}

// Between hosts: a channel per card, with what the card and the way to it can do. Where NVLink carries the channels of all cards the
// search lets it pass a twentieth more than it counts, since a channel's last hop inside a host is not on NVLink. Trees may have more
// inside the hosts.
void PlanBetween(const NcclMachine& machine, NcclGraph& graph) {
  constexpr double kBeyondNvlink = 1.05;
  const bool nvlink = machine.gpus_per_host > 1 && machine.nvlink_gb_per_s > 0;
  graph.ring_channels = std::min(machine.nics_per_host, kMostChannels);
  double most = std::min(machine.nic_gb_per_s, machine.pci_gb_per_s);
  if (nvlink) most = std::min(most, kBeyondNvlink * machine.nvlink_gb_per_s / graph.ring_channels);
  graph.ring_gb_per_s = Fastest(SpeedsBetween(machine.generation), most);
  SplitFastChannels(machine, graph);
  graph.tree_intra_gb_per_s = graph.ring_gb_per_s;
  if (nvlink) {
    const double inside = Fastest(SpeedsInside(machine.generation), machine.nvlink_gb_per_s / graph.ring_channels);
    graph.tree_intra_gb_per_s = std::max(graph.ring_gb_per_s, inside);
  }
}

// What 2.30 does on Blackwell (NCCL's transport/nvls.cc), where every GPU has a card beside it.
void TuneNvlsTree(const NcclMachine& machine, NcclGraph& graph) {
  constexpr double kFast = 48, kVeryFast = 96;  // GB/s of a card
  constexpr std::size_t kSmall = 64 << 10, kMedium = 128 << 10, kLarge = 256 << 10;
  const double card = machine.nic_gb_per_s;
  const int gpus = machine.gpus_per_host;
  if (card < kFast) return;
  if (machine.hosts == 2) {
    graph.nvls_tree_chunk_bytes = gpus <= 4 ? kLarge : gpus >= 16 || (gpus <= 8 && card < kVeryFast) ? kSmall : kMedium;
  } else if (card < kVeryFast) {
    graph.nvls_channels = 24;
    graph.nvls_tree_chunk_bytes = kSmall;
  } else {
    graph.nvls_channels = gpus <= 8 ? 24 : 32;
    graph.nvls_tree_chunk_bytes = gpus <= 8 ? kLarge : gpus < 32 ? kMedium : kSmall;
  }
}

// A head's links carry its own part twice and every other head's once.
void PlanMulticast(const NcclMachine& machine, NcclGraph& graph) {
  const bool several = machine.hosts > 1;
  graph.heads = std::min({machine.gpus_per_host, several ? machine.nics_per_host : kMostHeads, kMostHeads});
  graph.nvls_intra_gb_per_s = Fastest(SpeedsInside(machine.generation), machine.nvlink_gb_per_s / (graph.heads + 1));
  graph.nvls_inter_gb_per_s =
      Fastest(SpeedsBetween(machine.generation), std::min(machine.nic_gb_per_s, machine.pci_gb_per_s));
  const bool blackwell = machine.generation == GpuGeneration::kBlackwell;
  graph.nvls_channels = !blackwell ? 16 : machine.version >= 22700 && !several ? 24 : 32;
  graph.nvls_tree_chunk_bytes = machine.hosts >= 4 ? 64 << 10 : machine.nvls_chunk_bytes;
  if (blackwell && several && machine.version >= 23000) TuneNvlsTree(machine, graph);
  graph.nvls_channels = std::max(graph.nvls_channels, machine.min_ctas);
}

}  // namespace

std::string_view Name(NcclAlgorithm algorithm) { return kNames[static_cast<int>(algorithm)]; }

std::optional<NcclAlgorithm> ParseNcclAlgorithm(std::string_view name) {
  const auto found = std::ranges::find(kNames, name);
  if (found == kNames.end()) return std::nullopt;
  return static_cast<NcclAlgorithm>(found - kNames.begin());
}

NcclGraph GraphOf(const NcclMachine& machine) {
  NcclGraph graph;
  const bool several = machine.hosts > 1;
  if (several) {
    PlanBetween(machine, graph);
  } else {
    PlanInside(machine, graph);
  }
  graph.channels = std::min(2 * graph.ring_channels, kMostChannels);
  constexpr double kFastChannel = 45;  // GB/s
  if (machine.generation >= GpuGeneration::kHopper && several && graph.ring_gb_per_s > kFastChannel &&
      graph.channels < kFewChannels) {
    graph.channels *= 2;
  }
  graph.channels = std::max(graph.channels, machine.min_ctas);
  if (machine.multicast && machine.generation >= GpuGeneration::kHopper && machine.gpus_per_host > 2)
    PlanMulticast(machine, graph);
  return graph;
}

}  // namespace tutti::tune
