// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_TUNE_MODEL_H_
#define TUTTI_TUNE_MODEL_H_

// The cost model: how long a plan takes for a size, from what the plan asks for (plan::Cost) and what the machine
// gives (machine.h). A rank is one core that does everything itself: it writes what it sends, reads what it receives
// and folds; a hop is the time until a peer sees what was written. In microseconds,
//
//   T = (hops + closing hops) * hop                           every hop on the longest chain
//     + max(work, first chunk + work of the other rounds)     whichever takes longer: a rank's own work, or the longest
//                                                             chain of messages, one after the other
//   work = rounds * (sent + received messages) / 2 * message  the price of each message, half at either end
//        + bytes * (written * write + received * read         each byte written and read
//                   + folded * fold + copied * copy)
//   first chunk = hops * (message + chunk * (write + read))
//
// with written (sent, or posted where one copy serves all), received, folded and copied in units of the operation's
// bytes; where values are folded where they lie, reading them is their fold. Where ranks outnumber cores, a hop costs a turn of
// the scheduler, and work is that of the rank that has most, or ranks / cpus times the mean, whichever is more. Channels share
// the rank's one core: each brings messages of its own and hides nothing.
//
// Messages from proto::kLeastStreamedBytes on have times to write and read of their own. A message costs a rank half its price at either
// end; by reference the whole price, a system call, at the end that has most of them. Long messages by reference are received in as much
// as all ranks do on average, since who only sends helps to copy. Where those that write most and those that read most are not the same
// ranks, they work at the same time: their sum counts only as far as one rank does both. Where data go one way (plan::Cost::one_way)
// operations overlap, and a hop counts less.
//
// Among several hosts (plan::NetworkCost) a message to another one is written and read as inside a host, and crosses the network
// in between (Network), which comes on top:
//
//   T             hops between hosts, and with them the closing ones, take the network's hop
//   work          + rounds * bursts * message + wire bytes * the larger of
//                   sent * send + received * receive                    of the rank that has most
//                   (sent * send + received * receive) / interfaces     of the host that has most
//   first chunk   + hops between hosts * (message + wire bytes of a chunk * (send + receive)),
//                   where the host decides as many times its bytes' price as the host takes longer than the rank
//
// LL puts two bytes on the wire for each of data, LL128 16 for 15. A host has one interface. Where ranks outnumber cores, that
// multiplies what is the rank's own. Ranks and cores are those of a host, the one that has most ranks.

#include <cstddef>

#include "plan/cost.h"
#include "plan/footprint.h"
#include "plan/network.h"
#include "tune/machine.h"

namespace tutti::tune {

// What a plan costs on every rank's side, with what the executor needs to know to cut it.
struct PlanCost {
  plan::Cost cost;
  plan::Footprint footprint;
  plan::NetworkCost network = {};  // nothing: one host
};

// Who runs a plan.
struct Ranks {
  int all = 1;
  int of_host = 1;  // of the host that has most
  int cpus = 1;     // usable by all ranks of a host together
};

// Predicted time. chunk_bytes: largest message of this protocol for this plan.
double PredictUs(const Machine& machine, const PlanCost& plan, const Way& way, std::size_t bytes,
                 std::size_t chunk_bytes, int channels, const Ranks& ranks);

}  // namespace tutti::tune

#endif  // TUTTI_TUNE_MODEL_H_
