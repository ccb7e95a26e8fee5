// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_TOOLS_VERIFY_DATA_H_
#define TUTTI_TOOLS_VERIFY_DATA_H_

// Test data whose reduction is known exactly.
//
// An input is a function of seed, element index and rank; the result of the reduction over all ranks is a
// function of seed and index alone, found without adding anything up, in a time that does not depend on the
// number of ranks. The result does not depend on the order of the reduction, nor on the precision of
// intermediate values, as long as that is at least the element type's: every partial result, of any subset of
// the ranks, is a number of the element type. Inputs are ordinary numbers: no NaN, infinity, subnormal or -0.
//
// Every type, every operator, any number of ranks. In types with few mantissa bits and with many ranks, only
// some ranks contribute to an element (e5m2: 4, e4m3: 8, bfloat16: 128; others give 0, or 1 to a product);
// which ones changes from element to element. Averages of floating types are sums of two ranks' numbers.
//
// How sums work. For each element a permutation gives every rank a slot s, and a hash gives numbers x(0) ...
// x(n); the rank in slot s contributes x(s+1) - x(s), so the sum is x(n) - x(0). Floating contributions are
// integers so small that all magnitudes together fit the mantissa, times one power of two. For products the
// quotient takes the difference's place: of odd integers, modulo 2^bits; in floating types of powers of two
// and signs, besides which one rank has a random mantissa. For minimum and maximum one rank has the result,
// the others numbers beyond it.
//
// Elements [first, first + count) are written to `data`, which may have any alignment; any cut of an array
// into pieces gives the same array. All functions may be called from any number of threads.

#include <cstddef>
#include <cstdint>

#include "tutti/types.h"

namespace tutti::tools {

// A rank's input. For kPreMulSum what the reduction adds is this times PreMulScalar(rank).
// REQUIRES: 0 <= rank < ranks; one of the first kNcclDataTypes and kNcclReduceOps, here and below.
void FillInput(void* data, std::size_t first, std::size_t count, DataType type, ReduceOp op, int rank, int ranks,
               std::uint64_t seed);

// What the reduction of all ranks' inputs must give. For averages of floating types the exact result,
// rounded.
void FillExpected(void* data, std::size_t first, std::size_t count, DataType type, ReduceOp op, int ranks,
                  std::uint64_t seed);

// The rank's scalar for kPreMulSum: 1 on even ranks, 2 on odd ones.
double PreMulScalar(int rank);

// Random bytes of a rank, for collectives that only move data.
void FillMove(void* data, std::size_t first, std::size_t count, DataType type, std::uint64_t seed, int source_rank);

// The elements of `got` that differ from `expected` in any bit; for averages of floating types, by more than
// 2 units in the last place.
std::size_t CountWrong(const void* got, const void* expected, std::size_t count, DataType type, ReduceOp op);

}  // namespace tutti::tools

#endif  // TUTTI_TOOLS_VERIFY_DATA_H_
