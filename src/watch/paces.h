// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_WATCH_PACES_H_
#define TUTTI_WATCH_PACES_H_

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace tutti::transport {
struct FlowPace;
}

namespace tutti::watch {

// How fast data go from a rank to ranks of other hosts, second by second, and whether that is less than usual. What is usual is what
// the way to the peer by that card has carried in other seconds; so a way that was slow from the beginning is not found. Pure. Threads: one.
class Paces {
 public:
  // The slowest card of the way to a peer, as compared with what is usual of it.
  struct Way {
    int peer = -1;
    std::string card;
    double bytes_per_s =
        0;  // 0: for less than two fifths of the second the card had enough to send, or little of that to the peer
    double usual_bytes_per_s = 0;  // 0: not known yet
    bool is_slow() const { return bytes_per_s > 0 && bytes_per_s < kSlowBelow * usual_bytes_per_s; }
  };

  // Takes what the connections have carried since they were made. True where a second has gone by since the last time that this was
  // true; ways() are of that second. At the first call it is false.
  bool Note(std::span<const transport::FlowPace> flows, std::int64_t now_ns);
  // Whether a second has gone by, so that Note has something to do.
  bool due(std::int64_t now_ns) const { return now_ns - noted_ns_ >= kSecondNs; }
  const std::vector<Way>& ways() const { return ways_; }
  bool any_is_slow() const;

 private:
  static constexpr double kSlowBelow = 0.5;
  static constexpr std::int64_t kSecondNs = 1'000'000'000;
  using Key = std::pair<int, std::string>;  // peer and card

  struct Flow {
    std::int64_t busy_ns = 0;
    std::uint64_t bytes = 0;
  };
  // What a way has carried in a second.
  struct Second {
    std::int64_t busy_ns = 0;  // of the connection that was busy for longest
    double bytes = 0;
  };
  // `limits`: whether the way is what the rank waits for.
  Way Judge(const Key& key, const Second& second, bool limits);

  std::int64_t noted_ns_ = 0;
  std::map<std::pair<int, int>, Flow> flows_;  // by peer and number
  std::map<Key, std::vector<double>> rates_;   // of the last seconds that were not slow, the oldest first
  std::vector<Way> ways_;
};

}  // namespace tutti::watch

#endif  // TUTTI_WATCH_PACES_H_
