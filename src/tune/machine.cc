// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "tune/machine.h"

#include <vector>

#include "tune/table.h"

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
          {"switch_us", &m.switch_us},
          // Files were stored before there were these.
          {.name = "simple_long_write_us_per_kib", .value = &m.simple.long_write_us_per_kib, .optional = true},
          {.name = "simple_long_read_us_per_kib", .value = &m.simple.long_read_us_per_kib, .optional = true},
          {.name = "network_hop_us", .value = &m.network.hop_us, .optional = true},
          {.name = "network_message_us", .value = &m.network.message_us, .optional = true},
          {.name = "network_send_us_per_kib", .value = &m.network.send_us_per_kib, .optional = true},
          {.name = "network_receive_us_per_kib", .value = &m.network.receive_us_per_kib, .optional = true}};
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

}  // namespace tutti::tune
