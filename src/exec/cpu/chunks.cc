// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "exec/cpu/chunks.h"

#include <algorithm>

#include "exec/cpu/shared_copy.h"
#include "plan/footprint.h"
#include "proto/ll.h"
#include "proto/ll128.h"

namespace tutti::exec::cpu {
namespace {

using proto::Protocol;

constexpr std::size_t kMinPoolChunkBytes = 64;
// By reference one system call reads a chunk, but where the sender helps. On a Xeon with 2 cores a call for 8 MiB takes 4 % less than eight for
// 1 MiB, and a gather of 8 MiB between 2 ranks 405 us instead of 560. A fold lands all its operands first, so they share a budget. Between 2 ranks
// on an EPYC of Zen 5 each gets 256 KiB: with 128 an all_reduce of 2 MiB takes 87 us instead of 76, one of 8 MiB 565 instead of 497.
constexpr std::size_t kReferenceChunkBytes = std::size_t{8} << 20;
static_assert(kReferenceChunkBytes <= kMostSharedBytes);
constexpr std::size_t kReferenceFoldBytes = std::size_t{512} << 10;
constexpr std::size_t kMinReferenceFoldBytes = 16384;
// Of an all_gather each rank copies its own block too, which peers read: part by part it comes from memory once. On the same Xeon
// one of 32 MiB between 2 ranks takes 2.3 ms instead of 2.6.
constexpr std::size_t kReferenceGatherBytes = std::size_t{1} << 20;

std::size_t PoolChunk(std::size_t bytes, std::size_t most) {
  const std::size_t granule = bytes < 65536 ? 64 : 4096;
  return std::clamp(bytes / granule * granule, kMinPoolChunkBytes, most);
}

}  // namespace

std::size_t ChunkRules::ForPlan(const plan::Footprint& footprint, Protocol protocol, bool by_reference,
                                int channels) const {
  if (ranks == 1) return kReferenceChunkBytes;
  const std::size_t slots = std::max(footprint.link_slots, 2);
  if (protocol == Protocol::kLl) return rings.ll_units() / slots * proto::kLlUnitPayloadBytes;
  if (protocol == Protocol::kLl128) return rings.ll128_lines() / slots * proto::kLl128PayloadBytes;
  if (footprint.link_slots >= static_cast<int>(rings.posts())) return 0;
  const std::size_t most = footprint.depth > 1 ? kMaxDeepChunkBytes : MostOfPool();
  const std::size_t pool_chunk = PoolChunk(pool_bytes / footprint.window / channels, most);
  if (!by_reference) {
    const bool to_root = footprint.collective == Collective::kReduce && !several_hosts;
    return to_root ? std::min(pool_chunk, kMaxReduceChunkBytes) : pool_chunk;
  }
  if (several_hosts && footprint.depth > 1 && !footprint.forwards) return kMaxDeepChunkBytes;
  if (footprint.collective == Collective::kAllGather && !footprint.forwards && !several_hosts)
    return kReferenceGatherBytes;
  if (!Reduces(footprint.collective)) return footprint.forwards ? pool_chunk : kReferenceChunkBytes;
  if (several_hosts) return pool_chunk;
  const std::size_t share = std::max(kReferenceFoldBytes / ranks / 4096 * 4096, kMinReferenceFoldBytes);
  return PoolChunk(pool_bytes / footprint.window / channels, share);
}

int ChunkRules::DepthFor(const plan::Footprint& footprint, Protocol protocol, bool by_reference) const {
  if (!several_hosts || protocol != Protocol::kSimple || !by_reference) return 1;
  const plan::Footprint deeper = plan::Deepen(footprint, kHostsDepth);
  const bool links_hold = deeper.link_slots < static_cast<int>(rings.posts());
  const bool pool_holds =
      !deeper.forwards || pool_bytes / static_cast<std::size_t>(deeper.window) >= kMaxDeepChunkBytes;
  return links_hold && pool_holds ? kHostsDepth : 1;
}

std::size_t ChunkRules::ForTransfer(Protocol protocol, bool by_reference) const {
  if (by_reference) return several_hosts ? kMaxDeepChunkBytes : kReferenceChunkBytes;
  if (protocol == Protocol::kLl) return rings.ll_units() / 2 * proto::kLlUnitPayloadBytes;
  if (protocol == Protocol::kLl128) return rings.ll128_lines() / 2 * proto::kLl128PayloadBytes;
  return PoolChunk(pool_bytes / (2 * static_cast<std::size_t>(ranks)), MostOfPool());
}

}  // namespace tutti::exec::cpu
