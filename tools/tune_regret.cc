// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "tools/tune_regret.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <fstream>
#include <utility>

#include "comm/host/entry.h"
#include "comm/host/impl.h"
#include "comm/host/parts.h"
#include "comm/host/planner.h"
#include "sys/os/process.h"
#include "tools/cli.h"
#include "tools/json.h"
#include "tools/launch.h"
#include "tools/median.h"
#include "tools/perf_buffers.h"
#include "tools/perf_shape.h"
#include "tools/perf_table.h"
#include "tune/chooser.h"
#include "tune/machine.h"
#include "tutti/tutti.h"

namespace tutti::tools {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int kChoices = 3;  // of a size, each judged by itself
constexpr int kScreenRounds = 3;
constexpr double kHopeless = 2.5;  // times the best time so far: screened no further
// A batch takes so long at least by which a way has no hope: one short operation takes several times as long as one of many.
constexpr double kJudgedUs = 100;
constexpr double kNear = 1.25;  // times the best of the screen: takes part in the final
constexpr std::size_t kFinalists = 4;
constexpr double kCertain = 0.02;             // of a confirmed ratio: no more rounds
constexpr std::size_t kMostRounds = 20;       // times options.rounds
constexpr double kLongestUs = 5e6;            // of a confirmation: no more rounds
constexpr int kFewest = 12, kMost = 1 << 16;  // operations of a batch
constexpr int kFewestBefore = 6;              // of the same that do not count
constexpr double kBeyond = 0.10;
constexpr int kBarriers = 64;  // whose mean is the pace

struct TimedWay {
  tune::Choice choice;
  int operations = 1;               // of a batch
  std::vector<double> us;           // of the stage in hand
  std::vector<double> pace_us;      // of a barrier, right before each batch of the screen
  std::vector<double> screened_us;  // of the screen
  double screen_us = 0;             // the screen's median
};

// One rank.
class Measurer {
 public:
  // `buffers`: of options.max_bytes.
  Measurer(Communicator& communicator, const RegretOptions& options, const Buffers& buffers)
      : communicator_(communicator), options_(options), buffers_(buffers) {}

  Status Run() {
    for (const Collective collective : options_.collectives) {
      Say(fmt::format("{}{}, {} ranks\n{:>10}  {:<36}{:>10}  {:<36}{:>10}  {}\n", lines_.empty() ? "" : "\n",
                      Name(collective), communicator_.ranks(), "size", "chosen", "time (us)", "best", "time (us)",
                      "regret"));
      for (std::size_t bytes = options_.min_bytes; bytes <= options_.max_bytes;
           bytes *= static_cast<std::size_t>(options_.factor)) {
        TUTTI_RETURN_IF_ERROR(MeasureSize(collective, bytes));
      }
    }
    Say(fmt::format("\n{}", SummarizeRegret(lines_)));
    return Store();
  }

 private:
  bool Speaks() const { return communicator_.rank() == 0; }
  bool Keeps() const { return Speaks() && !options_.raw_file.empty(); }
  void Say(const std::string& text) const {
    if (!Speaks()) return;
    std::fputs(text.c_str(), stdout);
    std::fflush(stdout);
  }

  Status MeasureSize(Collective collective, std::size_t bytes) {
    const Work work{
        .collective = collective,
        .rank = communicator_.rank(),
        .ranks = communicator_.ranks(),
        .count = CountFor(collective, DataType::kFloat32, communicator_.ranks(), bytes, Rounding::kTo16Bytes)};
    if (work.count == 0) return Status::Ok();  // less than an element for each rank
    // A broadcast is in place, as MPI's and PyTorch's are.
    const Placement placement = collective == Collective::kBroadcast ? Placement::kInPlace : Placement::kOutOfPlace;
    operations_ = OperationsOf(work, PlaceOf(work, placement, buffers_.first(), buffers_.second()));
    collective_ = collective;
    way_bytes_ = work.count * sizeof(float);
    std::vector<TimedWay> ways;
    for (const tune::Choice& choice : communicator_.impl()->planner.Candidates(collective, way_bytes_)) {
      ways.push_back({.choice = choice});
    }
    if (ways.empty()) return Status::Ok();  // settings leave none
    std::vector<RegretLine> choices;
    Json judged = Json::Array();
    for (int choice = 0; choice < kChoices; ++choice) {
      TUTTI_RETURN_IF_ERROR(PutChosenFirst(ways));
      TUTTI_RETURN_IF_ERROR(Screen(ways));
      Result<RegretLine> line = Judge(ways);
      if (!line.ok()) return line.status();
      line->collective = collective;
      line->bytes = work.bytes();
      if (Keeps()) judged.Append(ToJson(*line, ways));
      choices.push_back(*std::move(line));
    }
    Use(nullptr);
    lines_.push_back(MedianOfChoices(std::move(choices)));
    Say(FormatRegret(lines_.back()));
    Keep(lines_.back(), std::move(judged));
    return Status::Ok();
  }

