// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "tools/sim_command.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <numeric>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "plan/plan.h"
#include "sim/goal.h"
#include "sim/message_log.h"
#include "sim/simulator.h"
#include "sim/trace.h"
#include "sim/ways.h"
#include "sim/workload.h"
#include "sim/workload_job.h"
#include "sys/os/text_file.h"
#include "tools/cli.h"
#include "tools/command_line.h"
#include "tools/perf_shape.h"
#include "tools/sim_setup.h"
#include "tools/topo_source.h"

namespace tutti::tools {
namespace {

constexpr std::size_t kMostLogged = 1'000'000;

constexpr std::string_view kFooter =
    "Sizes are those of the larger buffer, as in tutti perf. What is slow or dead is said in the machine's text "
    "(docs/planning.md).\n\n"
    "Examples:\n"
    "  tutti sim all_reduce --machine hgx-h100 --hosts 4 -b 8 -e 1G -f 8\n"
    "  tutti sim all_reduce --machine hgx-h100 --hosts 32 --algo hier_ring -b 1G -e 1G --trace ring.json\n"
    "  tutti sim --workload step.txt --machine hgx-h100 --hosts 64\n\n"
    "Exit code: 0, 1 when it fails or ranks would wait for ever, 2 for a wrong command line.";

struct Options {
  TopoSource source;
  std::string collective, algorithm, protocol = "Simple", begin = "8", end = "1G", chunk = "512K";
  std::string workload, trace, goal;
  std::vector<std::string> late;
  int factor = 8, channels = 0, seed = 1;
};

void AddOptions(CommandLine& line, Options& o) {
  line.Footer(std::string(kFooter));
  line.Add("OP", o.collective, "the collective: all_reduce, all_gather, ...");
  AddSource(line, o.source);
  line.Add("--algo", o.algorithm, "the algorithm; default: the fastest by simulation").Shown("NAME");
  line.Add("--proto", o.protocol, "with --algo: LL, LL128 or Simple (default Simple)").Shown("NAME");
  line.Add("--channels", o.channels, "with --algo: channels (default 1); else the only number that is tried")
      .Between(1, 256);
  line.Add("--chunk", o.chunk, "largest message (default 512K)").Shown("BYTES");
  line.Add("-b,--minbytes", o.begin, "smallest size (default 8)").Shown("BYTES");
  line.Add("-e,--maxbytes", o.end, "largest size (default 1G)").Shown("BYTES");
  line.Add("-f,--stepfactor", o.factor, "from a size to the next (default 8)").Between(2, 1 << 20);
  line.Add("--late", o.late, "ranks that begin later, as 5:300 for rank 5 and 300 us; more with commas")
      .SplitAtCommas();
  line.Add("--seed", o.seed, "of hashes by which switches choose links (default 1)").Between(0, 1 << 30);
  line.Add("--workload", o.workload, "a training step from this file, instead of OP").Shown("FILE");
  line.Add("--trace", o.trace, "write the last size's tasks and messages for about:tracing or ui.perfetto.dev")
      .Shown("FILE");
  line.Add("--goal", o.goal, "write the last size's plan as GOAL, the input of LogGOPSim").Shown("FILE");
}

int Failed(const std::string& why) {
  fmt::print(stderr, "tutti sim: {}\n", why);
  return kExitFailed;
}

// Writes what `fill` hands over.
bool WriteBy(const std::string& path, const std::function<Status(const std::function<void(std::string_view)>&)>& fill) {
  std::FILE* file = std::fopen(path.c_str(), "w");
  if (file == nullptr) {
    std::perror(("tutti sim: cannot write " + path).c_str());
    return false;
  }
  bool written = true;
  const Status status =
      fill([&](std::string_view text) { written &= std::fwrite(text.data(), 1, text.size(), file) == text.size(); });
  if (!status.ok()) fmt::print(stderr, "tutti sim: {}\n", status.message());
  return std::fclose(file) == 0 && written && status.ok();
}

Result<std::vector<sim::LateRank>> ParseLate(const std::vector<std::string>& texts, std::size_t ranks) {
  std::vector<sim::LateRank> late;
  for (const std::string& text : texts) {
    sim::LateRank one;
    int read = 0;
    if (std::sscanf(text.c_str(), "%d:%lf%n", &one.rank, &one.late_us, &read) != 2 ||
        read != static_cast<int>(text.size()) || one.rank < 0 || static_cast<std::size_t>(one.rank) >= ranks ||
        !(one.late_us >= 0)) {
      return Status(Code::kInvalidArgument,
                    fmt::format("--late {}: write RANK:US, as 5:300; there are {} ranks, from 0", text, ranks));
    }
    late.push_back(one);
  }
  return late;
}

// What one line of the table needs.
class Table {
 public:
  Table(const Options& options, const SourcedTopology& topology, SimSetup setup, Collective collective)
      : options_(options), topology_(topology), setup_(std::move(setup)), collective_(collective) {
    ranks_.resize(setup_.machine.nodes.size());
    std::iota(ranks_.begin(), ranks_.end(), 0);
    hosts_ = sim::HostsOf(setup_.machine, ranks_);
  }

