// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_TUNE_MODEL_H_
#define TUTTI_TUNE_MODEL_H_

// The cost model: how long a plan takes for a size, from what the plan asks for (plan::Cost) and what the machine
// gives (Machine). A rank is one core that does everything itself: it writes what it sends, reads what it receives
// and folds; a hop is the time until a peer sees what was written. In microseconds,
//
//   T = hops * hop                                            every hop on the longest chain
//     + rounds * messages * message                           the price of each message, at either end
//     + bytes * (posted * write + received * read             each byte written and read
//                + folded * fold + stored * copy)
//     + (hops - own messages of a round) * chunk * (write + read)   filling the pipeline, where hops are others' work
//
// with posted, received, folded and stored in units of the operation's bytes. Where ranks outnumber cores, work is
// multiplied by ranks / cpus and a hop costs a turn of the scheduler. Channels share the rank's one core: each brings
// messages of its own and hides nothing.

#include <cstddef>
#include <string>

#include "plan/cost.h"
#include "plan/footprint.h"
#include "proto/protocol.h"
#include "tutti/status.h"

namespace tutti::tune {

// Constants of one way across a link.
struct Way {
  double hop_us;        // from the end of writing until the receiver sees it
  double message_us;    // per message, both ends together
  double write_us_per_kib;
  double read_us_per_kib;
};

// What was measured on a machine. The defaults were measured on 2 cores of an AMD EPYC (Zen 5) virtual machine.
struct Machine {
  Way ll{0.06, 0.02, 0.30, 0.25};
  Way ll128{0.08, 0.025, 0.045, 0.045};
  Way simple{0.12, 0.08, 0.030, 0.030};
  // By reference: message_us holds the system call; nothing is written.
  Way reference{0.15, 0.60, 0.0, 0.060};
  double fold_us_per_kib = 0.020;  // per operand beyond the first
  double copy_us_per_kib = 0.020;
  double switch_us = 1.0;  // one turn of the scheduler, where ranks share cores

  // One line per constant, "name value"; Parse reads it back (comments start with #).
  std::string ToText() const;
  static Result<Machine> Parse(std::string_view text);
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
