// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "base/words.h"
#include "tune/nccl_model.h"
#include "tune/table.h"

namespace tutti::tune {
namespace {

constexpr std::string_view kBlanks = " \t\r";
constexpr double kMostUs = 1e4, kMostRate = 1e4, kMostShare = 100;

class Collector {
 public:
  void Us(std::string_view name, double& value) { list_.push_back({name, &value, -kMostUs, kMostUs, false, true}); }
  void Rate(std::string_view name, double& value) { list_.push_back({name, &value, 1e-3, kMostRate, false, true}); }
  void Share(std::string_view name, double& value) { list_.push_back({name, &value, 0, kMostShare, false, true}); }
  void Error(std::string_view name, double& value) { list_.push_back({name, &value, 0, 1}); }
  std::vector<Constant> Take() { return std::move(list_); }

 private:
  std::vector<Constant> list_;
};

void AddInside(NcclConstants& c, Collector& add) {
  add.Us("graph_start_us", c.graph_start_us);
  add.Us("stream_start_us", c.stream_start_us);
  add.Us("thread_call_us", c.thread_call_us);
  add.Us("ll_hop_us", c.hop_us[0]);
  add.Us("ll128_hop_us", c.hop_us[1]);
  add.Us("simple_hop_us", c.hop_us[2]);
  add.Us("hop_threads_us", c.hop_threads_us);
  add.Us("ll_round_us", c.ll_round_us);
  add.Share("link_share", c.link_share);
  add.Share("ll_last_share", c.ll_last_share);
  add.Us("ll128_start_us", c.ll128_start_us);
  add.Us("simple_start_us", c.simple_start_us);
  add.Share("fold_last_share", c.fold_last_share);
  add.Share("move_last_share", c.move_last_share);
  add.Share("known_last_share", c.known_last_share);
  add.Share("slice_share", c.slice_share);
  add.Us("chain_start_us", c.chain_start_us);
  add.Share("chain_ll_share", c.chain_ll_share);
  add.Us("known_chain_us", c.known_chain_us);
  add.Us("transfer_start_us", c.transfer_start_us);
  add.Rate("transfer_ll_gb_per_s", c.transfer_ll_gb_per_s);
  add.Us("transfer_simple_us", c.transfer_simple_us);
  add.Rate("transfer_gb_per_s", c.transfer_gb_per_s);
  add.Rate("transfer_known_gb_per_s", c.transfer_known_gb_per_s);
  add.Us("transfer_peer_us", c.transfer_peer_us);
  add.Share("exchange_share", c.exchange_share);
  add.Share("one_way_factor", c.one_way_factor);
}

void AddBetween(NcclConstants& c, Collector& add) {
  add.Us("nvls_start_us", c.nvls_start_us);
  add.Share("nvls_share", c.nvls_share);
  add.Share("nvls_tree_share", c.nvls_tree_share);
  add.Share("nvls_fill", c.nvls_fill);
  add.Share("nvls_early_share", c.nvls_early_share);
  add.Share("switch_share", c.switch_share);
  add.Us("crossing_us", c.crossing_us);
  add.Us("simple_crossing_us", c.simple_crossing_us);
  add.Us("infiniband_us", c.fabric_us[0]);
  add.Us("roce_us", c.fabric_us[1]);
  add.Us("efa_us", c.fabric_us[2]);
  add.Share("simple_fabric_factor", c.simple_fabric_factor);
  add.Share("ll_slowest_share", c.slowest_share[0]);
  add.Share("ll128_slowest_share", c.slowest_share[1]);
  add.Us("ll_ring_step_us", c.ring_step_us[0]);
  add.Us("ll128_ring_step_us", c.ring_step_us[1]);
  add.Us("simple_ring_step_us", c.ring_step_us[2]);
  add.Share("ring_fabric_share", c.ring_fabric_share);
  add.Share("ring_overlap", c.ring_overlap);
  add.Us("chunk_us", c.chunk_us);
  add.Share("credit_share", c.credit_share);
  add.Rate("tree_ll_gb_per_s", c.tree_ll_gb_per_s);
  add.Share("tree_share", c.tree_share);
  add.Share("wire_share", c.wire_share);
  add.Rate("connection_gb_per_s", c.connection_gb_per_s);
  add.Share("tree_wire_share", c.tree_wire_share);
  add.Share("efa_ll128_share", c.efa_ll128_share);
  add.Rate("staged_gb_per_s", c.staged_gb_per_s);
}

}  // namespace

std::vector<Constant> ConstantsOf(NcclConstants& constants) {
  Collector add;
  AddInside(constants, add);
  AddBetween(constants, add);
  add.Error("host_latency_error", constants.host_latency_error);
  add.Error("host_rate_error", constants.host_rate_error);
  add.Error("latency_error", constants.latency_error);
  add.Error("rate_error", constants.rate_error);
  return add.Take();
}

std::string NcclConstants::ToText() const {
  NcclConstants copy = *this;
  std::string text = fmt::format("[{}]\n", kNcclTable);
  for (const Constant& constant : ConstantsOf(copy)) {
    text += fmt::format("{} {}\n", constant.name, tune::ToText(constant));
  }
  return text;
}

Result<NcclConstants> NcclConstants::Parse(std::string_view text) {
  TableText table{.kind = kNcclTable, .number = 0, .lines = {}};
  for (int number = 1; !text.empty(); ++number) {
    const std::string_view line = Trim(TakeLine(text), kBlanks);
    if (line.empty() || line.front() == '#') continue;
    if (table.number == 0) {
      if (line != fmt::format("[{}]", kNcclTable)) {
        return Status(Code::kInvalidUsage,
                      fmt::format("line {} of the constants of NCCL does not begin their table; write [{}] there",
                                  number, kNcclTable));
      }
      table.number = number;
      continue;
    }
    const std::size_t blank = std::min(line.find_first_of(kBlanks), line.size());
    table.lines.push_back({number, line.substr(0, blank), Trim(line.substr(blank), kBlanks)});
  }
  NcclConstants constants;
  TUTTI_RETURN_IF_ERROR(ReadTable(table, ConstantsOf(constants)));
  return constants;
}

}  // namespace tutti::tune