  // What is chosen once the library has tried some ways itself, anew (comm/host/trials.h).
  Status PutChosenFirst(std::vector<TimedWay>& ways) {
    comm::Planner& planner = communicator_.impl()->planner;
    Use(nullptr);
    if (collective_ == Collective::kSendRecv) return PutChosenExchangeFirst(ways);
    const auto entry = planner.FindEntry(collective_, way_bytes_, 0);
    if (!entry.ok()) return entry.status();
    const std::uint64_t calls = planner.CallsUntilDecided(collective_, **entry);
    for (std::uint64_t i = 0; i < calls; ++i) TUTTI_RETURN_IF_ERROR(RunOnce());
    tune::Choice chosen;
    TUTTI_RETURN_IF_ERROR(planner.FindCurrent(collective_, way_bytes_, 0, chosen));
    const auto found =
        std::ranges::find(ways, tune::ToString(chosen), [](const TimedWay& way) { return tune::ToString(way.choice); });
    if (found != ways.end()) std::rotate(ways.begin(), found, found + 1);
    return Status::Ok();
  }

  // Each sender has a choice of its own: what most of them have chosen.
  Status PutChosenExchangeFirst(std::vector<TimedWay>& ways) {
    comm::Planner& planner = communicator_.impl()->planner;
    const std::uint64_t calls = planner.RingExchangesUntilDecided(way_bytes_);
    if (calls == 0) return Status::Ok();
    for (std::uint64_t i = 0; i < calls; ++i) TUTTI_RETURN_IF_ERROR(RunOnce());
    const std::array<double, 1> own = {planner.RefersInRing(way_bytes_) ? 1.0 : 0.0};
    std::array<double, 1> all = {0};
    TUTTI_RETURN_IF_ERROR(communicator_.Run(AllReduce(own, all, ReduceOp::kSum)));
    const bool refers = 2 * all[0] > communicator_.ranks();
    const auto found = std::ranges::find_if(ways, [&](const TimedWay& way) {
      return way.choice.protocol == proto::Protocol::kSimple && way.choice.by_reference == refers;
    });
    if (found != ways.end()) std::rotate(ways.begin(), found, found + 1);
    return Status::Ok();
  }

  // Times every way, and how many operations make a batch of each. The chosen one stays the first.
  Status Screen(std::vector<TimedWay>& ways) {
    double best_us = 1e300;
    for (TimedWay& way : ways) way = {.choice = way.choice};
    for (TimedWay& way : ways) {
      TUTTI_RETURN_IF_ERROR(Calibrate(way, kHopeless * best_us));
      best_us = std::min(best_us, way.screen_us);
    }
    std::vector<TimedWay*> all;
    for (TimedWay& way : ways) {
      if (&way == &ways[0] || way.screen_us <= kHopeless * best_us) all.push_back(&way);
    }
    // The machine's pace may change within seconds, so what counts is the ratio to the chosen way's time of the same round.
    for (int round = 0; round < kScreenRounds; ++round) {
      for (TimedWay* way : all) {
        TUTTI_RETURN_IF_ERROR(TimeBatch(*way, way->us.emplace_back()));
        way->pace_us.push_back(pace_us_);
      }
    }
    const double chosen_us = MedianOf(ways[0].us);
    for (TimedWay* way : all) {
      way->screened_us = way->us;
      way->screen_us = chosen_us / Ratio(ways[0], *way);
    }
    return Status::Ok();
  }

