// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "tools/sim_sizes.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "sim/goal.h"
#include "sim/message_log.h"
#include "sim/simulator.h"
#include "sim/trace.h"
#include "tools/cli.h"
#include "tools/perf_shape.h"
#include "tools/progress_line.h"
#include "tools/sim_cases.h"
#include "tools/sim_output.h"
#include "tools/sim_report.h"
#include "tools/sim_trials.h"

namespace tutti::tools {
namespace {

constexpr std::size_t kMostLogged = 1'000'000;

// What is asked for, read once.
struct Question {
  const SimOptions& options;
  Collective collective;
  SimWays ways;
  std::vector<std::size_t> sizes;
  SimReport& report;
  ProgressLine& progress;
};

// Times on the sound machine, in the order in which they are printed, for the tables of the same machine with slow cables.
class SoundTimes {
 public:
  SoundTimes(std::vector<double>& us, const SimCase& which) : us_(us), sound_(which.fault.empty()) {
    if (sound_) us_.clear();
  }
  bool sound() const { return sound_; }
  // How many times as long as on the sound machine; notes it, where this is that.
  std::string Factor(double us) {
    if (sound_) us_.push_back(us);
    return fmt::format("{:.2f}", us / us_[next_++]);
  }

 private:
  std::vector<double>& us_;
  bool sound_;
  std::size_t next_ = 0;
};

void PrintLine(const SimCase& which, Collective collective, std::size_t size, const sim::Way& way,
               const sim::Outcome& outcome, SoundTimes& times) {
  const double us = sim::ToUs(outcome.end), algorithm_gb = static_cast<double>(size) / us / 1e3;
  const std::optional<sim::Binding> binding = sim::FindBinding(outcome.links, outcome.end);
  const std::string factor = times.Factor(us);
  fmt::print("{:>12} {:>12.2f}{} {:>9.3f} {:>9.3f}  {:<28} {}\n", size, us,
             times.sound() ? std::string() : fmt::format(" {:>9}", factor), algorithm_gb,
             algorithm_gb * BusFactor(collective, static_cast<int>(which.setup.machine.nodes.size())), NameOf(way),
             binding ? fmt::format("{} {:.0f} %", sim::NameOf(which.topology.graph, binding->arc), 100 * binding->share)
                     : "-");
}

// For --trace and --goal.
Status WriteFiles(const SimOptions& options, const SimTrials::Done& done, const sim::MessageLog& log, int ranks) {
  if (!options.trace.empty()) {
    TUTTI_RETURN_IF_ERROR(WriteBy(options.trace, [&](const auto& write) {
      sim::WriteChromeTrace(done.job, done.outcome, &log, write);
      return Status::Ok();
    }));
  }
  if (options.goal.empty()) return Status::Ok();
  return WriteBy(options.goal,
                 [&](const auto& write) { return sim::WriteGoal(done.job.operations.front(), ranks, write); });
}

// One algorithm, or the fastest.
Status PrintTable(const Question& question, const SimCase& which, std::vector<double>& sound_us) {
  const SimTrials trials(which, question.collective, question.ways);
  std::optional<algo::Algorithm> algorithm;
  if (!question.ways.algorithms.empty()) algorithm = question.ways.algorithms.front();
  SoundTimes times(sound_us, which);
  if (question.report.prints()) {
    PrintCase(which);
    fmt::print("# {:>10} {:>12}{} {:>9} {:>9}  {:<28} {}\n", "size (B)", "time (us)",
               times.sound() ? std::string() : fmt::format(" {:>9}", "/ sound"), "algbw", "busbw", "way",
               "busiest link");
  }
  const bool last = which.number + 1 == CountCases(question.options);
  for (const std::size_t size : question.sizes) {
    question.progress.Show(fmt::format("simulating {}", FormatBytes(size)));
    const Result<sim::Way> way = trials.Fastest(algorithm, size);
    if (!way.ok()) return way.status();
    sim::MessageLog log(kMostLogged);
    const Result<SimTrials::Done> done = trials.Run(*way, size, question.options.trace.empty() ? nullptr : &log);
    if (!done.ok()) return done.status();
    question.progress.Erase();
    question.progress.PieceDone();
    question.report.Add(which, question.collective, size, *way, done->outcome);
    if (question.report.prints()) PrintLine(which, question.collective, size, *way, done->outcome, times);
    if (!last || size != question.sizes.back()) continue;
    TUTTI_RETURN_IF_ERROR(WriteFiles(question.options, *done, log, trials.ranks()));
  }
  return Status::Ok();
}

// Which algorithm wins from where on, in the sizes that were tried.
void PrintWinners(const std::vector<std::pair<std::size_t, std::string_view>>& winners) {
  std::string text;
  for (std::size_t i = 0; i < winners.size();) {
    std::size_t last = i;
    while (last + 1 < winners.size() && winners[last + 1].second == winners[i].second) ++last;
    const std::string from = FormatBytes(winners[i].first), to = FormatBytes(winners[last].first);
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", winners[i].second,
                        last == i ? "at " + from : fmt::format("from {} to {}", from, to));
    i = last + 1;
  }
  fmt::print("# fastest: {}\n", text);
}

void PrintHead(const Question& question, const SimCase& which, const SoundTimes& times) {
  PrintCase(which);
  fmt::print("# {:>10}", "size (B)");
  for (const algo::Algorithm each : question.ways.algorithms) {
    fmt::print(" {:>20}", fmt::format("{} (us)", algo::Get(each).name));
  }
  fmt::print("  {:>16}{}  {}\n", "others / fastest", times.sound() ? "" : "  all / sound", "fastest");
}

// Of one size: by algorithm, its fastest way and how long that takes.
void PrintComparedLine(const Question& question, std::size_t size, const std::vector<double>& us, std::size_t best,
                       const sim::Way& best_way, SoundTimes& times) {
  std::string own, by_best, by_sound;
  for (std::size_t i = 0; i < us.size(); ++i) {
    own += fmt::format(" {:>20.2f}", us[i]);
    by_sound += " " + times.Factor(us[i]);
    if (i != best) by_best += fmt::format(" {:.2f}", us[i] / us[best]);
  }
  const std::string chunk =
      question.ways.chunks.size() > 1 ? ", chunk " + FormatBytes(best_way.chunk_bytes) : std::string();
  fmt::print("{:>12}{}  {:>16}{}  {}\n", size, own, by_best,
             times.sound() ? std::string() : fmt::format("  {:>11}", by_sound), NameOf(best_way) + chunk);
}

// Several algorithms, each in its fastest way.
Status PrintComparison(const Question& question, const SimCase& which, std::vector<double>& sound_us) {
  const SimTrials trials(which, question.collective, question.ways);
  SoundTimes times(sound_us, which);
  if (question.report.prints()) PrintHead(question, which, times);
  std::vector<std::pair<std::size_t, std::string_view>> winners;
  for (const std::size_t size : question.sizes) {
    std::vector<double> us;
    std::vector<sim::Way> ways;
    for (const algo::Algorithm each : question.ways.algorithms) {
      question.progress.Show(fmt::format("simulating {} by {}", FormatBytes(size), algo::Get(each).name));
      const Result<sim::Way> way = trials.Fastest(each, size);
      const Result<SimTrials::Done> done = way.ok() ? trials.Run(*way, size, nullptr) : way.status();
      if (!done.ok()) return done.status();
      us.push_back(sim::ToUs(done->outcome.end));
      ways.push_back(*way);
      question.report.Add(which, question.collective, size, *way, done->outcome);
    }
    question.progress.Erase();
    question.progress.PieceDone();
    const auto best = static_cast<std::size_t>(std::ranges::min_element(us) - us.begin());
    if (question.report.prints()) PrintComparedLine(question, size, us, best, ways[best], times);
    winners.emplace_back(size, algo::Get(ways[best].algorithm).name);
  }
  if (winners.size() > 1 && question.report.prints()) PrintWinners(winners);
  return Status::Ok();
}

}  // namespace

