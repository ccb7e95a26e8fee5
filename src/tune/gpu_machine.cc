// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "tune/gpu_machine.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <utility>

#include "tune/shipped_machines.h"

namespace tutti::tune {
namespace {

constexpr std::string_view kOnGpu = "gpu", kInHostMemory = "host";
constexpr double kMostRanks = 1e6, kMostChannels = 4096, kMostThreads = 512;
constexpr double kLeastRate = 1e-3, kMostRate = 1e6, kMostUs = 1e6, kMostBytes = 1e15;

// A way's five constants under a prefix.
struct WayNames {
  std::string_view hop_us, link_gb_per_s, channel_gb_per_s, channel_bytes, threads;
};
#define TUTTI_WAY(way)                                                                                            \
  WayNames {                                                                                                      \
#way "_hop_us", #way "_link_gb_per_s", #way "_channel_gb_per_s", #way "_channel_bytes", #way "_block_threads" \
  }
constexpr WayNames kProtocolNames[proto::kProtocols] = {TUTTI_WAY(ll), TUTTI_WAY(ll128), TUTTI_WAY(simple)};
constexpr WayNames kDirectNames = TUTTI_WAY(direct), kRelayNames = TUTTI_WAY(relay), kChainNames = TUTTI_WAY(chain);
#undef TUTTI_WAY

class Collector {
 public:
  void Words(std::string_view name, std::string& value) { list_.push_back({name, &value}); }
  void FittedUs(std::string_view name, double& value) { list_.push_back({name, &value, 0, kMostUs, false, true}); }
  void FittedRate(std::string_view name, double& value) {
    list_.push_back({name, &value, kLeastRate, kMostRate, false, true});
  }
  void FittedShare(std::string_view name, double& value) { list_.push_back({name, &value, 0, 1, false, true}); }
  void Us(std::string_view name, double& value) { list_.push_back({name, &value, 0, kMostUs}); }
  void Rate(std::string_view name, double& value) { list_.push_back({name, &value, kLeastRate, kMostRate}); }
  void Count(std::string_view name, int& value, double least, double most) {
    list_.push_back({name, &value, least, most});
  }
  void Bytes(std::string_view name, std::size_t& value) { list_.push_back({name, &value, 1, kMostBytes}); }
  void FittedOfWay(const WayNames& names, GpuWay& way) {
    FittedUs(names.hop_us, way.hop_us);
    FittedRate(names.link_gb_per_s, way.link_gb_per_s);
    FittedRate(names.channel_gb_per_s, way.channel_gb_per_s);
  }
  void ShapeOfWay(const WayNames& names, GpuWay& way) {
    Bytes(names.channel_bytes, way.channel_bytes);
    Count(names.threads, way.threads, 32, kMostThreads);
  }
  std::vector<Constant> Take() { return std::move(list_); }

