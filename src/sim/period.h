// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_SIM_PERIOD_H_
#define TUTTI_SIM_PERIOD_H_

#include <array>
#include <cstdint>
#include <map>
#include <vector>

#include "plan/plan.h"
#include "sim/plans.h"
#include "sim/program.h"

namespace tutti::sim {

// The plans of one period as a system of their own: a message to another period arrives at the same place of this one.
class Period {
 public:
  struct Ends {
    std::uint32_t from = 0, to = 0;  // places in the period
    std::uint32_t turns = 0;         // how many periods farther the receiver is
  };
  Period(const PlanSource& source, int ranks, int channel) : period_(source.Period(channel)), turns_(ranks / period_) {
    for (int place = 0; place < period_; ++place) plans_.push_back(source.Build(place, channel));
  }

  int size() const { return period_; }
  int turns() const { return turns_; }
  const plan::RankPlan& plan(int place) const { return plans_[static_cast<std::size_t>(place)]; }
  // Of what `place` sends to the position, which counts from its own period.
  std::uint32_t WireTo(int place, int position) { return WireBetween(place, position % period_, position / period_); }
  // Of what it receives from there.
  Program::Wire WireFrom(int place, int position) {
    const int turns = position / period_;
    return {.place = WireBetween(position % period_, place, turns == 0 ? 0 : turns_ - turns),
            .turns = static_cast<std::uint32_t>(turns)};
  }
  const std::vector<Ends>& wires() const { return wires_; }

 private:
  std::uint32_t WireBetween(int from, int to, int turns) {
    const auto [known, fresh] =
        wire_of_.try_emplace(std::array<int, 3>{from, to, turns}, static_cast<std::uint32_t>(wires_.size()));
    if (fresh) {
      wires_.push_back({.from = static_cast<std::uint32_t>(from),
                        .to = static_cast<std::uint32_t>(to),
                        .turns = static_cast<std::uint32_t>(turns)});
    }
    return known->second;
  }

  int period_, turns_;
  std::vector<plan::RankPlan> plans_;
  std::map<std::array<int, 3>, std::uint32_t> wire_of_;
  std::vector<Ends> wires_;
};

}  // namespace tutti::sim

#endif  // TUTTI_SIM_PERIOD_H_
