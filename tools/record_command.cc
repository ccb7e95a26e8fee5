// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "tools/record_command.h"

#include <fmt/format.h>
#include <signal.h>

#include <algorithm>
#include <cstdint>
#include <ctime>
#include <filesystem>
#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "diag/verdict.h"
#include "sys/os/clock.h"
#include "tools/cli.h"
#include "tools/command_line.h"
#include "tools/record_file.h"
#include "tools/record_flight.h"
#include "tools/record_job.h"
#include "tools/record_pickle.h"
#include "tools/record_prometheus.h"
#include "tools/record_trace.h"
#include "tools/top_boxes.h"
#include "tools/top_jobs.h"
#include "tools/top_look.h"

namespace tutti::tools {
namespace {

constexpr int kExitNothing = 3;
constexpr std::int64_t kApartNs = 200'000'000;  // between two looks, at least
constexpr int kTries = 20;                      // to copy black boxes that hold the same calls
constexpr int kEnding[] = {SIGINT, SIGTERM, SIGHUP};

struct Options {
  std::int32_t pid = 0;  // 0: all jobs
  std::string flight, flight_json, trace, prometheus;
  double last_s = 0;   // 0: all
  double every_s = 0;  // 0: once

  bool flights() const { return !flight.empty() || !flight_json.empty(); }
};

void Say(const std::string& sentence) { fmt::print(stderr, "tutti record: {}\n", sentence); }

// Signals that end this program, taken one by one while it rests: what it writes is whole.
class Signals {
 public:
  Signals() {
    sigemptyset(&set_);
    for (const int signal : kEnding) sigaddset(&set_, signal);
    sigprocmask(SIG_BLOCK, &set_, &old_);
  }
  ~Signals() { sigprocmask(SIG_SETMASK, &old_, nullptr); }
  Signals(const Signals&) = delete;
  Signals& operator=(const Signals&) = delete;

  // Whether one came in that time.
  bool ComeWithin(std::int64_t ns) const {
    const std::int64_t until_ns = sys::NowNs() + ns;
    while (true) {
      const std::int64_t left_ns = std::max<std::int64_t>(until_ns - sys::NowNs(), 0);
      const timespec time{.tv_sec = left_ns / sys::kNsPerSecond, .tv_nsec = left_ns % sys::kNsPerSecond};
      if (sigtimedwait(&set_, nullptr, &time) > 0) return true;
      if (left_ns == 0) return false;
    }
  }

