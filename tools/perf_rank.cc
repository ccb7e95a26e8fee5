// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <strings.h>

#include <cstring>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "algo/algorithm.h"
#include "proto/protocol.h"
#include "tools/cli.h"
#include "tools/perf_run.h"

namespace tutti::tools {
namespace {

constexpr std::int64_t kTimeoutMs = 60000;  // of a wait under --all-algos, where one combination may hang

// One entry of --all-algos. Empty names: what users get.
struct Combination {
  std::string algorithm, protocol;
  SingleCopy single_copy = SingleCopy::kAuto;

  // As ParseChoice names it.
  std::string shown_protocol() const { return single_copy == SingleCopy::kForce ? "by-ref" : protocol; }
  std::string ToString() const {
    if (protocol.empty()) return "default";
    return algorithm.empty() ? shown_protocol() : algorithm + " " + shown_protocol();
  }
};

// Every way to do `collective` that could be asked for. Sends and receives have one algorithm, which is not
// asked for.
std::vector<Combination> CombinationsOf(Collective collective, int ranks) {
  std::vector<std::string> algorithms;
  for (const algo::Entry& entry : algo::Registry()) {
    if (collective != Collective::kSendRecv && entry.supports(collective, ranks)) {
      algorithms.emplace_back(entry.name);
    }
  }
  if (collective == Collective::kSendRecv) algorithms.emplace_back();
  std::vector<Combination> combinations = {{}};
  for (const std::string& algorithm : algorithms) {
    for (int i = 0; i < proto::kProtocols; ++i) {
      combinations.push_back({algorithm, std::string(proto::Name(static_cast<proto::Protocol>(i))), SingleCopy::kOff});
    }
    combinations.push_back({algorithm, std::string(proto::Name(proto::Protocol::kSimple)), SingleCopy::kForce});
  }
  return combinations;
}

// The setting that leaves only `name`. A name that is also NCCL's name for several algorithms ("tree") stands for all of
// them; then the others have to be excluded one by one.
std::string OnlyAlgorithm(const std::string& name) {
  std::string others;
  bool ambiguous = false;
  for (const algo::Entry& entry : algo::Registry()) {
    if (entry.name == name) continue;
    others += fmt::format("{}{}", others.empty() ? "^" : ",", entry.name);
    ambiguous |= strcasecmp(std::string(entry.nccl_name).c_str(), name.c_str()) == 0;
  }
  return ambiguous && !name.empty() ? others : name;
}

// Whether the library does what the combination asks for, as Communicator::Explain tells it.
bool Matches(const Combination& combination, const std::string& explained) {
  const ChoiceNames choice = ParseChoice(explained);
  return (combination.algorithm.empty() || combination.algorithm == choice.algorithm) &&
         (combination.protocol.empty() || combination.shown_protocol() == choice.protocol);
}

// Whether the communicator under test cannot serve the ranks' own agreements too.
bool ForcesSomething(const PerfOptions& options) {
  const Settings settings = SettingsOf(options);
  return options.all_algorithms || !settings.algo.empty() || !settings.proto.empty() ||
         settings.single_copy != SingleCopy::kAuto;
}

class PerfRank {
 public:
  PerfRank(const PerfOptions& options, Communicator& control)
      : options_(options),
        control_(control),
        team_(control),
        report_(options, control.rank() == 0 ? PerfReport::Voice::kSpeaks : PerfReport::Voice::kSilent) {}

  int Run();

 private:
  // The sentence that says what is wrong with the options for these ranks, or "".
  std::string UsageProblem(const std::vector<Member>& members) const;
  Status Begin(const std::vector<Member>& members);
  Status RunOne();
  Status RunAll();
  enum class Verdict { kPassed, kFailed, kSkipped };
  Result<Verdict> RunCombination(const Combination& combination);
  Result<bool> Agree(const Combination& combination, const Status& mine);
  static Result<Verdict> AsVerdict(const Result<bool>& good) {
    return good.ok() ? Result<Verdict>(Verdict::kFailed) : Result<Verdict>(good.status());
  }
  Status RunRows(Communicator& tested);
  // The buffers for `tested`, filled with zeros.
  Result<Buffers> MakeBuffers(Communicator& tested) const;
  Result<std::optional<PerfGpu>> MakeGpu(Communicator& tested, const Buffers& buffers);

