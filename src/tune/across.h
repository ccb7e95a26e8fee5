// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_TUNE_ACROSS_H_
#define TUTTI_TUNE_ACROSS_H_

// How long operations on device memory take that run in host memory, piece by piece (docs/decisions/0017-gpu-memory-between-hosts.md).
//
//   one piece by a kernel    T = kernel_us + in / kernel rate + run + out / kernel rate
//   else                     T = stream_us + in_1 / rate + for each piece the longer of
//                                  its run, and what the stream copies meanwhile: out of the piece before, in of the next one
//                                + out_last / rate
//
// in, out: bytes that a piece copies to host memory and back; run: what it takes there.

#include <cstddef>
#include <span>

namespace tutti::tune {

// kernel_us and stream_us are what decision 0017 measured: 19 and 35 us for 8 bytes, of which the run takes 10. copy_gb_per_s is what
// PCI of the fifth generation gives copies to pinned memory. kernel_gb_per_s is fitted to Tutti's times between ranks of one H100
// that count as hosts (tests/planning/points/tutti_hosts.csv, tools/tutti_points_test.cc).
struct AcrossConstants {
  double kernel_us = 9;          // a launch, two words, and the thread's turn
  double kernel_gb_per_s = 4.6;  // of one kernel of one block, each way
  double stream_us = 25;         // as kernel_us, by copies and words of the stream
  double copy_gb_per_s = 55;     // of a copy engine, each way
};

struct AcrossPiece {
  std::size_t in_bytes = 0, out_bytes = 0;
  double run_us = 0;
  bool by_kernel = false;  // counts where there is one piece
};

// In parts, us.
struct AcrossTime {
  double start_us = 0;   // launch, words
  double copies_us = 0;  // that no run hides
  double runs_us = 0;    // of all pieces together
  double us() const { return start_us + copies_us + runs_us; }
};

// No pieces: nothing.
AcrossTime PredictAcross(const AcrossConstants& constants, std::span<const AcrossPiece> pieces);

}  // namespace tutti::tune

#endif  // TUTTI_TUNE_ACROSS_H_