 private:
  sigset_t set_{}, old_{};
};

struct Moment {
  diag::Look look;
  std::vector<BoxCopy> boxes;
  int denied = 0;
};

Moment TakeMoment() {
  Moment moment;
  const Processes processes = FindProcesses();
  moment.look = TakeLook(processes.pids, &moment.boxes);
  moment.denied = processes.denied;
  return moment;
}

// Why there is no job to write.
std::string WhyNoJob(const Options& options, const Moment& moment) {
  if (options.pid != 0) {
    const Result<std::vector<BoxCopy>> boxes = TakeAll(options.pid);
    if (!boxes.ok()) return boxes.status().message();
    return fmt::format("process {} has just begun or ended its communicators; try again", options.pid);
  }
  return NothingHere(moment.denied);
}

// Why these cannot be one flight record; empty: they can.
std::string TooManyJobs(const std::vector<TopJob>& jobs) {
  if (jobs.size() == 1) return "";
  std::string names;
  for (const TopJob& job : jobs) {
    const diag::ProcessLook& first = *job.processes.front();
    names += fmt::format("{}{} ({}, {} ranks)", names.empty() ? "" : ", ", first.pid, first.name, job.ranks);
  }
  return fmt::format("a flight record is of one job, and here are {}: {}; name a process of the one that is meant",
                     jobs.size(), names);
}

Status WriteFlights(const Options& options, const RecordJob& job) {
  const FlightRecord record(job);
  for (const std::string& note : record.notes()) Say(note);
  for (const int rank : record.ranks()) {
    const Json dump = record.DumpOf(rank);
    if (!options.flight.empty())
      TUTTI_RETURN_IF_ERROR(WriteWhole(fmt::format("{}{}", options.flight, rank), Pickle(dump)));
    if (!options.flight_json.empty())
      TUTTI_RETURN_IF_ERROR(WriteWhole(fmt::format("{}{}.json", options.flight_json, rank), dump.Dump(1) + "\n"));
  }
  if (record.ranks().empty())
    return Status(Code::kInvalidArgument, "no communicator can be in the flight record; see above why");
  return Status::Ok();
}

Status WriteAll(const Options& options, const Moment& before, const Moment& now, const std::vector<TopJob>& jobs) {
  if (!options.prometheus.empty())
    TUTTI_RETURN_IF_ERROR(WriteWhole(options.prometheus, FormatPrometheus(now.look, jobs)));
  if (!options.flights() && options.trace.empty()) return Status::Ok();
  std::vector<RecordJob> records;
  for (const TopJob& job : jobs) records.push_back(MakeRecordJob(before.look, now.look, job, now.boxes));
  if (!options.trace.empty()) {
    std::optional<std::int64_t> last_ns;
    if (options.last_s > 0) last_ns = static_cast<std::int64_t>(options.last_s * 1e9);
    TUTTI_RETURN_IF_ERROR(WriteWhole(options.trace, MakeTrace(records, last_ns)));
  }
  if (!options.flights()) return Status::Ok();
  if (const std::string why = TooManyJobs(jobs); !why.empty()) return Status(Code::kInvalidUsage, why);
  return WriteFlights(options, records.front());
}

std::vector<TopJob> Jobs(const Options& options, const Moment& before, const Moment& now) {
  std::vector<TopJob> jobs = FindJobs(before.look, now.look, diag::Judge(before.look, now.look));
  if (options.pid != 0) std::erase_if(jobs, [&](const TopJob& job) { return !job.Has(options.pid); });
  return jobs;
}

struct Sight {
  Moment now;
  std::vector<TopJob> jobs;  // in it
};

// Where a flight record is wanted, again until the black boxes hold the same calls: ranks go on while one after another is copied, and
// where this program loses its core between two copies, the first can be forgotten.
Sight TakeSight(const Options& options, const Moment& before) {
  for (int tries = 1;; ++tries) {
    Sight sight{.now = TakeMoment()};
    const Moment& now = sight.now;
    sight.jobs = Jobs(options, before, now);
    if (!options.flights() || sight.jobs.size() != 1 || tries == kTries) return sight;
    const RecordJob job = MakeRecordJob(before.look, now.look, sight.jobs.front(), now.boxes);
    if (!FlightRecord(job).apart()) return sight;
  }
}

// The last that is written when the last job has gone: that there is none.
int EndWithoutJobs(const Options& options, const Moment& now) {
  if (options.prometheus.empty()) return kExitOk;
  const Status written = WriteWhole(options.prometheus, FormatPrometheus(now.look, {}));
  if (!written.ok()) Say(written.message());
  return written.ok() ? kExitOk : kExitFailed;
}

int Record(const Options& options) {
  const Signals signals;
  Moment before = TakeMoment();
  std::int64_t rest_ns = 0;
  for (bool first = true;; first = false) {
    if (signals.ComeWithin(std::max(rest_ns, ApartNs(before.look, kApartNs)))) {
      if (first) Say("ended by a signal before anything was written");
      return first ? kExitFailed : kExitOk;
    }
    auto [now, jobs] = TakeSight(options, before);
    if (jobs.empty()) {
      if (!first) return EndWithoutJobs(options, now);
      Say(WhyNoJob(options, now));
      return kExitNothing;
    }
    if (const Status written = WriteAll(options, before, now, jobs); !written.ok()) {
      Say(written.message());
      return kExitFailed;
    }
    if (options.every_s == 0) return kExitOk;
    rest_ns = static_cast<std::int64_t>(options.every_s * 1e9);
    before = std::move(now);
  }
}

// What is wrong with the options together; empty: nothing.
std::string Complaint(const Options& options) {
  if (!options.flights() && options.trace.empty() && options.prometheus.empty())
    return "nothing to write: give --flight-recorder, --flight-recorder-json, --trace or --prometheus";
  if (options.trace == "-" && options.prometheus == "-") return "--trace and --prometheus cannot both go to the output";
  if (options.flight.empty() || options.flight_json.empty()) return "";
  // torchfrtrace takes each file for a dump that has the prefix anywhere in its name, in the folder and in those below.
  const std::filesystem::path pickles = std::filesystem::absolute(options.flight).lexically_normal();
  const std::filesystem::path texts = std::filesystem::absolute(options.flight_json).lexically_normal();
  const std::string below = texts.parent_path().lexically_relative(pickles.parent_path()).string();
  const bool outside = below.empty() || below.starts_with("..");
  if (outside || texts.filename().string().find(pickles.filename().string()) == std::string::npos) return "";
  return fmt::format(
      "--flight-recorder-json: torchfrtrace would take {}0.json for a dump, too: its name has '{}' in it; use another "
      "name or folder",
      options.flight_json, pickles.filename().string());
}

}  // namespace

int RecordCommand(int argc, char** argv) {
  CommandLine line(
      "Writes what the jobs of Tutti on this host do and have done, as their black boxes hold it, in formats that "
      "other "
      "programs read.",
      "tutti record");
  Options options;
  line.Add("PID", options.pid, "only the job of this process").Between(1, std::numeric_limits<std::int32_t>::max());
  line.Add("--flight-recorder", options.flight, "a dump for each rank as PyTorch's torchfrtrace reads it: PREFIX<rank>")
      .Shown("PREFIX");
  line.Add("--flight-recorder-json", options.flight_json, "the same as JSON: PREFIX<rank>.json").Shown("PREFIX");
  line.Add("--trace", options.trace, "calls, waits and verdicts as a trace for Perfetto or Chrome (-: to stdout)")
      .Shown("FILE");
  line.Add("--last", options.last_s, "of the trace only so much of the past").BetweenSeconds(1e-6, 1e9);
  line.Add("--prometheus", options.prometheus, "counters and verdicts as Prometheus' text (-: to stdout)")
      .Shown("FILE");
  line.Add("--every", options.every_s, "write again so often, until a signal comes or no job is left")
      .BetweenSeconds(0.2, 86400.0);
  line.Footer(
      "Files are replaced as a whole.\n\n"
      "Examples:\n"
      "  tutti record --trace last.json --last 30        for ui.perfetto.dev\n"
      "  tutti record --flight-recorder dumps/rank_      then: torchfrtrace --prefix rank_ dumps\n"
      "  tutti record --prometheus /var/lib/node_exporter/tutti.prom --every 15\n\n"
      "Exit code: 0 done, 1 it failed, 2 for a wrong command line, 3 where there is "
      "nothing "
      "to look at.");
  if (const std::optional<int> exit = line.Parse(argc, argv)) return *exit;
  if (const std::string complaint = Complaint(options); !complaint.empty())
    return UsageError("tutti record", complaint);
  return Record(options);
}

}  // namespace tutti::tools
