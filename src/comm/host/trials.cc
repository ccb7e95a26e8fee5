// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "comm/host/trials.h"

#include <algorithm>
#include <array>
#include <limits>
#include <optional>
#include <utility>

#include "comm/host/turns.h"
#include "exec/cpu/fold.h"

namespace tutti::comm {
namespace {

using exec::cpu::Job;

constexpr double kHopeless = 3;   // times the best prediction
constexpr int kMostDoubtful = 2;  // ways by reference, the best ones, that have hope up to kHopelessByReference
// Times the fastest way's time: what takes longer is in later trials only if it is among the best, whatever its kind.
constexpr double kLost = 2;
// Of the current way's time: another one takes its place, but for the second and the third trial.
constexpr double kBetter = 0.95;
// Calls follow each other at once where what passes from one's begin to the next one's is at most so much of what the call takes itself,
// and so much more: the library's own work between two.
constexpr double kAtOnce = 1.5, kBetweenUs = 0.25;
// In Job::watched: an exchange of times, and a job by which ranks wait for each other.
constexpr std::uint64_t kExchange = ~std::uint64_t{0}, kGathering = kExchange - 1;

}  // namespace

std::vector<tune::Choice> Trials::Contestants(std::span<const tune::Choice> ways) {
  std::vector<tune::Choice> contestants;
  int referring = 0;
  for (const tune::Choice& way : ways) {
    if (contestants.size() == kMostWays) break;
    const double hopeless = way.by_reference && referring < kMostDoubtful ? kHopelessByReference : kHopeless;
    if (way.predicted_us > hopeless * ways.front().predicted_us) continue;
    contestants.push_back(way);
    referring += way.by_reference ? 1 : 0;
  }
  return contestants;
}

Trials::Trials(std::vector<tune::Choice> ways, const Rules& rules, Prepare prepare,
               std::function<Recipe(std::size_t bytes)> exchange)
    : rules_(rules),
      prepare_(std::move(prepare)),
      exchange_way_(std::move(exchange)),
      trial_begin_(rules.begin),
      decided_begin_(rules.begin) {
  for (const tune::Choice& choice : ways) {
    ranking_.push_back(ways_.size());
    ways_.push_back({.choice = choice});
  }
  times_.resize(std::max(ExtentOf(0).times(), ExtentOf(1).times()));
}

Trials::~Trials() = default;

Trials::Extent Trials::ExtentOf(std::uint64_t trial) const {
  const std::size_t turn = trial == 0 ? rules_.turn : rules_.later_turn;
  const std::size_t counted = rules_.one_way ? turn : std::min(turn - (turn + 2) / 3, kMostSamples);
  return {.ways = trial == 0 ? ways_.size() : std::min(ways_.size(), kFinalists),
          .turn = turn,
          .counted = counted,
          .samples = rules_.one_way && rules_.short_calls ? 1 : counted};
}

// Forwards, backwards and forwards, so that a machine that changes its pace meanwhile favours none.
std::optional<Trials::Place> Trials::PlaceOf(std::uint64_t call_number) const {
  const Extent trial = ExtentOf(decided_);
  if (call_number < decided_begin_ || call_number >= decided_begin_ + trial.calls()) return std::nullopt;
  const std::size_t position = call_number - decided_begin_;
  const std::size_t round = position / (trial.ways * trial.turn), rest = position % (trial.ways * trial.turn);
  const std::size_t at = rest / trial.turn, call = rest % trial.turn;
  const std::size_t way = round % 2 == 0 ? at : trial.ways - 1 - at;
  const std::size_t first = trial.turn - trial.counted, turn = (way * kTurns + round) * trial.samples;
  if (whole_turns()) return Place{.way = way, .sample = turn * 2, .begins = call == 0, .ends = call + 1 == trial.turn};
  return Place{.way = way, .sample = (turn + call - first) * 2, .begins = call >= first, .ends = call >= first};
}

const Recipe& Trials::Ready(std::size_t way) {
  Way& ready = ways_[way];
  if (ready.recipe.plans.empty()) ready.recipe = prepare_(ready.choice);
  return ready.recipe;
}

// One job after the other may be under way.
Job* Trials::MakeJob(std::span<std::int64_t> values, std::uint64_t watched) {
  auto free = std::ranges::find_if(jobs_, [](const auto& job) { return job->done; });
  if (free == jobs_.end()) free = jobs_.insert(free, std::make_unique<Job>());
  Job& job = **free;
  job.collective = Collective::kAllReduce;
  job.in = reinterpret_cast<const std::byte*>(values.data());
  job.out = reinterpret_cast<std::byte*>(values.data());
  job.count = values.size();
  job.element = sizeof(std::int64_t);
  job.type = DataType::kInt64;
  job.fold = GetFold(job.type, ReduceOp::kMax);
  Follow(exchange_way_(job.count * job.element), job);
  job.calls.watcher = this;
  job.calls.watched = watched;
  return &job;
}

Job* Trials::Next(Job& job, std::uint64_t calls) {
  call_ += calls;
  const std::uint64_t call = call_ - 1;
  Follow(current(), job);
  job.calls.watcher = this;
  job.calls.watched = call;
  const Extent trial = ExtentOf(trial_);
  const std::uint64_t end = trial_begin_ + trial.calls();
  if (call < end) {
    const bool turns = call >= trial_begin_ && (call - trial_begin_) % trial.turn == 0;
    return turns && rules_.one_way ? MakeJob({&nothing_, 1}, kGathering) : nullptr;
  }
  Job* const exchange = MakeJob(std::span(times_).first(trial.times()), kExchange);
  trial_begin_ = end + PeriodAfter(trial_);
  ++trial_;
  return exchange;
}

Trials::Stretch Trials::Ahead() {
  if (decided_ != trial_) return {};
  if (call_ < trial_begin_) return {.calls = trial_begin_ - call_, .recipe = &current()};
  const std::uint64_t turn = ExtentOf(trial_).turn, at = (call_ - trial_begin_) % turn;
  if (!whole_turns() || at == 0) return {};
  return {.calls = turn - 1 - at, .recipe = &Ready(ranking_[PlaceOf(call_)->way])};
}

void Trials::Starts(Job& job) {
  if (job.calls.watched >= kGathering) return;
  const std::optional<Place> place = PlaceOf(job.calls.watched);
  Follow(place ? Ready(ranking_[place->way]) : current(), job);
  if (!place || !place->begins) return;
  const bool first = place->sample / 2 % ExtentOf(decided_).samples == 0;
  const std::int64_t now_ns = rules_.now_ns();
  times_[place->sample] = first && rules_.one_way ? -now_ns : now_ns;
}

void Trials::Ended(Job& job) {
  if (job.calls.watched == kExchange) {
    Decide();
    return;
  }
  if (job.calls.watched == kGathering) return;
  const std::optional<Place> place = PlaceOf(job.calls.watched);
  if (place && place->ends) times_[place->sample + 1] = rules_.now_ns();
}

// us. Not the median of single calls: of those that only go one way, many are sent before one is received. What two calls share counts
// once.
double Trials::MeanOf(std::size_t way, std::size_t turn) const {
  const Extent trial = ExtentOf(decided_);
  const bool whole = whole_turns();
  std::int64_t sum_ns = 0, until_ns = std::numeric_limits<std::int64_t>::min();
  for (std::size_t sample = 0; sample < (whole ? 1 : trial.samples); ++sample) {
    const std::int64_t* const time = &times_[((way * kTurns + turn) * trial.samples + sample) * 2];
    const std::int64_t begin_ns = sample == 0 && rules_.one_way ? -time[0] : time[0];
    sum_ns += std::max<std::int64_t>(time[1] - std::max(begin_ns, until_ns), 0);
    until_ns = std::max(until_ns, time[1]);
  }
  return static_cast<double>(sum_ns) / 1000 / static_cast<double>(whole ? trial.turn : trial.counted);
}

// us, with what passes between calls that are timed one by one.
double Trials::SpanOf(std::size_t way, std::size_t turn) const {
  const Extent trial = ExtentOf(decided_);
  const std::int64_t* const first = &times_[(way * kTurns + turn) * trial.samples * 2];
  return static_cast<double>(first[trial.samples * 2 - 1] - first[0]) / 1000 / static_cast<double>(trial.counted);
}

// us, of all turns of a way.
double Trials::FigureOf(std::size_t way, double (Trials::*of_turn)(std::size_t way, std::size_t turn) const) const {
  std::array<double, kTurns> us;
  for (std::size_t turn = 0; turn < kTurns; ++turn) us[turn] = (this->*of_turn)(way, turn);
  return MeanButSlowest(us);
}

// Whether calls follow each other at once. `fastest`: a place in the ranking.
void Trials::Pace(std::size_t fastest, double least_us) {
  if (!rules_.short_calls || rules_.one_way) return;
  double span_us = least_us;
  if (!back_to_back_) {
    call_us_ = least_us;
    span_us = FigureOf(fastest, &Trials::SpanOf);
  }
  back_to_back_ = span_us <= kAtOnce * call_us_ + kBetweenUs;
}

// The last of the finalists make room for the best of the other kind, where there are too few of it. One that has lost by too much gets none.
void Trials::KeepBothKinds() {
  static_assert(2 * kOfEachKind <= kFinalists);
  if (ranking_.size() <= kFinalists) return;
  const auto end = ranking_.begin() + kFinalists;
  for (const bool referring : {false, true}) {
    const auto of_kind = [&](std::size_t way) { return ways_[way].choice.by_reference == referring; };
    const auto hopeful = [&](std::size_t way) { return of_kind(way) && ways_[way].longer <= kLost; };
    for (auto kept = std::count_if(ranking_.begin(), end, of_kind); kept < kOfEachKind; ++kept) {
      const auto better = std::find_if(end, ranking_.end(), hopeful);
      if (better == ranking_.end()) break;
      auto worst = end - 1;
      while (of_kind(*worst)) --worst;
      std::iter_swap(worst, better);
    }
  }
}

void Trials::Decide() {
  const Extent trial = ExtentOf(decided_);
  const auto contestants = std::span(ranking_).first(trial.ways);
  std::vector<double> us(contestants.size());
  for (std::size_t w = 0; w < us.size(); ++w) us[w] = FigureOf(w, &Trials::MeanOf);
  const auto fastest = std::ranges::min_element(us);
  const double least_us = std::max(*fastest, 1e-3);
  for (std::size_t w = 0; w < us.size(); ++w) {
    Way& way = ways_[contestants[w]];
    const double longer = std::max(us[w] / least_us, 1.0);
    // The first trial's turns are too short to count with others.
    way.twice_longer = longer * (decided_ <= 1 ? longer : way.longer);
    way.longer = longer;
  }
  std::ranges::stable_sort(contestants, {}, [&](std::size_t way) { return ways_[way].twice_longer; });
  // What has been decided before has no advantage until the third trial.
  const double enough = decided_ == 1 || decided_ == 2 ? 1 : kBetter * kBetter;
  if (ways_[contestants[0]].twice_longer < enough * ways_[best_].twice_longer) best_ = contestants[0];
  // The current way is in every trial.
  const auto current = std::ranges::find(ranking_, best_);
  std::rotate(ranking_.begin(), current, current + 1);
  KeepBothKinds();
  Pace(static_cast<std::size_t>(fastest - us.begin()), least_us);
  std::ranges::fill(times_, 0);
  decided_begin_ += trial.calls() + PeriodAfter(decided_);
  ++decided_;
}

}  // namespace tutti::comm
