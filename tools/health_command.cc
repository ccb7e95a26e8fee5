// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "tools/health_command.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "comm/host/impl.h"
#include "comm/host/placement.h"
#include "comm/meet/job_id.h"
#include "sys/cuda/cuda.h"
#include "tools/cli.h"
#include "tools/command_line.h"
#include "tools/doctor_report.h"
#include "tools/health_expect.h"
#include "tools/health_report.h"
#include "tools/launch.h"
#include "tools/perf_team.h"
#include "tutti/communicator.h"

namespace tutti::tools {
namespace {

constexpr std::string_view kFooter =
    "The ranks are those of the launcher (tutti run, mpirun, torchrun, srun), or processes of this host that --ranks "
    "starts. Pairs, "
    "rings and an\n"
    "all_reduce move data that are checked word by word; times are held against what `tutti expect` says of such "
    "hosts. The number of "
    "rounds\n"
    "does not grow with the ranks. Run it where nothing else runs.\n\n"
    "Examples:\n"
    "  tutti health --ranks 4\n"
    "  tutti run --hosts node1:8,node2:8 tutti health --json health.json\n\n"
    "Exit code: 0 for OK, 1 for WARN, 2 for CRITICAL or a wrong command line, 3 where nothing could be found out.";

constexpr std::int64_t kGraceMs = 10000;
constexpr int kExitCritical = 2, kExitUnknown = 3;
constexpr std::size_t kMostBytes = std::size_t{1} << 30;

struct Options {
  int ranks = 0;
  std::string bytes = "8M", json;
  std::size_t large = 0;
  double timeout_s = 60;
  bool host_memory = false;
  Thresholds thresholds;
  Injected injected;
};

// All of one rank's work.
class HealthJob {
 public:
  HealthJob(const Options& options, Communicator& communicator, const Result<PredictorGround>* ground)
      : options_(options), communicator_(communicator), team_(communicator), ground_(ground) {}

  Result<int> Run() {
    TUTTI_RETURN_IF_ERROR(LearnShape());
    if (team_.rank() == 0 && options_.json != "-") {
      fmt::print("# {} ranks on {} host{}\n", team_.ranks(), shape_.host_names.size(),
                 shape_.host_names.size() == 1 ? "" : "s");
    }
    const Result<Buffers> buffers = Buffers::Allocate(options_.large);
    TUTTI_RETURN_IF_ERROR(buffers.status());
    TUTTI_RETURN_IF_ERROR(Examine(*buffers, nullptr, "host memory"));
    if (!options_.host_memory) TUTTI_RETURN_IF_ERROR(ExamineGpus(*buffers));
    const int code = team_.rank() == 0 ? Report() : kExitOk;
    TUTTI_RETURN_IF_ERROR(team_.Barrier());  // nobody ends while others still print
    return code;
  }

 private:
  Status LearnShape() {
    const Result<std::vector<Member>> members = team_.Introduce();
    TUTTI_RETURN_IF_ERROR(members.status());
    const auto& placement = communicator_.impl()->placement;
    if (placement != nullptr && placement->several()) {
      shape_.host_of.assign(placement->host_of.begin(), placement->host_of.end());
      shape_.host_names = placement->hosts;
    } else {
      shape_.host_of.assign(members->size(), 0);
      shape_.host_names = {members->front().info.host};
    }
    for (const Member& member : *members) {
      const auto host = static_cast<std::size_t>(shape_.host_of[static_cast<std::size_t>(member.info.rank)]);
      shape_.rank_names.push_back(
          fmt::format("rank {} (host {}, pid {})", member.info.rank, shape_.host_names[host], member.info.pid));
    }
    return Status::Ok();
  }

  int RanksOfLargestHost() const {
    std::vector<int> counts(shape_.host_names.size(), 0);
    for (const int host : shape_.host_of) ++counts[static_cast<std::size_t>(host)];
    return *std::ranges::max_element(counts);
  }

