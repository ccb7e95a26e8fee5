// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_COMM_LIFE_SUBSET_H_
#define TUTTI_COMM_LIFE_SUBSET_H_

// New communicators from old ones: some of the ranks (Split, Shrink) or more of them (Grow). Each function says what the
// new communicator is to be made of; Communicator::Create does the rest. The new id is derived from the parent's and
// holds its secret, so nobody else can come in.

#include <atomic>
#include <cstdint>
#include <optional>
#include <span>

#include "comm/host/queue.h"
#include "tutti/communicator.h"
#include "tutti/status.h"

namespace tutti::comm {

// Collective: all ranks of the parent call. Ranks of one color belong together, ordered by key, then by their rank in
// the parent. Without a color: nullopt. Waits for the parent's unfinished operations.
//
// A parent that is broken gives its error at once; with kMeet its ranks, which all have broken it on purpose, meet anew
// instead, and `cancel`, where it is not null, ends that (bootstrap.h).
enum class WhereBroken : std::uint8_t { kFail, kMeet };
Result<std::optional<CommunicatorOptions>> Split(Queue& parent, std::optional<int> color, int key,
                                                 WhereBroken where_broken = WhereBroken::kFail,
                                                 const std::atomic<bool>* cancel = nullptr);

// Called by the ranks that stay, all with the same ranks to leave out, in any order. The rest keep their order. Asks
// nothing of the parent's links, so the parent may be broken.
Status CheckShrink(int rank, int ranks, std::span<const int> excluded);  // of the parent
Result<CommunicatorOptions> Shrink(Communicator& parent, std::span<const int> excluded);
Result<CommunicatorOptions> Shrink(Queue& parent, std::span<const int> excluded);

// Collective: all ranks of the parent call; they keep their ranks in a communicator of `ranks`. At least one passes the
// id that the new ranks have; the lowest of them counts.
Result<CommunicatorOptions> Grow(Queue& parent, int ranks, const UniqueId* id);

// The id of a communicator for which there are several, the same list on all its ranks: the first that has addresses. One
// process that listens is enough, because only one rank of each host comes to it.
UniqueId CombineIds(std::span<const UniqueId> ids);

}  // namespace tutti::comm

#endif  // TUTTI_COMM_LIFE_SUBSET_H_
