// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_EXEC_CPU_CHUNKS_H_
#define TUTTI_EXEC_CPU_CHUNKS_H_

#include <cstddef>

#include "proto/protocol.h"
#include "transport/link.h"

namespace tutti::plan {
struct Footprint;
}

namespace tutti::exec::cpu {

// Largest chunk that goes through the pool: small enough that several fit a core's second-level cache, large enough
// that the cost of a post does not show. Of 32, 64, 128 and 256 KiB it was the fastest or within 5 % of it for an
// all_reduce of 64 KiB to 64 MiB among 8 and 16 ranks on as many cores.
inline constexpr std::size_t kMaxPoolChunkBytes = std::size_t{128} << 10;
// The same for a reduce, of which all that is sent is folded by one rank and never comes back: what has been written is still in
// a cache then. On a Xeon with 2 cores a reduce of 8 MiB takes 750 us instead of 870 between 2 ranks, 1500 instead of 2100 among 4,
// and one of 128 KiB 7.4 at all times instead of 7.4 or 10.5. For all_reduces and reduce_scatters it is up to a quarter slower.
inline constexpr std::size_t kMaxReduceChunkBytes = std::size_t{32} << 10;
// The same between hosts, also where the sender refers to the user's buffer.
inline constexpr std::size_t kMaxHostsChunkBytes = std::size_t{512} << 10;
// Plans run so much deeper there if links and pool hold chunks of that length then: others are on their way while one is folded. Of
// 128, 256 and 512 KiB, and depths of 1 to 8, these were the fastest for all_reduces of 1 to 16 MiB between two hosts; with two cores
// 4 is as good, with 16 it takes a tenth longer.
inline constexpr int kHostsDepth = 6;
inline constexpr std::size_t kMaxDeepChunkBytes = std::size_t{256} << 10;

// How long messages may be. Both ends of a link cut alike because these follow from what all ranks share.
struct ChunkRules {
  transport::RingSizes rings;
  std::size_t pool_bytes = 0;
  int ranks = 1;
  bool several_hosts = false;

  // How many times deeper than it is a plan with this footprint runs (RankPlan::Deepen).
  int DepthFor(const plan::Footprint& footprint, proto::Protocol protocol, bool by_reference) const;
  // Bytes of the largest message of a collective with this footprint, on one of `channels` channels; 0 where a link
  // can not hold as many messages as the plan asks for.
  std::size_t ForPlan(const plan::Footprint& footprint, proto::Protocol protocol, bool by_reference,
                      int channels) const;
  // Bytes of the largest part of a send or receive.
  std::size_t ForTransfer(proto::Protocol protocol, bool by_reference) const;
  // The most that goes through the pool at a time where that is what decides.
  std::size_t MostOfPool() const { return several_hosts ? kMaxHostsChunkBytes : kMaxPoolChunkBytes; }
  // Whether messages in chunks of this length may go through the pool at all. Longer ones are copies by reference.
  static bool MayTakePages(std::size_t chunk_bytes) { return chunk_bytes <= kMaxHostsChunkBytes; }
};

}  // namespace tutti::exec::cpu

#endif  // TUTTI_EXEC_CPU_CHUNKS_H_
