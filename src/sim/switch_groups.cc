// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "sim/switch_groups.h"

#include <algorithm>
#include <compare>

#include "plan/plan.h"

namespace tutti::sim {

using plan::Sending;

namespace {

// One end of a message in the order of its link: by time slot, then step, then place in the step.
struct End {
  std::int32_t from, to;
  std::int32_t stage, step, place;
  auto operator<=>(const End&) const = default;
};

struct Ends {
  std::vector<End> sent, received;
};

Ends EndsOf(std::span<const plan::RankPlan> plans) {
  Ends ends;
  for (const plan::RankPlan& plan : plans) {
    for (int i = 0; i < plan.step_count(); ++i) {
      const plan::Step step = plan.step(i);
      for (int place = 0; place < std::ssize(step.to); ++place) {
        ends.sent.push_back({plan.rank, step.to[static_cast<std::size_t>(place)], step.stage, i, place});
      }
      for (int place = 0; place < std::ssize(step.operands); ++place) {
        const plan::Operand& operand = step.operands[static_cast<std::size_t>(place)];
        if (!operand.local()) ends.received.push_back({operand.index, plan.rank, step.stage, i, place});
      }
    }
  }
  std::ranges::sort(ends.sent);
  std::ranges::sort(ends.received);
  return ends;
}

void Include(std::int32_t position, std::vector<std::int32_t>& positions) {
  const auto at = std::ranges::lower_bound(positions, position);
  if (at == positions.end() || *at != position) positions.insert(at, position);
}

}  // namespace

SwitchGroups::SwitchGroups(std::span<const plan::RankPlan> plans) {
  AddMulticasts(plans);
  AddOffers(plans);
}

std::span<const std::uint32_t> SwitchGroups::Of(int position, int step) const {
  const auto found = of_step_.find({position, step});
  return found == of_step_.end() ? std::span<const std::uint32_t>() : std::span(found->second);
}

std::uint32_t SwitchGroups::Add(bool folds) {
  groups_.push_back({.folds = folds});
  return static_cast<std::uint32_t>(groups_.size()) - 1;
}

void SwitchGroups::AddMulticasts(std::span<const plan::RankPlan> plans) {
  for (const plan::RankPlan& plan : plans) {
    for (int i = 0; i < plan.step_count(); ++i) {
      const plan::Step step = plan.step(i);
      if (!plan::IsMulticast(step.sending)) continue;
      const std::uint32_t index = Add(false);
      SwitchGroup& group = groups_[index];
      group.from = {plan.rank};
      group.to.assign(step.to.begin(), step.to.end());
      group.comes_back = step.sending == Sending::kMulticastBack;
      if (group.comes_back) group.to.push_back(plan.rank);
      std::ranges::sort(group.to);
      of_step_[{plan.rank, i}] = {index};
    }
  }
}

// The i-th that a link sends meets the i-th that it receives. In the order of senders, so that whoever offers once to several has given all
// their readings its group before anybody else offers to them.
void SwitchGroups::AddOffers(std::span<const plan::RankPlan> plans) {
  const Ends ends = EndsOf(plans);
  const std::size_t messages = std::min(ends.sent.size(), ends.received.size());
  for (std::size_t i = 0; i < messages; ++i) {
    const End &sent = ends.sent[i], &received = ends.received[i];
    const Sending sending = plans[static_cast<std::size_t>(sent.from)].step(sent.step).sending;
    if (!plan::IsOffer(sending)) continue;
    Meet({sent.from, sent.step}, static_cast<std::size_t>(sent.place), sending == Sending::kOfferOnce,
         {received.to, received.step});
  }
}

void SwitchGroups::Meet(Place sender, std::size_t target, bool once, Place reader) {
  std::vector<std::uint32_t>& groups = of_step_[sender];
  const auto known = of_read_.find(reader);
  std::uint32_t index = 0;
  if (once && !groups.empty()) {
    index = groups.front();
  } else {
    index = known != of_read_.end() ? known->second : Add(true);
  }
  of_read_.try_emplace(reader, index);
  if (once) {
    groups = {index};
  } else {
    if (groups.size() <= target) groups.resize(target + 1);
    groups[target] = index;
  }
  Include(sender.first, groups_[index].from);
  Include(reader.first, groups_[index].to);
}

}  // namespace tutti::sim