  const PerfOptions& options_;
  Communicator& control_;
  Team team_;
  PerfReport report_;
  bool failed_ = false;       // a combination failed
  std::string verdict_line_;  // of --all-algos
};

int PerfRank::Run() {
  const Result<std::vector<Member>> members = team_.Introduce();
  if (members.ok()) {
    if (const std::string problem = UsageProblem(*members); !problem.empty()) {
      if (team_.rank() == 0) UsageError("tutti perf", problem);
      return kExitUsage;
    }
  }
  if (const Status begun = members.ok() ? Begin(*members) : members.status(); !begun.ok()) {
    PrintFailure(team_.rank(), begun);
    return kExitFailed;
  }
  const Status outcome = options_.all_algorithms ? RunAll() : RunOne();
  if (!outcome.ok()) PrintFailure(team_.rank(), outcome);
  const Status written = report_.Finish(outcome.ok() ? "" : outcome.ToString());
  if (!written.ok()) PrintFailure(team_.rank(), written);
  if (!verdict_line_.empty()) report_.Line(verdict_line_);
  if (!outcome.ok() || !written.ok()) return kExitFailed;
  if (report_.wrong() > 0 || !report_.fast_enough()) return kExitWrong;
  return failed_ ? kExitFailed : kExitOk;
}

std::string PerfRank::UsageProblem(const std::vector<Member>& members) const {
  if (HasRoot(options_.collective) && options_.root >= team_.ranks()) {
    return fmt::format("root {} does not exist among {} ranks", options_.root, team_.ranks());
  }
  return MemoryProblem(members, Buffers::Footprint(BufferBytes(options_)));
}

// Only rank 0 can fail here, so the others ask it.
Status PerfRank::Begin(const std::vector<Member>& members) {
  std::vector<RankInfo> infos;
  for (const Member& member : members) infos.push_back(member.info);
  const Status begun = report_.Begin(infos);
  const Result<std::int64_t> failures = team_.Sum(begun.ok() ? 0 : 1);
  TUTTI_RETURN_IF_ERROR(begun);
  TUTTI_RETURN_IF_ERROR(failures.status());
  if (*failures > 0) return Status(Code::kRemote, "rank 0 could not begin its report", 0);
  return Status::Ok();
}

Status PerfRank::RunOne() {
  if (!ForcesSomething(options_)) return RunRows(control_);
  Result<Communicator> tested = team_.Again(SettingsOf(options_));
  return tested.ok() ? RunRows(*tested) : tested.status();
}

Status PerfRank::RunRows(Communicator& tested) {
  const Result<Buffers> buffers = MakeBuffers(tested);
  if (!buffers.ok()) return buffers.status();
  Result<std::optional<PerfGpu>> gpu = MakeGpu(tested, *buffers);
  if (!gpu.ok()) return gpu.status();
  return RowRunner(options_, team_, tested, *buffers, *gpu ? &**gpu : nullptr, report_).Run();
}

// With --gpu: this rank's GPU. The ranks agree whether all have one, so that none waits for another.
Result<std::optional<PerfGpu>> PerfRank::MakeGpu(Communicator& tested, const Buffers& buffers) {
  if (!options_.gpu) return std::optional<PerfGpu>();
  const Status driver = sys::cuda::OpenDriver().status();
  const Result<std::int64_t> without = team_.Sum(driver.ok() ? 0 : 1);
  if (!without.ok()) return without.status();
  if (!driver.ok()) return Status(driver.code(), fmt::format("--gpu cannot be had: {}", driver.message()));
  if (*without > 0) return Status(Code::kRemote, fmt::format("{} ranks have no GPU, so --gpu cannot be had", *without));
  Result<PerfGpu> gpu = PerfGpu::Create(tested, buffers, BufferBytes(options_));
  if (!gpu.ok()) return gpu.status();
  return std::optional<PerfGpu>(std::move(*gpu));
}

Result<Buffers> PerfRank::MakeBuffers(Communicator& tested) const {
  const std::size_t bytes = BufferBytes(options_);
  Result<Buffers> buffers = options_.shared ? Buffers::AllocateShared(tested, bytes) : Buffers::Allocate(bytes);
  if (buffers.ok()) {
    for (std::byte* buffer : {buffers->first(), buffers->second()}) std::memset(buffer, 0, bytes + kGuardBytes);
  }
  return buffers;
}

Status PerfRank::RunAll() {
  int passed = 0, failed = 0;
  for (const Combination& combination : CombinationsOf(options_.collective, team_.ranks())) {
    const Result<Verdict> verdict = RunCombination(combination);
    if (!verdict.ok()) return verdict.status();
    passed += *verdict == Verdict::kPassed;
    failed += *verdict == Verdict::kFailed;
  }
  failed_ = failed > 0;
  verdict_line_ = fmt::format("{} passed, {} failed", passed, failed);
  return Status::Ok();
}

// The ranks vote through the team after every stage, so that all know of a failure of one.
Result<PerfRank::Verdict> PerfRank::RunCombination(const Combination& combination) {
  Settings settings = SettingsOf(options_);
  settings.algo = OnlyAlgorithm(combination.algorithm);
  settings.proto = combination.protocol;
  settings.single_copy = combination.single_copy;
  if (options_.timeout_s == 0) settings.timeout_ms = kTimeoutMs;
  report_.Progress(fmt::format("connecting for {}", combination.ToString()));
  Result<Communicator> tested = team_.Again(settings);
  const Result<Buffers> buffers = tested.ok() ? MakeBuffers(*tested) : tested.status();
  if (Result<bool> good = Agree(combination, buffers.status()); !good.ok() || !*good) return AsVerdict(good);

  const std::int64_t wrong_before = report_.wrong();
  RowRunner runner(options_, team_, *tested, *buffers, nullptr, report_);
  const std::string explained = runner.ExplainLargest();
  const Result<std::int64_t> mismatches = team_.Sum(Matches(combination, explained) ? 0 : 1);
  if (!mismatches.ok()) return mismatches.status();
  if (*mismatches > 0) {
    report_.Note(fmt::format("{}: left out, cannot be had here ({})", combination.ToString(), explained));
    return Verdict::kSkipped;
  }
  if (Result<bool> good = Agree(combination, runner.Run()); !good.ok() || !*good) return AsVerdict(good);
  return report_.wrong() == wrong_before ? Verdict::kPassed : Verdict::kFailed;
}

// Whether no rank has failed. Prints this rank's failure.
Result<bool> PerfRank::Agree(const Combination& combination, const Status& mine) {
  if (!mine.ok()) PrintFailure(team_.rank(), mine);
  const Result<std::int64_t> failures = team_.Sum(mine.ok() ? 0 : 1);
  if (!failures.ok()) return failures.status();
  if (*failures > 0) report_.Note(fmt::format("{}: FAILED on {} ranks", combination.ToString(), *failures));
  return *failures == 0;
}

}  // namespace

Settings ControlSettings(const PerfOptions& options) {
  Settings settings = SettingsOf(options);
  if (!ForcesSomething(options)) return settings;
  settings.algo.clear();
  settings.proto.clear();
  settings.single_copy = SingleCopy::kAuto;
  // It waits for ranks that wait on the communicator under test, so it must be the more patient one.
  if (options.all_algorithms && options.timeout_s == 0) settings.timeout_ms = kTimeoutMs;
  settings.timeout_ms *= 2;
  return settings;
}

int RunPerfRank(const PerfOptions& options, int rank, Result<Communicator> made) {
  if (!made.ok()) {
    PrintFailure(rank, made.status());
    return kExitFailed;
  }
  return PerfRank(options, *made).Run();
}

}  // namespace tutti::tools
