// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_EXEC_GPU_LOWER_COPIES_H_
#define TUTTI_EXEC_GPU_LOWER_COPIES_H_

// Operations that only move bytes as lists of copies, and the second shot of all_reduces, which is one too: each rank writes
// into the peers' buffers, which lie in windows. The GPUs' copy engines do them (exec/gpu/launch/copy_runner.h).

#include <array>
#include <cstddef>
#include <cstdint>

#include "transport/p2p/copy_words.h"
#include "tutti/operation.h"

namespace tutti::exec::gpu {

struct PreparedPlan;
struct Work;

// What one rank has to do. Ranks are bits of a mask.
struct CopyList {
  struct Copy {
    int peer;  // whose output it goes to; may be the rank itself
    const std::byte* from;
    std::size_t offset;  // in the output, bytes
    std::size_t bytes;
  };
  std::array<Copy, transport::p2p::kMostCopyRanks> copies;  // in the order in which they are to run
  int count = 0;
  std::uint32_t writes_to = 0;   // peers whose output this rank writes
  std::uint32_t written_by = 0;  // peers that write this rank's

  std::size_t sent_bytes = 0;  // to peers, by this rank
};

// Whether the output of a scatter is a piece of its input: then it has another place on every rank.
bool ScattersInPlace(const Operation& operation, int rank);
// Bytes of a rank's output, all of which the windows of the ranks that have one must hold.
std::size_t CopiedOutputBytes(const Operation& operation, int ranks);
// Where every rank's output begins, as one rank reaches it.
using CopyOutputs = std::array<std::byte*, transport::p2p::kMostCopyRanks>;

// A rank's part in an operation by a plan of moves of whole pieces. Ranks write to their peers in an order that lets no two
// write to the same one at a time. REQUIRES: ranks <= kMostCopyRanks.
CopyList ListCopies(const PreparedPlan& plan, const Work& work);

// An all_reduce in two shots: a reduce_scatter, which folds, and an all_gather, which copies can do. Both in the all_reduce's
// buffers; the first one's output is where the second one reads.
struct Shots {
  Operation scatter, gather;
};
// REQUIRES: an all_reduce whose count is a multiple of `ranks`.
Shots ShotsOf(const Operation& all_reduce, int rank, int ranks);

// An operation in which all ranks wait for each other and nothing is copied.
CopyList ListBarrier(int rank, int ranks);

}  // namespace tutti::exec::gpu

#endif  // TUTTI_EXEC_GPU_LOWER_COPIES_H_