  // Leaves a first estimate in screen_us. Ends early where that is beyond `hopeless_us`.
  Status Calibrate(TimedWay& way, double hopeless_us) {
    double us = 0;
    TUTTI_RETURN_IF_ERROR(TimeBatch(way, us, 1));  // pages are touched for the first time: does not count
    do {
      TUTTI_RETURN_IF_ERROR(TimeBatch(way, us, 1));
      const double batch_us = us * way.operations;
      if (batch_us >= 600 * options_.batch_ms || way.operations >= kMost) break;
      if (us > hopeless_us && batch_us >= kJudgedUs) break;
      way.operations = std::min(kMost, way.operations * 3);
    } while (true);
    way.operations = std::clamp(static_cast<int>(1000 * options_.batch_ms / us), kFewest, kMost);
    way.screen_us = us;
    return Status::Ok();
  }

  Result<RegretLine> Judge(std::vector<TimedWay>& ways) {
    std::vector<TimedWay*> rivals;
    for (std::size_t i = 1; i < ways.size(); ++i) rivals.push_back(&ways[i]);
    std::ranges::sort(rivals, {}, &TimedWay::screen_us);
    double best_us = ways[0].screen_us;
    if (!rivals.empty()) best_us = std::min(best_us, rivals[0]->screen_us);
    while (!rivals.empty() && (rivals.size() > kFinalists || rivals.back()->screen_us > kNear * best_us)) {
      rivals.pop_back();
    }
    TimedWay& chosen = ways[0];
    RegretLine line{.chosen = tune::ToString(chosen.choice)};
    for (TimedWay& way : ways) way.us.clear();
    if (rivals.empty()) {
      TUTTI_RETURN_IF_ERROR(TakeTurns(chosen, rivals));
      line.best = line.chosen;
      line.chosen_us = line.best_us = MedianOf(chosen.us);
      return line;
    }
    TUTTI_RETURN_IF_ERROR(TakeTurns(chosen, rivals));
    TimedWay& best = **std::ranges::max_element(rivals, {}, [&](const TimedWay* r) { return Ratio(chosen, *r); });
    TUTTI_RETURN_IF_ERROR(Confirm(chosen, best));
    const double ratio = Ratio(chosen, best);
    line.best = ratio > 1 ? tune::ToString(best.choice) : line.chosen;
    line.chosen_us = MedianOf(chosen.us);
    line.best_us = MedianOf(ratio > 1 ? best.us : chosen.us);
    line.regret = std::max(ratio - 1, 0.0);
    line.uncertainty = UncertaintyOfMedian(Ratios(chosen, best));
    line.rounds = chosen.us.size();
    return line;
  }

  // All ranks have the same times, and so go on alike.
  Status Confirm(TimedWay& chosen, TimedWay& rival) {
    chosen.us.clear();
    rival.us.clear();
    const std::array<TimedWay*, 1> rivals = {&rival};
    double took_us = 0;
    do {
      TUTTI_RETURN_IF_ERROR(TakeTurns(chosen, rivals));
      took_us += options_.rounds * (chosen.us.back() * chosen.operations + rival.us.back() * rival.operations);
    } while (UncertaintyOfMedian(Ratios(chosen, rival)) > kCertain && took_us < kLongestUs &&
             chosen.us.size() < kMostRounds * static_cast<std::size_t>(options_.rounds));
    return Status::Ok();
  }

  // Of times in the same round.
  static std::vector<double> Ratios(const TimedWay& a, const TimedWay& b) {
    std::vector<double> ratios;
    for (std::size_t i = 0; i < a.us.size(); ++i) ratios.push_back(a.us[i] / b.us[i]);
    return ratios;
  }
  static double Ratio(const TimedWay& a, const TimedWay& b) { return MedianOf(Ratios(a, b)); }

