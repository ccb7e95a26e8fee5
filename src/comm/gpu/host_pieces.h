// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_COMM_GPU_HOST_PIECES_H_
#define TUTTI_COMM_GPU_HOST_PIECES_H_

// How operations on device memory are cut into pieces that run in host memory, one after the other (comm/gpu/across_hosts.h).
//
// A collective is cut along its blocks: a piece has the same elements of each of them. So it is the same collective of fewer
// elements, and in place no piece touches what another one reads. Sends and receives of a group are cut at multiples of one
// length, and a piece has the next part of each of them: both ends cut alike, whatever else is in their groups.

#include <cstddef>
#include <span>
#include <vector>

#include "tutti/operation.h"

namespace tutti::comm {

// Bytes at `at` of a piece's host memory, and where in the caller's memory they come from or go to.
struct HostCopy {
  std::size_t at = 0;
  const std::byte* user = nullptr;
  std::size_t bytes = 0;
};

// An operation on a piece's host memory; its pointers are set by PlaceIn.
struct HostOperation {
  static constexpr std::size_t kNowhere = ~std::size_t{0};

  Operation operation;
  std::size_t in_at = kNowhere, out_at = kNowhere;
  std::size_t factor_at = kNowhere;  // an element: this rank's factor, which has been copied from device memory

  // REQUIRES: the piece's copies have come to `memory`.
  Operation PlaceIn(std::byte* memory) const;
};

struct HostPiece {
  std::size_t bytes = 0;  // of host memory
  std::vector<HostCopy> in, out;
  std::vector<HostOperation> operations;  // to be run as one
};

// What a piece of a collective takes of host memory, about, and the length of a part of a send or receive among `ranks`.
inline constexpr std::size_t kPieceBytes = std::size_t{4} << 20;
std::size_t TransferPartBytes(int ranks);

// The pieces of operations that were called as one: sends and receives first. What moves nothing has none, barriers apart.
// REQUIRES: all are valid.
std::vector<HostPiece> CutForHost(std::span<const Operation> operations, int rank, int ranks);

}  // namespace tutti::comm

#endif  // TUTTI_COMM_GPU_HOST_PIECES_H_
