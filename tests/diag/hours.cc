// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "tests/diag/hours.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <ctime>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "diag/sentence.h"
#include "diag/story.h"
#include "diag/verdict.h"
#include "tests/diag/dice.h"
#include "tests/diag/model.h"
#include "tests/diag/results_file.h"
#include "tests/diag/told.h"

namespace tutti::tests {
namespace {

constexpr int kRanks = 512, kRanksPerHost = 8, kHosts = kRanks / kRanksPerHost;
// As in comm/host/waiter.cc for so many ranks, watch/glance.cc and watch/vigil.cc.
constexpr int kReportMs = 50 * (1 + kRanks / 32);
constexpr int kGlanceMs = 200, kLongWaitMs = 500, kLooksAfter = 3, kSeldomMs = 1000, kOftenForMs = 10'000;
constexpr int kRaggedMs = 10,
              kMoments = 3;  // a look is of so many moments, each so much later; a host's part is of one of them

enum class Event {
  kPause,       // a rank sleeps for less than what a WARN takes
  kCheckpoint,  // a rank writes a file for up to a minute and computes in between
  kCompile,     // a rank waits for a compiler for up to five minutes
  kEverybody,   // all ranks sleep
  kStop,        // a process is stopped for less than a second
  kStraggler,   // a rank works longer than the others for some steps
  kUneven,      // all ranks work for as long as their data take, for some steps
  kSlowGpu,     // a GPU moves data at 60 to 90 % for some steps
  kSlowLink,    // a link carries 60 to 90 % for some steps
  kCongestion,  // a link carries a tenth for less than three seconds
  kFlap,        // a link carries nothing for less than three seconds
};
constexpr int kEvents = 11;
const char* Name(Event event) {
  constexpr const char* kNames[kEvents] = {"pause",  "checkpoint", "compile",   "everybody",  "stop", "straggler",
                                           "uneven", "slow GPU",   "slow link", "congestion", "flap"};
  return kNames[static_cast<int>(event)];
}

double CpuMs() {
  timespec t{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return static_cast<double>(t.tv_sec) * 1e3 + static_cast<double>(t.tv_nsec) * 1e-6;
}

struct Counts {
  double job_ms = 0, worked_ms = 0;  // of the jobs' time; what of it was worked out
  int jobs = 0, looks = 0, warnings = 0;
  double judge_ms = 0, longest_judge_ms = 0;
  std::map<std::string, int> events, told;
};

// What the monitors of a job do, as if they were one.
class Monitor {
 public:
  Monitor(Model& model, Dice& dice, Counts& counts) : model_(model), dice_(dice), counts_(counts) {}

  // Changes each look before it is judged.
  std::function<void(diag::Look&)> add;
  std::function<void(const diag::Story::Line&)> hear;

  // Called every kGlanceMs.
  void Glance() {
    const std::int64_t now_ms = model_.now_ns() / diag::kMs;
    if (model_.LongestWaitMs() >= kLongWaitMs) {
      if (looks_left_ == 0) {
        begin_ms_ = next_ms_ = now_ms;
        before_.reset();
      }
      looks_left_ = kLooksAfter;
    }
    if (looks_left_ == 0 || now_ms < next_ms_) return;
    diag::Look now = Take();
    if (before_) Judge(now);
    before_ = std::move(now);
    --looks_left_;
    const std::int64_t apart_ms = diag::ApartNs(kRanks) / diag::kMs;
    next_ms_ = now_ms + (now_ms - begin_ms_ < kOftenForMs ? apart_ms : std::max<std::int64_t>(apart_ms, kSeldomMs));
  }
  bool looks() const { return looks_left_ > 0; }

 private:
  // Hosts answer one after the other.
  diag::Look Take() {
    diag::Look look = model_.Take();
    for (int moment = 1; moment < kMoments; ++moment) {
      model_.Run(kRaggedMs);
      const diag::Look later = model_.Take();
      for (int host = 0; host < kHosts; ++host) {
        if (dice_.OneIn(kMoments)) continue;
        const auto first = static_cast<std::size_t>(host * kRanksPerHost);
        for (std::size_t r = first; r < first + kRanksPerHost; ++r) {
          look.communicators[0].seen[r] = later.communicators[0].seen[r];
          look.processes[r] = later.processes[r];
        }
      }
    }
    if (add) add(look);
    return look;
  }

  void Judge(const diag::Look& now) {
    const double begin_ms = CpuMs();
    std::vector<diag::Verdict> verdicts = diag::Judge(*before_, now);
    const double took_ms = CpuMs() - begin_ms;
    ++counts_.looks;
    counts_.judge_ms += took_ms;
    counts_.longest_judge_ms = std::max(counts_.longest_judge_ms, took_ms);
    // What contradicts itself once, since hosts look one after the other, is not told (watch/vigil.cc).
    std::set<std::string> unknown;
    std::erase_if(verdicts, [&](const diag::Verdict& v) {
      if (v.kind != diag::Kind::kUnknown) return false;
      unknown.insert(diag::Subject(v));
      return !unknown_.contains(diag::Subject(v));
    });
    unknown_ = std::move(unknown);
    for (const diag::Story::Line& line : story_.Update(std::move(verdicts), now.taken_ns)) hear(line);
  }

  Model& model_;
  Dice& dice_;
  Counts& counts_;
  diag::Story story_;
  std::optional<diag::Look> before_;
  std::set<std::string> unknown_;
  int looks_left_ = 0;
  std::int64_t begin_ms_ = 0, next_ms_ = 0;
};

class Job {
 public:
  Job(std::uint64_t seed, Counts& counts)
      : seed_(seed),
        dice_(seed),
        counts_(counts),
        work_ms_(dice_.Between(200, 3000)),
        extra_ms_(kRanks),
        straggler_ms_(kRanks),
        model_(Options()),
        monitor_(model_, dice_, counts) {
    monitor_.add = [this](diag::Look& look) { AddProcesses(look); };
    monitor_.hear = [this](const diag::Story::Line& line) { Hear(line); };
  }

  void Run(double ms) {
    ++counts_.jobs;
    const std::int64_t begin_ns = model_.now_ns();
    while (static_cast<double>(model_.now_ns() - begin_ns) < ms * diag::kMs) {
      Calm(dice_.Between(20'000, 120'000));
      Begin(static_cast<Event>(dice_.Any(kEvents)));
    }
    counts_.job_ms += static_cast<double>(model_.now_ns() - begin_ns) / diag::kMs;
  }

 private:
  ModelOptions Options() {
    ModelOptions options{.ranks = kRanks, .ranks_per_host = kRanksPerHost, .report_ms = kReportMs};
    const bool ring = dice_.OneIn(10);
    options.shape = ring ? Shape::kRing : Shape::kTree;
    options.units = dice_.Coin() ? 64 : 16;
    options.rounds = ring ? 1 : dice_.Between(1, 8);
    options.work = [this](int rank, std::uint64_t) { return WorkOf(rank); };
    return options;
  }
  int WorkOf(int rank) {
    const auto r = static_cast<std::size_t>(rank);
    int ms = work_ms_ * dice_.Between(98, 102) / 100;
    if (uneven_) ms = work_ms_ * dice_.Between(30, 250) / 100;
    ms += straggler_ms_[r] + std::exchange(extra_ms_[r], 0);
    return ms;
  }

  double NowMs() const { return static_cast<double>(model_.now_ns()) / diag::kMs; }

  // Lets a time pass, and more until the monitors look no more.
  void Watch(int ms) {
    const double begin_ms = NowMs();
    while (NowMs() - begin_ms < ms || monitor_.looks()) {
      model_.Run(kGlanceMs);
      monitor_.Glance();
    }
    counts_.worked_ms += NowMs() - begin_ms;
  }

  // So much time without an event. Of that two steps are worked out, and tell how long one takes.
  void Calm(int ms) {
    const double begin_ms = NowMs();
    const auto await_work = [&] {
      while (!model_.AllWork()) {
        model_.Run(20);
        monitor_.Glance();
      }
    };
    await_work();
    const std::uint64_t first = model_.finished();
    const double first_ms = NowMs();
    while (model_.finished() < first + 2) {
      model_.Run(kGlanceMs);
      monitor_.Glance();
    }
    await_work();
    period_ms_ = static_cast<int>((NowMs() - first_ms) / static_cast<double>(model_.finished() - first)) + 1;
    counts_.worked_ms += NowMs() - begin_ms;
    if (!monitor_.looks()) model_.Skip(static_cast<std::uint64_t>(ms / period_ms_), period_ms_);
  }

  int StepsMs(int steps) const { return steps * 2 * period_ms_; }

  // Long because each event has its lines.
  void Begin(Event event) {
    ++counts_.events[Name(event)];
    const int rank = dice_.Any(kRanks);
    const auto r = static_cast<std::size_t>(rank);
    std::mt19937_64 random(static_cast<std::uint64_t>(dice_.Any(1 << 30)));
    switch (event) {
      case Event::kPause:
        extra_ms_[r] = dice_.Between(500, 8500);
        return Watch(extra_ms_[r] + 3 * period_ms_);
      case Event::kCheckpoint:
      case Event::kCompile: {
        const int lasts_ms = event == Event::kCompile ? dice_.Between(2000, 300'000) : dice_.Between(1000, 60'000);
        busy_ = {.event = event, .rank = rank, .writes = dice_.Between(30, 100), .phase_ends_ms = NowMs()};
        extra_ms_[r] = lasts_ms;
        Watch(lasts_ms + 3 * period_ms_);
        busy_ = {};
        return;
      }
      case Event::kEverybody: {
        const int lasts_ms = dice_.Between(1000, 60'000);
        for (int& extra : extra_ms_) extra += lasts_ms;
        return Watch(lasts_ms + 3 * period_ms_);
      }
      case Event::kStop: {
        const int lasts_ms = dice_.Between(100, 900);
        model_.SetProcess(rank, diag::ProcessState::kStopped);
        LetPass(lasts_ms);
        model_.SetProcess(rank, diag::ProcessState::kSleeping);
        return Watch(2 * period_ms_);
      }
      case Event::kStraggler:
        straggler_ms_[r] = dice_.Between(100, 7000);
        LetPass(dice_.Between(2, 10) * (period_ms_ + straggler_ms_[r]));
        straggler_ms_[r] = 0;
        return Watch(3 * period_ms_ + 7000);
      case Event::kUneven:
        uneven_ = true;
        LetPass(StepsMs(dice_.Between(2, 8)));
        uneven_ = false;
        return Watch(3 * period_ms_);
      case Event::kSlowGpu:
        model_.SetSpeed(rank, kGpuSpeed * dice_.Between(60, 90) * 0.01);
        LetPass(StepsMs(dice_.Between(3, 10)));
        model_.SetSpeed(rank, kGpuSpeed);
        return Watch(3 * period_ms_);
      case Event::kSlowLink:
      case Event::kCongestion:
      case Event::kFlap: {
        const auto [from, to] = model_.AnyEdge(random);
        const bool short_one = event != Event::kSlowLink;
        const double part = event == Event::kSlowLink ? dice_.Between(60, 90) * 0.01 : event == Event::kFlap ? 0 : 0.1;
        model_.SetLink(from, to, kLinkSpeed * part);
        LetPass(short_one ? dice_.Between(200, 2900) : StepsMs(dice_.Between(3, 10)));
        model_.SetLink(from, to, kLinkSpeed);
        return Watch(3 * period_ms_);
      }
    }
  }
  // For so long exactly: while something lasts for which the monitors may look all the time.
  void LetPass(int ms) {
    for (int passed = 0; passed < ms; passed += std::min(kGlanceMs, ms - passed)) {
      model_.Run(std::min(kGlanceMs, ms - passed));
      monitor_.Glance();
    }
    counts_.worked_ms += ms;
  }

  // What its host would show of a rank that saves or compiles. Who saves writes for a while, then works on what to write next.
  void AddProcesses(diag::Look& look) {
    for (diag::ProcessLook& process : look.processes) process.written_bytes = 0;
    if (busy_.rank < 0) return;
    constexpr std::int64_t kWrittenPerMs = 200'000;
    while (busy_.event == Event::kCheckpoint && busy_.phase_ends_ms <= NowMs()) {
      busy_.in_write = !busy_.in_write;
      const int written_ms = dice_.Between(20, 1000);
      const int lasts_ms = busy_.in_write ? written_ms : written_ms * (100 - busy_.writes) / busy_.writes;
      busy_.phase_ends_ms += lasts_ms;
      if (busy_.in_write) busy_.written += lasts_ms * kWrittenPerMs;
    }
    diag::ProcessLook& process = look.processes[static_cast<std::size_t>(busy_.rank)];
    process.threads = {{.id = process.pid, .name = "train", .state = diag::ProcessState::kSleeping}};
    process.written_bytes = busy_.written;
    if (busy_.event == Event::kCompile) process.children = {"cc1plus"};
    if (busy_.in_write) process.threads.front().system_call = "write", process.threads.front().object = "/ckpt/17.pt";
  }

  void Hear(const diag::Story::Line& line) {
    const Told told = ReadSentence(line.text);
    if (told.cleared) return;
    ++counts_.told[fmt::format("{} {}", diag::Name(line.severity), diag::Name(told.kind))];
    if (line.severity != diag::Severity::kWarn) return;
    ++counts_.warnings;
    fmt::print("WARN in job {} at {:.1f} s: {}\n", seed_, NowMs() * 1e-3, line.text);
    std::fflush(stdout);
  }

  static constexpr double kLinkSpeed = 100, kGpuSpeed = 400;
  struct Busy {
    Event event = Event::kPause;
    int rank = -1;
    int writes = 0;  // for how much of its time in hundredths
    double phase_ends_ms = 0;
    bool in_write = false;
    std::int64_t written = 0;  // bytes
  };

  const std::uint64_t seed_;
  Dice dice_;
  Counts& counts_;
  const int work_ms_;
  int period_ms_ = 0;  // of a step
  bool uneven_ = false;
  std::vector<int> extra_ms_, straggler_ms_;  // by rank: before its next operation, and before each
  Busy busy_;
  Model model_;
  Monitor monitor_;
};

void Print(const Counts& counts) {
  const auto list = [](const std::map<std::string, int>& all) {
    std::string text;
    for (const auto& [what, times] : all) text += fmt::format("{}{} {}", text.empty() ? "" : ", ", times, what);
    return text.empty() ? "none" : text;
  };
  fmt::print("{} jobs of {} ranks, {:.1f} job-hours, {:.1f} of them worked out, the others counted\n", counts.jobs,
             kRanks, counts.job_ms / 3.6e6, counts.worked_ms / 3.6e6);
  fmt::print("events: {}\n", list(counts.events));
  fmt::print("{} looks were judged, {:.2f} ms each of a core, {:.2f} ms at most; told: {}\n", counts.looks,
             counts.looks == 0 ? 0 : counts.judge_ms / counts.looks, counts.longest_judge_ms, list(counts.told));
  fmt::print("{} verdicts at WARN\n", counts.warnings);
}

nlohmann::json RowOf(const Counts& counts) {
  return {{"ranks", kRanks},
          {"jobs", counts.jobs},
          {"hours", counts.job_ms / 3.6e6},
          {"worked_out_hours", counts.worked_ms / 3.6e6},
          {"events", counts.events},
          {"looks", counts.looks},
          {"judge_ms", counts.judge_ms / std::max(counts.looks, 1)},
          {"longest_judge_ms", counts.longest_judge_ms},
          {"told", counts.told},
          {"warnings", counts.warnings}};
}

}  // namespace

bool SimulateHours(const HoursOptions& options) {
  Counts counts;
  constexpr double kMostHours = 4;
  const auto run = [&](std::uint64_t seed, double hours) {
    auto job = std::make_unique<Job>(seed, counts);
    job->Run(hours * 3.6e6);
  };
  if (options.one_job >= 0) run(static_cast<std::uint64_t>(options.one_job), kMostHours);
  for (std::uint64_t i = 0; options.one_job < 0 && counts.job_ms < options.hours * 3.6e6; ++i)
    run(options.seed * 1'000'003 + i, kMostHours);
  Print(counts);
  if (!options.json.empty()) WriteResults(options.json, "hours", options.command, {RowOf(counts)});
  return counts.warnings == 0;
}

}  // namespace tutti::tests
