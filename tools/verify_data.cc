// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "tools/verify_data.h"

#include <algorithm>
#include <bit>
#include <cstdlib>
#include <cstring>
#include <type_traits>

#define TUTTI_INLINE __attribute__((always_inline))

namespace tutti::tools {
namespace {

using u8 = std::uint8_t;
using u16 = std::uint16_t;
using u32 = std::uint32_t;
using u64 = std::uint64_t;

constexpr std::size_t kBlock = 512;  // elements hashed at a time
constexpr u32 kGolden = 0x9e3779b9;  // 2^32 divided by the golden ratio

// A bijection of 32 bits in which every input bit moves every output bit (the finaliser of MurmurHash3). Only
// 32-bit arithmetic, so that compilers make vector code of it.
inline u32 Mix(u32 x) {
  x = (x ^ (x >> 16)) * 0x85ebca6b;
  x = (x ^ (x >> 13)) * 0xc2b2ae35;
  return x ^ (x >> 16);
}

inline u32 Key(u64 seed, u32 stream) {
  return Mix(Mix(static_cast<u32>(seed) + stream * kGolden) ^ static_cast<u32>(seed >> 32));
}

// hash[j] for index first + j. REQUIRES: count is BlockSize(first, ...).
inline void HashBlock(u32* hash, std::size_t first, std::size_t count, u32 key) {
  const u32 base = static_cast<u32>(first);
  const u32 high = Mix(key + static_cast<u32>(static_cast<u64>(first) >> 32) * kGolden);
  for (std::size_t j = 0; j < count; ++j) hash[j] = Mix((base + static_cast<u32>(j)) ^ high);
}

// The elements of the next block: within kBlock, and with one upper half of the index.
inline std::size_t BlockSize(std::size_t first, std::size_t left) {
  const u64 to_next_high = (u64{1} << 32) - static_cast<u32>(first);
  return static_cast<std::size_t>(std::min({u64{kBlock}, u64{left}, to_next_high}));
}

// The number of slot s of the element with this hash: x(s) of the header.
template <typename U>
inline U SlotHash(u32 hash, u32 slot) {
  const u32 low = Mix(hash + (slot + 1) * kGolden);
  if constexpr (sizeof(U) == 8) {
    return static_cast<U>(low) << 32 | Mix(low + kGolden);
  } else {
    return static_cast<U>(low);
  }
}

// Bits of an element's own hash. Its upper bits choose the permutation of the ranks.
inline u32 OneSided(u32 hash) { return hash & 1; }
inline u32 Negated(u32 hash) { return hash >> 1 & 1; }
inline u32 Bits(u32 hash) { return hash >> 2 & 0xffff; }

// What all elements of a call have in common.
struct Shape {
  u32 ranks;
  u32 factor;  // of contributions to a sum: under kPreMulSum 2, where the scalar does not supply it; else 1
  u32 slots;   // how many contribute to a bounded sum, and
  u64 mask;    // x(s) lies in [0, mask] there
};

// Bounded sums: `slots` contributions within [-2 * mask, 2 * mask] each, within [-budget, budget] in all.
Shape MakeShape(u64 budget, int ranks, u32 factor) {
  const u64 slots = std::min<u64>(static_cast<u64>(ranks), budget / 2);
  const u64 half = budget / slots / 2;
  return {static_cast<u32>(ranks), factor, static_cast<u32>(slots), std::bit_floor(half + 1) - 1};
}

// x(to) - x(from), plus `steps` times the mask in elements whose contributions all have one sign. Modular
// arithmetic of the signed number's width, without branches.
template <typename U>
inline U BoundedSum(const Shape& shape, u32 hash, u32 from, u32 to, u32 steps) {
  const U mask = static_cast<U>(shape.mask);
  const U offset = mask * steps * OneSided(hash);
  return (SlotHash<U>(hash, to) & mask) - (SlotHash<U>(hash, from) & mask) + offset;
}

// -x where `negated` is 1.
template <typename U>
inline U NegateIf(U x, u32 negated) {
  const U sign = U{0} - negated;
  return (x ^ sign) - sign;
}

// Integer types. U: the unsigned type of their size; kSignBit: the sign bit of signed types, else 0.
template <typename U, U kSignBit>
struct Integer {
  using Storage = U;
  static constexpr u64 kBudget = static_cast<U>(kSignBit != 0 ? kSignBit - 1 : ~U{0} >> 1);
  using Wide = std::conditional_t<sizeof(U) == 8, std::int64_t, std::int32_t>;
  using UWide = std::make_unsigned_t<Wide>;

