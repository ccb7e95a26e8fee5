// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "watch/ways_out.h"

namespace tutti::watch {

void WaysOut::Note(std::span<const transport::FlowPace> flows, std::int64_t now_ns) {
  std::map<Key, Way> sums;
  for (const transport::FlowPace& flow : flows) {
    const auto [sum, is_new] = sums.try_emplace({flow.peer, flow.card}, Way{.peer_is_full = true});
    sum->second.posted += flow.posted;
    sum->second.completed += flow.completed;
    if (flow.posted != flow.completed) sum->second.peer_is_full &= flow.peer_is_full;
  }
  for (auto& [key, way] : ways_) {
    if (!sums.contains(key)) way = {};
  }
  for (auto& [key, way] : sums) {
    Way& old = ways_[key];
    std::int64_t& since_ns = since_ns_[key];
    const bool on_its_way = way.posted != way.completed;
    // Other connections count from the beginning, so less than before is a move too.
    if (!on_its_way || old.posted == old.completed || way.completed != old.completed) since_ns = now_ns;
    way.peer_is_full &= on_its_way;
    way.stuck_ns = now_ns - since_ns;
    old = way;
  }
}

}  // namespace tutti::watch