  Status Prepare(std::uint64_t chunk_bytes) {
    chunk_bytes_ = chunk_bytes;
    if (options_.algorithm.empty()) {
      const std::vector<int> channels =
          options_.channels > 0 ? std::vector<int>{options_.channels} : std::vector<int>{1, 8, 32};
      choose_ = sim::ChooseBySimulation(setup_.machine, setup_.options, channels, chunk_bytes);
      return Status::Ok();
    }
    const std::optional<algo::Algorithm> algorithm = algo::ParseAlgorithm(options_.algorithm);
    const std::optional<proto::Protocol> protocol = proto::ParseProtocol(options_.protocol);
    if (!algorithm) {
      return Status(Code::kInvalidArgument, fmt::format("there is no algorithm '{}'; `tutti plan {}` lists them",
                                                        options_.algorithm, options_.collective));
    }
    if (!protocol) {
      return Status(Code::kInvalidArgument,
                    fmt::format("there is no protocol '{}'; use LL, LL128 or Simple", options_.protocol));
    }
    const sim::Way way{.algorithm = *algorithm,
                       .protocol = *protocol,
                       .channels = std::max(1, options_.channels),
                       .chunk_bytes = chunk_bytes,
                       .order = hosts_.count() > 1 && hosts_.most() == hosts_.fewest() ? sim::Order::kTurnedInHosts
                                                                                       : sim::Order::kByRank};
    choose_ = [way](const sim::Call&) -> Result<sim::Way> { return way; };
    return Status::Ok();
  }

  void PrintHead() const {
    fmt::print("# {} ranks on {} host{}{}{}\n", ranks_.size(), hosts_.count(), hosts_.count() == 1 ? "" : "s",
               topology_.graph.name.empty() ? "" : ", ", topology_.graph.name);
    fmt::print("# {:>10} {:>12} {:>9} {:>9}  {:<28} {}\n", "size (B)", "time (us)", "algbw", "busbw", "way",
               "busiest link");
  }

  // A line for a size; the last one's job is kept.
  Status Print(std::size_t size) {
    const int pieces = std::max(plan::InPieces(collective_, static_cast<int>(ranks_.size())),
                                plan::OutPieces(collective_, static_cast<int>(ranks_.size())));
    const sim::Call call{
        .collective = collective_, .bytes = size / static_cast<std::size_t>(pieces), .ranks = ranks_, .hosts = hosts_};
    const Result<sim::Way> way = choose_(call);
    if (!way.ok()) return way.status();
    const Result<sim::Operation> operation = sim::MakeOperation(call, *way, 0);
    if (!operation.ok()) return operation.status();
    job_ = {};
    job_.communicators.push_back({.ranks = ranks_});
    sim::AddOperation(*operation, job_);
    log_.emplace(kMostLogged);
    sim::Options options = setup_.options;
    if (!options_.trace.empty()) options.log = &*log_;
    Result<sim::Outcome> outcome = sim::Simulate(job_, setup_.machine, options);
    if (!outcome.ok()) return outcome.status();
    if (!outcome->stuck.ok()) return outcome->stuck;
    outcome_ = std::move(*outcome);
    PrintLine(size, *way);
    return Status::Ok();
  }

  bool WriteFiles() const {
    const bool traced = options_.trace.empty() || WriteBy(options_.trace, [&](const auto& write) {
                          sim::WriteChromeTrace(job_, outcome_, &*log_, write);
                          return Status::Ok();
                        });
    return traced && (options_.goal.empty() || WriteBy(options_.goal, [&](const auto& write) {
                        return sim::WriteGoal(job_.operations.front(), static_cast<int>(ranks_.size()), write);
                      }));
  }

 private:
  void PrintLine(std::size_t size, const sim::Way& way) const {
    const double us = sim::ToUs(outcome_.end), algorithm_gb = static_cast<double>(size) / us / 1e3;
    const std::string name = fmt::format("{} {}{}", algo::Get(way.algorithm).name, proto::Name(way.protocol),
                                         way.channels > 1 ? fmt::format(", {} channels", way.channels) : "");
    const std::optional<sim::Binding> binding = sim::FindBinding(outcome_.links, outcome_.end);
    fmt::print(
        "{:>12} {:>12.2f} {:>9.3f} {:>9.3f}  {:<28} {}\n", size, us, algorithm_gb,
        algorithm_gb * BusFactor(collective_, static_cast<int>(ranks_.size())), name,
        binding ? fmt::format("{} {:.0f} %", sim::NameOf(topology_.graph, binding->arc), 100 * binding->share) : "-");
  }