 private:
  std::vector<Constant> list_;
};

void AddClass(GpuTable& t, Collector& add) {
  add.Words("class", t.name);
  add.Words("gpu", t.gpu);
  add.Count("compute_capability", t.compute_capability, 0, 10000);
  add.Count("multiprocessors", t.multiprocessors, 0, 100000);
  add.Count("ranks_least", t.ranks_least, 1, kMostRanks);
  add.Count("ranks_most", t.ranks_most, 1, kMostRanks);
  add.Count("ranks_per_gpu", t.ranks_per_gpu, 0, kMostRanks);
  add.Words("memory", t.memory);
}

template <typename Add>
void ForEachWay(GpuMachine& m, Add add) {
  for (int p = 0; p < proto::kProtocols; ++p) add(kProtocolNames[p], m.ways[p]);
  add(kDirectNames, m.direct);
  add(kRelayNames, m.relay);
  add(kChainNames, m.chain);
}

void AddTimes(GpuMachine& m, Collector& add) {
  add.FittedUs("start_us", m.start_us);
  add.FittedUs("short_form_saves_us", m.short_us);
  add.FittedUs("short_form_later_hop_us", m.short_later_hop_us);
  add.FittedUs("message_end_us", m.end_us);
  add.FittedUs("several_blocks_us", m.blocks_us);
  add.FittedShare("one_way_hop_share", m.one_way_share);
  add.FittedShare("both_ways_share", m.both_ways_share);
  add.FittedRate("fold_gb_per_s", m.fold_gb_per_s);
  ForEachWay(m, [&](const WayNames& names, GpuWay& way) { add.FittedOfWay(names, way); });
  add.FittedUs("lines_hop_us", m.lines_hop_us);
  add.FittedRate("lines_link_gb_per_s", m.lines_link_gb_per_s);
  add.FittedUs("relay_fill_us", m.relay_us);
  add.FittedUs("relay_fold_fill_us", m.relay_fold_us);
  add.FittedUs("relay_root_fill_us", m.relay_root_us);
  add.FittedUs("relay_chain_fill_us", m.relay_chain_us);
  add.FittedUs("passed_on_hop_us", m.chain_hop_us);
  add.FittedRate("passed_on_gb_per_s", m.passed_on_gb_per_s);
  add.FittedUs("copy_engines_us", m.copies_us);
  add.FittedRate("copy_engines_gb_per_s", m.copies_gb_per_s);
}

void AddShapes(GpuMachine& m, Collector& add) {
  ForEachWay(m, [&](const WayNames& names, GpuWay& way) { add.ShapeOfWay(names, way); });
  add.Us("long_call_us", m.long_call_us);
  add.Bytes("transfer_least_bytes", m.transfer_least_bytes);
  add.Count("short_form_ranks", m.short_ranks, 1, kMostRanks);
  add.Count("few_channels", m.few_channels, 1, kMostChannels);
  add.Bytes("many_channels_bytes", m.many_channels_bytes);
  add.Count("long_chain_ranks", m.long_chain_ranks, 1, kMostRanks);
  add.Bytes("long_chain_bytes", m.long_chain_bytes);
  add.Count("long_chain_block_threads", m.long_chain_threads, 32, kMostThreads);
  add.Rate("pipeline_rounds", m.pipeline_rounds);
  add.Bytes("least_chunk_bytes", m.least_chunk_bytes);
  add.Count("own_beside_blocks", m.own_beside_blocks, 0, kMostChannels);
  add.Count("sent_beside_blocks", m.sent_beside_blocks, 0, kMostChannels);
  add.Bytes("own_beside_bytes", m.own_beside_bytes);
  add.Count("team_blocks", m.team_blocks, 1, kMostChannels);
  add.Count("team_parts", m.team_parts, 1, kMostChannels);
  add.Count("beside_parts", m.beside_parts, 1, kMostChannels);
  add.Count("overlap_kernels", m.overlap_kernels, 2, kMostChannels);
  add.Count("overlap_alone_parts", m.overlap_alone_parts, 1, kMostChannels);
  add.Count("multiprocessor_threads", m.multiprocessor_threads, 32, kMostThreads);
  add.Count("multiprocessor_shares", m.multiprocessor_shares, 1, kMostChannels);
  add.Count("free_multiprocessors", m.free_multiprocessors, 0, kMostChannels);
  add.Count("most_channels", m.most_channels, 1, kMostChannels);
  add.Bytes("most_scratch_bytes", m.most_scratch_bytes);
}

void AddCuts(plan::Cuts& c, Collector& add) {
  add.Bytes("transfer_small_channel_bytes", c.small_channel_bytes);
  add.Bytes("transfer_lines_channel_bytes", c.lines_channel_bytes);
  add.Bytes("transfer_simple_channel_bytes", c.simple_channel_bytes);
  add.Bytes("transfer_small_bytes", c.small_bytes);
  add.Bytes("transfer_lines_bytes", c.lines_bytes);
  add.Bytes("transfer_short_bytes", c.short_bytes);
  add.Count("transfer_messages", c.messages, 1, kMostChannels);
  add.Bytes("transfer_message_least_bytes", c.message_least_bytes);
  add.Bytes("relay_slice_least_bytes", c.slice_least_bytes);
  add.Count("relay_slice_messages", c.slice_messages, 1, kMostChannels);
  add.Bytes("relay_message_least_bytes", c.slice_message_least_bytes);
  add.Count("relay_chain_messages", c.chain_messages, 1, kMostChannels);
  add.Bytes("relay_chain_message_least_bytes", c.chain_message_least_bytes);
  add.Count("relay_few_blocks", c.few_blocks, 1, kMostChannels);
  add.Bytes("relay_few_blocks_bytes", c.few_blocks_bytes);
  add.Bytes("relay_few_blocks_root_bytes", c.few_blocks_root_bytes);
  add.Count("relay_many_blocks", c.many_blocks, 1, kMostChannels);
  add.Bytes("relay_many_blocks_least_bytes", c.many_blocks_least_bytes);
  add.Bytes("relay_many_blocks_most_bytes", c.many_blocks_most_bytes);
  add.Count("short_form_rounds", c.short_rounds, 1, kMostChannels);
  add.Count("short_form_together_channels", c.short_together_channels, 0, kMostChannels);
  add.Bytes("batch_item_bytes", c.item_bytes);
}

void AddMachine(GpuMachine& m, Collector& add) {
  AddTimes(m, add);
  AddShapes(m, add);
  AddCuts(m.cuts, add);
}

// What is compiled in has been checked by a test.
void Require(bool condition) {
  if (!condition) std::abort();
}

std::vector<GpuTable> ParseShipped() {
  std::vector<GpuTable> tables;
  for (const std::string_view text : ShippedMachines()) {
    const Result<std::vector<TableText>> split = SplitTables(text);
    Require(split.ok() && split->size() == 1);
    Result<GpuTable> table = GpuTable::Parse(split->front());
    Require(table.ok());
    tables.push_back(std::move(*table));
  }
  return tables;
}

}  // namespace

std::vector<Constant> ConstantsOf(GpuMachine& machine) {
  Collector add;
  AddMachine(machine, add);
  return add.Take();
}

std::vector<Constant> ConstantsOf(GpuTable& table) {
  Collector add;
  AddClass(table, add);
  AddMachine(table.machine, add);
  return add.Take();
}

bool GpuTable::Covers(const GpuSituation& s) const {
  const auto is = [](int own, int theirs) { return own == 0 || own == theirs; };
  return (gpu == "*" || gpu == s.gpu) && is(compute_capability, s.compute_capability) &&
         is(multiprocessors, s.multiprocessors) && ranks_least <= s.ranks && s.ranks <= ranks_most &&
         is(ranks_per_gpu, s.ranks_per_gpu) && memory == (s.staged ? kInHostMemory : kOnGpu);
}

std::string GpuTable::ToText() const {
  GpuTable copy = *this;
  return WriteTable(kGpuTable, ConstantsOf(copy));
}

Result<GpuTable> GpuTable::Parse(const TableText& text) {
  GpuTable table;
  TUTTI_RETURN_IF_ERROR(ReadTable(text, ConstantsOf(table)));
  if (table.memory != kOnGpu && table.memory != kInHostMemory) {
    return Status(
        Code::kInvalidUsage,
        fmt::format("the table [gpu] in line {} of the tuning file has the memory \"{}\"; write gpu where GPUs "
                    "reach each other's memory, host where they exchange data through the host's",
                    text.number, table.memory));
  }
  return table;
}

std::span<const GpuTable> ShippedGpuTables() {
  static const std::vector<GpuTable>& tables = *new std::vector<GpuTable>(ParseShipped());  // never destroyed
  return tables;
}

const GpuTable& ShippedGpuTable(std::string_view name) {
  const std::span<const GpuTable> tables = ShippedGpuTables();
  const auto found = std::ranges::find(tables, name, &GpuTable::name);
  Require(found != tables.end());
  return *found;
}

const GpuTable& FindGpuTable(std::span<const GpuTable> stored, const GpuSituation& situation) {
  const auto covers = [&](const GpuTable& table) { return table.Covers(situation); };
  if (const auto own = std::ranges::find_if(stored, covers); own != stored.end()) return *own;
  const std::span<const GpuTable> shipped = ShippedGpuTables();
  const auto found = std::ranges::find_if(shipped, covers);
  Require(found != shipped.end());
  return *found;
}

}  // namespace tutti::tune
