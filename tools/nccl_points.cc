// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "tools/nccl_points.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <map>
#include <optional>
#include <sstream>
#include <utility>

#include "base/words.h"
#include "tutti/types.h"

namespace tutti::tools {
namespace {

using tune::CpuKind;
using tune::FabricKind;
using tune::GpuGeneration;
using tune::NcclMachine;

constexpr std::string_view kBlanks = " \t\r";
constexpr std::string_view kSeriesNames =
    "series,group,cluster,operation,gpu,hosts,gpus_per_host,nics_per_host,nic_gbit_per_s,network,nccl,settings,launch,"
    "source";
constexpr std::string_view kPointNames = "series,bytes,us,bus_gb_per_s";
enum SeriesField {
  kName,
  kGroup,
  kCluster,
  kOperation,
  kGpu,
  kHosts,
  kGpus,
  kNics,
  kGbit,
  kNetwork,
  kNccl,
  kSettings,
  kLaunch,
  kSource
};

template <typename T>
std::optional<T> Number(std::string_view text) {
  T value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

struct Gpu {
  std::string_view name;
  GpuGeneration generation;
  double nvlink_gb_per_s, pci_gb_per_s;  // as NCCL counts them
  CpuKind cpu;
};
constexpr double kHopperLink = 20.6, kBlackwellLink = 40.1;
constexpr Gpu kKnownGpus[] = {
    {"A100", GpuGeneration::kAmpere, 12 * 20.0, 24, CpuKind::kIntel},
    {"H20", GpuGeneration::kHopper, 18 * kHopperLink, 48, CpuKind::kIntel},
    {"H100", GpuGeneration::kHopper, 18 * kHopperLink, 48, CpuKind::kIntel},
    {"H200", GpuGeneration::kHopper, 18 * kHopperLink, 48, CpuKind::kIntel},
    {"H800", GpuGeneration::kHopper, 8 * kHopperLink, 48, CpuKind::kIntel},
    {"B200", GpuGeneration::kBlackwell, 18 * kBlackwellLink, 96, CpuKind::kIntel},
    {"B300", GpuGeneration::kBlackwell, 18 * kBlackwellLink, 96, CpuKind::kIntel},
    {"GB200", GpuGeneration::kBlackwell, 18 * kBlackwellLink, 96, CpuKind::kArm},
    {"GB300", GpuGeneration::kBlackwell, 18 * kBlackwellLink, 96, CpuKind::kArm},
    {"GB10", GpuGeneration::kBlackwell, 0, 48, CpuKind::kArm},
};

// EFA's plugin shows the cards of a GPU as one of 400 or 800 Gbit/s, says what latency they have, and asks for larger buffers.
struct EfaHost {
  std::string_view gpu;
  int cards_in_one;
  double latency_us;
  CpuKind cpu;
};
constexpr EfaHost kEfaHosts[] = {{"A100", 1, 75, CpuKind::kIntel},
                                 {"H100", 4, 75, CpuKind::kAmd},
                                 {"H200", 2, 35, CpuKind::kIntel},
                                 {"B300", 2, 35, CpuKind::kIntel}};

void ByEfa(std::string_view gpu, NcclMachine& machine) {
  machine.fabric = FabricKind::kEfa;
  const auto* host = std::ranges::find(kEfaHosts, gpu, &EfaHost::gpu);
  if (host == std::end(kEfaHosts)) return;
  machine.nics_per_host /= host->cards_in_one;
  machine.nic_gb_per_s *= host->cards_in_one;
  machine.reported_latency_us = host->latency_us;
  machine.cpu = host->cpu;
  machine.buffer_bytes = std::size_t{8} << 20;
  machine.nvls_chunk_bytes = 512 << 10;
}

std::optional<int> Version(std::string_view text) {
  int parts[3] = {0, 0, 0};
  for (int& part : parts) {
    const std::size_t dot = std::min(text.find('.'), text.size());
    const std::optional<int> value = Number<int>(text.substr(0, dot));
    if (!value) return std::nullopt;
    part = *value;
    text.remove_prefix(std::min(dot + 1, text.size()));
    if (text.empty()) break;
  }
  return parts[0] * 10000 + parts[1] * 100 + parts[2];
}

bool Set(std::string_view name, std::string_view value, NcclMachine& machine) {
  const std::optional<int> number = Number<int>(value);
  if (name == "NCCL_ALGO") {
    machine.algorithm = tune::ParseNcclAlgorithm(value);
    return machine.algorithm.has_value();
  }
  if (name == "CALL_US") return machine.call_us = Number<double>(value).value_or(0), machine.call_us > 0;
  if (!number) return false;
  if (name == "NCCL_MIN_CTAS") return machine.min_ctas = *number, true;
  if (name == "NCCL_IB_QPS_PER_CONNECTION") return machine.qps = *number, true;
  if (name == "NCCL_NVLS_ENABLE") return machine.multicast = *number != 0, true;
  if (name == "NCCL_GRAPH_REGISTER") return machine.registers_in_graphs = *number != 0, true;
  if (name == "SHARP") return machine.switches_reduce = *number != 0, true;
  if (name == "GDR") return machine.gpu_direct = *number != 0, true;
  return false;
}

// The words of `fields` that name a machine; what is wrong with them otherwise.
Result<NcclMachine> MachineOf(const std::vector<std::string>& fields) {
  const auto wrong = [&](int field) {
    return Status(Code::kInvalidArgument, fmt::format("\"{}\" is not known there", fields[field]));
  };
  NcclMachine machine;
  const auto* gpu = std::ranges::find(kKnownGpus, fields[kGpu], &Gpu::name);
  if (gpu == std::end(kKnownGpus)) return wrong(kGpu);
  const auto hosts = Number<int>(fields[kHosts]), gpus = Number<int>(fields[kGpus]), nics = Number<int>(fields[kNics]);
  const auto gbit = Number<double>(fields[kGbit]);
  if (!hosts || *hosts < 1) return wrong(kHosts);
  if (!gpus || *gpus < 1 || *gpus * *hosts < 2) return wrong(kGpus);
  if (!nics || (*hosts > 1 && *nics < 1)) return wrong(kNics);
  if (!gbit || (*hosts > 1 && *gbit < 2)) return wrong(kGbit);
  machine.generation = gpu->generation;
  machine.nvlink_gb_per_s = gpu->nvlink_gb_per_s;
  machine.pci_gb_per_s = gpu->pci_gb_per_s;
  machine.cpu = gpu->cpu;
  machine.multicast = gpu->generation >= GpuGeneration::kHopper && gpu->nvlink_gb_per_s > 0;
  machine.hosts = *hosts;
  machine.gpus_per_host = *gpus;
  machine.nics_per_host = *nics;
  machine.nic_gb_per_s = *gbit / 8;
  if (fields[kNetwork] == "roce") {
    machine.fabric = FabricKind::kRoce;
  } else if (fields[kNetwork] == "efa") {
    ByEfa(fields[kGpu], machine);
  } else if (fields[kNetwork] != "ib" && fields[kNetwork] != "none") {
    return wrong(kNetwork);
  }
  const std::optional<int> version = Version(fields[kNccl]);
  if (!version) return wrong(kNccl);
  machine.version = *version;
  std::istringstream settings(fields[kSettings]);
  for (std::string word; settings >> word;) {
    const std::size_t equals = std::min(word.find('='), word.size() - 1);
    if (!Set(word.substr(0, equals), word.substr(equals + 1), machine)) return wrong(kSettings);
  }
  if (fields[kLaunch] == "graph") machine.launch = tune::NcclLaunch::kGraph;
  if (fields[kLaunch] == "thread") machine.launch = tune::NcclLaunch::kOneThread;
  return machine;
}

Status InLine(std::string_view file, const std::string& line, const std::string& what) {
  return Status(Code::kInvalidArgument, fmt::format("{}, the line that begins with \"{}\": {}", file, line, what));
}

struct Kind {
  NcclMachine machine;
  Collective collective = Collective::kAllReduce;
};

Status AddPoint(const std::vector<std::string>& fields, const std::map<std::string, std::size_t>& places,
                const std::vector<Kind>& kinds, std::vector<NcclSeries>& all) {
  const auto place = places.find(fields[0]);
  const auto bytes = Number<double>(fields[1]);
  if (place == places.end()) return InLine("the points", fields[0], "there is no such series");
  if (!bytes || *bytes <= 0) return InLine("the points", fields[0], "bytes are missing");
  const Kind& kind = kinds[place->second];
  double us = Number<double>(fields[2]).value_or(0);
  const double bus = Number<double>(fields[3]).value_or(0);
  if (us <= 0 && bus > 0) us = tune::BusGbPerS(kind.machine.ranks(), kind.collective, *bytes, 1) / bus;
  if (us <= 0) return InLine("the points", fields[0], "there is neither a time nor a bandwidth");
  all[place->second].points.push_back({kind.machine, kind.collective, *bytes, us});
  return Status::Ok();
}

}  // namespace

Result<std::vector<std::vector<std::string>>> ParseCsv(std::string_view text, std::string_view names) {
  std::vector<std::vector<std::string>> lines;
  const auto count = static_cast<std::size_t>(std::ranges::count(names, ',') + 1);
  bool first = true;
  while (!text.empty()) {
    std::string_view line = Trim(TakeLine(text), kBlanks);
    if (line.empty() || line.front() == '#') continue;
    if (first && line != names) {
      return Status(Code::kInvalidArgument, fmt::format("\"{}\" should be the names {}", line, names));
    }
    if (std::exchange(first, false)) continue;
    std::vector<std::string> fields;
    while (fields.size() + 1 < count && line.find(',') != line.npos) {
      fields.emplace_back(line.substr(0, line.find(',')));
      line.remove_prefix(fields.back().size() + 1);
    }
    fields.emplace_back(line);  // the last one may have commas
    if (fields.size() != count) return InLine("comma-separated text", fields[0], "there are too few fields");
    lines.push_back(std::move(fields));
  }
  return lines;
}

Result<std::vector<NcclSeries>> ParseNcclPoints(std::string_view series, std::string_view points) {
  auto series_lines = ParseCsv(series, kSeriesNames), point_lines = ParseCsv(points, kPointNames);
  if (!series_lines.ok()) return series_lines.status();
  if (!point_lines.ok()) return point_lines.status();
  std::vector<NcclSeries> all;
  std::vector<Kind> kinds;
  std::map<std::string, std::size_t> places;
  for (const std::vector<std::string>& fields : *series_lines) {
    const Result<NcclMachine> machine = MachineOf(fields);
    if (!machine.ok()) return InLine("the series", fields[kName], machine.status().message());
    const std::optional<Collective> collective = ParseCollective(fields[kOperation]);
    if (!collective) return InLine("the series", fields[kName], "no such operation: " + fields[kOperation]);
    if (!places.emplace(fields[kName], all.size()).second)
      return InLine("the series", fields[kName], "it is there twice");
    all.push_back({fields[kName], fields[kGroup], fields[kCluster], fields[kSource], {}});
    kinds.push_back({*machine, *collective});
  }
  for (const std::vector<std::string>& fields : *point_lines) {
    TUTTI_RETURN_IF_ERROR(AddPoint(fields, places, kinds, all));
  }
  return all;
}

Result<std::vector<RingEfficiency>> ParseRingEfficiency(std::string_view text) {
  auto lines = ParseCsv(text, "hosts,bytes,share");
  if (!lines.ok()) return lines.status();
  std::vector<RingEfficiency> points;
  for (const std::vector<std::string>& fields : *lines) {
    const auto hosts = Number<int>(fields[0]);
    const auto bytes = Number<double>(fields[1]), share = Number<double>(fields[2]);
    if (!hosts || *hosts < 2 || !bytes || *bytes <= 0 || !share || *share <= 0) {
      return InLine("the ring efficiencies", fields[0], "hosts, bytes and a share are needed, all above 0");
    }
    points.push_back({*hosts, *bytes, *share});
  }
  return points;
}

double PredictRingEfficiency(const tune::NcclConstants& constants, const RingEfficiency& point) {
  constexpr double kCardGbPerS = 48.5;
  constexpr double kMostLlBytes = 64 << 10, kMostLl128Bytes = 4 << 20;
  // Their cards have two ports, so two connections.
  NcclMachine machine{
      .hosts = point.hosts, .nic_gb_per_s = kCardGbPerS, .algorithm = tune::NcclAlgorithm::kRing, .qps = 2};
  const double block = point.bytes / machine.ranks();
  machine.protocol = block <= kMostLlBytes      ? proto::Protocol::kLl
                     : block <= kMostLl128Bytes ? proto::Protocol::kLl128
                                                : proto::Protocol::kSimple;
  const double bus = PredictNccl(constants, machine, Collective::kAllGather, point.bytes).bus_gb_per_s;
  return bus / (machine.nics_per_host * kCardGbPerS);
}

}  // namespace tutti::tools
