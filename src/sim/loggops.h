// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_SIM_LOGGOPS_H_
#define TUTTI_SIM_LOGGOPS_H_

// The LogGOPS model (Hoefler, Schneider, Lumsdaine: "LogGOPSim", HPDC 2010), by the rules of that simulator, so that a plan takes as
// long here as its GOAL file does there (goal.h). A message of s bytes:
//
//   is sent      when the sender's core and its sending side are free, at time t: they are busy until t + o + (s-1) O and
//                t + g + (s-1) G
//   is there     at t + o + L
//   is received  when the receiver's core and its receiving side are free, at time r: they are busy until
//                r + o + (s-1) max(O, G) and r + g + (s-1) G; the former is when the receive is done
//
// A message longer than S bytes meets its receive before the sender may do anything else: core and sending side are not free before
// that. Neither waits for the other to say so; nothing is lost and no link is shared.

#include <cstdint>
#include <vector>

#include "sim/time.h"

namespace tutti::sim {

struct LogGops {
  double latency_ns = 0;            // L
  double overhead_ns = 0;           // o
  double gap_ns = 0;                // g
  double gap_ns_per_byte = 0;       // G
  double overhead_ns_per_byte = 0;  // O
  std::uint64_t eager_bytes = 0;    // S
};

class LogGopsRanks {
 public:
  LogGopsRanks(const LogGops& model, int ranks);

  // When the rank's core and its sending side are free.
  Time MaySend(int rank) const;
  // Whether the rank can send a message at `now`. If so `time` is when that is at its receiver, else when to ask again.
  bool Send(int rank, std::uint64_t bytes, Time now, Time& time);
  // Whether it can receive one that is there. If so `time` is when the receive is done, else when to ask again.
  bool Receive(int rank, std::uint64_t bytes, Time now, Time& time);
  // The message has met its receive.
  void Match(int sender, std::uint64_t bytes, Time now);
  // When everything is done that the rank has sent and received so far.
  Time Done(int rank) const { return ranks_[static_cast<std::size_t>(rank)].core; }

 private:
  struct Rank {
    Time core = 0, sending = 0, receiving = 0;  // free from then on
  };
  Time latency_, overhead_, gap_;
  double gap_per_byte_, overhead_per_byte_;  // picoseconds
  std::uint64_t eager_bytes_;
  std::vector<Rank> ranks_;
};

}  // namespace tutti::sim

#endif  // TUTTI_SIM_LOGGOPS_H_
