// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_SIM_SWITCH_GROUPS_H_
#define TUTTI_SIM_SWITCH_GROUPS_H_

// Which values of a channel's plans meet in switches: whose offers one reducing read takes, and who gets a multicast (plan.h, "Switches").

#include <cstdint>
#include <map>
#include <span>
#include <utility>
#include <vector>

namespace tutti::plan {
class RankPlan;
}

namespace tutti::sim {

// Positions in the communicator, ascending.
struct SwitchGroup {
  bool folds = false;              // offers and those who read them; else a multicast
  std::vector<std::int32_t> from;  // of a multicast: the sender
  std::vector<std::int32_t> to;    // of a multicast that comes back: the sender, too
  bool comes_back = false;
};

class SwitchGroups {
 public:
  // `plans`: of all positions. REQUIRES: plan::Check accepts them.
  explicit SwitchGroups(std::span<const plan::RankPlan> plans);

  const SwitchGroup& group(std::uint32_t index) const { return groups_[index]; }
  // Those that a step's value goes to, by index: one for each target of offers that each leave for a reader, else one. Empty: it sends
  // messages, or nothing.
  std::span<const std::uint32_t> Of(int position, int step) const;

 private:
  using Place = std::pair<std::int32_t, std::int32_t>;  // position and step
  std::uint32_t Add(bool folds);
  void AddMulticasts(std::span<const plan::RankPlan> plans);
  void AddOffers(std::span<const plan::RankPlan> plans);
  void Meet(Place sender, std::size_t target, bool once, Place reader);

  std::vector<SwitchGroup> groups_;
  std::map<Place, std::vector<std::uint32_t>> of_step_;  // of those that send
  std::map<Place, std::uint32_t> of_read_;
};

}  // namespace tutti::sim

#endif  // TUTTI_SIM_SWITCH_GROUPS_H_
