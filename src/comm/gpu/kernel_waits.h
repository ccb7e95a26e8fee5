// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_COMM_GPU_KERNEL_WAITS_H_
#define TUTTI_COMM_GPU_KERNEL_WAITS_H_

#include <array>
#include <cstdint>

#include "exec/gpu/launch/failures.h"
#include "trace/recorder.h"
#include "transport/p2p/segment.h"

namespace tutti::comm {

// What a rank's kernels wait for, from the words that they write (exec/gpu/format/program.h). A wait counts for as
// long as its word is renewed. Many threads write the same word, and may have begun to wait at different moments: what stands still has begun
// when the last of them did, and has got on once one has begun later. Of waits for several peers the longest counts, and then that for the
// same peer while there is one, so that what stands still looks the same twice. Threads: one at a time.
class KernelWaits {
 public:
  // So long a word stays as it is until its wait counts as over. Kernels renew it every few ms; of ranks that share a GPU, in their turn.
  static constexpr std::int64_t kOverNs = 350'000'000;

  // `called`: the number of the rank's latest call. To be asked some times within kOverNs.
  trace::GpuNote Look(const exec::gpu::Failures& failures, std::uint64_t called, std::int64_t now_ns);

 private:
  // Of a peer, in a slot.
  struct Seen {
    std::uint64_t word = 0;
    std::array<trace::GpuNote, 2> waits;  // for data, for room
  };
  std::array<std::array<Seen, transport::p2p::kSeats>, exec::gpu::Failures::kSlots> seen_{};
  trace::GpuNote last_;
};

}  // namespace tutti::comm

#endif  // TUTTI_COMM_GPU_KERNEL_WAITS_H_
