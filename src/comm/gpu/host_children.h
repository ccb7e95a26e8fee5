// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_COMM_GPU_HOST_CHILDREN_H_
#define TUTTI_COMM_GPU_HOST_CHILDREN_H_

// Communicators that the GPU side of one whose ranks are on several hosts makes for itself.

#include <cstdint>
#include <span>
#include <string>

#include "tutti/communicator.h"
#include "tutti/status.h"

namespace tutti::comm {

// Names what `first` makes next, alike on all its ranks. Collective.
std::string NameChildren(Communicator& first);
// Collective over `members`, ranks of `first`, this one among them. `what`: the same text on all of them, and no others.
Result<Communicator> MakeChild(Communicator& first, const std::string& what, std::span<const int> members);
// On which host each rank of `first` is.
std::span<const std::int32_t> HostsOf(Communicator& first);

}  // namespace tutti::comm

#endif  // TUTTI_COMM_GPU_HOST_CHILDREN_H_
