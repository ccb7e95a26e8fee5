// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "tune/model.h"

#include <algorithm>
#include <cmath>
#include <vector>

namespace tutti::tune {
namespace {

std::vector<Constant> ConstantsOf(Machine& m) {
  return {{"ll_hop_us", &m.ll.hop_us},
          {"ll_message_us", &m.ll.message_us},
          {"ll_write_us_per_kib", &m.ll.write_us_per_kib},
          {"ll_read_us_per_kib", &m.ll.read_us_per_kib},
          {"ll128_hop_us", &m.ll128.hop_us},
          {"ll128_message_us", &m.ll128.message_us},
          {"ll128_write_us_per_kib", &m.ll128.write_us_per_kib},
          {"ll128_read_us_per_kib", &m.ll128.read_us_per_kib},
          {"simple_hop_us", &m.simple.hop_us},
          {"simple_message_us", &m.simple.message_us},
          {"simple_write_us_per_kib", &m.simple.write_us_per_kib},
          {"simple_read_us_per_kib", &m.simple.read_us_per_kib},
          {"reference_hop_us", &m.reference.hop_us},
          {"reference_message_us", &m.reference.message_us},
          {"reference_write_us_per_kib", &m.reference.write_us_per_kib},
          {"reference_read_us_per_kib", &m.reference.read_us_per_kib},
          {"reference_fresh_read_us_per_kib", &m.reference_fresh_read_us_per_kib},
          {"fold_us_per_kib", &m.fold_us_per_kib},
          {"copy_us_per_kib", &m.copy_us_per_kib},
          {"switch_us", &m.switch_us}};
}

}  // namespace

std::string Machine::ToText() const {
  Machine copy = *this;
  return WriteTable(kHostTable, ConstantsOf(copy));
}

Result<Machine> Machine::Parse(const TableText& text) {
  Machine machine;
  TUTTI_RETURN_IF_ERROR(ReadTable(text, ConstantsOf(machine)));
  return machine;
}

double PredictUs(const Machine& machine, const PlanCost& plan, const Way& way, std::size_t bytes,
                 std::size_t chunk_bytes, int channels, int ranks, int cpus) {
  const plan::Cost& cost = plan.cost;
  const double crowd = ranks > cpus ? static_cast<double>(ranks) / cpus : 1.0;
  const double hop = way.hop_us + (ranks > cpus ? machine.switch_us * crowd : 0.0);
  const double kib = static_cast<double>(bytes) / 1024;
  const double block_bytes = std::max(static_cast<double>(bytes) / plan.footprint.blocks_per_piece / channels, 1.0);
  const double chunk = std::min<double>(static_cast<double>(chunk_bytes), block_bytes);
  const double rounds = std::ceil(block_bytes / static_cast<double>(chunk_bytes));
  const double written = way.one_copy_for_all ? cost.posted_max : cost.sent_max;
  const double received_folds = std::min(cost.received_max, cost.folded_max * (ranks - 1) / ranks);
  const double folded = cost.folded_max - (way.folds_in_place ? received_folds : 0.0);
  // What is folded or received is stored by that.
  const double copied = Reduces(plan.footprint.collective) ? 0.0 : std::max(0.0, cost.stored_max - cost.received_max);
  const double work = crowd * (rounds * channels * cost.messages_max * way.message_us +
                               kib * (written * way.write_us_per_kib + cost.received_max * way.read_us_per_kib +
                                      folded * machine.fold_us_per_kib + copied * machine.copy_us_per_kib));
  const double one_hop_us = channels * (way.message_us + chunk / 1024 * (way.write_us_per_kib + way.read_us_per_kib));
  const double first_chunk_us = cost.hops * one_hop_us;
  return (cost.hops + way.closing_hops) * hop + std::max(work, first_chunk_us + work * (rounds - 1) / rounds);
}

}  // namespace tutti::tune
