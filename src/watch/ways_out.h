// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_WATCH_WAYS_OUT_H_
#define TUTTI_WATCH_WAYS_OUT_H_

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "transport/remote.h"

namespace tutti::watch {

// What a rank has on its way to ranks of other hosts, and for how long none of it has arrived. A way is what leads to a peer by one card:
// its connections are added up. Pure. Threads: one.
class WaysOut {
 public:
  struct Way {
    std::uint64_t posted = 0, completed = 0;  // as in transport::FlowPace
    std::int64_t stuck_ns = 0;                // 0: it gets on, or nothing is on its way
    bool peer_is_full = false;                // all that is on its way waits for the other process
  };
  using Key = std::pair<int, std::string>;  // peer and card

  // Takes what the connections have carried by now. Of a time in which nobody looked only the ends are known: what stood still at both
  // stood still.
  void Note(std::span<const transport::FlowPace> flows, std::int64_t now_ns);
  // By peer, then by card. A way stays, also where all of its connections have ended.
  const std::map<Key, Way>& ways() const { return ways_; }

 private:
  std::map<Key, Way> ways_;
  std::map<Key, std::int64_t> since_ns_;  // when something last arrived, or nothing was on its way
};

}  // namespace tutti::watch

#endif  // TUTTI_WATCH_WAYS_OUT_H_
