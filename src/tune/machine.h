// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_TUNE_MACHINE_H_
#define TUTTI_TUNE_MACHINE_H_

// The constants of host memory and of the network that the cost model (model.h) goes by.

#include <string>

#include "proto/protocol.h"
#include "tutti/status.h"

namespace tutti::tune {

struct TableText;

// Constants of one way across a link.
struct Way {
  double hop_us;      // from the end of writing until the receiver sees it
  double message_us;  // per message, both ends together
  double write_us_per_kib;
  double read_us_per_kib;
  bool one_copy_for_all;  // a value for several ranks is written once
  bool folds_in_place;    // received values are folded where they lie: reading them is part of the fold
  proto::Protocol protocol;
  int closing_hops;  // until the sender may use its buffer again
  // Of messages from proto::kLeastStreamedBytes on, which may be written past the caches; 0: as shorter ones.
  double long_write_us_per_kib = 0, long_read_us_per_kib = 0;
  bool shares_copies = false;  // a sender with nothing else to do copies a part of what is received
};

// Constants of the network between hosts.
struct Network {
  double hop_us;      // from the end of sending until the receiver sees it
  double message_us;  // per message, both ends together
  double send_us_per_kib;
  double receive_us_per_kib;
};

// What `tutti tune --calibrate` measures. The defaults were measured on a virtual machine with 2 cores of an AMD EPYC
// (Zen 5).
struct Machine {
  Way ll{0.08, 0.03, 0.20, 0.20, false, false, proto::Protocol::kLl, 0};
  Way ll128{0.09, 0.035, 0.090, 0.090, false, false, proto::Protocol::kLl128, 0};
  Way simple{0.10, 0.05, 0.018, 0.018, true, true, proto::Protocol::kSimple, 0};
  // By reference: message_us holds the system call; nothing is written.
  Way reference{0.10, 1.40, 0.0, 0.050, true, false, proto::Protocol::kSimple, 1, 0, 0, true};
  // The same where the peer has just written what is read, as reductions do.
  double reference_fresh_read_us_per_kib = 0.060;
  double fold_us_per_kib = 0.006;  // per operand
  double copy_us_per_kib = 0.008;
  double switch_us = 0.7;  // one turn of the scheduler, where ranks share cores
  // Of TCP between two network namespaces of a machine with 2 cores of an AMD EPYC, where both ends send and receive at the same
  // time: 8 bytes take 7.9 us, and a KiB 0.23 us of 256 KiB, 0.37 of 2 MiB and 0.56 of 16 MiB. Not measured elsewhere.
  Network network{5.4, 2.5, 0.18, 0.18};

  // One line per constant, behind "[host]"; tune/table.h. Those of the network may be missing: then the built-in ones hold.
  std::string ToText() const;
  static Result<Machine> Parse(const TableText& text);
};

}  // namespace tutti::tune

#endif  // TUTTI_TUNE_MACHINE_H_
