// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_TOOLS_HEALTH_JUDGE_H_
#define TUTTI_TOOLS_HEALTH_JUDGE_H_

// Who is to blame for transfers that were slow or wrong: the fewest hosts, ranks and links that explain them. Values only, no clock.

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "doctor/finding.h"

namespace tutti::tools {

// One transfer between two ranks, measured and checked.
struct Transfer {
  std::int32_t from = -1, to = -1;  // -1: none took place
  std::int32_t round = 0;           // of which part of the table
  std::int32_t small = 0;           // 1: of a small message, where only the time to get there counts
  std::uint64_t bytes = 0;
  double us = 0;                                                // the best of several
  double expected_us = 0;                                       // 0: not known
  double expected_error = 0;                                    // relative: nine of ten predictions were nearer
  std::uint64_t wrong_words = 0, first_wrong = 0, flipped = 0;  // as in health_pattern.h
};

// "5.31 GB/s", "1.25 MB/s".
std::string SpeedText(std::uint64_t bytes, double us);

// Where ranks are.
struct HealthShape {
  std::vector<int> host_of;             // by rank
  std::vector<std::string> host_names;  // by host
  std::vector<std::string> rank_names;  // "rank 3 (host node7, pid 4103)"

  bool within(int a, int b) const {
    return host_of[static_cast<std::size_t>(a)] == host_of[static_cast<std::size_t>(b)];
  }
};

// Fractions of the speed that is expected, at its likely error, and of that of most transfers of the same kind.
struct Thresholds {
  double warn = 0.5, critical = 0.2;
};

// Of each transfer how bad its time is: OK, WARN or CRITICAL. A transfer is held against what is expected, and against the median of its
// kind (within a host or between hosts, small or large) where there are at least 4.
std::vector<doctor::Severity> Grade(std::span<const Transfer> transfers, const HealthShape& shape,
                                    const Thresholds& thresholds);

enum class CulpritKind : std::uint8_t { kLink, kRank, kHostPair, kHost, kUnknown };

// Which of its transfers are bad.
enum class Direction : std::uint8_t { kBoth, kOut, kIn };

struct Culprit {
  CulpritKind kind = CulpritKind::kUnknown;
  Direction direction = Direction::kBoth;  // of a rank or host
  int a = -1, b = -1;                      // ranks of a link; hosts of a pair; else a rank or host, and -1
  std::vector<int> explains;               // indices of the bad transfers that it explains
  int tested = 0;                          // transfers that it took part in
};

// The least set, found greedily: at each step who explains most of what is left, and of as many the narrower one. A rank or host is only
// blamed where three quarters of its transfers, in both directions or in one, with at least two others, were bad; a link where half of
// its own were. What nobody
// explains, and all of it where three quarters of all transfers of more than two ranks are bad, is one culprit that is unknown.
std::vector<Culprit> FindCulprits(std::span<const Transfer> transfers, const std::vector<bool>& bad,
                                  const HealthShape& shape);

// One sentence for each culprit of slow transfers, and of wrong ones. `memory`: "host memory", "GPU memory".
doctor::Findings JudgeTransfers(std::span<const Transfer> transfers, const HealthShape& shape,
                                const Thresholds& thresholds, const std::string& memory);

}  // namespace tutti::tools

#endif  // TUTTI_TOOLS_HEALTH_JUDGE_H_
