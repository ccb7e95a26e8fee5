// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "tune/nccl_model.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <limits>

namespace tutti::tune {
namespace {

using proto::Protocol;

constexpr double kNoLimit = std::numeric_limits<double>::infinity();
constexpr double kKib = 1024, kMib = 1024 * kKib;
// Data per byte on the link.
constexpr double kPayload[proto::kProtocols] = {1.0 / 2, 15.0 / 16, 1};
constexpr int kStepsInFlight = 8;

// Rounded up.
int Log2Up(int value) { return std::bit_width(static_cast<unsigned>(value - 1)); }

// us of so many bytes at GB/s.
double Us(double bytes, double gb_per_s) { return bytes / gb_per_s / 1e3; }

// An operation to predict, and what follows from it at once.
struct Work {
  const NcclConstants& c;
  const NcclMachine& m;
  Collective collective;
  double bytes;
  NcclGraph graph;
  NcclChoice choice;

  int p() const { return static_cast<int>(choice.way.protocol); }
  bool several() const { return m.hosts > 1; }
  bool known() const { return m.launch == NcclLaunch::kGraph && m.registers_in_graphs; }  // NCCL knows the buffers
  // Of a tree of the hosts.
  int levels() const { return Log2Up(m.hosts); }
  // Out of a GPU inside its host, data with this protocol.
  double Nvlink() const { return m.gpus_per_host > 1 ? m.inside_gb_per_s() * c.link_share * kPayload[p()] : kNoLimit; }
  double Start() const { return m.launch == NcclLaunch::kGraph ? c.graph_start_us : c.stream_start_us; }
  // More than InfiniBand, one way, with this protocol and so many channels.
  double Fabric() const {
    const double factor = choice.way.protocol == Protocol::kSimple ? c.simple_fabric_factor
                                                                   : 1 + c.slowest_share[p()] * Log2Up(choice.channels);
    return c.fabric_us[static_cast<int>(m.fabric)] * factor;
  }
  double Crossing() const {
    const bool simple = choice.way.protocol == Protocol::kSimple;
    return (simple ? c.simple_crossing_us : c.crossing_us) + Fabric();
  }
};

struct Time {
  double fixed_us = 0;   // does not grow with the bytes
  double moving_us = 0;  // does
  NcclBound bound = NcclBound::kLatency;
};

struct Limit {
  double gb_per_s = kNoLimit;
  NcclBound bound = NcclBound::kLatency;
  void Add(double rate, NcclBound by) {
    if (rate < gb_per_s) *this = {rate, by};
  }
};

// Data out of a host with the operation's protocol.
Limit Cards(const Work& w) {
  const NcclMachine& m = w.m;
  Limit limit;
  const bool slow = m.fabric == FabricKind::kEfa && w.choice.way.protocol == Protocol::kLl128;
  const double share = w.c.wire_share * kPayload[w.p()] * (slow ? w.c.efa_ll128_share : 1);
  limit.Add(m.nics_per_host * m.nic_gb_per_s * share, NcclBound::kCards);
  if (!m.gpu_direct) limit.Add(m.nics_per_host * w.c.staged_gb_per_s, NcclBound::kCards);
  return limit;
}

// The same where every channel has one connection. EFA has none that matter: its packets take all ways.
Limit Connections(const Work& w) {
  Limit limit = Cards(w);
  if (w.m.fabric == FabricKind::kEfa) return limit;
  const double connections = static_cast<double>(std::max(w.choice.channels, w.m.nics_per_host)) * w.m.qps;
  limit.Add(connections * w.c.connection_gb_per_s * kPayload[w.p()], NcclBound::kConnections);
  return limit;
}

// Bytes that leave a card for each byte of its part, in trees of so many hosts.
double TreeTraffic(int hosts) { return hosts == 2 ? 1 : hosts == 3 ? 1.5 : 2; }
// Hosts that the busiest one of a tree exchanges chunks with, one after the other.
int TreeNeighbours(int hosts) { return std::min(hosts - 1, 3); }
// Of the cards, what trees reach.
double TreeShare(const Work& w) { return w.m.hosts > 3 ? w.c.tree_wire_share : 1; }

double LastShare(const Work& w) {
  if (w.choice.way.protocol == Protocol::kLl) return w.c.ll_last_share;
  if (w.collective == Collective::kAllReduce) return w.c.fold_last_share;
  return w.known() && !Reduces(w.collective) ? w.c.known_last_share : w.c.move_last_share;
}

// With few bytes LL has few warps: three at least, 8 bytes a thread.
double LlHop(const Work& w, double channel_bytes) {
  constexpr double kFewest = 96, kMost = 512;
  const double threads = std::clamp(channel_bytes / 8, kFewest, kMost);
  return w.c.hop_us[0] + w.c.hop_threads_us * (threads - kFewest) / (kMost - kFewest);
}

Time RingInside(const Work& w) {
  const double block = w.bytes / w.m.ranks(), steps = NcclRingSteps(w.m, w.collective);
  const bool ll = w.choice.way.protocol == Protocol::kLl;
  Time time{w.Start(), 0, NcclBound::kNvlink};
  time.fixed_us += steps * (ll ? LlHop(w, block / w.choice.channels) : w.c.hop_us[w.p()]);
  time.moving_us = (steps + LastShare(w)) * Us(block, w.Nvlink());
  if (w.choice.way.protocol == Protocol::kLl128) time.fixed_us += w.c.ll128_start_us;
  if (w.choice.way.protocol == Protocol::kSimple) {
    const double slice = std::min(block / 2, w.choice.channels * kMib);
    time.fixed_us += w.c.simple_start_us + w.c.slice_share * Us(slice, w.Nvlink());
  }
  return time;
}

Time RingBetween(const Work& w) {
  const double steps = NcclRingSteps(w.m, w.collective), block = w.bytes / w.m.ranks();
  const double crossings = (w.m.hosts - 1) * (w.collective == Collective::kAllReduce ? 2 : 1);
  Limit limit = Connections(w);
  // One of a host's GPUs sends to the next host instead of the next GPU.
  const double gpus = w.m.gpus_per_host;
  limit.Add(w.Nvlink() * gpus / std::max(gpus - 1, 1.0), NcclBound::kNvlink);
  double turns = w.m.gpus_per_host > 1 ? w.c.ring_step_us[w.p()] : 0;
  if (w.p() > 0) turns += w.c.ring_fabric_share * std::max(w.c.fabric_us[static_cast<int>(w.m.fabric)], 0.0);
  const double wait = turns + crossings * w.Crossing() / steps, move = Us(block, limit.gb_per_s);
  const double step = wait + move - w.c.ring_overlap * wait * move / (wait + move);
  return {w.Start() + steps * (step - move), steps * move, limit.bound};
}

// Broadcast and reduce: every rank passes on what comes. What is timed is how often the ranks can do it, not how long the last
// one waits.
Time Chain(const Work& w) {
  Limit limit;
  limit.Add(w.Nvlink(), NcclBound::kNvlink);
  if (w.several()) {
    const Limit wire = Connections(w);
    limit.Add(wire.gb_per_s, wire.bound);
  }
  Time time{w.Start(), Us(w.bytes, limit.gb_per_s), limit.bound};
  if (w.several()) time.fixed_us += w.Crossing();
  if (w.choice.way.protocol == Protocol::kLl) {
    constexpr double kRoundBytes = 4 * kKib;
    const double rounds = w.bytes / w.choice.channels / kRoundBytes;
    time.moving_us = std::max(time.moving_us * w.c.chain_ll_share, rounds * w.c.ll_round_us);
  } else if (w.choice.way.protocol == Protocol::kSimple) {
    time.fixed_us += w.c.chain_start_us;
    const bool slow = w.known() && w.collective == Collective::kBroadcast && w.m.ranks() > 2;
    if (slow) time.fixed_us += w.c.known_chain_us * (w.m.ranks() - 2);
  }
  return time;
}

// The chunk of a tree, which for LL128 NCCL halves until there are enough of them.
double TreeChunk(const Work& w) {
  constexpr double kLl = 16 * kKib, kLl128 = 4915200.0 / kStepsInFlight * 15 / 16;
  if (w.choice.way.protocol == Protocol::kLl) return kLl;
  if (w.choice.way.protocol == Protocol::kSimple) return static_cast<double>(w.m.buffer_bytes) / kStepsInFlight;
  const double steps = std::bit_width(static_cast<unsigned>(w.m.hosts)) + 0.1 * w.m.gpus_per_host;
  double chunk = kLl128;
  const auto count = [&] {
    return static_cast<double>(static_cast<std::uint64_t>(w.bytes / (w.choice.channels * chunk)));
  };
  while (count() < steps * 64 / w.m.gpus_per_host && chunk > 128 * kKib) chunk /= 2;
  while (count() < steps * 16 / w.m.gpus_per_host && chunk > 32 * kKib) chunk /= 2;
  return chunk;
}

Time Tree(const Work& w) {
  const int p = w.p(), inside = 2 * (w.m.gpus_per_host - 1);
  const double per_channel = w.bytes / w.choice.channels, chunk = std::min(TreeChunk(w), per_channel);
  const double rate = w.choice.way.protocol == Protocol::kLl
                          ? w.c.tree_ll_gb_per_s
                          : w.c.tree_share * NcclMostOfTree(w.m, w.graph, w.choice.way.protocol) / w.choice.channels;
  Limit limit{rate, NcclBound::kChannels};
  double overhead = 0, wire = kNoLimit;
  Time time{w.Start() + inside * w.c.hop_us[p], 0, limit.bound};
  if (w.several()) {
    const Limit cards = Cards(w);
    wire = cards.gb_per_s / w.choice.channels;
    limit.Add(wire / TreeTraffic(w.m.hosts) * TreeShare(w), cards.bound);
    time.fixed_us += 2 * w.levels() * (w.Crossing() + Us(chunk, wire));
    if (p > 0) overhead = w.c.chunk_us * TreeNeighbours(w.m.hosts) + w.c.credit_share * w.Crossing();
  }
  time.moving_us = per_channel / chunk * (Us(chunk, limit.gb_per_s) + overhead);
  time.bound = limit.bound;
  return time;
}

// A chunk for every head and channel, as NCCL cuts it.
double NvlsLoopBytes(const Work& w) {
  struct Rule {
    double loops, chunk;
  };
  constexpr Rule kInside[] = {{64, 64 * kKib}, {8, 32 * kKib}, {2, 16 * kKib}};
  constexpr Rule kTree[] = {{32, 256 * kKib}, {16, 128 * kKib}, {4, 64 * kKib}, {1, 32 * kKib}};
  const bool tree = w.choice.way.algorithm == NcclAlgorithm::kNvlsTree;
  const double at_once = static_cast<double>(w.graph.heads) * w.graph.nvls_channels;
  double chunk = static_cast<double>(w.m.nvls_chunk_bytes);
  if (tree) chunk = std::min(chunk, static_cast<double>(w.graph.nvls_tree_chunk_bytes));
  for (const Rule& rule : tree ? std::span<const Rule>(kTree) : kInside) {
    if (w.bytes < rule.loops * at_once * chunk) chunk = std::min(chunk, rule.chunk);
  }
  return std::min(at_once * chunk, w.bytes);
}

Time Multicast(const Work& w) {
  const bool all_reduce = w.collective == Collective::kAllReduce;
  const double loop = NvlsLoopBytes(w);
  Limit limit;
  const double share = w.several() ? w.c.nvls_tree_share : w.c.nvls_share * NcclNvlsEfficiency(w.m);
  limit.Add(w.m.nvlink_gb_per_s * share, NcclBound::kMulticast);
  if (!all_reduce) limit.Add(w.Nvlink() * w.m.ranks() / (w.m.ranks() - 1), NcclBound::kNvlink);
  const double fill = w.c.nvls_fill * (1 - w.c.nvls_early_share * loop / w.bytes);
  Time time{w.Start() + w.c.nvls_start_us + fill * Us(loop, w.m.nvlink_gb_per_s), 0, limit.bound};
  if (w.several()) {
    const Limit cards = Cards(w);
    const bool tree = w.choice.way.algorithm == NcclAlgorithm::kNvlsTree;
    if (tree) {
      limit.Add(cards.gb_per_s / TreeTraffic(w.m.hosts) * TreeShare(w), cards.bound);
    } else {
      limit.Add(w.m.nics_per_host * w.m.nic_gb_per_s * w.c.switch_share, NcclBound::kSwitches);
    }
    const double levels = tree ? w.levels() : 1;
    time.fixed_us += 2 * levels * w.Crossing();
    time.fixed_us += levels * Us(loop, w.m.nics_per_host * w.m.nic_gb_per_s);
  }
  time.moving_us = Us(w.bytes, limit.gb_per_s);
  time.bound = limit.bound;
  return time;
}

Time Transfers(const Work& w) {
  const double ranks = w.m.ranks(), message = w.collective == Collective::kSendRecv ? w.bytes : w.bytes / ranks;
  const double peers = w.collective == Collective::kSendRecv ? 1 : ranks - 1;
  const bool ll = w.choice.way.protocol == Protocol::kLl;
  const double faster =
      w.collective == Collective::kGather || w.collective == Collective::kScatter ? w.c.one_way_factor : 1;
  Time time{w.Start() + w.c.transfer_start_us / faster, 0, NcclBound::kChannels};
  const double channels = std::min<double>(w.choice.channels, std::max(1.0, message / (4 * kKib)));
  double rate = w.c.transfer_ll_gb_per_s;
  if (ll) {
    time.fixed_us += LlHop(w, message / channels) - w.c.hop_us[0];
  } else {
    rate = w.known() ? w.c.transfer_known_gb_per_s : w.c.transfer_gb_per_s;
    time.fixed_us += w.c.transfer_simple_us / faster;
  }
  time.moving_us = Us(message, channels * rate * faster);
  const auto at_least = [&](double us, NcclBound bound) {
    if (us <= time.moving_us) return;
    time.moving_us = us;
    time.bound = bound;
  };
  const double share = w.collective == Collective::kAllToAll ? w.c.exchange_share : 1;
  at_least(Us(message * peers, w.Nvlink() * share), NcclBound::kNvlink);
  if (w.several()) {
    const Limit cards = Connections(w);
    const double outside = w.collective == Collective::kSendRecv ? 1 : ranks - w.m.gpus_per_host;
    at_least(Us(message * outside * w.m.gpus_per_host, cards.gb_per_s), cards.bound);
    time.fixed_us += w.Crossing() + peers * w.c.transfer_peer_us;
  }
  return time;
}

Time TimeOf(const Work& w) {
  if (IsMadeOfTransfers(w.collective)) return Transfers(w);
  const NcclAlgorithm algorithm = w.choice.way.algorithm;
  if (algorithm == NcclAlgorithm::kTree) return Tree(w);
  if (algorithm != NcclAlgorithm::kRing) return Multicast(w);
  if (w.collective == Collective::kBroadcast || w.collective == Collective::kReduce) return Chain(w);
  return w.several() ? RingBetween(w) : RingInside(w);
}

// Bytes that leave a card for each byte of the operation.
double WireShare(const Work& w) {
  const double cards = w.m.nics_per_host, ranks = w.m.ranks();
  if (w.collective == Collective::kAllToAll) return (ranks - w.m.gpus_per_host) / ranks * w.m.gpus_per_host / cards;
  if (w.choice.way.algorithm == NcclAlgorithm::kRing) return NcclRingSteps(w.m, w.collective) / ranks / cards;
  return (w.choice.way.algorithm == NcclAlgorithm::kNvls ? 1 : TreeTraffic(w.m.hosts)) / cards;
}

double ErrorOf(const NcclConstants& c, const NcclMachine& machine, double latency_share) {
  const bool several = machine.hosts > 1;
  return latency_share * (several ? c.latency_error : c.host_latency_error) +
         (1 - latency_share) * (several ? c.rate_error : c.host_rate_error);
}

// The constant that says what a bound gives.
double* ConstantOf(NcclConstants& c, const NcclPrediction& prediction, const NcclMachine& machine) {
  switch (prediction.bound) {
    case NcclBound::kCards:
      return machine.gpu_direct ? &c.wire_share : &c.staged_gb_per_s;
    case NcclBound::kConnections:
      return &c.connection_gb_per_s;
    case NcclBound::kMulticast:
      return machine.hosts > 1 ? &c.nvls_tree_share : &c.nvls_share;
    case NcclBound::kSwitches:
      return &c.switch_share;
    case NcclBound::kNvlink:
      return &c.link_share;
    case NcclBound::kChannels:
      return &c.tree_share;
    case NcclBound::kLatency:
      break;
  }
  return nullptr;
}

// Finds the value between `least` and `most` with which the point is predicted. `rises`: +1 where the time grows with the value, -1
// where it falls.
void Solve(NcclConstants& constants, double& value, double least, double most, int rises, const NcclPoint& point) {
  double low = least, high = most;
  constexpr int kHalvings = 30;
  for (int i = 0; i < kHalvings; ++i) {
    value = (low + high) / 2;
    const bool above = PredictNccl(constants, point.machine, point.collective, point.bytes).us > point.us;
    ((rises > 0) == above ? high : low) = value;
  }
}

}  // namespace

std::string_view Name(NcclBound bound) {
  constexpr std::array<std::string_view, 7> kNames = {"latency",     "NVLink",   "NVLink multicast", "network cards",
                                                      "connections", "channels", "reducing switches"};
  return kNames[static_cast<int>(bound)];
}

NcclPrediction PredictNccl(const NcclConstants& constants, const NcclMachine& machine, Collective collective,
                           double bytes) {
  Work work{constants, machine, collective, bytes, GraphOf(machine), {}};
  work.choice = ChooseNccl(machine, work.graph, collective, bytes);
  const Time time = TimeOf(work);
  NcclPrediction prediction;
  prediction.way = work.choice.way;
  prediction.channels = work.choice.channels;
  prediction.us = time.fixed_us + time.moving_us;
  prediction.latency_us = time.fixed_us;
  if (machine.launch != NcclLaunch::kGraph) {
    const bool thread = machine.launch == NcclLaunch::kOneThread;
    const double calls = thread ? machine.gpus_per_host * constants.thread_call_us : machine.call_us;
    prediction.latency_us = std::max(prediction.latency_us, calls);
    prediction.us = std::max(prediction.us, calls);
  }
  prediction.bus_gb_per_s = BusGbPerS(machine.ranks(), collective, bytes, prediction.us);
  if (machine.hosts > 1) prediction.wire_gb_per_s = WireShare(work) * bytes / prediction.us / 1e3;
  prediction.bound = time.fixed_us > time.moving_us ? NcclBound::kLatency : time.bound;
  prediction.error = ErrorOf(constants, machine, std::min(1.0, prediction.latency_us / prediction.us));
  return prediction;
}

NcclConstants Calibrate(const NcclConstants& constants, std::span<const NcclPoint> points) {
  NcclConstants own = constants;
  if (points.empty()) return own;
  const auto [small, large] = std::ranges::minmax_element(points, {}, &NcclPoint::us);
  constexpr double kMostFabricUs = 150, kMostStartUs = 100;
  // A card that works gives so much; what rings lack beyond that is put down to their connections.
  constexpr double kLeastOfCards = 0.9;
  constexpr int kRounds = 2;  // each changes what the other finds
  for (int round = 0; round < kRounds; ++round) {
    const NcclPrediction at_small = PredictNccl(own, small->machine, small->collective, small->bytes);
    if (small->machine.hosts > 1 && at_small.bound == NcclBound::kLatency) {
      // Messages of a few bytes show the fabric; multicast has so much to do before that they do not.
      const bool multicast =
          at_small.way.algorithm == NcclAlgorithm::kNvlsTree || at_small.way.algorithm == NcclAlgorithm::kNvls;
      double& fabric = own.fabric_us[static_cast<int>(small->machine.fabric)];
      if (multicast) {
        Solve(own, own.nvls_start_us, 0, kMostStartUs, +1, *small);
      } else {
        Solve(own, fabric, -own.crossing_us / 2, kMostFabricUs, +1, *small);
      }
    }
    const NcclPrediction at_large = PredictNccl(own, large->machine, large->collective, large->bytes);
    if (double* rate = ConstantOf(own, at_large, large->machine)) {
      const bool ring = at_large.way.algorithm == NcclAlgorithm::kRing;
      const bool may_be_connections =
          rate == &own.wire_share && ring && large->machine.hosts > 1 && large->machine.fabric != FabricKind::kEfa;
      const double least = may_be_connections ? kLeastOfCards : *rate / 3;
      Solve(own, *rate, least, rate == &own.wire_share ? 1 : *rate * 1.5, -1, *large);
      if (may_be_connections && *rate < 1.01 * kLeastOfCards) {
        own.wire_share = constants.wire_share;
        Solve(own, own.connection_gb_per_s, own.connection_gb_per_s / 3, own.connection_gb_per_s * 1.5, -1, *large);
      }
    }
  }
  return own;
}

}  // namespace tutti::tune
