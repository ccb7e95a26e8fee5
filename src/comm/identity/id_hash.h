// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_COMM_IDENTITY_ID_HASH_H_
#define TUTTI_COMM_IDENTITY_ID_HASH_H_

#include <cstdint>

#include "tutti/communicator.h"

namespace tutti::comm {

// Names a job in logs: the same on all its ranks, also where a host has other addresses in their ids. REQUIRES: `id` is one.
std::uint64_t HashOf(const UniqueId& id);

}  // namespace tutti::comm

#endif  // TUTTI_COMM_IDENTITY_ID_HASH_H_
