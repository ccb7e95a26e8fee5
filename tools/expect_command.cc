// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "tools/expect_command.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "proto/protocol.h"
#include "tools/cli.h"
#include "tools/command_line.h"
#include "tools/explanation.h"
#include "tools/json.h"
#include "tools/predictor_source.h"
#include "topo/gpu_models.h"
#include "topo/rates.h"
#include "tune/nccl_model.h"

namespace tutti::tools {
namespace {

constexpr std::string_view kFooter =
    "Sizes are those of nccl-tests: of the larger side. The choice is that of a communicator with the settings of this "
    "environment. The\n"
    "last column is the relative error that predictions of this kind were seen to have: nine of ten are nearer than "
    "that "
    "(docs/planning.md).\n"
    "\"-\" says that nothing of this kind was measured.\n\n"
    "Examples:\n"
    "  tutti expect all_reduce                                        here\n"
    "  tutti expect all_reduce --machine hgx-h200 -b 8 -e 1G -f 8\n"
    "  tutti expect all_gather --machine box.txt --hosts 4 --ranks 2\n"
    "  tutti expect all_reduce --nccl --machine hgx-h100 --hosts 4 -b 8 -e 8G -f 8\n\n"
    "Exit code: 0, 1 when the machine cannot be read or nothing can be predicted of it, 2 for a wrong command line.";

struct Options {
  PredictorSource source;
  std::string collective, begin = "8", end = "8G", json;
  int factor = 8, version = 22809;
  bool nccl = false;
};

// A line of either table.
struct Row {
  std::size_t bytes = 0;
  double us = 0, bus_gb_per_s = 0, wire_gb_per_s = 0;
  std::string choice, bound;
  std::optional<double> error;
};

// The table, as it is printed and for --json.
class Table {
 public:
  // `file`: of --json; empty: none. With "-" nothing else is printed.
  Table(const std::string& file, std::string_view library, std::string_view operation)
      : file_(file), json_({{"library", library}, {"operation", operation}, {"rows", Json::Array()}}) {}

  void Head(const std::string& about, std::string_view choice) {
    if (file_ == "-") return;
    fmt::print("{}# {:>12} {:>12} {:>9} {:>9} {:>9} {:<44} {:<18} {}\n", about, "size (B)", "time (us)", "algbw",
               "busbw", "wire/NIC", choice, "bound by", "error");
  }

  void Describe(std::string_view machine, int ranks, int hosts, const std::vector<std::string>& notes) {
    json_["machine"] = machine;
    json_["ranks"] = ranks;
    json_["hosts"] = hosts;
    json_["notes"] = notes;
  }

  void Add(const Row& row) {
    const double algorithm_gb_per_s = static_cast<double>(row.bytes) / row.us / 1e3;
    json_["rows"].Append({{"bytes", row.bytes},
                          {"us", row.us},
                          {"algbw_gb_per_s", algorithm_gb_per_s},
                          {"busbw_gb_per_s", row.bus_gb_per_s},
                          {"wire_gb_per_s", row.wire_gb_per_s > 0 ? Json(row.wire_gb_per_s) : Json()},
                          {"choice", row.choice},
                          {"bound_by", row.bound},
                          {"error", row.error ? Json(*row.error) : Json()}});
    if (file_ == "-") return;
    fmt::print("{:>14} {:>12.2f} {:>9.2f} {:>9.2f} {:>9} {:<44} {:<18} {:>6}\n", row.bytes, row.us, algorithm_gb_per_s,
               row.bus_gb_per_s, row.wire_gb_per_s > 0 ? fmt::format("{:.2f}", row.wire_gb_per_s) : "-", row.choice,
               row.bound, row.error ? fmt::format("{:.0f} %", 100 * *row.error) : "-");
  }

  // Writes --json, where it was given.
  Status Finish() const { return file_.empty() ? Status::Ok() : WriteText(file_, json_.Dump(2) + "\n"); }

