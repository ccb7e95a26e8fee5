// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_EXEC_GPU_LOWER_ROUNDS_H_
#define TUTTI_EXEC_GPU_LOWER_ROUNDS_H_

// Groups of sends and receives among more ranks than a kernel can name: what each of their rounds has to do.

#include <cstddef>
#include <span>
#include <vector>

#include "exec/gpu/format/transfer.h"
#include "transport/p2p/sections.h"

namespace tutti::exec::gpu {

// Lets a kernel of teams find the ranks that meet in a round. `segments`: every rank's; the round's section is at `begin` there.
// Returns the ranks by seat, -1 where nobody sits.
std::vector<int> ConnectRound(const transport::p2p::Round& round, std::span<std::byte* const> segments,
                              std::size_t begin, Links& links);
// Of the sends or receives of a rank among more than kSeats, those of a round, with seats in place of ranks. Two ranks agree on
// the round, so each one's sends meet the other's receives there, in their order.
void SelectRound(std::span<const TransferRequest> requests, const transport::p2p::Round& round,
                 std::vector<TransferRequest>& selected);

}  // namespace tutti::exec::gpu

#endif  // TUTTI_EXEC_GPU_LOWER_ROUNDS_H_
