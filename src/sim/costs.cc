// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "sim/costs.h"

#include "proto/ll.h"
#include "proto/ll128.h"
#include "tune/gpu_machine.h"
#include "tune/machine.h"

namespace tutti::sim {
namespace {

// From the time of 1024 bytes.
double GbPerS(double us_per_kib) { return us_per_kib > 0 ? 1.024 / us_per_kib : 0; }

}  // namespace

Costs CostsOf(const tune::GpuMachine& machine) {
  Costs costs;
  for (int i = 0; i < proto::kProtocols; ++i) {
    const tune::GpuWay& way = machine.ways[i];
    costs.ways[static_cast<std::size_t>(i)] = {.hop_us = way.hop_us,
                                               .network_hop_us = way.hop_us,
                                               .write_gb_per_s = way.channel_gb_per_s,
                                               .rank_gb_per_s = way.link_gb_per_s};
  }
  costs.launch_us = machine.start_us;
  costs.fold_gb_per_s = machine.fold_gb_per_s;
  return costs;
}

Costs CostsOf(const tune::Machine& machine) {
  Costs costs;
  for (const tune::Way* way : {&machine.ll, &machine.ll128, &machine.simple}) {
    costs.ways[static_cast<std::size_t>(way->protocol)] = {.end_us = way->message_us / 2,
                                                           .hop_us = way->hop_us,
                                                           .network_hop_us = machine.network.hop_us,
                                                           .write_gb_per_s = GbPerS(way->write_us_per_kib),
                                                           .read_gb_per_s = GbPerS(way->read_us_per_kib),
                                                           .one_copy_for_all = way->one_copy_for_all,
                                                           .folds_in_place = way->folds_in_place};
  }
  costs.fold_gb_per_s = GbPerS(machine.fold_us_per_kib);
  costs.copy_gb_per_s = GbPerS(machine.copy_us_per_kib);
  costs.nic_message_us = machine.network.message_us;
  costs.network_send_gb_per_s = GbPerS(machine.network.send_us_per_kib);
  costs.network_receive_gb_per_s = GbPerS(machine.network.receive_us_per_kib);
  costs.shares_core = true;
  return costs;
}

std::uint64_t WireBytes(proto::Protocol protocol, std::uint64_t bytes) {
  switch (protocol) {
    case proto::Protocol::kLl:
      return proto::LlUnits(bytes) * proto::kLlUnitBytes;
    case proto::Protocol::kLl128:
      return proto::Ll128Lines(bytes) * sizeof(proto::Ll128Line);
    case proto::Protocol::kSimple:
      break;
  }
  return bytes;
}

}  // namespace tutti::sim