  Status Examine(const Buffers& buffers, PerfGpu* gpu, const char* memory) {
    HealthRank rank(communicator_, buffers, gpu, options_.large, options_.injected);
    std::optional<HealthExpectation> expectation;
    HealthPart part{.memory = memory, .notes = "", .rounds = {}, .transfers = {}, .findings = {}};
    if (ground_ != nullptr && ground_->ok()) {
      expectation.emplace(**ground_, static_cast<int>(shape_.host_names.size()), RanksOfLargestHost(), gpu == nullptr);
    } else if (ground_ != nullptr) {
      part.notes = fmt::format("nothing can be expected of this host: {}", ground_->status().message());
    }
    Result<std::vector<Transfer>> transfers =
        rank.Run(shape_, options_.thresholds, [&](Transfer& transfer, int links_at_once) {
          if (expectation) expectation->Expect(shape_.within(transfer.from, transfer.to), links_at_once, transfer);
        });
    TUTTI_RETURN_IF_ERROR(transfers.status());
    const Result<HealthRank::Reduced> reduced = rank.AllReduceAll(options_.large);
    TUTTI_RETURN_IF_ERROR(reduced.status());
    if (team_.rank() != 0) return Status::Ok();
    part.rounds = rank.rounds();
    part.transfers = std::move(*transfers);
    part.reduced_bytes = options_.large;
    part.reduced = *reduced;
    if (expectation) {
      part.reduced_expected_us = expectation->AllReduceUs(options_.large);
      part.notes = expectation->notes();
    }
    part.findings = JudgeTransfers(part.transfers, shape_, options_.thresholds, part.memory);
    if (part.reduced.wrong > 0) {
      part.findings.push_back({.severity = doctor::Severity::kCritical,
                               .check = "corrupt",
                               .what = fmt::format("an all_reduce of {} is wrong", part.memory),
                               .evidence = fmt::format("{} elements on all ranks together", part.reduced.wrong),
                               .remedy = "where no rank is named beside it, run `tutti perf all_reduce --all-algos`"});
    }
    parts_.push_back(std::move(part));
    return Status::Ok();
  }

  // Where all ranks have one.
  Status ExamineGpus(const Buffers& buffers) {
    const Result<std::int64_t> without = team_.Sum(sys::cuda::OpenDriver().ok() ? 0 : 1);
    TUTTI_RETURN_IF_ERROR(without.status());
    if (*without == team_.ranks()) return Status::Ok();
    if (*without > 0) {
      skipped_ = fmt::format("{} of {} ranks have no GPU", *without, team_.ranks());
      return Status::Ok();
    }
    Result<PerfGpu> gpu = PerfGpu::Create(communicator_, buffers, options_.large);
    const Result<std::int64_t> failed = team_.Sum(gpu.ok() ? 0 : 1);
    TUTTI_RETURN_IF_ERROR(failed.status());
    if (*failed > 0) {
      skipped_ = gpu.ok() ? fmt::format("{} ranks cannot use their GPU", *failed) : gpu.status().message();
      return Status::Ok();
    }
    return Examine(buffers, &*gpu, "GPU memory");
  }

  int Report() {
    doctor::Findings findings;
    Json parts = Json::Array();
    for (const HealthPart& part : parts_) {
      findings.insert(findings.end(), part.findings.begin(), part.findings.end());
      if (options_.json != "-") fmt::print("{}", FormatPart(part, shape_, options_.thresholds));
      parts.Append(PartAsJson(part, shape_, options_.thresholds));
    }
    if (!skipped_.empty()) {
      findings.push_back({.severity = doctor::Severity::kInfo,
                          .check = "gpu",
                          .what = "GPU memory was left out",
                          .evidence = skipped_});
    }
    if (options_.json != "-") fmt::print("{}", FormatFindings(findings, 1, true));
    if (!options_.json.empty()) {
      Json json = FindingsAsJson(findings);
      json["ranks"] = team_.ranks();
      json["hosts"] = shape_.host_names;
      json["parts"] = parts;
      if (const Status written = WriteText(options_.json, json.Dump(2) + "\n"); !written.ok()) {
        PrintFailure(team_.rank(), written);
        return kExitUnknown;
      }
    }
    std::fflush(stdout);
    return doctor::ExitCodeOf(findings);
  }

