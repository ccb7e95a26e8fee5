// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "exec/gpu/lower/rounds.h"

namespace tutti::exec::gpu {

std::vector<int> ConnectRound(const transport::p2p::Round& round, std::span<std::byte* const> segments,
                              std::size_t begin, Links& links) {
  std::vector<int> rank_of;
  for (int seat = 0; seat < kSeats; ++seat) {
    const int rank = round.RankAt(seat);
    rank_of.push_back(rank);
    links.segments[seat] = rank < 0 ? nullptr : segments[static_cast<std::size_t>(rank)] + begin;
  }
  return rank_of;
}

void SelectRound(std::span<const TransferRequest> requests, const transport::p2p::Round& round,
                 std::vector<TransferRequest>& selected) {
  selected.clear();
  for (TransferRequest request : requests) {
    if (!round.Has(request.peer)) continue;
    request.peer = round.SeatOf(request.peer);
    selected.push_back(request);
  }
}

}  // namespace tutti::exec::gpu
