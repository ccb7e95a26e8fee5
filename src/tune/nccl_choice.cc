// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "tune/nccl_choice.h"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <limits>

namespace tutti::tune {
namespace {

using proto::kProtocols;
using proto::Protocol;

constexpr double kNone = std::numeric_limits<double>::infinity();

// All constants are NCCL's. Latencies in us by LL, LL128, Simple; bandwidths in GB/s by one host, two, more.
constexpr double kBaseUs[2][kProtocols] = {{6.8, 14, 8.4}, {6.6, 14, 8.4}};  // tree, ring
constexpr double kNvlinkUs[2][kProtocols] = {{0.6, 1.25, 4.0}, {0.6, 1.9, 3.4}};
constexpr double kPciUs[2][kProtocols] = {{1.0, 1.9, 4.0}, {1.0, 2.5, 5.7}};
constexpr double kNetworkUs[2][kProtocols] = {{5.0, 8.5, 14}, {2.7, 4.0, 14}};
constexpr double kNvlsUs = 25, kNvlsNetworkUs = 18;
// Of rings and trees with LL, all channels; by GPU on one host, by CPU on several.
constexpr double kMostLl[kGpuGenerations][3] = {{39, 39, 20.4}, {87.7, 22.5, 19}, {141, 45, 35}, {282, 90, 70}};
// Of one channel.
constexpr double kMostRingLl128[kGpuGenerations] = {20, 20, 36.7, 40};
constexpr double kMostTreeLl128[kGpuGenerations][3] = {{20, 20, 20}, {20, 20, 20}, {36.7, 36.7, 29}, {55.6, 31.67, 20}};
constexpr double kMostTree[kGpuGenerations][3] = {{26.5, 18.5, 10}, {24, 23.6, 17.8}, {38.7, 41.4, 36}, {70, 42.8, 24}};
constexpr double kMostNvlsTree[kGpuGenerations][3] = {
    {26.5, 18.5, 10}, {24, 23.6, 17.8}, {kNone, 57.7, 45.5}, {kNone, 96, 80}};
constexpr double kNvlsEfficiency[kGpuGenerations] = {0, 0, 0.85, 0.74};
// Of a tree's bandwidth, by log2 of the bytes, from 64 bytes on.
constexpr int kTreeFactors = 23;
constexpr double kTreeFactor[kProtocols][kTreeFactors] = {
    {1, 1, 1, 1, .9, .8, .7, .7, .7, .7, .6, .5, .4, .4, .5, .6, .7, .8, .9, 1, 1, 1, 1},
    {1, 1, 1, 1, 1, .9, .8, .8, .8, .7, .6, .6, .6, .6, .6, .6, .8, .9, .9, .9, .9, 1, 1},
    {.9, .9, .9, .9, .9, .9, .9, .8, .7, .6, .6, .5, .5, .5, .5, .6, .7, .8, .7, .7, .8, .9, .9}};

int Size(const NcclMachine& machine) { return std::min(machine.hosts, 3) - 1; }
int Generation(const NcclMachine& machine) { return static_cast<int>(machine.generation); }
// Rounded down; REQUIRES: 1 or more.
int Log2(double value) { return std::bit_width(static_cast<std::uint64_t>(value)) - 1; }

// A hop inside a host; of trees 0, of rings 1.
double InsideUs(const NcclMachine& machine, int algorithm, int protocol) {
  return machine.nvlink_gb_per_s > 0 ? kNvlinkUs[algorithm][protocol] : kPciUs[algorithm][protocol];
}

double TreeFactor(Protocol protocol, double bytes) {
  if (bytes < 64) return 1;
  const int place = Log2(bytes / 64);
  return place < kTreeFactors ? kTreeFactor[static_cast<int>(protocol)][place] : 1;
}

double MostLl(const NcclMachine& machine) {
  const int row = machine.hosts == 1 ? Generation(machine) : machine.cpu == CpuKind::kAmd ? 1 : 0;
  return kMostLl[row][Size(machine)];
}

// What the plugin says is charged once a step, for Simple twice.
double InterUs(const NcclMachine& machine, double hardware_us, Protocol protocol) {
  return hardware_us + machine.reported_latency_us * (protocol == Protocol::kSimple ? 2 : 1);
}

std::optional<double> RingUs(const NcclMachine& m, const NcclGraph& graph, Collective collective, double bytes,
                             Protocol protocol) {
  const int p = static_cast<int>(protocol), steps = NcclRingSteps(m, collective);
  const bool several = m.hosts > 1;
  double bus = graph.ring_channels * graph.ring_gb_per_s;
  if (protocol == Protocol::kLl) bus = std::min(MostLl(m), bus * 0.5);
  if (protocol == Protocol::kLl128) bus = std::min(bus * 0.92, graph.ring_channels * kMostRingLl128[Generation(m)]);
  double latency = kBaseUs[1][p];
  if (collective == Collective::kBroadcast || collective == Collective::kReduce) {
    latency += several ? kNetworkUs[1][p] : InsideUs(m, 1, p);
  } else {
    const double post = !several ? 0 : (m.cpu == CpuKind::kAmd ? 2.0 : 1.0) * (protocol == Protocol::kSimple ? 3 : 1);
    const int crossings = !several ? 0 : (m.hosts - 1) * (collective == Collective::kAllReduce ? 2 : 1);
    const double inter = InterUs(m, kNetworkUs[m.gpus_per_host == 1 ? 0 : 1][p], protocol);
    latency += (steps - crossings) * std::max(InsideUs(m, 1, p), post) + crossings * inter;
  }
  const bool plateau = several && collective == Collective::kAllReduce && protocol == Protocol::kSimple &&
                       bytes / (graph.channels * m.ranks()) >= 64;
  if (plateau) latency *= m.generation < GpuGeneration::kAmpere ? 1.9 : 1.4;
  return latency + bytes * steps / m.ranks() / bus / 1e3;
}

std::optional<double> TreeUs(const NcclMachine& m, const NcclGraph& graph, Collective collective, double bytes,
                             Protocol protocol) {
  if (collective != Collective::kAllReduce) return std::nullopt;
  const int p = static_cast<int>(protocol), g = Generation(m), size = Size(m);
  const bool several = m.hosts > 1;
  const double speed = m.hosts <= 2 ? graph.tree_intra_gb_per_s : graph.ring_gb_per_s;
  double bus = std::min(graph.ring_channels * speed * 0.92, graph.ring_channels * kMostTree[g][size]);
  if (protocol == Protocol::kLl) bus = std::min(bus / 3.8, MostLl(m));
  if (protocol == Protocol::kLl128) {
    bus = std::min(bus * (several ? 120.0 / 128 : 7.0 / 9), graph.ring_channels * kMostTreeLl128[g][size]);
  }
  // 2.19 and 2.20 took trees with Simple to be slow inside a host.
  const bool slow = protocol == Protocol::kSimple && m.version >= 21900 && m.version < 22100;
  const double inside = slow ? 28 : InsideUs(m, 0, p);
  const double inter = InterUs(m, kNetworkUs[0][p], protocol);
  const double latency = kBaseUs[0][p] + 2 * ((m.gpus_per_host - 1) * inside + Log2(m.hosts) * inter);
  return latency + bytes / (bus * 0.5 * TreeFactor(protocol, bytes)) / 1e3;
}

// GB/s of the operation's bytes by multicast; 0: NCCL does not do it so.
double NvlsGbPerS(const NcclMachine& m, const NcclGraph& graph, Collective collective, NcclAlgorithm algorithm) {
  const bool tree = algorithm == NcclAlgorithm::kNvlsTree;
  const bool several = m.hosts > 1, all_reduce = collective == Collective::kAllReduce;
  const double ranks = m.ranks(), heads = graph.heads;
  const double between = several ? graph.nvls_inter_gb_per_s : kNone;
  if (m.version < 22800) {
    if (!all_reduce) return 0;
    if (m.version < 21900) {
      const double share = tree ? 0.70 * m.hosts / (2 * (m.hosts - 1)) : 0.75;
      return heads * std::min(graph.nvls_intra_gb_per_s, between) * share;
    }
    const double inter = tree && m.hosts > 2 ? between / 2 : between;
    return heads * std::min(graph.nvls_intra_gb_per_s, inter) * 5 / 6;
  }
  double intra = graph.nvls_intra_gb_per_s * kNvlsEfficiency[Generation(m)] * (heads - 1) / heads;
  intra *= all_reduce ? 2.0 : (m.gpus_per_host - 1.0) / m.gpus_per_host;
  const double most = tree ? kMostNvlsTree[Generation(m)][Size(m)] : kNone;
  const double bus = heads * std::min({intra, tree && m.hosts <= 2 ? 2 * between : between, most});
  return all_reduce ? bus * ranks / (2 * (ranks - 1)) : bus;
}

std::optional<double> NvlsUs(const NcclMachine& m, const NcclGraph& graph, Collective collective, double bytes,
                             const NcclWay& way) {
  const bool tree = way.algorithm == NcclAlgorithm::kNvlsTree;
  const bool several = m.hosts > 1;
  const bool moves = collective == Collective::kAllGather || collective == Collective::kReduceScatter;
  if (graph.heads < 2 || way.protocol != Protocol::kSimple || (collective != Collective::kAllReduce && !moves))
    return {};
  if (tree ? !several || moves : several && !m.switches_reduce) return {};
  double speed = NvlsGbPerS(m, graph, collective, way.algorithm);
  if (speed <= 0) return {};
  if (!tree) return kNvlsUs + (several ? kNvlsNetworkUs : 0) + bytes / speed / 1e3;
  const bool corrected = m.version >= 22900 && m.generation == GpuGeneration::kBlackwell && m.cpu != CpuKind::kArm;
  if (corrected) speed *= TreeFactor(way.protocol, bytes);
  const double step = m.version >= 22900 ? 20.9 : m.version >= 21900 ? 14 : 19;
  const double latency = kNvlsUs + 2 * Log2(m.hosts) * InterUs(m, step, way.protocol);
  return latency + bytes / speed / 1e3;
}

// Channels are left out until each of the others has so many bytes per thread.
int ChannelsAt(const NcclMachine& machine, const NcclGraph& graph, double bytes, const NcclWay& way) {
  if (way.algorithm == NcclAlgorithm::kNvls || way.algorithm == NcclAlgorithm::kNvlsTree) return graph.nvls_channels;
  constexpr double kThreads[kProtocols] = {512, 640, 512}, kBytes[kProtocols] = {8, 8, 64};
  const int p = static_cast<int>(way.protocol);
  double least = kThreads[p] * kBytes[p];
  if (way.algorithm == NcclAlgorithm::kRing && way.protocol == Protocol::kLl) least *= machine.ranks();
  return std::clamp(static_cast<int>(bytes / least), 1, graph.channels);
}

NcclChoice ChooseTransfers(const NcclMachine& machine, Collective collective, double bytes) {
  constexpr int kChannels = 32;
  constexpr double kMostLlBytes = 16384 * kChannels, kMostPerChannel = 16 << 20;
  const double message = collective == Collective::kSendRecv ? bytes : bytes / machine.ranks();
  int channels = kChannels;
  while (channels > 1 && channels * machine.ranks() > kChannels) channels /= 2;
  while (channels < kChannels && message / channels > kMostPerChannel) channels *= 2;
  return {{NcclAlgorithm::kRing, message <= kMostLlBytes ? Protocol::kLl : Protocol::kSimple}, 0, channels};
}

}  // namespace

double NcclMostOfTree(const NcclMachine& machine, const NcclGraph& graph, Protocol protocol) {
  const auto& most = protocol == Protocol::kLl128 ? kMostTreeLl128 : kMostTree;
  return graph.ring_channels * most[Generation(machine)][Size(machine)] / 2;
}

double NcclNvlsEfficiency(const NcclMachine& machine) { return kNvlsEfficiency[Generation(machine)]; }

int NcclRingSteps(const NcclMachine& machine, Collective collective) {
  if (collective == Collective::kAllReduce) return 2 * (machine.ranks() - 1);
  const bool half = collective == Collective::kAllGather || collective == Collective::kReduceScatter;
  return half ? machine.ranks() - 1 : machine.ranks();
}

std::optional<double> NcclFormulaUs(const NcclMachine& machine, const NcclGraph& graph, Collective collective,
                                    double bytes, const NcclWay& way) {
  switch (way.algorithm) {
    case NcclAlgorithm::kRing:
      return RingUs(machine, graph, collective, bytes, way.protocol);
    case NcclAlgorithm::kTree:
      return TreeUs(machine, graph, collective, bytes, way.protocol);
    case NcclAlgorithm::kNvls:
    case NcclAlgorithm::kNvlsTree:
      return NvlsUs(machine, graph, collective, bytes, way);
  }
  return std::nullopt;
}

NcclChoice ChooseNccl(const NcclMachine& machine, const NcclGraph& graph, Collective collective, double bytes) {
  if (IsMadeOfTransfers(collective)) return ChooseTransfers(machine, collective, bytes);
  NcclChoice best{{}, kNone, 1};
  const auto look = [&](NcclAlgorithm algorithm) {
    for (int p = 0; p < kProtocols; ++p) {
      const NcclWay way{algorithm, static_cast<Protocol>(p)};
      if (machine.protocol.value_or(way.protocol) != way.protocol) continue;
      const std::optional<double> us = NcclFormulaUs(machine, graph, collective, bytes, way);
      if (us.has_value() && *us < best.formula_us) best = {way, *us, 1};
    }
  };
  for (int a = 0; a < kNcclAlgorithms; ++a) {
    const auto algorithm = static_cast<NcclAlgorithm>(a);
    if (machine.algorithm.value_or(algorithm) == algorithm) look(algorithm);
  }
  if (best.formula_us == kNone) look(NcclAlgorithm::kRing);
  best.channels = ChannelsAt(machine, graph, bytes, best.way);
  return best;
}

double ClosedFormUs(const NcclMachine& m, Collective collective, double bytes) {
  const double ranks = m.ranks(), cards = m.nics_per_host * m.nic_gb_per_s;
  const double nvlink = m.gpus_per_host > 1 ? m.inside_gb_per_s() : kNone;
  if (IsMadeOfTransfers(collective)) {
    const double others = collective == Collective::kSendRecv ? 1 : (ranks - 1) / ranks;
    if (m.hosts == 1) return others * bytes / nvlink / 1e3;
    const double outside = bytes * (ranks - m.gpus_per_host) / ranks;
    return std::max(outside * m.gpus_per_host / cards, bytes * others / nvlink) / 1e3;
  }
  const double steps = NcclRingSteps(m, collective) / ranks;
  const double ring = m.hosts == 1 ? nvlink : std::min(nvlink, cards);
  double us = steps * bytes / ring / 1e3;
  if (collective != Collective::kAllReduce || m.gpus_per_host == 1) return us;
  constexpr double kNvlsBus = 475;  // GB/s, of H100
  const double nvls = m.multicast && m.generation >= GpuGeneration::kHopper ? kNvlsBus * m.nvlink_gb_per_s / 370.8 : 0;
  if (m.hosts == 1) return nvls > 0 ? std::min(us, steps * bytes / nvls / 1e3) : us;
  const double factor = m.hosts == 2 ? 2 : m.hosts == 3 ? 4.0 / 3 : 1;
  const double tree = std::min(cards * factor, nvls > 0 ? nvls : nvlink * ranks / (ranks - 1));
  return std::min(us, steps * bytes / tree / 1e3);
}

double BusGbPerS(int ranks, Collective collective, double bytes, double us) {
  double factor = 1;
  const double others = (ranks - 1.0) / ranks;
  if (collective == Collective::kAllReduce) factor = 2 * others;
  if (collective == Collective::kAllGather || collective == Collective::kReduceScatter ||
      collective == Collective::kAllToAll || collective == Collective::kGather || collective == Collective::kScatter) {
    factor = others;
  }
  return us > 0 ? factor * bytes / us / 1e3 : 0;
}

}  // namespace tutti::tune
