// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "tools/tune_command.h"

#include <fmt/format.h>

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <memory>
#include <optional>
#include <thread>
#include <vector>

#include "comm/agree/machine_file.h"
#include "exec/cpu/chunks.h"
#include "sys/os/process.h"
#include "tools/calibrate.h"
#include "tools/cli.h"
#include "tools/command_line.h"
#include "tools/perf_table.h"
#include "tools/tune_gpu.h"
#include "tools/tune_regret.h"
#include "tools/tuning_store.h"
#include "transport/shm/segment.h"
#include "tune/chooser.h"
#include "tutti/settings.h"

namespace tutti::tools {
namespace {

constexpr std::size_t kSmallest = 8;
constexpr std::size_t kLargest = std::size_t{1} << 30;

// Whether processes of this user may read each other's memory here: found out by trying, on a child.
bool CanReadPeers() {
  static std::uint64_t cookie = 0;
  int to_parent[2];
  if (pipe(to_parent) != 0) return false;
  const pid_t child = fork();
  if (child == 0) {
    sys::AllowPeersToRead();
    cookie = 42;
    (void)!write(to_parent[1], "x", 1);
    pause();
    _exit(0);
  }
  char ready = 0;
  std::uint64_t seen = 0;
  const bool can = child > 0 && read(to_parent[0], &ready, 1) == 1 &&
                   sys::ReadProcessMemory(child, &cookie, &seen, sizeof(seen)).ok() && seen == 42;
  if (child > 0) {
    kill(child, SIGKILL);
    waitpid(child, nullptr, 0);
  }
  close(to_parent[0]);
  close(to_parent[1]);
  return can;
}

// The constants that a communicator of this machine would work with: stored ones, or what it measures at init.
Result<tune::Machine> MachineInForce() {
  const Result<tune::TuningFile> stored = comm::LoadTables(Settings::FromEnvironment());
  if (!stored.ok()) return stored.status();
  return stored->host ? Result<tune::Machine>(*stored->host) : MachineAtInit();
}

// The library's choices for `ranks` ranks of this host under the environment's settings.
Result<ChoiceOf> OpenChooser(int ranks, const tune::Machine& machine) {
  const Settings settings = Settings::FromEnvironment();
  const int channels = std::max(1, settings.max_channels);
  const transport::shm::Geometry geometry =
      transport::shm::MakeGeometry(ranks, channels, static_cast<std::size_t>(settings.shared_bytes));
  const exec::cpu::ChunkRules rules{.rings = geometry.rings, .pool_bytes = geometry.pool_bytes, .ranks = ranks};
  const Result<tune::Chooser> chooser = tune::Chooser::Create(
      {.ranks = ranks,
       .cpus = sys::UsableCpus(),
       .machine = machine,
       .algo_filter = settings.algo,
       .proto_filter = settings.proto,
       .can_refer = settings.single_copy != SingleCopy::kOff && CanReadPeers(),
       .force_reference = settings.single_copy == SingleCopy::kForce,
       .min_channels = std::clamp(settings.min_channels, 1, channels),
       .max_channels = channels,
       .chunk_bytes = [rules](const plan::Footprint& footprint, proto::Protocol protocol, bool by_reference,
                              int channels) { return rules.ForPlan(footprint, protocol, by_reference, channels); },
       .transfer_chunk_bytes = [rules](proto::Protocol protocol,
                                       bool by_reference) { return rules.ForTransfer(protocol, by_reference); }});
  if (!chooser.ok()) return chooser.status();
  auto shared = std::make_shared<tune::Chooser>(*chooser);
  return ChoiceOf([shared](Collective collective, std::size_t bytes) -> Result<TuneChoice> {
    const Result<tune::Choice> choice = collective == Collective::kSendRecv
                                            ? Result<tune::Choice>(shared->ChooseTransfer(bytes))
                                            : shared->Choose(collective, bytes);
    if (!choice.ok()) return choice.status();
    return TuneChoice{.algorithm = std::string(algo::Get(choice->algorithm).name),
                      .protocol = choice->by_reference ? "by-ref" : std::string(proto::Name(choice->protocol)),
                      .channels = choice->channels,
                      .predicted_us = choice->predicted_us};
  });
}

// Where the tables of this machine are stored.
Result<std::string> TuningFileName() {
  const std::string file = comm::MachineFile(Settings::FromEnvironment());
  if (!file.empty()) return file;
  return Status(Code::kInvalidUsage,
                "there is no home directory to store the constants in; name a file in "
                "TUTTI_TUNING_FILE");
}

// Measures the model's constants and stores them; the text says where and what.
Result<std::string> Calibrate(const std::string& file) {
  Result<tune::TuningFile> tables = StoredTables(file);
  if (!tables.ok()) return tables.status();
  Result<tune::Machine> machine = MeasureMachine();
  if (!machine.ok()) return machine.status();
  if (tables->host) machine->network = tables->host->network;  // which is not measured
  tables->host = *machine;
  TUTTI_RETURN_IF_ERROR(WriteTables(file, *tables));
  return fmt::format("{}# stored in {}\n", machine->ToText(), file);
}

// Prints what a measurement says.
int Report(const Result<std::string>& said) {
  if (said.ok()) {
    fmt::print("{}\n", *said);
    return kExitOk;
  }
  fmt::print(stderr, "tutti tune: {}\n", said.status().message());
  return kExitFailed;
}

// One line of a table: sizes from `first` to `last` bytes, with the times predicted for both ends.
struct Line {
  std::size_t first, last;
  TuneChoice choice;
  double last_us;
};

std::string FormatLine(const Line& line, Detail detail) {
  std::string sizes = FormatBytes(line.first), time = FormatNumber(line.choice.predicted_us, 9);
  if (detail == Detail::kRanges) {
    sizes = line.first == line.last ? sizes : fmt::format("{} - {}", sizes, FormatBytes(line.last));
    time = fmt::format("{}  {}", time, FormatNumber(line.last_us, 9));
  }
  return fmt::format("{:>21}  {:<18}  {:<8}  {:>8}  {}\n", sizes, line.choice.algorithm, line.choice.protocol,
                     line.choice.channels, time);
}

bool SameChoice(const TuneChoice& a, const TuneChoice& b) {
  return a.algorithm == b.algorithm && a.protocol == b.protocol && a.channels == b.channels;
}

std::string FormatTable(Collective collective, int ranks, Detail detail, const ChoiceOf& choose) {
  std::string text = fmt::format("{}, {} rank{}\n{:>21}  {:<18}  {:<8}  {:>8}  {}\n", Name(collective), ranks,
                                 ranks == 1 ? "" : "s", "size", "algorithm", "protocol", "channels",
                                 detail == Detail::kRanges ? "time from (us)  to" : "time (us)");
  std::vector<Line> lines;
  for (std::size_t bytes = kSmallest; bytes <= kLargest; bytes *= 2) {
    const Result<TuneChoice> choice = choose(collective, bytes);
    if (!choice.ok()) return text + fmt::format("{:>21}  {}\n", FormatBytes(bytes), choice.status().message());
    if (detail == Detail::kRanges && !lines.empty() && SameChoice(lines.back().choice, *choice)) {
      lines.back().last = bytes;
      lines.back().last_us = choice->predicted_us;
    } else {
      lines.push_back({bytes, bytes, *choice, choice->predicted_us});
    }
  }
  for (const Line& line : lines) text += FormatLine(line, detail);
  return text;
}

std::vector<Collective> CollectivesOf(const std::string& name) {
  std::vector<Collective> all;
  for (int i = 0; i < kCollectives; ++i) {
    const auto collective = static_cast<Collective>(i);
    if (collective != Collective::kBarrier) all.push_back(collective);
  }
  if (name == "all") return all;
  const std::optional<Collective> one = ParseCollective(name);
  return one ? std::vector<Collective>{*one} : std::vector<Collective>{};
}

}  // namespace

std::string FormatChoices(std::span<const Collective> collectives, int ranks, Detail detail, const ChoiceOf& choose) {
  std::string text;
  for (Collective collective : collectives) {
    if (!text.empty()) text += '\n';
    text += FormatTable(collective, ranks, detail, choose);
  }
  return text;
}

int TuneCommand(int argc, char** argv) {
  CommandLine line("Shows which algorithm and protocol are chosen for which size.", "tutti tune");
  int ranks = 0;
  std::string op = "all";
  bool calibrate = false, constants = false, gpu = false, ranges = false, regret = false;
  std::string least = "8", most = "64M", raw_file;
  int factor = 4, rounds = 5;
  line.Add("--ranks", ranks,
           "for this many ranks on this host (default: one per processor; with --gpu one per GPU, at least 2)")
      .Between(1, 4096);
  line.Add("--op", op, "one operation (default all)");
  const CommandLine::Option host_only = line.AddFlag(
      "--calibrate", calibrate, "measure the constants of the cost model on this machine first, and store them");
  line.AddFlag("--gpu", gpu,
               "measure the ways of every collective on this machine's GPUs instead, fit a table of constants to the "
               "times, store it and print what changed; takes about a minute")
      .Excludes(host_only);
  line.AddFlag("--constants", constants,
               "print the constants in force: those stored, or else what a communicator measures at init");
  line.AddFlag("--ranges", ranges, "one line for each run of sizes with the same choice");
  line.Group("Regret");
  const CommandLine::Option judge =
      line.AddFlag(
              "--regret", regret,
              "time the chosen way of every operation and size against all other ways, in turns, and print where it "
              "loses and by how much; each size is judged three times, by choices made anew, and the median counts. "
              "Takes four minutes for 2 ranks. Sizes are those of the larger buffer, as in tutti perf")
          .Excludes(host_only);
  line.Add("--min", least, "smallest size (default 8)").Shown("BYTES").Needs(judge);
  line.Add("--max", most, "largest size (default 64M)").Shown("BYTES").Needs(judge);
  line.Add("--factor", factor, "from a size to the next (default 4)").Between(2, 1024).Needs(judge);
  line.Add("--rounds", rounds, "of the chosen way against the best others, at least (default 5)")
      .Between(1, 1001)
      .Needs(judge);
  line.Add("--json", raw_file, "write all times there").Shown("FILE").Needs(judge);
  line.Footer(
      "Without --regret times are the cost model's, for an otherwise idle machine, and sizes one rank's count in "
      "bytes.\n\n"
      "Examples:\n  tutti tune --ranks 4 --op all_reduce\n  tutti tune --ranks 4 --calibrate --ranges\n  tutti tune "
      "--gpu --ranks 2\n  tutti tune --regret --ranks 2 --op all_reduce");
  if (const std::optional<int> code = line.Parse(argc, argv)) return *code;
  const std::vector<Collective> collectives = CollectivesOf(op);
  if (collectives.empty()) return UsageError("tutti tune", fmt::format("there is no operation '{}'", op));

  if (calibrate || gpu) {
    const Result<std::string> file = TuningFileName();
    const int code = Report(!file.ok() ? file : gpu ? TuneGpu(*file, ranks) : Calibrate(*file));
    if (gpu || code != kExitOk) return code;
  }
  if (ranks == 0) ranks = static_cast<int>(std::max(2U, std::thread::hardware_concurrency()));
  if (regret) {
    const std::optional<std::size_t> min_bytes = ParseBytes(least), max_bytes = ParseBytes(most);
    if (!min_bytes || !max_bytes || *min_bytes < sizeof(float) || *max_bytes < *min_bytes || ranks < 2) {
      return UsageError("tutti tune", "--regret needs 4 <= --min <= --max, and 2 ranks or more");
    }
    return MeasureRegret({.ranks = ranks,
                          .collectives = collectives,
                          .min_bytes = *min_bytes,
                          .max_bytes = *max_bytes,
                          .factor = factor,
                          .rounds = rounds,
                          .raw_file = raw_file});
  }
  const Result<tune::Machine> machine = MachineInForce();
  if (!machine.ok()) {
    fmt::print(stderr, "tutti tune: {}\n", machine.status().message());
    return kExitFailed;
  }
  if (constants) fmt::print("{}\n", machine->ToText());
  const Result<ChoiceOf> choose = OpenChooser(ranks, *machine);
  if (!choose.ok()) {
    fmt::print(stderr, "tutti tune: {}\n", choose.status().message());
    return kExitFailed;
  }
  fmt::print("{}", FormatChoices(collectives, ranks, ranges ? Detail::kRanges : Detail::kEverySize, *choose));
  return kExitOk;
}

}  // namespace tutti::tools
