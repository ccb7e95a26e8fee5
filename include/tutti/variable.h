// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_VARIABLE_H_
#define TUTTI_VARIABLE_H_

// Collectives whose pieces have lengths of their own, as MPI_Alltoallv and MPI_Allgatherv. Each is a group of sends and receives:
//
//   Result<std::vector<Operation>> group = AllToAllV(in, in_counts, out, out_counts);
//   if (group.ok()) status = communicator.RunGroup(*group);    // or StartGroup
//
// Pieces lie one after the other, in the order of the ranks. What a rank sends must be as long as what its peer receives; where it is
// not, the receiver gets an error that names both calls. Sends and receives between two ranks are matched in their order, those of
// these groups among them.

#include <cstddef>
#include <cstdint>
#include <ranges>
#include <span>
#include <string>
#include <vector>

#include "tutti/communicator.h"
#include "tutti/export.h"
#include "tutti/operation.h"
#include "tutti/status.h"

namespace tutti {

// The same with memory whose element type is known at run time only. `in` and `out` hold `in_elements` and `out_elements`.
TUTTI_EXPORT Result<std::vector<Operation>> AllToAllV(const void* in, std::size_t in_elements,
                                                      std::span<const std::size_t> in_counts, void* out,
                                                      std::size_t out_elements, std::span<const std::size_t> out_counts,
                                                      DataType type);
TUTTI_EXPORT Result<std::vector<Operation>> AllGatherV(const void* in, std::size_t in_elements, void* out,
                                                       std::size_t out_elements, std::span<const std::size_t> counts,
                                                       int rank, DataType type);

// Piece r of `in`, in_counts[r] elements, goes to rank r; piece r of `out`, out_counts[r] elements, comes from there. `in` and `out` do
// not overlap. Fails with kInvalidArgument where the counts are not one for each of as many ranks, or their sum is not the buffer's length.
template <std::ranges::contiguous_range In, std::ranges::contiguous_range Out>
Result<std::vector<Operation>> AllToAllV(const In& in, std::span<const std::size_t> in_counts, Out&& out,
                                         std::span<const std::size_t> out_counts) {
  static_assert(std::is_same_v<internal::ElementOf<In>, internal::ElementOf<Out>>,
                "input and output hold different element types");
  return AllToAllV(std::ranges::data(in), std::ranges::size(in), in_counts, std::ranges::data(out),
                   std::ranges::size(out), out_counts, DataTypeOf<internal::ElementOf<In>>::value);
}

// `in`, counts[rank] elements of this rank, goes to piece `rank` of everybody's `out`. All ranks pass the same counts. In place: `in` is
// that piece. Fails with kInvalidArgument where `rank` has no count, or a buffer has not the length that the counts say.
template <std::ranges::contiguous_range In, std::ranges::contiguous_range Out>
Result<std::vector<Operation>> AllGatherV(const In& in, Out&& out, std::span<const std::size_t> counts, int rank) {
  static_assert(std::is_same_v<internal::ElementOf<In>, internal::ElementOf<Out>>,
                "input and output hold different element types");
  return AllGatherV(std::ranges::data(in), std::ranges::size(in), std::ranges::data(out), std::ranges::size(out),
                    counts, rank, DataTypeOf<internal::ElementOf<In>>::value);
}

}  // namespace tutti

#endif  // TUTTI_VARIABLE_H_
