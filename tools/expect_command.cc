// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "tools/expect_command.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <optional>
#include <string>
#include <string_view>

#include "proto/protocol.h"
#include "sys/os/text_file.h"
#include "tools/cli.h"
#include "tools/command_line.h"
#include "topo/gpu_models.h"
#include "topo/machine_text.h"
#include "topo/named_machines.h"
#include "topo/rates.h"
#include "tune/nccl_model.h"

namespace tutti::tools {
namespace {

constexpr std::string_view kFooter =
    "Sizes are those of nccl-tests. The last column is the relative error that predictions of this kind were seen to "
    "have: of clusters\n"
    "that are not known, nine of ten are nearer than that (docs/planning.md).\n\n"
    "Examples:\n"
    "  tutti expect all_reduce --nccl --machine hgx-h100 --hosts 4 -b 8 -e 8G -f 8\n"
    "  tutti expect all_gather --nccl --machine p5en --hosts 2 -b 1M -e 1G -f 4\n\n"
    "Exit code: 0, 1 when the machine cannot be read, 2 for a wrong command line.";

struct Options {
  std::string collective, machine, file, begin = "8", end = "8G";
  int hosts = 1, factor = 8, version = 22809;
  bool nccl = false;
};

tune::GpuGeneration GenerationOf(int sm) {
  if (sm >= 100) return tune::GpuGeneration::kBlackwell;
  if (sm >= 90) return tune::GpuGeneration::kHopper;
  return sm >= 80 ? tune::GpuGeneration::kAmpere : tune::GpuGeneration::kVolta;
}

Result<topo::Machine> Read(const Options& options) {
  if (options.file.empty()) return topo::FindMachine(options.machine);
  const Result<std::string> text = sys::ReadFile(options.file);
  if (!text.ok()) return text.status();
  return topo::ReadMachineText(*text, options.file);
}

void PrintLine(const tune::NcclMachine& machine, Collective collective, std::size_t bytes) {
  const tune::NcclPrediction p =
      tune::PredictNccl(tune::NcclConstants{}, machine, collective, static_cast<double>(bytes));
  const std::string way =
      fmt::format("{} {}, {} channels", tune::Name(p.way.algorithm), proto::Name(p.way.protocol), p.channels);
  fmt::print("{:>14} {:>12.2f} {:>9.2f} {:>9.2f} {:>9} {:<28} {:<18} {:>6.0f} %\n", bytes, p.us,
             static_cast<double>(bytes) / p.us / 1e3, p.bus_gb_per_s,
             p.wire_gb_per_s > 0 ? fmt::format("{:.2f}", p.wire_gb_per_s) : "-", way, tune::Name(p.bound),
             100 * p.error);
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
  line.Add("OP", o.collective, "the collective: all_reduce, all_gather, ...").Required();
  const auto file = line.Add("--file", o.file, "a machine's text").Shown("FILE");
  line.Add("--machine", o.machine, "a machine by its name, as hgx-h100; an unknown one prints all names")
      .Shown("NAME")
      .Excludes(file);
  line.Add("--hosts", o.hosts, "so many hosts (default 1)").Between(1, topo::kMostHosts);
  line.AddFlag("--nccl", o.nccl,
               "what NCCL would choose and take; there is no other prediction yet, tutti sim has ours")
      .Required();
  line.Add("--nccl-version", o.version, "as ncclGetVersion says it (default 22809)").Between(21800, 99999);
  line.Add("-b,--minbytes", o.begin, "smallest size (default 8)").Shown("BYTES");
  line.Add("-e,--maxbytes", o.end, "largest size (default 8G)").Shown("BYTES");
  line.Add("-f,--stepfactor", o.factor, "from a size to the next (default 8)").Between(2, 1 << 20);
  if (const std::optional<int> exit = line.Parse(argc, argv)) return *exit;
  const std::optional<Collective> collective = ParseCollective(o.collective);
  const std::optional<std::size_t> begin = ParseBytes(o.begin), end = ParseBytes(o.end);
  if (!collective || *collective == Collective::kBarrier) {
    return UsageError("tutti expect", fmt::format("there is no collective '{}' with a size", o.collective));
  }
  if (!begin || !end || *begin == 0 || *begin > *end) {
    return UsageError("tutti expect", "-b and -e are sizes, as 8, 32M or 1G, and -b is not above -e");
  }
  if (o.file.empty() && o.machine.empty())
    return UsageError("tutti expect", "which machine? --machine NAME or --file FILE");
  const Result<topo::Machine> machine = Read(o);
  const Result<tune::NcclMachine> figures =
      machine.ok() ? NcclMachineOf(*machine, o.hosts) : Result<tune::NcclMachine>(machine.status());
  if (!figures.ok()) {
    fmt::print(stderr, "tutti expect: {}\n", figures.status().message());
    return kExitFailed;
  }
  tune::NcclMachine nccl = *figures;
  nccl.version = o.version;
  fmt::print("# {}: {} ranks on {} host{}; NCCL {}\n", machine->name, nccl.ranks(), o.hosts, o.hosts == 1 ? "" : "s",
             o.version);
  fmt::print("# {:>12} {:>12} {:>9} {:>9} {:>9} {:<28} {:<18} {}\n", "size (B)", "time (us)", "algbw", "busbw",
             "wire/NIC", "NCCL's choice", "bound by", "error");
  for (std::size_t bytes = *begin; bytes <= *end; bytes *= static_cast<std::size_t>(o.factor))
    PrintLine(nccl, *collective, bytes);
  return kExitOk;
}

}  // namespace tutti::tools
