// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_WATCH_PACES_H_
#define TUTTI_WATCH_PACES_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "transport/remote.h"

namespace tutti::watch {

// How fast data go from a rank to ranks of other hosts, second by second, and whether that is less than usual. What is usual is what
// the way to the peer by that card has carried in other seconds; so a way that was slow from the beginning is not found.
//   Seconds in which much waited to be sent, and seconds in which little was under way at a time, are compared among themselves. With
// little under way it is how long it takes that tells the rate, and how much it is: so such a second is slow only where a round trip takes
// longer than usual too, where it waits in the card's own queues, and where it is some packets, since the word that the last one has come may
// be put off. Pure. Threads: one.
class Paces {
 public:
  // The slowest card of the way to a peer, as compared with what is usual of it.
  struct Way {
    int peer = -1;
    std::string card;
    // 0: for less than two fifths of the second the card had something to send, or little of that to the peer. Of several slow seconds in a
    // row their mean.
    double bytes_per_s = 0;
    double usual_bytes_per_s = 0;    // 0: not known yet
    double arrived_bytes_per_s = 0;  // by all cards, whatever there was to send
    // In which part of the slow seconds in a row, or of the last in which it was what the rank waited for, something waited in the card's own
    // queues. What waits elsewhere, or only for the word that it has come, does not.
    double queued = 0;
    bool is_slow() const { return bytes_per_s > 0 && bytes_per_s < kSlowBelow * usual_bytes_per_s; }
  };

  // Takes what the connections have carried since they were made. True where a second has gone by since the last time that this was
  // true; ways() are of that second. At the first call it is false.
  bool Note(std::span<const transport::FlowPace> flows, std::int64_t now_ns);
  // Whether a second has gone by, so that Note has something to do.
  bool due(std::int64_t now_ns) const { return now_ns - noted_ns_ >= kSecondNs; }
  const std::vector<Way>& ways() const { return ways_; }
  bool any_is_slow() const;
  // Whether it is time to compare what a way carries with others: the network is what the rank waits for, in the first 20 seconds of that, and
  // in 6 seconds from the 32nd on, from the 64th and so on.
  bool wants_comparing() const;
  // Bytes/s that go to a peer by a card, as a rule, in seconds with much to send or with little under way; 0: not known yet.
  double Carries(int peer, const std::string& card, bool much) const;

 private:
  static constexpr double kSlowBelow = 0.5;
  static constexpr std::int64_t kSecondNs = 1'000'000'000;
  using Key = std::pair<int, std::string>;  // peer and card

  // What a way has carried in a second.
  struct Second {
    std::int64_t busy_ns = 0;       // of the connection that was busy for longest
    std::int64_t much_busy_ns = 0;  // likewise, with much to send
    double much_bytes = 0;          // that were carried then
    double bytes = 0;
    double round_trip_ns = 0;  // of the connection that was busy for longest
    double packet_bytes = 0;   // likewise
    bool is_queued = false;

    bool had_much() const { return 2 * much_busy_ns >= busy_ns; }
    double rate() const { return bytes * 1e9 / static_cast<double>(busy_ns); }
  };
  // What is known of a way with much, or with little, to send: the last seconds that were not slow, the oldest first; and what it has
  // carried in the slow ones since.
  struct Past {
    std::vector<double> rates, round_trips;
    double slow_bytes = 0, slow_ns = 0, queued_ns = 0;
    double limits_ns = 0,
           limits_queued_ns = 0;  // of seconds that were not slow, in which it was what the rank waited for
    bool queued = false;          // so much in the card's own queues that it is slow for that
  };
  // What a flow has carried since the time before, added to its second.
  void Add(const transport::FlowPace& flow, Second& second);
  static void LearnMuch(Past& past, const Second& second);
  static double NoteLimit(Past& past, const Second& second);
  // `busy`: in which part of the second the card had something to send, if enough of that was for this way; else 0.
  Way Judge(const Key& key, const Second& second, double busy);

  std::int64_t noted_ns_ = 0;
  std::map<std::pair<int, int>, transport::FlowPace> flows_;  // by peer and number
  std::map<std::pair<Key, bool>, Past> pasts_;                // with little, with much to send
  std::vector<Way> ways_;
  unsigned limited_seconds_ = 0;  // in which a way limited the rank that is known to carry some rate
};

}  // namespace tutti::watch

#endif  // TUTTI_WATCH_PACES_H_
