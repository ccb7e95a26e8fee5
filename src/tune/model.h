// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_TUNE_MODEL_H_
#define TUTTI_TUNE_MODEL_H_

// The cost model: how long a plan takes for a size, from what the plan asks for (plan::Cost) and what the machine
// gives (Machine). A rank is one core that does everything itself: it writes what it sends, reads what it receives
// and folds; a hop is the time until a peer sees what was written. In microseconds,
//
//   T = (hops + closing hops) * hop                           every hop on the longest chain
//     + max(work, first chunk + work of the other rounds)     whichever takes longer: a rank's own work, or the longest
//                                                             chain of messages, one after the other
//   work = rounds * messages * message                        the price of each message, at either end
//        + bytes * (written * write + received * read         each byte written and read
//                   + folded * fold + copied * copy)
//   first chunk = hops * (message + chunk * (write + read))
//
// with written (sent, or posted where one copy serves all), received, folded and copied in units of the operation's
// bytes; where values are folded where they lie, reading them is their fold. Where ranks outnumber cores, work is
// multiplied by ranks / cpus and a hop costs a turn of the scheduler. Channels share the rank's one core: each brings
// messages of its own and hides nothing.

#include <cstddef>
#include <string>

#include "plan/cost.h"
#include "plan/footprint.h"
#include "proto/protocol.h"
#include "tune/table.h"
#include "tutti/status.h"

namespace tutti::tune {

// Constants of one way across a link.
struct Way {
  double hop_us;      // from the end of writing until the receiver sees it
  double message_us;  // per message, both ends together
  double write_us_per_kib;
  double read_us_per_kib;
  bool one_copy_for_all;  // a value for several ranks is written once
  bool folds_in_place;    // received values are folded where they lie: reading them is part of the fold
  int closing_hops;       // until the sender may use its buffer again
};

// What `tutti tune --calibrate` measures. The defaults were measured on a virtual machine with 2 cores of an AMD EPYC
// (Zen 5).
struct Machine {
  Way ll{0.08, 0.03, 0.20, 0.20, false, false, 0};
  Way ll128{0.09, 0.035, 0.090, 0.090, false, false, 0};
  Way simple{0.10, 0.05, 0.018, 0.018, true, true, 0};
  // By reference: message_us holds the system call; nothing is written.
  Way reference{0.10, 1.40, 0.0, 0.050, true, false, 1};
  // The same where the peer has just written what is read, as reductions do.
  double reference_fresh_read_us_per_kib = 0.060;
  double fold_us_per_kib = 0.006;  // per operand
  double copy_us_per_kib = 0.008;
  double switch_us = 0.7;  // one turn of the scheduler, where ranks share cores

  // One line per constant, behind "[host]"; tune/table.h.
  std::string ToText() const;
  static Result<Machine> Parse(const TableText& text);
};

// What a plan costs on every rank's side, with what the executor needs to know to cut it.
struct PlanCost {
  plan::Cost cost;
  plan::Footprint footprint;
};

// Predicted time. chunk_bytes: largest message of this protocol for this plan.
double PredictUs(const Machine& machine, const PlanCost& plan, const Way& way, std::size_t bytes,
                 std::size_t chunk_bytes, int channels, int ranks, int cpus);

}  // namespace tutti::tune

#endif  // TUTTI_TUNE_MODEL_H_
