// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_TRANSPORT_P2P_COPY_WORDS_H_
#define TUTTI_TRANSPORT_P2P_COPY_WORDS_H_

// The words by which ranks whose GPUs' copy engines write to each other's buffers tell each other when: a page of host
// memory per rank, which all ranks' GPUs and processes reach. Streams write and await them (stream memory operations), so
// no kernel runs; the host sees where an operation stands, and can let a stream go that waits for a peer that is dead.
//
// An operation in which rank A writes to B's buffer, with words of value 0 at first:
//
//   B   A.pair[B].ready := 1
//   A   wait until own pair[B].ready = 1; := 0; copy; B.pair[A].done := 1
//   B   wait until own pair[A].done = 1; := 0
//
// Values are the same every time, so a CUDA graph may hold all of it. That no operation overtakes the one before it: B
// writes `ready` again only in its next operation, hence after it has seen `done`, which A wrote after `ready` had become
// 0. A writes `done` again only after it has seen `ready` of the next operation, which B wrote after `done` had become 0.
// A stream's write comes after everything that it wrote before, for all who look. Operations of a
// communicator follow each other on each rank, whether graphs hold them or not.

#include <cstdint>

namespace tutti::transport::p2p {

inline constexpr int kMostCopyRanks = 16;

struct CopyWords {
  // Written by one peer, reset by the owner's stream; each in a cache line of its own.
  struct alignas(64) Pair {
    std::uint32_t ready;    // the peer's buffer may be written
    std::uint32_t done;     // the peer has written this rank's
    std::uint32_t signals;  // that the peer has sent so far, modulo 2^32; never reset
  };
  Pair pair[kMostCopyRanks];

  // Written by the owner's stream, and `stage` by its host too.
  alignas(64) std::uint32_t stage;  // of the operation that runs; see below
  std::uint32_t ended;              // operations that have ended, but for those that graphs hold; modulo 2^32
  std::uint32_t drained;            // the communicator is broken, and nothing of it is left to run
};
static_assert(sizeof(CopyWords) <= 4096);

// CopyWords::stage: what the operation is at; from bit kWayShift on one of kMostWays numbers, by which its host knows what it is;
// from bit kPeersShift on the ranks that it waits for.
inline constexpr std::uint32_t kIdle = 0, kEntering = 1, kLeaving = 2, kAwaitingSignals = 3;
inline constexpr std::uint32_t kStageMask = 0xff;
inline constexpr int kWayShift = 9, kMostWays = 128, kPeersShift = 16;
// Put into `stage` by the host when it has seen an operation there: while it stays no other stage has begun.
inline constexpr std::uint32_t kSeen = 0x100;

}  // namespace tutti::transport::p2p

#endif  // TUTTI_TRANSPORT_P2P_COPY_WORDS_H_
