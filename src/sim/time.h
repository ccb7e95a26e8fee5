// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_SIM_TIME_H_
#define TUTTI_SIM_TIME_H_

#include <cstdint>
#include <limits>

namespace tutti::sim {

// Simulated time in picoseconds: whole numbers, so that a run has the same bits everywhere. 106 days fit.
using Time = std::int64_t;
inline constexpr Time kNever = std::numeric_limits<Time>::max();

constexpr Time FromUs(double us) { return static_cast<Time>(us * 1e6 + 0.5); }
constexpr double ToUs(Time time) { return static_cast<double>(time) / 1e6; }

// How long a byte takes at a rate, in picoseconds. Decimal GB; no rate (0): no time.
constexpr double PsPerByte(double gb_per_s) { return gb_per_s > 0 ? 1000 / gb_per_s : 0; }

}  // namespace tutti::sim

#endif  // TUTTI_SIM_TIME_H_
