// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_OPERATION_H_
#define TUTTI_OPERATION_H_

#include <cstddef>
#include <cstdint>
#include <optional>

#include "tutti/types.h"

namespace tutti {

// One operation as a value: what Communicator::Run, Start and Group take. Use the factories of communicator.h for typed
// spans, or fill it by hand for element types that C++ has no name for.
//
// Lengths, in elements, of the buffers for `count` and n ranks:
//   all_reduce, broadcast, reduce   in: count     out: count
//   all_gather, gather              in: count     out: n * count
//   reduce_scatter, scatter         in: n * count out: count
//   all_to_all                      in: n * count out: n * count
//   send                            in: count           recv  out: count
// Buffers that a rank does not use (the output of a non-root in a reduce or gather, the input of a non-root in a
// broadcast or scatter) may be null. In place: out == in, except all_gather and gather: in == out + rank * count;
// reduce_scatter and scatter: out == in + rank * count. Other overlaps are errors of the caller.
struct Operation {
  Collective kind = Collective::kBarrier;
  const void* in = nullptr;
  void* out = nullptr;
  std::size_t count = 0;  // elements
  DataType type = DataType::kUint8;
  ReduceOp op = ReduceOp::kSum;
  int root = 0;         // root, or the peer of a send or receive
  double scalar = 1.0;  // this rank's factor under kPreMulSum, converted to the element type
  // For integer types, where set: the exact factor, of which the element type keeps the low bits.
  std::optional<std::int64_t> integer_scalar = std::nullopt;
  // GpuCommunicator only: where set, the address of the factor under kPreMulSum in memory that the GPU reaches, one
  // element of `type`, read when the operation runs (in a graph: by every replay). Aligned to its size.
  const void* device_scalar = nullptr;
};

}  // namespace tutti

#endif  // TUTTI_OPERATION_H_