  // Some rounds more.
  Status TakeTurns(TimedWay& chosen, std::span<TimedWay* const> rivals) {
    std::vector<TimedWay*> all = {&chosen};
    all.insert(all.end(), rivals.begin(), rivals.end());
    for (int round = 0; round < options_.rounds; ++round) {
      for (std::size_t i = 0; i < all.size(); ++i) {
        TimedWay& way = *all[(i + static_cast<std::size_t>(round)) % all.size()];
        TUTTI_RETURN_IF_ERROR(TimeBatch(way, way.us.emplace_back()));
      }
    }
    return Status::Ok();
  }

  void Use(const tune::Choice* way) {
    Communicator::Impl& c = *communicator_.impl();
    c.planner.Use(collective_, way_bytes_, 0, way);
    c.parts->preparer.Forget();
  }

  Status RunOnce() {
    return operations_.size() == 1 ? communicator_.Run(operations_[0]) : communicator_.RunGroup(operations_);
  }

  // us per operation, of the slowest rank: the same on all. Some operations before it do not count: what the way before has left in the caches is
  // no longer there only after several. On a Xeon with 300 MiB of shared cache an all_gather of 32 MiB among 4 ranks by reference takes 6.4 ms
  // in the second to the fourth call, and 4 ms from the sixteenth on.
  Status TimeBatch(const TimedWay& way, double& us, int fewest_before = kFewestBefore) {
    Use(&way.choice);
    for (int i = 0; i < std::max(fewest_before, way.operations / 8); ++i) TUTTI_RETURN_IF_ERROR(RunOnce());
    TUTTI_RETURN_IF_ERROR(communicator_.Run(Barrier()));
    const Clock::time_point before = Clock::now();
    for (int i = 0; i < kBarriers; ++i) TUTTI_RETURN_IF_ERROR(communicator_.Run(Barrier()));
    const Clock::time_point begin = Clock::now();
    for (int i = 0; i < way.operations; ++i) TUTTI_RETURN_IF_ERROR(RunOnce());
    using Us = std::chrono::duration<double, std::micro>;
    const std::array<double, 2> own = {Us(Clock::now() - begin).count(), Us(begin - before).count()};
    std::array<double, 2> slowest = {0, 0};
    TUTTI_RETURN_IF_ERROR(communicator_.Run(AllReduce(own, slowest, ReduceOp::kMax)));
    us = std::max(slowest[0] / way.operations, 1e-4);
    pace_us_ = slowest[1] / kBarriers;
    return Status::Ok();
  }

  static void Put(const RegretLine& line, Json& json) {
    json["chosen"] = line.chosen;
    json["chosen_us"] = line.chosen_us;
    json["best"] = line.best;
    json["best_us"] = line.best_us;
    json["regret"] = line.regret;
    json["uncertainty"] = line.uncertainty;
    json["rounds"] = line.rounds;
  }
  static Json ToJson(const RegretLine& choice, const std::vector<TimedWay>& ways) {
    Json all = Json::Array();
    for (const TimedWay& way : ways) {
      Json times = Json::Array(), paces = Json::Array();
      for (const double us : way.screened_us) times.Append(us);
      for (const double us : way.pace_us) paces.Append(us);
      all.Append({{"way", tune::ToString(way.choice)},
                  {"predicted_us", way.choice.predicted_us},
                  {"us", way.screen_us},
                  {"times_us", times},
                  {"paces_us", paces}});
    }
    Json json;
    Put(choice, json);
    json["ways"] = std::move(all);
    return json;
  }

  // `choices`: all of them, in order.
  void Keep(const RegretLine& median, Json choices) {
    if (!Keeps()) return;
    Json json = {{"op", Name(median.collective)}, {"ranks", communicator_.ranks()}, {"bytes", median.bytes}};
    Put(median, json);
    json["choices"] = std::move(choices);
    raw_.Append(std::move(json));
  }

  Status Store() const {
    if (!Keeps()) return Status::Ok();
    const Json document = {
        {"cpus", sys::UsableCpus()}, {"constants", communicator_.impl()->machine->ToText()}, {"lines", raw_}};
    std::ofstream file(options_.raw_file);
    file << document.Dump(1) << '\n';
    if (file.flush()) return Status::Ok();
    return Status(Code::kSystem, fmt::format("{} could not be written", options_.raw_file));
  }

