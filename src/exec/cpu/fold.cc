// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "exec/cpu/fold.h"

#if defined(__x86_64__)
#include <cpuid.h>
#endif

#include <cmath>

#include "exec/cpu/fold_table.h"
#include "sys/os/aliasing.h"

namespace tutti {
namespace {

#if defined(__x86_64__)
bool HasF16c() {
  unsigned eax = 0, ebx = 0, ecx = 0, edx = 0;
  return __get_cpuid(1, &eax, &ebx, &ecx, &edx) != 0 && (ecx & bit_F16C) != 0;
}

// The compiler's run-time check also asks whether the system saves the wide registers.
bool HasAvx2() { return __builtin_cpu_supports("avx2") && HasF16c(); }
bool HasAvx512() {
  return HasAvx2() && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
         __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
}
#endif

// Null where this machine or build lacks the instruction set.
const FoldTable* FindTable(Isa isa) {
  if (isa == Isa::kBaseline) return &kFoldTableBaseline;
#if defined(__x86_64__)
  static const bool has_avx2 = HasAvx2();
  static const bool has_avx512 = HasAvx512();
  if (isa == Isa::kAvx2 && has_avx2) return &kFoldTableAvx2;
  if (isa == Isa::kAvx512 && has_avx512) return &kFoldTableAvx512;
#endif
  return nullptr;
}

const FoldTable& BestTable() {
  static const FoldTable& table = *FindTable(BestIsa());
  return table;
}

FoldFn Find(const FoldTable& table, DataType type, ReduceOp op) {
  constexpr int kPlaces[kReduceOps] = {0, 1, 2, 3, 0, 0, 4, 5, 6};
  return table.fold[static_cast<int>(type)][kPlaces[static_cast<int>(op)]];
}

}  // namespace

const char* Name(Isa isa) {
  constexpr const char* kNames[kIsas] = {"baseline", "avx2", "avx512"};
  return kNames[static_cast<int>(isa)];
}

Isa BestIsa() {
  static const Isa best = FindTable(Isa::kAvx512) ? Isa::kAvx512 : FindTable(Isa::kAvx2) ? Isa::kAvx2 : Isa::kBaseline;
  return best;
}

FoldFn GetFold(DataType type, ReduceOp op) { return Find(BestTable(), type, op); }

FoldFn GetFoldVariant(DataType type, ReduceOp op, Isa isa) {
  const FoldTable* table = FindTable(isa);
  return table ? Find(*table, type, op) : nullptr;
}

ScaleFactor MakeScaleFactor(double scalar) {
  constexpr double kTwo63 = 9223372036854775808.0;
  ScaleFactor factor{0, scalar};
  if (scalar >= 2 * kTwo63) {
    factor.integer = UINT64_MAX;
  } else if (scalar >= 0) {
    factor.integer = static_cast<std::uint64_t>(scalar);
  } else if (scalar > -kTwo63) {
    factor.integer = static_cast<std::uint64_t>(static_cast<std::int64_t>(scalar));
  } else if (!std::isnan(scalar)) {
    factor.integer = std::uint64_t{1} << 63;
  }
  return factor;
}

void Scale(void* out, const void* in, std::size_t count, DataType type, const ScaleFactor& factor) {
  BestTable().scale[static_cast<int>(type)](out, in, count, factor);
}

bool ScaleVariant(void* out, const void* in, std::size_t count, DataType type, double scalar, Isa isa) {
  const FoldTable* table = FindTable(isa);
  if (table) table->scale[static_cast<int>(type)](out, in, count, MakeScaleFactor(scalar));
  return table != nullptr;
}

void DivideIntegers(void* data, std::size_t count, DataType type, int divisor) {
  if (divisor <= 1) return;
  BestTable().divide[static_cast<int>(type)](data, count, static_cast<std::uint32_t>(divisor));
}

void CopyBytesByVectors(void* out, const void* in, std::size_t bytes) {
  if (out != in) BestTable().copy_by_vectors(out, in, bytes);
}

void CopyLongBytes(void* out, const void* in, std::size_t bytes) {
  static_assert(kLeastLongBytes <= sys::kLeastAliased);
  if (sys::CopyAliases(out, in, bytes)) {
    CopyBytesByVectors(out, in, bytes);
  } else if (out != in) {
    std::memcpy(out, in, bytes);
  }
}

void CopyBytesStreaming(void* out, const void* in, std::size_t bytes) {
  if (out != in) BestTable().copy_streaming(out, in, bytes);
}

}  // namespace tutti