  const Options& options_;
  const SourcedTopology& topology_;
  SimSetup setup_;
  Collective collective_;
  std::vector<int> ranks_;
  algo::Hosts hosts_;
  std::uint64_t chunk_bytes_ = 0;
  sim::Chooser choose_;
  sim::Job job_;
  sim::Outcome outcome_;
  std::optional<sim::MessageLog> log_;
};

int SimulateSizes(const Options& options, const SourcedTopology& topology, SimSetup setup) {
  const std::optional<Collective> collective = ParseCollective(options.collective);
  if (!collective || *collective == Collective::kSendRecv) {
    return UsageError("tutti sim",
                      fmt::format("there is no collective '{}'; `tutti plan x` lists them", options.collective));
  }
  const std::optional<std::size_t> begin = ParseBytes(options.begin), end = ParseBytes(options.end),
                                   chunk = ParseBytes(options.chunk);
  if (!begin || !end || !chunk || *begin == 0 || *begin > *end) {
    return UsageError("tutti sim", "-b, -e and --chunk are sizes, as 8, 32M or 1G, and -b is not above -e");
  }
  Table table(options, topology, std::move(setup), *collective);
  if (const Status ready = table.Prepare(*chunk); !ready.ok()) return UsageError("tutti sim", ready.message());
  table.PrintHead();
  for (std::size_t size = *begin; size <= *end; size *= static_cast<std::size_t>(options.factor)) {
    if (const Status status = table.Print(size); !status.ok()) return Failed(status.message());
  }
  return table.WriteFiles() ? kExitOk : kExitFailed;
}

int SimulateWorkload(const Options& options, SimSetup setup) {
  const Result<std::string> text = sys::ReadFile(options.workload);
  if (!text.ok()) return Failed(text.status().message());
  const Result<sim::Workload> workload = sim::ReadWorkload(*text);
  if (!workload.ok()) return Failed(fmt::format("{}: {}", options.workload, workload.status().message()));
  const std::optional<std::size_t> chunk = ParseBytes(options.chunk);
  if (!chunk) return UsageError("tutti sim", "--chunk is a size, as 512K");
  const auto ranks = static_cast<std::size_t>(workload->ranks());
  if (setup.machine.nodes.size() < ranks) {
    return Failed(
        fmt::format("the workload has {} ranks, the machine {} GPUs: more --hosts", ranks, setup.machine.nodes.size()));
  }
  setup.machine.nodes.resize(ranks);
  const Result<sim::WorkloadJob> job = sim::MakeWorkloadJob(
      *workload, setup.machine,
      sim::ChooseBySimulation(setup.machine, setup.options, {options.channels > 0 ? options.channels : 8}, *chunk));
  if (!job.ok()) return Failed(job.status().message());
  const Result<sim::Outcome> outcome = sim::Simulate(job->job, setup.machine, setup.options);
  if (!outcome.ok()) return Failed(outcome.status().message());
  if (!outcome->stuck.ok()) return Failed(outcome->stuck.message());
  const sim::WorkloadTimes times = sim::Summarize(*workload, *job, *outcome);
  fmt::print("step {:.3f} ms, of which a rank computes {:.3f} ms\n", times.step_us / 1e3, times.compute_us / 1e3);
  fmt::print("{:<20} {:>12} {:>12} {:>24}\n", "communication", "busy (ms)", "exposed (ms)", "of that, waiting (ms)");
  for (const auto& one : times.communication) {
    fmt::print("{:<20} {:>12.3f} {:>12.3f} {:>24.3f}\n", one.name, one.busy_us / 1e3, one.exposed_us / 1e3,
               one.waiting_us / 1e3);
  }
  if (options.trace.empty()) return kExitOk;
  return WriteBy(options.trace,
                 [&](const auto& write) {
                   sim::WriteChromeTrace(job->job, *outcome, nullptr, write);
                   return Status::Ok();
                 })
             ? kExitOk
             : kExitFailed;
}

}  // namespace

int SimCommand(int argc, char** argv) {
  CommandLine line("Predict how long an operation or a training step takes on a machine, by simulating its plans.",
                   "tutti sim");
  Options options;
  AddOptions(line, options);
  if (const std::optional<int> exit = line.Parse(argc, argv)) return *exit;
  if (options.collective.empty() == options.workload.empty()) {
    return UsageError("tutti sim", "either OP or --workload FILE: what is to be simulated?");
  }
  const Result<SourcedTopology> topology = ReadSource(options.source);
  if (!topology.ok()) return Failed(topology.status().message());
  SimSetup setup = SetUp(*topology);
  setup.options.routing.seed = static_cast<std::uint64_t>(options.seed);
  Result<std::vector<sim::LateRank>> late = ParseLate(options.late, setup.machine.nodes.size());
  if (!late.ok()) return UsageError("tutti sim", late.status().message());
  setup.options.late = std::move(*late);
  return options.workload.empty() ? SimulateSizes(options, *topology, std::move(setup))
                                  : SimulateWorkload(options, std::move(setup));
}

}  // namespace tutti::tools
