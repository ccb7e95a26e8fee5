// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_COMM_HOST_TRIALS_H_
#define TUTTI_COMM_HOST_TRIALS_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "comm/host/recipe.h"
#include "exec/cpu/job.h"
#include "sys/os/clock.h"
#include "tune/choice.h"

namespace tutti::comm {

// The cost model predicts which way is best; this finds out, by the program's own calls. Calls of one collective, size class and root
// are counted, alike on all ranks. Those of a trial take one of the best ways by prediction in turn, while every rank notes when they
// begin and end. Right before the call that follows, the ranks exchange these times, and so all come to the same decision. A second and a
// third trial soon after are among those that were best, since what disturbed one way in one of them is over in the next; two by reference
// and two through pages are among them, unless these have lost by too much. Later ones come now and then: the machine may have changed. A
// trial counts as much as the one before it, but for the first, whose turns are short.
//
//   calls      | first way | trial: each way some calls, three times over | the winner ... | trial of the best | ...
//                                                                         ^ an all_reduce of the times
//
// A call takes as long as from the last rank's begin to the last rank's end, so ranks that come late do not count. That needs one
// clock for all: the ranks of one host.
//
// Where data go one way, a sender is ahead of its receivers by as many calls as its pages and links hold, and a turn would begin with
// what another way has left there. So all ranks wait for each other before each turn of such a trial, and all calls of it count: from the
// first rank's begin on, since on crowded cores a sender may have sent all of the turn before the last rank comes to run. Of short calls only
// the turn as a whole is timed: reading the clock would slow the sender down so much that it is not ahead.
//
// Other short calls are timed as whole turns too where they follow each other at once, since what reading the clock takes would count as
// much as what sets ways apart. Where a program does something in between, that would count instead, so calls are timed one by one. The
// first trial tells which it is, and each later one whether that has changed.
//
// What a call does is decided as it begins, not as it is submitted: many may be under way, and then the decision has been made by
// those before it. How many calls a trial has does not depend on what comes out of it.
//
// Threads: as the Submitter's.
class Trials final : public exec::cpu::JobWatcher {
 public:
  // How the schedule is spread, alike on all ranks.
  struct Rules {
    std::uint64_t begin;                    // calls before the first trial
    std::uint64_t second;                   // calls from its end to the second one, and from that one's to the third
    std::uint64_t period;                   // calls from the end of a later one to the next one
    std::uint64_t turn;                     // calls of a way one after the other, 2 at least
    std::uint64_t later_turn;               // the same in trials after the first one, which are among fewer ways
    bool one_way = false;                   // some ranks only send, others only receive
    bool short_calls = false;               // reading the clock twice counts in one
    std::int64_t (*now_ns)() = sys::NowNs;  // one clock for all ranks
  };
  // `ways`: the model's choice first; two at least. `prepare` makes a way ready for use, `exchange` is the way of the ranks' exchange.
  using Prepare = std::function<Recipe(const tune::Choice&)>;
  Trials(std::vector<tune::Choice> ways, const Rules& rules, Prepare prepare,
         std::function<Recipe(std::size_t bytes)> exchange);
  ~Trials() override;

  static constexpr std::size_t kMostWays = 24;
  // Calls from the first of the first trial to the first that takes what the third one has decided for sure, at most.
  static constexpr std::uint64_t MostCalls(std::uint64_t turn, std::uint64_t second, std::uint64_t later_turn) {
    return (kMostWays * turn + 2 * kFinalists * later_turn) * kTurns + 2 * second + 2;
  }
  // Of ways with predictions, best first, those that take part in the first trial: the best, as long as they have hope, which the two
  // best by reference have longer.
  static std::vector<tune::Choice> Contestants(std::span<const tune::Choice> ways);

  // The next call, which is filled in in `job`, gets its way. Returns a job that has to be submitted right before it, or null.
  // `calls`: how many calls came since the last Next, this one included.
  exec::cpu::Job* Next(exec::cpu::Job& job, std::uint64_t calls);
  // Calls that take one way for sure, from the next one on, and need not pass Next: outside of trials, and of short ones within a turn, since
  // Next would take as long as they do.
  struct Stretch {
    std::uint64_t calls = 0;
    const Recipe* recipe = nullptr;  // theirs, where there are any
  };
  Stretch Ahead();
  // What has been decided up to now.
  const Recipe& current() { return Ready(best_); }

