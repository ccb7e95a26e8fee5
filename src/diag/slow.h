// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_DIAG_SLOW_H_
#define TUTTI_DIAG_SLOW_H_

// Links and GPUs that go on, far more slowly than they could. Only where it is known what they could.

#include <string>
#include <vector>

#include "diag/edges.h"

namespace tutti::diag {

struct Slow {
  EdgeFinding what = EdgeFinding::kLink;  // kLink, or kSender or kReceiver: the GPU of that end
  int from = 0, to = 0, channel = 0;
  double bytes_per_s = 0;  // between the looks
  double rated_bytes_per_s = 0;
  double past_bytes_per_s = 0;  // 0: not known
  std::string card;             // of the sender; empty: not known
  bool queued = false;          // what is sent waits in the queues of that card
  bool beside_others = false;   // it was never faster: what is rated is what ways of other hosts carry
};

// Those of one communicator that hold it up: at both looks the table says so of the edge, whoever waits on it did so for at least half
// of the time in between, and less than `below` of the rated speed was moved, and of the edge's own past. A link, moreover, was full or
// half full of what had not arrived. `communicator`: its place in `now`.
//   Of a link to another host the sender itself says how fast it is, and what is usual. One that was never faster is compared with what
// three or more ways that leave other hosts carry, and must be below the square of `below` of that. Where these have had little to send
// only, which tells the least that they could carry, it must be below the cube, and its data wait in the queues of its own card.
//   Of two links to other hosts, one of which ends at the host where the other begins, only one counts, since the other one's way back goes
// through it: the one whose data wait in their own card's queues, else the slower one. None is named where more than half of four or more are
// alike and have no host in common: then it is something else.
std::vector<Slow> FindSlow(const Look& before, const Look& now, int communicator, const EdgeTable& table, double below);

}  // namespace tutti::diag

#endif  // TUTTI_DIAG_SLOW_H_
