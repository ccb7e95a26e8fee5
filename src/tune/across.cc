// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "tune/across.h"

#include <algorithm>

namespace tutti::tune {
namespace {

double CopyUs(std::size_t bytes, double gb_per_s) { return static_cast<double>(bytes) / (gb_per_s * 1e3); }

}  // namespace

AcrossTime PredictAcross(const AcrossConstants& constants, std::span<const AcrossPiece> pieces) {
  AcrossTime time;
  if (pieces.empty()) return time;
  for (const AcrossPiece& piece : pieces) time.runs_us += piece.run_us;
  const AcrossPiece& first = pieces.front();
  if (pieces.size() == 1 && first.by_kernel) {
    time.start_us = constants.kernel_us;
    time.copies_us =
        CopyUs(first.in_bytes, constants.kernel_gb_per_s) + CopyUs(first.out_bytes, constants.kernel_gb_per_s);
    return time;
  }
  const double rate = constants.copy_gb_per_s;
  time.start_us = constants.stream_us;
  time.copies_us = CopyUs(first.in_bytes, rate) + CopyUs(pieces.back().out_bytes, rate);
  for (std::size_t i = 0; i < pieces.size(); ++i) {
    double meanwhile = 0;
    if (i > 0) meanwhile += CopyUs(pieces[i - 1].out_bytes, rate);
    if (i + 1 < pieces.size()) meanwhile += CopyUs(pieces[i + 1].in_bytes, rate);
    time.copies_us += std::max(meanwhile - pieces[i].run_us, 0.0);
  }
  return time;
}

}  // namespace tutti::tune