  static UWide Inverse(UWide odd) {
    constexpr int kSteps = sizeof(U) == 1 ? 1 : sizeof(U) == 4 ? 3 : 4;
    UWide x = (3 * odd) ^ 2;  // right in 5 bits; each of Newton's steps doubles them
    for (int i = 0; i < kSteps; ++i) x *= 2 - odd * x;
    return x;
  }
  // Sums and products wrap, so all bits are used.
  static U Sum(const Shape& shape, u32 hash, u32 from, u32 to) {
    return static_cast<U>((SlotHash<UWide>(hash, to) - SlotHash<UWide>(hash, from)) * shape.factor);
  }
  static U SumInput(const Shape& shape, u32 hash, u32 slot) { return Sum(shape, hash, slot, slot + 1); }
  static U SumExpected(const Shape& shape, u32 hash) { return Sum(shape, hash, 0, shape.ranks); }
  static U Prod(const Shape&, u32 hash, u32 from, u32 to) {
    const UWide two = 1 + (from == 0 ? Negated(hash) : 0);  // even numbers too, but no zeros
    return static_cast<U>((SlotHash<UWide>(hash, to) | 1) * Inverse(SlotHash<UWide>(hash, from) | 1) * two);
  }
  // Never overflows, so that it does not matter in which width the sum is divided.
  static UWide Bounded(const Shape& shape, u32 hash, u32 from, u32 to) {
    const u32 one_sided = kSignBit != 0 ? hash : hash | 1;
    const UWide sum = BoundedSum<UWide>(shape, one_sided, from, to, to - from);
    return NegateIf(sum, kSignBit != 0 ? Negated(hash) : 0);
  }
  static U AvgInput(const Shape& shape, u32 hash, u32 slot) {
    const UWide sum = Bounded(shape, hash, slot, slot + 1);
    return static_cast<U>(slot < shape.slots ? sum : 0);
  }
  static U AvgExpected(const Shape& shape, u32 hash) {
    return static_cast<U>(static_cast<Wide>(Bounded(shape, hash, 0, shape.slots)) / static_cast<Wide>(shape.ranks));
  }
  // Integers in their order, from 0.
  static constexpr u64 kKeys = 0;  // all codes
  static U FromKey(U key) { return key ^ kSignBit; }
};

// Floating types with kE exponent and kM mantissa bits; Real: the type to compute in. Sums have units of 2^e,
// kUnit <= e <= kUnit + kUnits.
template <typename U, typename RealType, int kE, int kM, int kUnit, int kUnits, bool kInfinity>
struct Floating {
  using Storage = U;
  using Real = RealType;
  using RealBits = std::conditional_t<sizeof(Real) == 8, u64, u32>;
  using Wide = std::make_signed_t<RealBits>;
  static constexpr u64 kBudget = u64{2} << kM;
  static constexpr int kRealM = sizeof(Real) == 8 ? 52 : 23;
  static constexpr int kRealBias = sizeof(Real) == 8 ? 1023 : 127;
  static constexpr int kBias = (1 << (kE - 1)) - 1;
  // Ranks whose exponent changes in a product: with the steps up alone, or those down, it stays in range.
  static constexpr u32 kProdSlots = kE == 4 ? 8 : kE == 5 ? 16 : 64;

