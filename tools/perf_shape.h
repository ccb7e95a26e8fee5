// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_TOOLS_PERF_SHAPE_H_
#define TUTTI_TOOLS_PERF_SHAPE_H_

// From a size in bytes to element counts, buffers and operations, as nccl-tests does it; and from times to
// bandwidths.

#include <cstddef>
#include <vector>

#include "tutti/communicator.h"
#include "tutti/types.h"

namespace tutti::tools {

// What one row of the table runs, the same on every rank.
struct Work {
  Collective collective = Collective::kAllReduce;
  DataType type = DataType::kFloat32;
  ReduceOp op = ReduceOp::kSum;  // kSum where nothing is reduced
  int root = 0;
  int rank = 0;
  int ranks = 1;
  std::size_t count = 0;  // elements, as Operation::count

  // Elements in the input and in the output of a rank that uses them.
  std::size_t in_count() const;
  std::size_t out_count() const;
  // Whether this rank's input is read and its output written (only the root's are, in some collectives).
  bool uses_in() const;
  bool uses_out() const;
  // The size column: the larger of both buffers.
  std::size_t bytes() const;
};

enum class Rounding { kTo16Bytes, kExact };
// The count whose buffers have `bytes` bytes or a little less: where a buffer holds one part per rank, a part
// is rounded down to 16 bytes (nccl-tests' rule) or not.
std::size_t CountFor(Collective collective, DataType type, int ranks, std::size_t bytes, Rounding rounding);

enum class Placement { kOutOfPlace, kInPlace };
// False for all_to_all and send_recv.
bool HasInPlace(Collective collective);

// Where a rank's data lies. Out of place: the input in `first`, the output in `second`. In place: both in
// `second`. REQUIRES: both buffers hold work.bytes() bytes.
struct Place {
  std::byte* in;
  std::byte* out;
};
Place PlaceOf(const Work& work, Placement placement, std::byte* first, std::byte* second);

// The operations that `work` is: one, or for send_recv a send to the next and a receive from the previous
// rank, to be run as a group. Buffers that the rank does not use are null.
std::vector<Operation> OperationsOf(const Work& work, const Place& place);

// GB/s (1e9). Bus bandwidth is algorithm bandwidth times the factor that makes rank counts comparable:
// all_reduce 2(n-1)/n; all_gather, reduce_scatter, gather, scatter, all_to_all (n-1)/n; else 1.
double AlgorithmBandwidth(std::size_t bytes, double seconds);
double BusFactor(Collective collective, int ranks);

}  // namespace tutti::tools

#endif  // TUTTI_TOOLS_PERF_SHAPE_H_