  const Options& options_;
  Communicator& communicator_;
  Team team_;
  const Result<PredictorGround>* ground_;  // on rank 0; else null
  HealthShape shape_;
  std::vector<HealthPart> parts_;  // on rank 0
  std::string skipped_;            // why GPUs were; empty: they were not
};

// What a job that breaks has found out: who broke it.
int Broken(int rank, const Status& status) {
  PrintFailure(rank, status);
  return kExitCritical;
}

int RunRank(const Options& options, int rank, const Result<PredictorGround>* ground, Result<Communicator> made) {
  if (!made.ok()) return Broken(rank, made.status());
  const Result<int> code = HealthJob(options, *made, ground).Run();
  if (code.ok()) return *code;
  if (rank == 0) {
    const doctor::Findings findings = {{.severity = doctor::Severity::kCritical,
                                        .check = "broken",
                                        .what = "the job ended before all was measured",
                                        .evidence = code.status().message(),
                                        .remedy = "mend what the sentence names"}};
    if (options.json != "-") fmt::print("{}", FormatFindings(findings, 1, true));
    std::fflush(stdout);
    if (!options.json.empty()) (void)WriteText(options.json, FindingsAsJson(findings).Dump(2) + "\n");
  }
  return Broken(rank, code.status());
}

Settings SettingsFor(const Options& options) {
  Settings settings = Settings::FromEnvironment();
  settings.timeout_ms = static_cast<std::int64_t>(options.timeout_s * 1000);
  return settings;
}

int RunProcesses(const Options& options) {
  const Result<PredictorGround> ground = ReadGround({.host_memory = true});
  const Result<UniqueId> id = CreateUniqueId();
  if (!id.ok()) return Broken(-1, id.status());
  const LaunchOptions launch{
      .name = "tutti health", .grace_ms = kGraceMs, .quiet_codes = {kExitFailed, kExitCritical, kExitUnknown}};
  const int code = LaunchRanks(options.ranks, launch, [&](int rank) {
    return RunRank(
        options, rank, rank == 0 ? &ground : nullptr,
        Communicator::Create({.rank = rank, .ranks = options.ranks, .id = *id, .settings = SettingsFor(options)}));
  });
  return code > 128 ? kExitCritical : code;  // killed by a signal
}

std::optional<std::string> Interpret(Options& options) {
  const std::optional<std::size_t> bytes = ParseBytes(options.bytes);
  if (!bytes || *bytes < 65536 || *bytes > kMostBytes) return "--bytes is a size from 64K to 1G";
  options.large = *bytes / 4096 * 4096;
  if (options.thresholds.warn < options.thresholds.critical)
    return "--warn is not below --critical: both are fractions of the speed";
  if (const char* text = std::getenv("TUTTI_TEST_HEALTH"); text != nullptr && *text != '\0') {
    const std::optional<Injected> injected = ParseInjected(text);
    if (!injected)
      return fmt::format("TUTTI_TEST_HEALTH={}: not a fault as slow-rank:2:50, slow-link:1-3:50, corrupt-rank:2", text);
    options.injected = *injected;
  }
  return std::nullopt;
}

}  // namespace

int HealthCommand(int argc, char** argv) {
  CommandLine line("Check that all ranks of a job move data as fast as expected, and unchanged.", "tutti health");
  Options options;
  line.Footer(std::string(kFooter));
  line.Add("--ranks", options.ranks, "start so many ranks on this host").Between(2, 1024);
  line.Add("--bytes", options.bytes, "size of large messages (default 8M)").Shown("BYTES");
  line.AddFlag("--host-memory", options.host_memory, "host memory only, although there are GPUs");
  line.Add("--warn", options.thresholds.warn, "WARN below this fraction of the expected speed (default 0.5)")
      .Shown("FRACTION");
  line.Add("--critical", options.thresholds.critical, "CRITICAL below this one (default 0.2)").Shown("FRACTION");
  line.Add("--timeout", options.timeout_s, "how long one wait may last (default 60)").BetweenSeconds(1, 3600);
  line.Add("--json", options.json, "write it to a file as JSON; - is the standard output").Shown("FILE");
  if (const std::optional<int> exit = line.Parse(argc, argv)) return *exit;
  if (const std::optional<std::string> error = Interpret(options)) return UsageError("tutti health", *error);
  if (options.ranks > 0) return RunProcesses(options);
  const Result<comm::LaunchIdentity> identity = comm::IdentityFromEnvironment();
  if (!identity.ok()) return Broken(-1, identity.status());
  if (identity->ranks < 2) {
    return UsageError("tutti health", "there is one rank only: give --ranks, or start it by a launcher");
  }
  std::optional<Result<PredictorGround>> ground;
  if (identity->rank == 0) ground.emplace(ReadGround({.host_memory = true}));
  return RunRank(options, identity->rank, ground ? &*ground : nullptr,
                 Communicator::FromEnvironment(SettingsFor(options)));
}

}  // namespace tutti::tools
