// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_DIAG_MATCHING_H_
#define TUTTI_DIAG_MATCHING_H_

// Whether the ranks of a communicator have made the same collectives, as far as their black boxes remember.

#include <cstdint>
#include <optional>

#include "diag/evidence.h"

namespace tutti::diag {

struct Mismatch {
  std::uint64_t sequence = 0;
  int rank = 0;  // that called something else than most, the lowest of these
  trace::Call call;
  int other = 0;  // the lowest of those that called what most have
  trace::Call others_call;
};

// The first collective in which two ranks differ. Where as many have called one thing as the other, the lower rank counts as most.
std::optional<Mismatch> FindMismatch(const CommunicatorLook& communicator);

}  // namespace tutti::diag

#endif  // TUTTI_DIAG_MATCHING_H_
