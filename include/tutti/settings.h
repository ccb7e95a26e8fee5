// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_SETTINGS_H_
#define TUTTI_SETTINGS_H_

#include <cstdint>
#include <string>

namespace tutti {

// How large messages cross between processes (TUTTI_SINGLE_COPY).
enum class SingleCopy : std::uint8_t {
  kAuto,   // the receiver reads the sender's memory where a trial at init shows that it can and the cost model says so
  kOff,    // always through shared pages
  kForce,  // wherever possible, whatever the cost model says
};

// Everything that can be set, read once. Each field names its variable, meaning, unit and default.
struct Settings {
  // NCCL_ALGO: which algorithms may be chosen, in NCCL's syntax: "ring,tree", "^pat", "allreduce:tree;broadcast:ring".
  // Empty: every algorithm whose result is the fold in rank order.
  std::string algo;
  // NCCL_PROTO: likewise for protocols: "LL", "LL128", "Simple". Empty: all.
  std::string proto;
  // TUTTI_TIMEOUT_MS: how long one wait inside an operation may last, ms. A peer that is merely late is waited for
  // this long; a dead one is found within a second.
  std::int64_t timeout_ms = 1800000;
  // TUTTI_INIT_TIMEOUT_MS: how long Create waits for the other ranks, ms.
  std::int64_t init_timeout_ms = 60000;
  // TUTTI_SINGLE_COPY: auto, off, force.
  SingleCopy single_copy = SingleCopy::kAuto;
  // TUTTI_SHARED_BYTES: shared pages of one rank, bytes, for all its links together.
  std::int64_t shared_bytes = 6 << 20;
  // NCCL_MAX_NCHANNELS: most channels that one operation may use.
  int max_channels = 2;
  // NCCL_MIN_NCHANNELS: fewest channels that one operation uses.
  int min_channels = 1;
  // TUTTI_TUNING_FILE: constants of the cost model as `tutti tune --calibrate` stores them. Empty: the built-in ones.
  std::string tuning_file;
  // TUTTI_SPIN_US: how long a wait spins before it starts to give the core away, us; -1: decided from ranks and cores.
  std::int64_t spin_us = -1;

  // The settings of this process's environment. Values that cannot be read keep their default and are named in
  // `warnings`, one line each.
  static Settings FromEnvironment();
  std::string warnings;
};

}  // namespace tutti

#endif  // TUTTI_SETTINGS_H_
