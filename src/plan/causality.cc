// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "plan/causality.h"

#include <algorithm>

namespace tutti::plan {

Causality::Causality(int ranks, bool enabled) : enabled_(enabled) {
  if (!enabled) return;
  clocks_.assign(ranks, Clock(ranks, 0));
  last_.resize(ranks);
}

void Causality::Tick(int rank) {
  if (enabled_) ++clocks_[rank][rank];
}

std::int32_t Causality::Attach(int rank, int copies) {
  if (!enabled_ || copies == 0) return kNone;
  if (free_.empty()) {
    free_.push_back(static_cast<std::int32_t>(attached_.size()));
    attached_.emplace_back();
  }
  const std::int32_t index = free_.back();
  free_.pop_back();
  attached_[index].clock = clocks_[rank];
  attached_[index].copies = copies;
  return index;
}

void Causality::Receive(int rank, std::int32_t attached) {
  if (attached == kNone) return;
  Attached& message = attached_[attached];
  Clock& clock = clocks_[rank];
  for (std::size_t i = 0; i < clock.size(); ++i) clock[i] = std::max(clock[i], message.clock[i]);
  if (--message.copies == 0) free_.push_back(attached);
}

bool Causality::KnowsOf(int rank, int other) const { return !enabled_ || clocks_[rank][other] > 0; }

std::int32_t Causality::Refer(int owner, std::int64_t place, int reader, int step) {
  if (!enabled_) return kNone;
  const auto index = static_cast<std::int32_t>(references_.size());
  const auto [entry, fresh] = last_[owner].try_emplace(place, kNone);
  references_.push_back({.reader = reader, .step = step, .read_at = 0, .next = entry->second});
  entry->second = index;
  return index;
}

void Causality::Read(std::int32_t reference) {
  if (reference == kNone) return;
  Reference& r = references_[reference];
  r.read_at = clocks_[r.reader][r.reader];
}

std::optional<Causality::Unread> Causality::FindUnread(int owner, std::int64_t place) const {
  if (!enabled_) return std::nullopt;
  return FindUnread(owner, place, clocks_[owner]);
}

std::optional<Causality::Unread> Causality::FindUnread(int owner, std::int64_t place, std::int32_t attached) const {
  if (attached == kNone) return std::nullopt;
  return FindUnread(owner, place, attached_[attached].clock);
}

std::optional<Causality::Unread> Causality::FindUnread(int owner, std::int64_t place, const Clock& known) const {
  const auto entry = last_[owner].find(place);
  if (entry == last_[owner].end()) return std::nullopt;
  for (std::int32_t i = entry->second; i != kNone; i = references_[i].next) {
    const Reference& r = references_[i];
    if (r.read_at == 0 || known[r.reader] < r.read_at) return Unread{r.reader, r.step};
  }
  return std::nullopt;
}

}  // namespace tutti::plan
