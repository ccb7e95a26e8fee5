// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_EXEC_CPU_FOLD_TABLE_H_
#define TUTTI_EXEC_CPU_FOLD_TABLE_H_

#include <cstddef>
#include <cstdint>

#include "exec/cpu/fold_types.h"
#include "tutti/types.h"

namespace tutti {

using ScaleFn = void (*)(void* out, const void* in, std::size_t count, const ScaleFactor& factor);

// data[i] /= divisor. REQUIRES: divisor >= 2.
using DivideFn = void (*)(void* data, std::size_t count, std::uint32_t divisor);

// What one instruction set's source file offers (fold_kernels.inc). Plain pointers, filled at compile time,
// so that looking at a table never runs an instruction that this machine may lack.
struct FoldTable {
  static constexpr int kOps = 7;
  FoldFn fold[kDataTypes][kOps];  // [type][kSum, kProd, kMax, kMin, kAnd, kOr, kXor]; null where not Defined
  ScaleFn scale[kDataTypes];      // null for kBool
  DivideFn divide[kDataTypes];    // null but for integers
  void (*copy_by_vectors)(void* out, const void* in, std::size_t bytes);
  void (*copy_streaming)(void* out, const void* in, std::size_t bytes);
};

extern const FoldTable kFoldTableBaseline;
#if defined(__x86_64__)
extern const FoldTable kFoldTableAvx2;
extern const FoldTable kFoldTableAvx512;
#endif

}  // namespace tutti

#endif  // TUTTI_EXEC_CPU_FOLD_TABLE_H_
