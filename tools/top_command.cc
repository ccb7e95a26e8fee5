// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "tools/top_command.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <deque>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "diag/story.h"
#include "diag/verdict.h"
#include "sys/os/clock.h"
#include "tools/cli.h"
#include "tools/command_line.h"
#include "tools/json.h"
#include "tools/top_jobs.h"
#include "tools/top_look.h"
#include "tools/top_view.h"

namespace tutti::tools {
namespace {

constexpr std::int64_t kOnceNs = 200'000'000;  // between the two looks that rates and verdicts come from
constexpr std::size_t kShownLines = 6;         // of what has been told

struct Options {
  std::int32_t pid = 0;  // 0: all jobs
  bool once = false;
  double interval_s = 1;
  std::string json;
};

bool WriteFile(const std::string& path, const std::string& text) {
  if (path == "-") {
    fmt::print("{}", text);
    return true;
  }
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen(path.c_str(), "w"), &std::fclose);
  if (file != nullptr && std::fwrite(text.data(), 1, text.size(), file.get()) == text.size() &&
      std::fflush(file.get()) == 0) {
    return true;
  }
  fmt::print(stderr, "tutti top: cannot write {}: {}\n", path, std::strerror(errno));
  return false;
}

// What a look holds, and what was copied for the rows of one process.
struct Moment {
  diag::Look look;
  std::vector<BoxCopy> boxes;
};

Result<Moment> TakeMoment(const Options& options) {
  Moment moment;
  if (options.pid != 0) {
    Result<std::vector<BoxCopy>> boxes = TakeAll(options.pid);
    if (!boxes.ok()) return boxes.status();
    moment.boxes = std::move(*boxes);
  }
  const Processes processes = FindProcesses();
  moment.look = TakeLook(processes.pids);
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
  if (options.pid != 0) std::erase_if(jobs, [&](const TopJob& job) { return !job.Has(options.pid); });
  return jobs;
}

int ShowOnce(const Options& options, const Moment& before) {
  sys::SleepNs(ApartNs(before.look, kOnceNs));
  const Result<Moment> now = TakeMoment(options);
  if (!now.ok()) {
    fmt::print(stderr, "tutti top: {}\n", now.status().message());
    return static_cast<int>(JobStatus::kUnknown);
  }
  const std::vector<TopJob> jobs = Jobs(options, before, *now, diag::Judge(before.look, now->look));
  if (!options.json.empty()) {
    if (!WriteFile(options.json, AllAsJson(options, before, *now, jobs))) return static_cast<int>(JobStatus::kUnknown);
  } else {
    fmt::print("{}", FormatAll(options, before, *now, jobs));
    std::fflush(stdout);
  }
  return static_cast<int>(StatusOf(jobs));
}

int Refresh(const Options& options, Moment before) {
  diag::Story story;
  std::deque<std::string> told;
  while (true) {
    sys::SleepNs(std::max(ApartNs(before.look, kOnceNs), static_cast<std::int64_t>(options.interval_s * 1e9)));
    Result<Moment> now = TakeMoment(options);
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

}  // namespace

int TopCommand(int argc, char** argv) {
  CommandLine line(
      "Shows the jobs of Tutti on this host and what holds them up, if anything does; with PID, what the communicators "
      "of a "
      "process do and wait for, also while it hangs or is stopped.",
      "tutti top");
  Options options;
  line.Add("PID", options.pid, "one process").Between(1, std::numeric_limits<std::int32_t>::max());
  line.AddFlag("--once", options.once, "show it once (after 0.2 s, for rates and verdicts)");
  line.Add("--interval", options.interval_s, "seconds between refreshes (default 1)").BetweenSeconds(0.05, 3600.0);
  line.Add("--json", options.json,
           "write it once to FILE (-: to stdout), of a process with the last calls and all links")
      .Shown("FILE");
  line.Footer(
      "Exit code where it shows it once: 0 all is well, 1 a warning, 2 a job cannot go on, 3 not known, also where "
      "nothing can be "
      "looked at. Else 1 when it cannot look. 2 for a wrong command line, which prints nothing but the error.");
  if (const std::optional<int> exit = line.Parse(argc, argv)) return *exit;
  options.once |= !options.json.empty() || isatty(STDOUT_FILENO) == 0;

  Result<Moment> before = TakeMoment(options);
  if (!before.ok()) {
    fmt::print(stderr, "tutti top: {}\n", before.status().message());
    return options.once ? static_cast<int>(JobStatus::kUnknown) : kExitFailed;
  }
  return options.once ? ShowOnce(options, *before) : Refresh(options, std::move(*before));
}

}  // namespace tutti::tools
