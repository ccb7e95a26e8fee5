// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_TESTS_DIAG_MODEL_CASES_H_
#define TUTTI_TESTS_DIAG_MODEL_CASES_H_

// Cases of the campaign on the model: a fault, a place, a shape, a size and a moment, all from a seed.

#include <cstdint>
#include <functional>

#include "tests/diag/case_result.h"

namespace tutti::tests {

enum class ModelFault : std::uint8_t {
  kLate,
  kGpuLate,
  kGpuHung,
  kGpuSlow,
  kLinkStalled,
  kWayBack,
  kLinkSlow,
  kDead,
  kStopped,
  kHostGone,
  kMismatch,
  kTwo,     // two of them
  kLie,     // counters that contradict each other, beside a late rank
  kBenign,  // a short pause, ranks and links of different speeds, or nothing at all
  // With what the system says of them.
  kNvLinkStalled,
  kNvLinkSlow,
  kGpuFailed,
  kGpuTooHot,
  kOutOfMemory,
};
inline constexpr int kModelFaults = 19;
const char* Name(ModelFault fault);

// `distort` changes every look before it is judged: a flaw of who collects them.
CaseResult RunModelCase(ModelFault fault, std::uint64_t seed, const diag::Rules& rules = {},
                        const std::function<void(diag::Look&)>& distort = {});

// The sender never hears what was consumed.
void LoseConsumed(diag::Look& look);

}  // namespace tutti::tests

#endif  // TUTTI_TESTS_DIAG_MODEL_CASES_H_