  void Starts(exec::cpu::Job& job) override;
  void Ended(exec::cpu::Job& job) override;

 private:
  static constexpr std::size_t kTurns = 3;          // of a way in a trial
  static constexpr std::size_t kFinalists = 6;      // ways of the later trials
  static constexpr std::ptrdiff_t kOfEachKind = 2;  // of those, at least, unless they have lost by too much
  static constexpr std::size_t kMostSamples = 512;  // of a turn, where each call is one

  struct Way {
    tune::Choice choice;
    Recipe recipe;  // without plans: not made yet
    // Times as long as the fastest one, in the last trial, and the product of the last two.
    double longer = 1, twice_longer = 1;
  };
  struct Place {
    std::size_t way;     // index into ranking_
    std::size_t sample;  // index into times_
    bool begins, ends;   // whether the call's begin and end are noted there
  };
  // Of a trial.
  struct Extent {
    std::size_t ways;
    std::size_t turn;  // calls of a way one after the other
    // Of those: they count. The first ones, which find the caches and what is under way as another way left them, do not where the ranks do
    // not wait for each other.
    std::size_t counted;
    std::size_t samples;  // of a turn, at most

    std::size_t calls() const { return ways * kTurns * turn; }
    std::size_t times() const { return ways * kTurns * samples * 2; }
  };
  Extent ExtentOf(std::uint64_t trial) const;
  // Of a call of the trial that is not decided yet; none for other calls.
  std::optional<Place> PlaceOf(std::uint64_t call_number) const;
  // Calls from the end of a trial to the next one.
  std::uint64_t PeriodAfter(std::uint64_t trial) const { return trial <= 1 ? rules_.second : rules_.period; }
  const Recipe& Ready(std::size_t way);
  // Whether of the trial that is not decided yet turns are timed as wholes.
  bool whole_turns() const { return rules_.short_calls && (rules_.one_way || back_to_back_); }
  double MeanOf(std::size_t way, std::size_t turn) const;
  double SpanOf(std::size_t way, std::size_t turn) const;
  double FigureOf(std::size_t way, double (Trials::*of_turn)(std::size_t way, std::size_t turn) const) const;
  void Pace(std::size_t fastest, double least_us);
  // An all_reduce after which all ranks have the greatest of each of the values.
  exec::cpu::Job* MakeJob(std::span<std::int64_t> values, std::uint64_t watched);
  void KeepBothKinds();
  void Decide();

  std::vector<Way> ways_;
  const Rules rules_;
  const Prepare prepare_;
  const std::function<Recipe(std::size_t bytes)> exchange_way_;

  // As calls are submitted.
  std::uint64_t call_ = 0;     // the number of the next
  std::uint64_t trial_ = 0;    // the trial that it is in, or the next one; so many exchanges have been submitted
  std::uint64_t trial_begin_;  // that trial's first call
  std::vector<std::unique_ptr<exec::cpu::Job>> jobs_;  // exchanges, and those by which ranks wait for each other
  std::int64_t nothing_ = 0;                           // which the latter exchange

  // As calls begin and end.
  std::uint64_t decided_ = 0;         // trials
  std::uint64_t decided_begin_;       // the first call of the trial that is not decided yet
  std::size_t best_ = 0;              // index into ways_
  bool back_to_back_ = false;         // a call begins as soon as the one before it has ended
  double call_us_ = 0;                // of the fastest way, when calls were last timed one by one
  std::vector<std::size_t> ranking_;  // indices into ways_, best first
  // Of the trial in hand, for each way, turn and sample: begin, end; ns. One that the ranks are to find the least of is negative.
  std::vector<std::int64_t> times_;
};

}  // namespace tutti::comm

#endif  // TUTTI_COMM_HOST_TRIALS_H_
