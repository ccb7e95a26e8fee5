// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "tools/top_command.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <deque>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "base/words.h"
#include "diag/story.h"
#include "diag/verdict.h"
#include "sys/os/clock.h"
#include "tools/cli.h"
#include "tools/command_line.h"
#include "tools/json.h"
#include "tools/top_core.h"
#include "tools/top_far.h"
#include "tools/top_jobs.h"
#include "tools/top_look.h"
#include "tools/top_view.h"
#include "tutti/settings.h"
#include "watch/host_evidence.h"
#include "watch/joint_look.h"

namespace tutti::tools {
namespace {

constexpr std::int64_t kOnceNs = 200'000'000;  // between the two looks that rates and verdicts come from
constexpr std::int64_t kNvmlNs = 2'000'000'000, kNvmlStepNs = 10'000'000;
constexpr std::size_t kShownLines = 6;  // of what has been told

struct Options {
  std::string target;    // a process, a core file, or nothing
  std::int32_t pid = 0;  // 0: all jobs
  bool once = false;
  double interval_s = 1;
  std::string json;
};

// What a look holds, and what was copied for the rows of one process.
struct Moment {
  diag::Look look;
  std::size_t own_processes = 0;  // of the look: those of this host, which come first
  std::vector<BoxCopy> boxes;
};

// Whether there may be ranks that this look has not seen: on other hosts, or of processes that may not be looked at.
bool LacksRanks(const diag::Look& look) {
  return look.communicators.empty() || std::ranges::any_of(look.communicators, [](const diag::CommunicatorLook& c) {
           return c.seen.size() < static_cast<std::size_t>(c.ranks);
         });
}

// What else is asked: other hosts, and the system of this one.
struct Beyond {
  FarLooks far;
  watch::HostEvidence evidence;
};

Result<Moment> TakeMoment(const Options& options, Beyond& beyond) {
  Moment moment;
  if (options.pid != 0) {
    Result<std::vector<BoxCopy>> boxes = TakeAll(options.pid);
    if (!boxes.ok()) return boxes.status();
    moment.boxes = std::move(*boxes);
  }
  const Processes processes = FindProcesses();
  moment.look = TakeLook(processes.pids);
  beyond.evidence.AddTo(moment.look);
  if (LacksRanks(moment.look)) {
    if (const std::optional<watch::JointLook> told = beyond.far.Ask()) {
      // Again, as answers may take a while: both are to show much the same moment.
      moment.look = TakeLook(processes.pids);
      beyond.evidence.AddTo(moment.look);
      moment.own_processes = moment.look.processes.size();
      watch::AddJointLook(moment.look, *told);
      return moment;
    }
  }
  moment.own_processes = moment.look.processes.size();
  if (options.pid == 0 && moment.look.communicators.empty()) {
    return Status(Code::kInvalidArgument, NothingHere(processes.denied));
  }
  return moment;
}

std::string FormatAll(const Options& options, const Moment& before, const Moment& now,
                      const std::vector<TopJob>& jobs) {
  if (options.pid == 0) return FormatJobs(jobs);
  std::string text = FormatRows(options.pid, MakeRows(now.boxes, before.boxes));
  for (const TopJob& job : jobs) text += FormatVerdicts(job.verdicts);
  return text;
}

std::string AllAsJson(const Options& options, const Moment& before, const Moment& now,
                      const std::vector<TopJob>& jobs) {
  if (options.pid == 0) return JobsAsJson(now.look, jobs).Dump(1) + "\n";
  Json json = RowsAsJson(options.pid, now.boxes, MakeRows(now.boxes, before.boxes));
  json["status"] = Name(StatusOf(jobs));
  json["verdicts"] = Json::Array();
  for (const TopJob& job : jobs) json["verdicts"] = VerdictsAsJson(job.verdicts);
  return json.Dump(1) + "\n";
}

// The jobs that are asked for.
std::vector<TopJob> Jobs(const Options& options, const Moment& before, const Moment& now,
                         const std::vector<diag::Verdict>& verdicts) {
  std::vector<TopJob> jobs = FindJobs(before.look, now.look, verdicts);
  const auto has = [&](const TopJob& job) {
    return std::ranges::any_of(job.processes, [&](const diag::ProcessLook* p) {
      // One of another host may have the same number.
      return p->pid == options.pid && static_cast<std::size_t>(p - now.look.processes.data()) < now.own_processes;
    });
  };
  if (options.pid != 0) std::erase_if(jobs, [&](const TopJob& job) { return !has(job); });
  return jobs;
}

int ShowOnce(const Options& options, Beyond& beyond, const Moment& before) {
  sys::SleepNs(ApartNs(before.look, kOnceNs));
  // NVML has been asked where there was a reason to.
  for (const std::int64_t until_ns = sys::NowNs() + kNvmlNs; beyond.evidence.is_asking() && sys::NowNs() < until_ns;)
    sys::SleepNs(kNvmlStepNs);
  const Result<Moment> now = TakeMoment(options, beyond);
  if (!now.ok()) {
    fmt::print(stderr, "tutti top: {}\n", now.status().message());
    return static_cast<int>(JobStatus::kUnknown);
  }
  const std::vector<TopJob> jobs = Jobs(options, before, *now, diag::Judge(before.look, now->look));
  if (!options.json.empty()) {
    if (!WriteTextOrSay("tutti top", options.json, AllAsJson(options, before, *now, jobs)))
      return static_cast<int>(JobStatus::kUnknown);
  } else {
    fmt::print("{}", FormatAll(options, before, *now, jobs));
    std::fflush(stdout);
  }
  return static_cast<int>(StatusOf(jobs));
}

int Refresh(const Options& options, Beyond& beyond, Moment before) {
  diag::Story story;
  std::deque<std::string> told;
  while (true) {
    sys::SleepNs(std::max(ApartNs(before.look, kOnceNs), static_cast<std::int64_t>(options.interval_s * 1e9)));
    Result<Moment> now = TakeMoment(options, beyond);
    if (!now.ok()) {
      fmt::print(stderr, "tutti top: {}\n", now.status().message());
      return kExitFailed;
    }
    for (diag::Story::Line& line : story.Update(diag::Judge(before.look, now->look), now->look.taken_ns)) {
      told.push_back(std::move(line.text));
      if (told.size() > kShownLines) told.pop_front();
    }
    std::string text = FormatAll(options, before, *now, Jobs(options, before, *now, story.standing()));
    if (!told.empty()) text += "\n";
    for (const std::string& line : told) text += line + "\n";
    // Home, the text with the rest of each line blanked, the rest of the screen blanked.
    for (std::size_t at = 0; (at = text.find('\n', at)) != std::string::npos; at += 4) text.insert(at, "\033[K");
    fmt::print("\033[H{}\033[J", text);
    std::fflush(stdout);
    before = std::move(*now);
  }
}

int ShowCore(const Options& options) {
  const Result<CoreLook> core = ReadCore(options.target);
  if (!core.ok()) {
    fmt::print(stderr, "tutti top: {}\n", core.status().message());
    return static_cast<int>(JobStatus::kUnknown);
  }
  const std::vector<diag::Verdict> verdicts = JudgeCore(*core);
  if (options.json.empty()) {
    fmt::print("{}", FormatCore(*core, verdicts));
    std::fflush(stdout);
  } else if (!WriteTextOrSay("tutti top", options.json, CoreAsJson(*core, verdicts).Dump(1) + "\n")) {
    return static_cast<int>(JobStatus::kUnknown);
  }
  return static_cast<int>(StatusOf(*core, verdicts));
}

}  // namespace

int TopCommand(int argc, char** argv) {
  CommandLine line(
      "Shows the jobs of Tutti on this host and what holds them up, if anything does; with PID, what the communicators "
      "of a process do and wait for, also while it hangs or is stopped; with FILE, what those of a process did that a "
      "signal has ended, from its core file.",
      "tutti top");
  Options options;
  line.Add("PID|FILE", options.target, "one process, or a core file").Shown("");
  line.AddFlag("--once", options.once, "show it once (after 0.2 s, for rates and verdicts)");
  line.Add("--interval", options.interval_s, "seconds between refreshes (default 1)").BetweenSeconds(0.05, 3600.0);
  line.Add("--json", options.json,
           "write it once to FILE (-: to stdout), of a process with the last calls and all links")
      .Shown("FILE");
  line.Footer(
      "Examples:\n"
      "  tutti top                      all jobs, until it is interrupted\n"
      "  tutti top --once               once; the exit code says how bad it is\n"
      "  tutti top --once --json -      the same for programs\n"
      "  tutti top 4711                 the communicators of one process\n\n"
      "Exit code where it shows it once: 0 all is well, 1 a warning, 2 a job cannot go on, 3 not known, also where "
      "nothing can be "
      "looked at. Else 1 when it cannot look. 2 for a wrong command line, which prints nothing but the error.");
  if (const std::optional<int> exit = line.Parse(argc, argv)) return *exit;
  if (!options.target.empty()) {
    constexpr std::int32_t kMost = std::numeric_limits<std::int32_t>::max();
    const std::optional<std::int32_t> pid = ParseNumber<std::int32_t>(options.target);
    const bool is_file = access(options.target.c_str(), F_OK) == 0;
    if (!pid && is_file) return ShowCore(options);
    if (!pid || *pid < 1) {
      return UsageError(
          "tutti top", fmt::format("PID: takes a whole number from 1 to {} or the name of a core file, not '{}'", kMost,
                                   options.target));
    }
    options.pid = *pid;
  }
  options.once |= !options.json.empty() || isatty(STDOUT_FILENO) == 0;

  const Settings settings = Settings::FromEnvironment();
  Beyond beyond{.far = FarLooks(settings.ras_enable ? settings.ras_addr : ""),
                .evidence = {{.kernel_log = settings.kernel_log == "none" ? "" : settings.kernel_log},
                             watch::HostEvidence::Earlier::kCounts}};
  Result<Moment> before = TakeMoment(options, beyond);
  if (!before.ok()) {
    fmt::print(stderr, "tutti top: {}\n", before.status().message());
    return options.once ? static_cast<int>(JobStatus::kUnknown) : kExitFailed;
  }
  return options.once ? ShowOnce(options, beyond, *before) : Refresh(options, beyond, std::move(*before));
}

}  // namespace tutti::tools