  static Real PowerOfTwo(int exponent) {
    return std::bit_cast<Real>(static_cast<RealBits>(exponent + kRealBias) << kRealM);
  }
  // Rounds to nearest even. REQUIRES: zero, or a normal number of the type; its sign off zero is kept.
  static U FromReal(Real value) {
    const auto bits = std::bit_cast<RealBits>(value);
    if constexpr (sizeof(U) == sizeof(Real)) return bits;
    constexpr int kDrop = kRealM - kM;
    constexpr RealBits kSign = RealBits{1} << (8 * sizeof(Real) - 1);
    constexpr RealBits kRebias = static_cast<RealBits>(kRealBias - kBias) << kM;
    const RealBits magnitude = bits & ~kSign;
    const RealBits rounded = magnitude + (RealBits{1} << kDrop >> 1) - (kDrop > 0) + (magnitude >> kDrop & 1);
    const RealBits code = magnitude == 0 ? 0 : (rounded >> kDrop) - kRebias;
    return static_cast<U>(code | (bits & kSign) >> (8 * (sizeof(Real) - sizeof(U))));
  }
  static U Scaled(const Shape& shape, u32 hash, RealBits units) {
    const Real unit = PowerOfTwo(kUnit + static_cast<int>(Bits(hash) & kUnits)) * static_cast<Real>(shape.factor);
    return FromReal(static_cast<Real>(static_cast<Wide>(NegateIf(units, Negated(hash)))) * unit);
  }
  static U SumInput(const Shape& shape, u32 hash, u32 slot) {
    const RealBits units = BoundedSum<RealBits>(shape, hash, slot, slot + 1, 1);
    return Scaled(shape, hash, slot < shape.slots ? units : 0);
  }
  static U SumExpected(const Shape& shape, u32 hash) {
    return Scaled(shape, hash, BoundedSum<RealBits>(shape, hash, 0, shape.slots, shape.slots));
  }

  // The product of slots [from, to): sign and exponent telescope, slot 0 has the mantissa.
  static U Prod(const Shape& shape, u32 hash, u32 from, u32 to) {
    const u32 active = std::min(kProdSlots, shape.ranks);
    const u32 sign = (SlotHash<u32>(hash, from) ^ SlotHash<u32>(hash, to)) >> 31;
    const int first = static_cast<int>(SlotHash<u32>(hash, std::min(from, active)) & 1);
    const int last = static_cast<int>(SlotHash<u32>(hash, std::min(to, active)) & 1);
    const RealBits random = SlotHash<RealBits>(~hash, 0) & ((RealBits{1} << kM) - 1);
    const RealBits mantissa = from == 0 ? random << (kRealM - kM) : 0;
    const RealBits bits = static_cast<RealBits>(last - first + kRealBias) << kRealM | mantissa |
                          static_cast<RealBits>(sign) << (8 * sizeof(Real) - 1);
    return FromReal(std::bit_cast<Real>(bits));
  }

  // Slots 0 and 1 have numbers of one sign with magnitudes in [16, 256); divided by up to 1024 ranks they are
  // normal in all types.
  static Real AvgPart(u32 hash, u32 slot) {
    const RealBits random = SlotHash<RealBits>(hash, slot);
    const RealBits mantissa = (random & ((RealBits{1} << kM) - 1)) << (kRealM - kM);
    const RealBits exponent = (random >> (8 * sizeof(Real) - 2)) + 4 + kRealBias;
    const RealBits sign = RealBits{Negated(hash)} << (8 * sizeof(Real) - 1);
    return std::bit_cast<Real>(sign | exponent << kRealM | mantissa);
  }
  static U AvgInput(const Shape&, u32 hash, u32 slot) { return FromReal(slot < 2 ? AvgPart(hash, slot) : Real{0}); }
  static U AvgExpected(const Shape& shape, u32 hash) {
    const Real sum = AvgPart(hash, 0) + (shape.ranks > 1 ? AvgPart(hash, 1) : Real{0});
    return FromReal(sum / static_cast<Real>(shape.ranks));
  }