Status SimulateSizes(const SimOptions& options) {
  const std::optional<Collective> collective = ParseCollective(options.collective);
  if (!collective || *collective == Collective::kSendRecv) {
    return Status(Code::kInvalidArgument,
                  fmt::format("there is no collective '{}'; `tutti plan x` lists them", options.collective));
  }
  Result<SimWays> ways = WaysOf(options);
  if (!ways.ok()) return ways.status();
  Result<std::vector<std::size_t>> sizes = SizesOf(options);
  if (!sizes.ok()) return sizes.status();
  const bool several = ways->algorithms.size() > 1;
  if (several && !(options.trace.empty() && options.goal.empty())) {
    return Status(Code::kInvalidArgument, "--trace and --goal are of one algorithm; name one by --algo");
  }
  if (ways->algorithms.empty() && ways->chunks.size() > 1) {
    return Status(Code::kInvalidArgument,
                  "several sizes of --chunk are tried for algorithms that --algo names; name some, or give one size");
  }
  SimReport report(options.json);
  ProgressLine progress(CountCases(options) * static_cast<int>(sizes->size()));
  const Question question{.options = options,
                          .collective = *collective,
                          .ways = std::move(*ways),
                          .sizes = std::move(*sizes),
                          .report = report,
                          .progress = progress};
  std::vector<double> sound_us;
  TUTTI_RETURN_IF_ERROR(ForEachCase(options, [&](SimCase& which) {
    return several ? PrintComparison(question, which, sound_us) : PrintTable(question, which, sound_us);
  }));
  return report.Write();
}

}  // namespace tutti::tools