  Communicator& communicator_;
  const RegretOptions& options_;
  const Buffers& buffers_;
  std::vector<Operation> operations_;  // of the size in hand
  Collective collective_ = Collective::kAllReduce;
  double pace_us_ = 0;         // before the last batch
  std::size_t way_bytes_ = 0;  // count * element size, by which ways are chosen
  std::vector<RegretLine> lines_;
  Json raw_ = Json::Array();
};

Status MeasureAsRank(int rank, const UniqueId& id, const RegretOptions& options) {
  Result<Communicator> communicator = Communicator::Create({.rank = rank, .ranks = options.ranks, .id = id});
  if (!communicator.ok()) return communicator.status();
  const Result<Buffers> buffers = Buffers::Allocate(options.max_bytes);
  if (!buffers.ok()) return buffers.status();
  for (std::byte* buffer : {buffers->first(), buffers->second()}) std::fill_n(buffer, options.max_bytes, std::byte{0});
  return Measurer(*communicator, options, *buffers).Run();
}

}  // namespace

RegretLine MedianOfChoices(std::vector<RegretLine> choices) {
  std::ranges::sort(choices, {}, &RegretLine::regret);
  RegretLine median = choices[choices.size() / 2];
  for (const RegretLine& choice : choices) median.of_each_choice.push_back(choice.regret);
  return median;
}

std::string FormatRegret(const RegretLine& line) {
  std::string text =
      fmt::format("{:>10}  {:<36}{}", FormatBytes(line.bytes), line.chosen, FormatNumber(line.chosen_us, 10));
  if (line.regret > 0) {
    text += fmt::format("  {:<36}{}  {:5.1f} %", line.best, FormatNumber(line.best_us, 10), 100 * line.regret);
  }
  if (line.regret > kBeyond) {
    text += "  <--";
  } else if (!line.of_each_choice.empty() && line.of_each_choice.back() > kBeyond) {
    text += fmt::format("  ({:.0f} % once)", 100 * line.of_each_choice.back());
  }
  return text + "\n";
}

std::string SummarizeRegret(std::span<const RegretLine> lines) {
  if (lines.empty()) return "nothing was measured\n";
  double sum = 0;
  std::size_t beyond = 0;
  const RegretLine* worst = &lines[0];
  for (const RegretLine& line : lines) {
    sum += line.regret;
    beyond += line.regret > kBeyond ? 1 : 0;
    if (line.regret > worst->regret) worst = &line;
  }
  std::string text = fmt::format("{} sizes: the chosen way takes {:.1f} % longer than the best one (mean)",
                                 lines.size(), 100 * sum / static_cast<double>(lines.size()));
  if (worst->regret > 0) {
    text += fmt::format(", at worst {:.1f} %: {} of {}", 100 * worst->regret, Name(worst->collective),
                        FormatBytes(worst->bytes));
  }
  text += fmt::format("\n{} of them more than {:.0f} % longer\n", beyond, 100 * kBeyond);
  std::vector<double> single;
  for (const RegretLine& line : lines)
    single.insert(single.end(), line.of_each_choice.begin(), line.of_each_choice.end());
  if (single.empty()) return text;
  return text + fmt::format("of {} single choices {} take more than {:.0f} % longer, at worst {:.1f} %\n",
                            single.size(),
                            std::ranges::count_if(single, [](double regret) { return regret > kBeyond; }),
                            100 * kBeyond, 100 * std::ranges::max(single));
}

int MeasureRegret(const RegretOptions& options) {
  const Result<UniqueId> id = CreateUniqueId();
  if (!id.ok()) {
    fmt::print(stderr, "tutti tune: {}\n", id.status().message());
    return kExitFailed;
  }
  return LaunchRanks(options.ranks, {.name = "tutti tune", .quiet_codes = {kExitFailed}}, [&](int rank) {
    const Status done = MeasureAsRank(rank, *id, options);
    if (!done.ok()) fmt::print(stderr, "tutti tune: {}\n", done.message());
    return done.ok() ? kExitOk : kExitFailed;
  });
}

}  // namespace tutti::tools