 private:
  std::string file_;
  Json json_;
};

int Failed(const std::string& why) {
  fmt::print(stderr, "tutti expect: {}\n", why);
  return kExitFailed;
}

tune::GpuGeneration GenerationOf(int sm) {
  if (sm >= 100) return tune::GpuGeneration::kBlackwell;
  if (sm >= 90) return tune::GpuGeneration::kHopper;
  return sm >= 80 ? tune::GpuGeneration::kAmpere : tune::GpuGeneration::kVolta;
}

Row RowOf(const tune::NcclMachine& machine, Collective collective, std::size_t bytes) {
  const tune::NcclPrediction p =
      tune::PredictNccl(tune::NcclConstants{}, machine, collective, static_cast<double>(bytes));
  return {
      .bytes = bytes,
      .us = p.us,
      .bus_gb_per_s = p.bus_gb_per_s,
      .wire_gb_per_s = p.wire_gb_per_s,
      .choice = fmt::format("{} {}, {} channels", tune::Name(p.way.algorithm), proto::Name(p.way.protocol), p.channels),
      .bound = std::string(tune::Name(p.bound)),
      .error = p.error};
}

// Sizes from one to another one.
struct Sizes {
  std::size_t begin = 0, end = 0, factor = 2;
  template <typename F>
  void ForEach(F use) const {
    for (std::size_t bytes = begin; bytes <= end; bytes *= factor) {
      use(bytes);
      if (bytes > end / factor) break;
    }
  }
};

int ExpectNccl(const Options& o, Collective collective, const Sizes& sizes) {
  const Result<SourcedTopology> read = ReadSource(o.source.topology);
  if (!read.ok()) return Failed(read.status().message());
  if (!read->machine) {
    return UsageError("tutti expect", "which machine? --nccl takes --machine NAME, or a machine's text");
  }
  const int hosts = o.source.topology.hosts;
  const Result<tune::NcclMachine> figures = NcclMachineOf(*read->machine, hosts);
  if (!figures.ok()) return Failed(figures.status().message());
  tune::NcclMachine nccl = *figures;
  nccl.version = o.version;
  Table table(o.json, fmt::format("NCCL {}", o.version), o.collective);
  table.Describe(read->machine->name, nccl.ranks(), hosts, {});
  table.Head(fmt::format("# {}: {} ranks on {} host{}; NCCL {}\n", read->machine->name, nccl.ranks(), hosts,
                         hosts == 1 ? "" : "s", o.version),
             "NCCL's choice");
  sizes.ForEach([&](std::size_t bytes) { table.Add(RowOf(nccl, collective, bytes)); });
  const Status written = table.Finish();
  return written.ok() ? kExitOk : Failed(written.message());
}

int ExpectTutti(const Options& o, Collective collective, const Sizes& sizes) {
  const Result<OpenedPredictor> opened = OpenPredictor(o.source);
  if (!opened.ok()) return Failed(opened.status().message());
  Predictor& predictor = *opened->predictor;
  const Predictor::About& about = predictor.about();
  Table table(o.json, fmt::format("Tutti {}", Version()), o.collective);
  table.Describe(about.machine, about.ranks, about.hosts, about.notes);
  table.Head(HeadOf(about, fmt::format("Tutti's {}", Name(collective))), "choice");
  std::size_t before = 0;
  Status failed;
  sizes.ForEach([&](std::size_t size) {
    if (!failed.ok()) return;
    const Result<Prediction> p = predictor.Predict(collective, size);
    if (!p.ok()) {
      failed = p.status();
      return;
    }
    if (p->size == before) return;  // less than a byte for each rank
    before = p->size;
    table.Add({.bytes = p->size,
               .us = p->us,
               .bus_gb_per_s = BusGbPerS(collective, about.ranks, *p),
               .wire_gb_per_s = p->wire_gb_per_s,
               .choice = p->brief,
               .bound = p->bound,
               .error = p->error ? std::optional(p->error->error) : std::nullopt});
  });
  if (failed.ok()) failed = table.Finish();
  return failed.ok() ? kExitOk : Failed(failed.message());
}

}  // namespace

Result<tune::NcclMachine> NcclMachineOf(const topo::Machine& machine, int hosts) {
  const int gpus = machine.Count(topo::NodeKind::kGpu), nics = machine.Count(topo::NodeKind::kNic);
  if (gpus == 0) return Status(Code::kInvalidArgument, fmt::format("{} has no GPU", machine.name));
  const int joined = machine.nvlink.kind == topo::NvLinks::Kind::kSwitch ? std::min(hosts, machine.nvlink.hosts) : 1;
  const int domains = (hosts + joined - 1) / joined;
  if (nics == 0 && domains > 1)
    return Status(Code::kInvalidArgument, fmt::format("{} has no network card", machine.name));
  if (gpus * hosts < 2) return Status(Code::kInvalidArgument, "one GPU alone exchanges nothing; more --hosts");
  tune::NcclMachine figures;
  figures.generation = GenerationOf(machine.sm);
  figures.hosts = domains;
  figures.gpus_per_host = gpus * joined;
  figures.nvlink_gb_per_s =
      machine.nvlink.kind == topo::NvLinks::Kind::kNone ? 0 : machine.nvlinks * topo::NvLinkGbPerS(machine.sm);
  figures.multicast = machine.nvlink.kind == topo::NvLinks::Kind::kSwitch && machine.sm >= 90;
  figures.cpu = machine.cpu.arch == "arm64"            ? tune::CpuKind::kArm
                : machine.cpu.vendor == "AuthenticAMD" ? tune::CpuKind::kAmd
                                                       : tune::CpuKind::kIntel;
  for (const topo::HostPart& part : machine.parts) {
    if (part.kind == topo::NodeKind::kGpu) {
      figures.pci_gb_per_s = topo::PciRateOf(topo::PciSpeedText(part.pci.best_generation), part.pci.lanes).gb_per_s;
    }
    if (part.kind != topo::NodeKind::kNic) continue;
    // A plugin joins the cards of a GPU to one.
    const int seen = std::min(nics, gpus);
    figures.nics_per_host = seen * joined;
    figures.nic_gb_per_s = topo::PortGbPerS(part.nic.gbit_per_s) * part.nic.ports * nics / seen;
    figures.gpu_direct = part.nic.gdr;
    figures.reported_latency_us = part.nic.reported_latency_us;
    if (part.nic.reported_latency_us > 0) figures.fabric = tune::FabricKind::kEfa;
  }
  return figures;
}

int ExpectCommand(int argc, char** argv) {
  CommandLine line("Print what an operation should take on a machine, as nccl-tests prints it.", "tutti expect");
  Options o;
  line.Footer(std::string(kFooter));
  line.Add("OP", o.collective, "the collective: all_reduce, all_gather, ...").Required().SuggestCollectives();
  AddSource(line, o.source.topology);
  line.Add("--ranks", o.source.ranks, "ranks of each host; default: one for each GPU, without GPUs for each NUMA node")
      .Between(1, 1024);
  AddMemory(line, o.source);
  line.AddFlag("--nccl", o.nccl, "what NCCL would choose and take instead");
  line.Add("--nccl-version", o.version, "as ncclGetVersion says it (default 22809)").Between(21800, 99999);
  line.Add("-b,--minbytes", o.begin, "smallest size (default 8)").Shown("BYTES");
  line.Add("-e,--maxbytes", o.end, "largest size (default 8G)").Shown("BYTES");
  line.Add("-f,--stepfactor", o.factor, "from a size to the next (default 8)").Between(2, 1 << 20);
  line.Add("--json", o.json, "write the table to a file as JSON, too; - is the standard output, without the table")
      .Shown("FILE");
  if (const std::optional<int> exit = line.Parse(argc, argv)) return *exit;
  const std::optional<Collective> collective = ParseCollective(o.collective);
  if (!collective || *collective == Collective::kBarrier) {
    return UsageError("tutti expect", fmt::format("there is no collective '{}' with a size", o.collective));
  }
  const std::optional<std::size_t> begin = ParseBytes(o.begin), end = ParseBytes(o.end);
  if (!begin || !end || *begin == 0 || *begin > *end) {
    return UsageError("tutti expect", "-b and -e are sizes, as 8, 32M or 1G, and -b is not above -e");
  }
  const Sizes sizes{.begin = *begin, .end = *end, .factor = static_cast<std::size_t>(o.factor)};
  if (!o.nccl) return ExpectTutti(o, *collective, sizes);
  if (o.source.ranks > 0 || o.source.host_memory || o.source.windows) {
    return UsageError("tutti expect",
                      "--nccl knows one rank for each GPU: leave out --ranks, --host-memory and --windows");
  }
  return ExpectNccl(o, *collective, sizes);
}

}  // namespace tutti::tools
