// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_EXEC_GPU_LOWER_COPIES_H_
#define TUTTI_EXEC_GPU_LOWER_COPIES_H_

// What copy engines can do of a plan (plan::Forms::copies) as a list of copies: each rank writes into the peers' buffers, which lie
// in windows. exec/gpu/launch/copy_runner.h puts it into streams.

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

// Whether copy engines can do their part of a plan for this data: of two shots only where the count is a multiple of the ranks, and
// not where the output is a piece of the input, which has another place on every rank.
bool CanCopy(const PreparedPlan& plan, const Operation& operation);
// Whether their part is all of it. REQUIRES: plan.forms.copies is not kNone.
bool CopiesAll(const PreparedPlan& plan);
// Bytes of a rank's output, all of which the windows of the ranks that have one must hold.
std::size_t CopiedOutputBytes(const PreparedPlan& plan, const Operation& operation);
// Where every rank's output begins, as one rank reaches it.
using CopyOutputs = std::array<std::byte*, transport::p2p::kMostCopyRanks>;

// A rank's part in an operation, as far as copy engines do it. Ranks write to their peers in an order that lets no two
// write to the same one at a time. REQUIRES: plan.forms.copies is not kNone, CanCopy, ranks <= kMostCopyRanks.
CopyList ListCopies(const PreparedPlan& plan, const Work& work);
// What a kernel does before that: a reduce_scatter within the operation's buffers, whose output is where the copies read.
// REQUIRES: plan.forms.copies is kSecondShot, CanCopy.
Operation FirstShot(const PreparedPlan& plan, const Operation& operation);

// An operation in which all ranks wait for each other and nothing is copied.
CopyList ListBarrier(int rank, int ranks);

// What a stream with copies has waited for too long.
struct CopyWait {
  // transport::p2p::kEntering: for `peer` to be ready, or for the own copies, where it is the rank itself; kLeaving: for data
  // from `peer`; kAwaitingSignals: for its signals.
  std::uint32_t stage;
  int peer;
  int way;  // as of CopyLaunch (exec/gpu/launch/copy_runner.h)
};

}  // namespace tutti::exec::gpu

#endif  // TUTTI_EXEC_GPU_LOWER_COPIES_H_
