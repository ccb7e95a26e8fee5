// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "tune/model.h"

#include <algorithm>
#include <cmath>

#include "proto/ll.h"
#include "proto/ll128.h"
#include "proto/simple.h"

namespace tutti::tune {
namespace {

constexpr int kInterfaces = 1;  // of a host
constexpr auto kLeastShared = static_cast<double>(proto::kLeastSharedBytes);
// Of the same data that several ranks read from one, so much is read one after the other: the system locks the pages.
constexpr double kSameSource = 0.5;
constexpr double kOneWayHop = 0.3;  // what a hop counts where nobody waits for an answer

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

// What a KiB takes to write and to read, how many a rank reads, and how much of the writing and reading is the same ranks'.
struct CopyTimes {
  double write_us_per_kib = 0, read_us_per_kib = 0, received = 0;
  double shared = 1;  // 1: those that write most read most, too; 0: others do

  // One after the other where a rank does both, else at a time.
  double Both(double written, double read) const {
    const double write_us = written * write_us_per_kib, read_us = read * read_us_per_kib;
    return shared * (write_us + read_us) + (1 - shared) * std::max(write_us, read_us);
  }
};

// `helped`: ranks with nothing else to do copy a part of what others receive.
CopyTimes CopiesOf(const Way& way, const plan::Cost& cost, bool helped, double chunk) {
  CopyTimes times{way.write_us_per_kib, way.read_us_per_kib, cost.received_max};
  const double all = cost.posted_max + cost.received_max, most = std::max(cost.posted_max, cost.received_max);
  if (all > most) times.shared = std::clamp((cost.moved_max - most) / (all - most), 0.0, 1.0);
  const double again = kSameSource * (cost.sent_max - cost.posted_max);
  if (way.shares_copies) times.received = std::max(times.received, again);
  if (chunk < static_cast<double>(proto::kLeastStreamedBytes)) return times;
  if (way.long_write_us_per_kib > 0) times.write_us_per_kib = way.long_write_us_per_kib;
  if (way.long_read_us_per_kib > 0) times.read_us_per_kib = way.long_read_us_per_kib;
  if (helped && chunk > kLeastShared) {
    // So that no longer message is predicted to take less time.
    const double shared = cost.received_mean + (cost.received_max - cost.received_mean) * kLeastShared / chunk;
    times.received = std::max(shared, again);
  }
  return times;
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
  const bool helped = way.shares_copies && !crowded && !Reduces(plan.footprint.collective);
  const CopyTimes copies = CopiesOf(way, cost, helped, chunk);
  const double written = way.one_copy_for_all ? cost.posted_max : cost.sent_max;
  const double received_folds = std::min(cost.received_max, cost.folded_max * (ranks.all - 1) / ranks.all);
  const double folded = cost.folded_max - (way.folds_in_place ? received_folds : 0.0);
  // What is folded or received is stored by that.
  const double copied = Reduces(plan.footprint.collective) ? 0.0 : std::max(0.0, cost.stored_max - cost.received_max);
  const NetworkTimes times = TimesOf(network, plan.network, way, crowd);
  const double network_work =
      crowd * rounds * channels * plan.network.bursts_max * network.message_us + kib * times.us_per_kib;
  // By reference each is a system call, and those that read one rank's memory get in each other's way.
  const int receives = cost.ends_max - cost.messages_max;
  const double messages_us =
      way.shares_copies ? std::max(receives, cost.messages_max) * way.message_us : cost.ends_max * way.message_us / 2;
  const double messages = rounds * channels * messages_us;
  const double own = messages + kib * (copies.Both(written, copies.received) + folded * machine.fold_us_per_kib +
                                       copied * machine.copy_us_per_kib);
  // Where ranks share cores, those that do less leave theirs to the others.
  const double each =
      messages + kib * (cost.posted_mean * copies.write_us_per_kib + cost.received_mean * copies.read_us_per_kib +
                        cost.folded_mean * machine.fold_us_per_kib + copied * machine.copy_us_per_kib);
  const double work = std::max(own, crowd * std::min(own, each)) + network_work;
  // Of the first chunk, too, who receives it copies only what is left by those that help.
  const double read_of_chunk = cost.received_max > 0 ? std::min(copies.received / cost.received_max, 1.0) : 1;
  const double one_hop_us = channels * (way.message_us + chunk / 1024 * copies.Both(1, read_of_chunk));
  const double one_network_hop_us = channels * (network.message_us + chunk / 1024 * times.message_us_per_kib);
  // Those that send are on with the next operation before the others have this one.
  const double counted = cost.one_way ? kOneWayHop : 1;
  const double chunk_hops = cost.hops > 0 ? 1 + (cost.hops - 1) * counted : 0;
  const double first_chunk_us = chunk_hops * one_hop_us + network_hops * one_network_hop_us;
  // The chain with most hops between hosts need not be the longest: this is no less than any chain takes.
  const int slow_hops = network_hops > 0 ? network_hops + way.closing_hops : 0;
  const double hops_us = (cost.hops + way.closing_hops - slow_hops) * hop * counted + slow_hops * network_hop;
  // Several messages of a round that go straight to one peer are as good as rounds.
  const double in_line =
      cost.hops == 1 ? rounds * std::max(1, cost.messages_max / std::max(cost.peers_max, 1)) : rounds;
  return hops_us + std::max(work, first_chunk_us + work * (in_line - 1) / in_line);
}

}  // namespace tutti::tune
