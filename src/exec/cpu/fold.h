// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_EXEC_CPU_FOLD_H_
#define TUTTI_EXEC_CPU_FOLD_H_

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "tutti/types.h"

// The arithmetic of the CPU executor: folding, scaling and copying arrays of elements.
//
// Every function here comes in one variant per instruction set; the best one that this machine runs is chosen on first
// use. All variants give bit-identical results (see "Numerics" below), so ranks on different machines agree. Pointers
// may have any alignment, also less than the element's own. Nothing here allocates, blocks or keeps state: any number
// of threads may call at once on disjoint memory.
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

// The fold for a type and operator; never null. kAvg and kPreMulSum fold as kSum: the caller scales (Scale) before, or
// divides (DivideIntegers) after.
FoldFn GetFold(DataType type, ReduceOp op);

// A scalar in the forms that the element types need: integer types multiply by the low bits of `integer`,
// double by `real`, the others by `real` as a float.
struct ScaleFactor {
  std::uint64_t integer;
  double real;
};
// For integers the scalar is truncated toward zero (so -1 negates, also in unsigned types); NaN counts as 0 and values
// beyond 64 bits are clamped to them.
ScaleFactor MakeScaleFactor(double scalar);

// out[i] = in[i] * factor. Integers wrap; floating types round the product once. `out` may equal `in`, otherwise the
// two do not overlap.
void Scale(void* out, const void* in, std::size_t count, DataType type, const ScaleFactor& factor);
inline void Scale(void* out, const void* in, std::size_t count, DataType type, double scalar) {
  Scale(out, in, count, type, MakeScaleFactor(scalar));
}

// data[i] = data[i] / divisor, truncating toward zero: the end of an integer average.
// REQUIRES: type is an integer type; divisor >= 1. A divisor that the element type cannot hold is fine.
void DivideIntegers(void* data, std::size_t count, DataType type, int divisor);

// Copies bytes. `out` equals `in`, or the two do not overlap.
inline void CopyBytes(void* out, const void* in, std::size_t bytes) {
  if (bytes != 0 && out != in) std::memcpy(out, in, bytes);
}

// The same with non-temporal stores; see Stores for when that pays.
void CopyBytesStreaming(void* out, const void* in, std::size_t bytes);

// Instruction sets that the folds are compiled for. kBaseline runs on every CPU of the architecture.
enum class Isa : std::uint8_t {
  kBaseline,  // x86-64: SSE2; aarch64: NEON
  kAvx2,      // AVX2 and F16C
  kAvx512,    // AVX-512 F, BW, DQ and VL
};
inline constexpr int kIsas = 3;

// "baseline", "avx2", "avx512".
const char* Name(Isa isa);

// The instruction set that GetFold and the other functions use on this machine.
Isa BestIsa();

// For tests and measurements: the fold in a given variant, or null where this machine or build lacks it.
FoldFn GetFoldVariant(DataType type, ReduceOp op, Isa isa);

// Likewise Scale in a given variant. Returns false, having done nothing, where the variant is lacking.
[[nodiscard]] bool ScaleVariant(void* out, const void* in, std::size_t count, DataType type, double scalar, Isa isa);

}  // namespace tutti

#endif  // TUTTI_EXEC_CPU_FOLD_H_
