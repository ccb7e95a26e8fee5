// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_COMM_GPU_HOST_STAGES_H_
#define TUTTI_COMM_GPU_HOST_STAGES_H_

// How an operation on device memory among hosts of several GPUs each is cut into three stages (comm/gpu/by_hosts.h):
//
//   before    among the ranks of a host, from GPU to GPU
//   between   among the ranks of a rail: those at the same place of each host, through host memory and over the network
//   after     among the ranks of a host again
//
// So each byte leaves a host once, and what ranks of one host exchange does not go through its memory. Values are folded inside
// each host first, then host by host.
//
// Blocks are cut into shares, one for each rank of a host. Shares have whole granules; what is left is the last rank's, or the
// root's where there is one, so that the stage between is one operation for each rail.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "tutti/operation.h"

namespace tutti::comm {

// Hosts of equally many ranks, that are numbered one host after the other.
struct HostShape {
  int hosts = 1;
  int places = 1;  // ranks of each host
  int host = 0;    // of this rank
  int place = 0;   // of this rank, on its host

  int ranks() const { return hosts * places; }
  int rank() const { return RankOf(host, place); }
  int RankOf(int host_of_it, int place_of_it) const { return host_of_it * places + place_of_it; }
  int HostOf(int other) const { return other / places; }
  int PlaceOf(int other) const { return other % places; }
};

// Where rank `rank` is among such hosts, by each rank's host; none where the hosts are not like that, or have one rank each.
std::optional<HostShape> FindHostShape(std::span<const std::int32_t> host_of, int rank);

// The stages of an operation for one rank. Each is run as one group; what is empty is left out. Roots and peers are places before
// and after, and hosts between.
struct HostStages {
  std::vector<Operation> before, between, after;
};

// Whether an operation goes in stages, which is the same on all ranks.
bool GoesInStages(const Operation& operation, const HostShape& shape);
// Bytes of device memory that its stages need for what is folded so far.
std::size_t ScratchBytes(const Operation& operation, const HostShape& shape);
// REQUIRES: GoesInStages. `scratch`: so many bytes.
HostStages CutIntoStages(const Operation& operation, const HostShape& shape, std::byte* scratch);

// Sends and receives that do the same as a gather, a scatter or an all_to_all; what has as many bytes for each peer that the ranks of
// a host do well to exchange it from GPU to GPU. Empty: it is better left as it is, on all ranks.
std::vector<Operation> AsTransfers(const Operation& operation, const HostShape& shape);

}  // namespace tutti::comm

#endif  // TUTTI_COMM_GPU_HOST_STAGES_H_