  // Normal numbers in their order, from 0.
  static constexpr u64 kSmallestNormal = u64{1} << kM;
  static constexpr u64 kBeyondLargest = (((u64{1} << kE) - 1) << kM) + (kInfinity ? 0 : (u64{1} << kM) - 1);
  static constexpr u64 kKeys = 2 * (kBeyondLargest - kSmallestNormal);
  static U FromKey(U key) {
    constexpr U kSign = static_cast<U>(U{1} << (8 * sizeof(U) - 1));
    constexpr U kHalf = static_cast<U>(kKeys / 2);
    const U code = static_cast<U>(key >= kHalf ? key - kHalf : kHalf - 1 - key);
    return static_cast<U>(static_cast<U>(code + kSmallestNormal) | (key >= kHalf ? U{0} : kSign));
  }
};

// A number below x, or 0: random bits below its highest one.
template <typename U>
inline U Below(U x, U random) {
  constexpr int kDoublings = sizeof(U) == 8 ? 6 : 5;
  U ones = x;
  for (int i = 0; i < kDoublings; ++i) ones |= ones >> (1 << i);
  return random & (ones >> 1);
}

// Minimum and maximum: slot 0 has the result, the others random numbers beyond it.
template <typename K, ReduceOp kOp>
inline typename K::Storage Extreme(u32 hash, u32 slot) {
  using U = typename K::Storage;
  using Random = std::conditional_t<sizeof(U) == 8, u64, u32>;
  constexpr Random kAll = static_cast<U>(K::kKeys - 1);  // the largest key; more than half of the largest U
  const Random any = static_cast<U>(SlotHash<Random>(~hash, 0));
  const Random best = any <= kAll ? any : any - kAll - 1;
  const Random other = Below(best, SlotHash<Random>(hash, slot));
  const Random key = slot == 0 ? best : other;
  return K::FromKey(static_cast<U>(kOp == ReduceOp::kMax ? key : kAll - key));
}

template <typename K, ReduceOp kOp>
inline typename K::Storage Input(const Shape& shape, u32 hash, u32 slot) {
  using enum ReduceOp;
  if constexpr (kOp == kMax || kOp == kMin) return Extreme<K, kOp>(hash, slot);
  if constexpr (kOp == kProd) return K::Prod(shape, hash, slot, slot + 1);
  if constexpr (kOp == kAvg) return K::AvgInput(shape, hash, slot);
  if constexpr (kOp == kSum || kOp == kPreMulSum) return K::SumInput(shape, hash, slot);
}

template <typename K, ReduceOp kOp>
inline typename K::Storage Expected(const Shape& shape, u32 hash) {
  using enum ReduceOp;
  if constexpr (kOp == kMax || kOp == kMin) return Extreme<K, kOp>(hash, 0);
  if constexpr (kOp == kProd) return K::Prod(shape, hash, 0, shape.ranks);
  if constexpr (kOp == kAvg) return K::AvgExpected(shape, hash);
  if constexpr (kOp == kSum || kOp == kPreMulSum) return K::SumExpected(shape, hash);
}

// Writes element(hash) for each index.
template <typename U, typename F>
TUTTI_INLINE inline void FillWith(void* data, std::size_t first, std::size_t count, u32 key, F element) {
  auto* to = static_cast<unsigned char*>(data);
  u32 hash[kBlock];
  while (count != 0) {
    const std::size_t n = BlockSize(first, count);
    HashBlock(hash, first, n, key);
    U block[kBlock];
    for (std::size_t j = 0; j < n; ++j) block[j] = element(hash[j]);
    std::memcpy(to, block, n * sizeof(U));
    to += n * sizeof(U);
    first += n;
    count -= n;
  }
}

constexpr int kNoRank = -1;

// A rank's input, or for kNoRank the expected result.
struct FillJob {
  void* data;
  std::size_t first;
  std::size_t count;
  int rank;
  int ranks;
  u32 key;
};

template <typename K, ReduceOp kOp>
TUTTI_INLINE inline void FillHere(const FillJob& job) {
  using U = typename K::Storage;
  const bool scaled_later = job.rank != kNoRank && PreMulScalar(job.rank) == 2;
  const Shape shape = MakeShape(K::kBudget, job.ranks, kOp == ReduceOp::kPreMulSum && !scaled_later ? 2 : 1);
  if (job.rank == kNoRank) {
    FillWith<U>(job.data, job.first, job.count, job.key,
                [shape](u32 hash) TUTTI_INLINE { return Expected<K, kOp>(shape, hash); });
    return;
  }
  const auto rank = static_cast<u32>(job.rank);
  FillWith<U>(job.data, job.first, job.count, job.key, [shape, rank](u32 hash) TUTTI_INLINE {
    const u32 turned = rank + static_cast<u32>(u64{hash} * shape.ranks >> 32);
    return Input<K, kOp>(shape, hash, turned >= shape.ranks ? turned - shape.ranks : turned);
  });
}

// The same code, compiled for wide vectors as well: about ten times as fast, and checking a large buffer should not
// take longer than filling it.
#if defined(__x86_64__)
#if defined(__clang__)
#define TUTTI_AVX512 "avx2,avx512f,avx512bw,avx512dq,avx512vl"
#else
#define TUTTI_AVX512 "avx2,avx512f,avx512bw,avx512dq,avx512vl,prefer-vector-width=512"
#endif
template <typename K, ReduceOp kOp>
[[gnu::flatten, gnu::target(TUTTI_AVX512)]] void FillAvx512(const FillJob& job) {
  FillHere<K, kOp>(job);
}
bool HasAvx512() {
  return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
         __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
}
#endif

template <typename K, ReduceOp kOp>
void Fill(const FillJob& job) {
#if defined(__x86_64__)
  static const bool has_avx512 = HasAvx512();
  if (has_avx512) return FillAvx512<K, kOp>(job);
#endif
  FillHere<K, kOp>(job);
}

template <typename K>
void FillAny(ReduceOp op, const FillJob& job) {
  using enum ReduceOp;
  switch (op) {
    case kSum:
      return Fill<K, kSum>(job);
    case kProd:
      return Fill<K, kProd>(job);
    case kMax:
      return Fill<K, kMax>(job);
    case kMin:
      return Fill<K, kMin>(job);
    case kAvg:
      return Fill<K, kAvg>(job);
    case kPreMulSum:
      return Fill<K, kPreMulSum>(job);
    default:
      std::abort();
  }
}

void FillAny(DataType type, ReduceOp op, const FillJob& job) {
  using enum DataType;
  switch (type) {
    case kInt8:
      return FillAny<Integer<u8, 0x80>>(op, job);
    case kUint8:
      return FillAny<Integer<u8, 0>>(op, job);
    case kInt32:
      return FillAny<Integer<u32, 0x80000000>>(op, job);
    case kUint32:
      return FillAny<Integer<u32, 0>>(op, job);
    case kInt64:
      return FillAny<Integer<u64, u64{1} << 63>>(op, job);
    case kUint64:
      return FillAny<Integer<u64, 0>>(op, job);
    case kFloat16:
      return FillAny<Floating<u16, float, 5, 10, -8, 7, true>>(op, job);
    case kFloat32:
      return FillAny<Floating<u32, float, 8, 23, -32, 63, true>>(op, job);
    case kFloat64:
      return FillAny<Floating<u64, double, 11, 52, -32, 63, true>>(op, job);
    case kBfloat16:
      return FillAny<Floating<u16, float, 8, 7, -32, 63, true>>(op, job);
    case kFloat8E4M3:
      return FillAny<Floating<u8, float, 4, 3, -5, 7, false>>(op, job);
    case kFloat8E5M2:
      return FillAny<Floating<u8, float, 5, 2, -8, 15, true>>(op, job);
    default:
      std::abort();
  }
}

bool IsFloating(DataType type) { return !IsInteger(type); }

constexpr u32 kReduceStream = 1;
constexpr u32 kMoveStream = 2;  // and up: one per rank

// Numbers that differ by more than kUlps steps of the type's own grid. A sign changed, an infinity or a NaN
// where the expected number is an ordinary one, is far away.
template <typename U>
std::size_t CountFar(const unsigned char* got, const unsigned char* expected, std::size_t count) {
  constexpr std::uint64_t kUlps = 2;
  std::size_t wrong = 0;
  for (std::size_t i = 0; i < count; ++i) {
    U a, b;
    std::memcpy(&a, got + i * sizeof(U), sizeof(U));
    std::memcpy(&b, expected + i * sizeof(U), sizeof(U));
    wrong += static_cast<U>(a > b ? a - b : b - a) > kUlps;
  }
  return wrong;
}

template <typename U>
std::size_t CountDifferent(const unsigned char* got, const unsigned char* expected, std::size_t count) {
  std::size_t wrong = 0;
  for (std::size_t i = 0; i < count; ++i) {
    wrong += std::memcmp(got + i * sizeof(U), expected + i * sizeof(U), sizeof(U)) != 0;
  }
  return wrong;
}

}  // namespace

double PreMulScalar(int rank) { return rank % 2 == 0 ? 1 : 2; }

void FillInput(void* data, std::size_t first, std::size_t count, DataType type, ReduceOp op, int rank, int ranks,
               std::uint64_t seed) {
  FillAny(type, op, {data, first, count, rank, ranks, Key(seed, kReduceStream)});
}

void FillExpected(void* data, std::size_t first, std::size_t count, DataType type, ReduceOp op, int ranks,
                  std::uint64_t seed) {
  FillAny(type, op, {data, first, count, kNoRank, ranks, Key(seed, kReduceStream)});
}

void FillMove(void* data, std::size_t first, std::size_t count, DataType type, std::uint64_t seed, int source_rank) {
  const u32 key = Key(seed, kMoveStream + static_cast<u32>(source_rank));
  auto* to = static_cast<unsigned char*>(data);
  std::size_t offset = first * SizeOf(type);
  const std::size_t end = offset + count * SizeOf(type);
  u32 words[kBlock];
  while (offset < end) {
    const std::size_t word = offset / 4;
    const std::size_t skip = offset % 4;
    const std::size_t n = BlockSize(word, (end - word * 4 + 3) / 4);
    HashBlock(words, word, n, key);
    const std::size_t bytes = std::min(n * 4 - skip, end - offset);
    std::memcpy(to, reinterpret_cast<const unsigned char*>(words) + skip, bytes);
    to += bytes;
    offset += bytes;
  }
}

std::size_t CountWrong(const void* got, const void* expected, std::size_t count, DataType type, ReduceOp op) {
  const std::size_t size = SizeOf(type);
  if (count == 0 || std::memcmp(got, expected, count * size) == 0) return 0;
  const auto* a = static_cast<const unsigned char*>(got);
  const auto* b = static_cast<const unsigned char*>(expected);
  const bool far = op == ReduceOp::kAvg && IsFloating(type);
  switch (size) {
    case 1:
      return far ? CountFar<u8>(a, b, count) : CountDifferent<u8>(a, b, count);
    case 2:
      return far ? CountFar<u16>(a, b, count) : CountDifferent<u16>(a, b, count);
    case 4:
      return far ? CountFar<u32>(a, b, count) : CountDifferent<u32>(a, b, count);
    default:
      return far ? CountFar<u64>(a, b, count) : CountDifferent<u64>(a, b, count);
  }
}

}  // namespace tutti::tools
