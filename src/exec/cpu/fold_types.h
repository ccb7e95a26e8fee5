// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_EXEC_CPU_FOLD_TYPES_H_
#define TUTTI_EXEC_CPU_FOLD_TYPES_H_

#include <cstddef>
#include <cstdint>

// What a fold is: for those who hold one, and for the instruction sets that offer one (fold_table.h). fold.h finds it.
namespace tutti {

// How results are written. kNonTemporal bypasses the caches: it saves reading the output's lines before they are
// overwritten, but the output is then not in cache for whoever reads it next, so it pays only where operands and output
// are much larger than the last-level cache. On Zen 5 with 32 MB of it, a fold of two operands writes 13 GB/s cached
// and 17 non-temporal at 64 MB, but 80 against 40 at 256 KB; with four operands and more the gain is below 20 %.
//
// The stores are fenced before the function returns: a release store that follows publishes them as it does ordinary
// ones. An output not aligned to its element size is written with ordinary stores.
enum class Stores : std::uint8_t { kCached, kNonTemporal };

// Folds arrays of `count` elements: out[i] = operands[0][i] op operands[1][i] op ..., left to right. One operand: a
// plain copy, bit for bit.
//
// Each operand is read once and `out` written once, however many operands there are; so one call with N operands moves
// (N+1) * count elements where N-1 calls with two would move 3 * (N-1) * count.
//
// REQUIRES: operand_count >= 1; `out` is exactly one of the operands, or overlaps none of them.
//
// Numerics:
// * Integers wrap around.
// * A complex product is (ac - bd) + (ad + bc)i in the parts' own type, each step rounded; complex numbers else are as their parts.
// * float and double: sums and products in the type itself, each step rounded, no fused multiply-add.
// * half, bfloat16 and the fp8 types: sums and products run in float over all operands, and are rounded once, at the
//   end, to nearest even. Overflow gives infinity for half and bfloat16; the fp8 types saturate at their largest finite
//   value, also when the float sum is infinite (as CUDA's "satfinite" conversions do). base/float_types.h has the same
//   conversions, one number at a time.
// * Sums and products: an operand that is NaN makes the result NaN; which NaN is not defined. Where a thread has told
//   its CPU to flush subnormal floats, sums and products of float, double and bfloat16 do; half and fp8 lose nothing.
// * Minimum and maximum return one of the operands, bit for bit, in every type. -0 is less than +0. Where an operand is
//   NaN the result is a NaN operand; which of several does not depend on their order. So the result never does.
using FoldFn = void (*)(void* out, const void* const* operands, int operand_count, std::size_t count, Stores stores);

// A scalar in the forms that the element types need: integer types multiply by the low bits of `integer`,
// double by `real`, the others by `real` as a float.
struct ScaleFactor {
  std::uint64_t integer;
  double real;
};

}  // namespace tutti

#endif  // TUTTI_EXEC_CPU_FOLD_TYPES_H_
