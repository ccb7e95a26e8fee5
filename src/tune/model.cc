// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "tune/model.h"

#include <algorithm>
#include <cmath>

#include "proto/ll.h"
#include "proto/ll128.h"

namespace tutti::tune {
namespace {

constexpr int kInterfaces = 1;  // of a host

// Bytes that cross the network for each of data.
double WireBytes(proto::Protocol protocol) {
  switch (protocol) {
    case proto::Protocol::kLl:
      return static_cast<double>(proto::kLlUnitBytes) / proto::kLlUnitPayloadBytes;
    case proto::Protocol::kLl128:
      return static_cast<double>(sizeof(proto::Ll128Line)) / proto::kLl128PayloadBytes;
    case proto::Protocol::kSimple:
      return 1;
  }
  return 1;
}

// What the network adds for one way: for each KiB of the operation, and for each of a message.
struct NetworkTimes {
  double us_per_kib = 0;
  double message_us_per_kib = 0;
};

NetworkTimes TimesOf(const Network& network, const plan::NetworkCost& cost, const Way& way, double crowd) {
  const double wire = WireBytes(way.protocol);
  const auto time_of = [&](double sent, double received) {
    return wire * (sent * network.send_us_per_kib + received * network.receive_us_per_kib);
  };
  const double rank = time_of(cost.sent_max, cost.received_max);
  if (rank <= 0) return {};
  const double slower = std::max(crowd, time_of(cost.host_sent_max, cost.host_received_max) / kInterfaces / rank);
  return {rank * slower, time_of(1, 1) * slower};
}

}  // namespace

double PredictUs(const Machine& machine, const PlanCost& plan, const Way& way, std::size_t bytes,
                 std::size_t chunk_bytes, int channels, const Ranks& ranks) {
  const plan::Cost& cost = plan.cost;
  const Network& network = machine.network;
  const int network_hops = plan.network.hops;
  const bool crowded = ranks.of_host > ranks.cpus;
  const double crowd = crowded ? static_cast<double>(ranks.of_host) / ranks.cpus : 1.0;
  const double turn = crowded ? machine.switch_us * crowd : 0.0;
  const double hop = way.hop_us + turn, network_hop = network.hop_us + turn;
  const double kib = static_cast<double>(bytes) / 1024;
  const double block_bytes = std::max(static_cast<double>(bytes) / plan.footprint.blocks_per_piece / channels, 1.0);
  const double chunk = std::min<double>(static_cast<double>(chunk_bytes), block_bytes);
  const double rounds = std::ceil(block_bytes / static_cast<double>(chunk_bytes));
  const double written = way.one_copy_for_all ? cost.posted_max : cost.sent_max;
  const double received_folds = std::min(cost.received_max, cost.folded_max * (ranks.all - 1) / ranks.all);
  const double folded = cost.folded_max - (way.folds_in_place ? received_folds : 0.0);
  // What is folded or received is stored by that.
  const double copied = Reduces(plan.footprint.collective) ? 0.0 : std::max(0.0, cost.stored_max - cost.received_max);
  const NetworkTimes times = TimesOf(network, plan.network, way, crowd);
  const double network_work =
      crowd * rounds * channels * plan.network.bursts_max * network.message_us + kib * times.us_per_kib;
  const double work = crowd * (rounds * channels * cost.messages_max * way.message_us +
                               kib * (written * way.write_us_per_kib + cost.received_max * way.read_us_per_kib +
                                      folded * machine.fold_us_per_kib + copied * machine.copy_us_per_kib)) +
                      network_work;
  const double one_hop_us = channels * (way.message_us + chunk / 1024 * (way.write_us_per_kib + way.read_us_per_kib));
  const double one_network_hop_us = channels * (network.message_us + chunk / 1024 * times.message_us_per_kib);
  const double first_chunk_us = cost.hops * one_hop_us + network_hops * one_network_hop_us;
  // The chain with most hops between hosts need not be the longest: this is no less than any chain takes.
  const int slow_hops = network_hops > 0 ? network_hops + way.closing_hops : 0;
  const double hops_us = (cost.hops + way.closing_hops - slow_hops) * hop + slow_hops * network_hop;
  return hops_us + std::max(work, first_chunk_us + work * (rounds - 1) / rounds);
}

}  // namespace tutti::tune
