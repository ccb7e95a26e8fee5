// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_EXEC_CPU_FOLD_H_
#define TUTTI_EXEC_CPU_FOLD_H_

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "exec/cpu/fold_types.h"
#include "tutti/types.h"

// The arithmetic of the CPU executor: folding, scaling and copying arrays of elements.
//
// Every function here comes in one variant per instruction set; the best one that this machine runs is chosen on first
// use. All variants give bit-identical results (see "Numerics" in fold_types.h), so ranks on different machines agree.
// Pointers may have any alignment, also less than the element's own. Nothing here allocates, blocks or keeps state: any number
// of threads may call at once on disjoint memory.
namespace tutti {

// The fold for a type and operator; null where they are not Defined (tutti/types.h). kAvg and kPreMulSum fold as kSum: the caller scales (Scale) before, or
// divides (DivideIntegers) after.
FoldFn GetFold(DataType type, ReduceOp op);

// For integers the scalar is truncated toward zero (so -1 negates, also in unsigned types); NaN counts as 0 and values
// beyond 64 bits are clamped to them.
ScaleFactor MakeScaleFactor(double scalar);

// out[i] = in[i] * factor. REQUIRES: type is not kBool. Integers wrap; floating types round the product once. `out` may equal `in`, otherwise the
// two do not overlap.
void Scale(void* out, const void* in, std::size_t count, DataType type, const ScaleFactor& factor);
inline void Scale(void* out, const void* in, std::size_t count, DataType type, double scalar) {
  Scale(out, in, count, type, MakeScaleFactor(scalar));
}

// data[i] = data[i] / divisor, truncating toward zero: the end of an integer average.
// REQUIRES: type is an integer type; divisor >= 1. A divisor that the element type cannot hold is fine.
void DivideIntegers(void* data, std::size_t count, DataType type, int divisor);

// memcpy by vectors.
void CopyBytesByVectors(void* out, const void* in, std::size_t bytes);
// As CopyBytes.
void CopyLongBytes(void* out, const void* in, std::size_t bytes);
inline constexpr std::size_t kLeastLongBytes = 2048;

// Copies bytes. `out` equals `in`, or the two do not overlap.
inline void CopyBytes(void* out, const void* in, std::size_t bytes) {
  if (bytes >= kLeastLongBytes) {
    CopyLongBytes(out, in, bytes);
  } else if (bytes != 0 && out != in) {
    std::memcpy(out, in, bytes);
  }
}

// The same with non-temporal stores; see Stores for when that pays.
void CopyBytesStreaming(void* out, const void* in, std::size_t bytes);
inline void CopyBytes(void* out, const void* in, std::size_t bytes, Stores stores) {
  if (stores == Stores::kCached || out == in) {
    CopyBytes(out, in, bytes);
  } else {
    CopyBytesStreaming(out, in, bytes);
  }
}

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
