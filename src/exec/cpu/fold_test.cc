// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "exec/cpu/fold.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <string>
#include <type_traits>
#include <vector>

#include "base/float_types.h"

namespace tutti {
namespace {

using Bytes = std::vector<unsigned char>;

constexpr std::size_t kCounts[] = {0, 1, 2, 3, 7, 15, 16, 17, 31, 63, 64, 65, 100, 1000, 4099};
constexpr int kOperandCounts[] = {1, 2, 3, 4, 5, 8, 17};

// A type as the reference sees it: its storage, the type it is summed in, and the way between them.
template <DataType kType>
struct Element;
template <typename T>
struct PlainElement {
  using Storage = T;
  using Wide = T;
  static Wide Widen(Storage x) { return x; }
  static Storage Narrow(Wide x) { return x; }
};
template <typename T, float (*kToFloat)(T), T (*kFromFloat)(float)>
struct SmallElement {
  using Storage = T;
  using Wide = float;
  static float Widen(T x) { return kToFloat(x); }
  static T Narrow(float x) { return kFromFloat(x); }
};
template <>
struct Element<DataType::kInt8> : PlainElement<std::int8_t> {};
template <>
struct Element<DataType::kUint8> : PlainElement<std::uint8_t> {};
template <>
struct Element<DataType::kInt32> : PlainElement<std::int32_t> {};
template <>
struct Element<DataType::kUint32> : PlainElement<std::uint32_t> {};
template <>
struct Element<DataType::kInt64> : PlainElement<std::int64_t> {};
template <>
struct Element<DataType::kUint64> : PlainElement<std::uint64_t> {};
template <>
struct Element<DataType::kFloat32> : PlainElement<float> {};
template <>
struct Element<DataType::kFloat64> : PlainElement<double> {};
template <>
struct Element<DataType::kFloat16> : SmallElement<std::uint16_t, HalfToFloat, FloatToHalf> {};
template <>
struct Element<DataType::kBfloat16> : SmallElement<std::uint16_t, Bfloat16ToFloat, FloatToBfloat16> {};
template <>
struct Element<DataType::kFloat8E4M3> : SmallElement<std::uint8_t, E4M3ToFloat, FloatToE4M3> {};
template <>
struct Element<DataType::kFloat8E5M2> : SmallElement<std::uint8_t, E5M2ToFloat, FloatToE5M2> {};

// Runs f with the Element of a type known only at run time.
template <typename F>
void WithElement(DataType type, F f) {
  using enum DataType;
  switch (type) {
    case kInt8:
      return f(Element<kInt8>());
    case kUint8:
      return f(Element<kUint8>());
    case kInt32:
      return f(Element<kInt32>());
    case kUint32:
      return f(Element<kUint32>());
    case kInt64:
      return f(Element<kInt64>());
    case kUint64:
      return f(Element<kUint64>());
    case kFloat16:
      return f(Element<kFloat16>());
    case kFloat32:
      return f(Element<kFloat32>());
    case kFloat64:
      return f(Element<kFloat64>());
    case kBfloat16:
      return f(Element<kBfloat16>());
    case kFloat8E4M3:
      return f(Element<kFloat8E4M3>());
    case kFloat8E5M2:
      return f(Element<kFloat8E5M2>());
  }
}

template <typename T>
bool IsNan(T x) {
  if constexpr (std::is_floating_point_v<T>) {
    return std::isnan(x);
  } else {
    return false;
  }
}

template <typename T>
bool Less(T x, T y) {
  if constexpr (std::is_floating_point_v<T>) {
    if (x == 0 && y == 0) return std::signbit(x) && !std::signbit(y);
  }
  return x < y;
}

template <typename T>
T Arithmetic(T x, T y, ReduceOp op) {
  if constexpr (std::is_integral_v<T>) {
    const auto a = static_cast<std::uint64_t>(x);
    const auto b = static_cast<std::uint64_t>(y);
    return static_cast<T>(op == ReduceOp::kProd ? a * b : a + b);
  } else {
    return op == ReduceOp::kProd ? x * y : x + y;
  }
}

template <typename E>
typename E::Storage Read(const unsigned char* p, std::size_t i) {
  typename E::Storage x;
  std::memcpy(&x, p + i * sizeof(x), sizeof(x));
  return x;
}

// Element i of the fold. For minimum and maximum the operand that fold.h promises, NaN payloads aside.
template <typename E>
typename E::Storage Reference(const std::vector<const unsigned char*>& operands, std::size_t i, ReduceOp op) {
  auto chosen = Read<E>(operands[0], i);
  auto value = E::Widen(chosen);
  if (operands.size() == 1) return chosen;
  const bool extreme = op == ReduceOp::kMax || op == ReduceOp::kMin;
  for (std::size_t k = 1; k < operands.size(); ++k) {
    const auto next = Read<E>(operands[k], i);
    const auto wide = E::Widen(next);
    if (!extreme) {
      value = Arithmetic(value, wide, op);
    } else if (!IsNan(value) &&
               (IsNan(wide) || (op == ReduceOp::kMax ? Less(value, wide) : Less(wide, value)))) {
      value = wide;
      chosen = next;
    }
  }
  return extreme ? chosen : E::Narrow(value);
}

template <typename E>
bool Same(typename E::Storage x, typename E::Storage y) {
  return std::memcmp(&x, &y, sizeof(x)) == 0 || (IsNan(E::Widen(x)) && IsNan(E::Widen(y)));
}

std::uint64_t Next(std::uint64_t& state) {
  state += 0x9e3779b97f4a7c15;
  std::uint64_t x = state;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
  x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
  return x ^ (x >> 31);
}

// Random bits: subnormals, infinities and NaNs with their natural frequency; and every fourth element one of
// a few small numbers, so that sums round, tie and cancel and zeros of both signs meet.
template <typename E>
void Randomise(unsigned char* p, std::size_t count, std::uint64_t& state) {
  constexpr float kSmall[] = {0.0f, -0.0f, 1.0f,   -1.0f,   0.5f,         1.5f,
                              3.0f, -2.0f, 448.0f, 1024.0f, 0.001953125f, -7.0f};
  for (std::size_t i = 0; i < count; ++i) {
    const std::uint64_t random = Next(state);
    auto x = static_cast<typename E::Storage>(random);
    std::memcpy(&x, &random, sizeof(x));
    if (random >> 62 == 0) {
      const float small = kSmall[(random >> 32) % std::size(kSmall)];
      x = E::Narrow(static_cast<typename E::Wide>(small));
    }
    std::memcpy(p + i * sizeof(x), &x, sizeof(x));
  }
}

// Operands in one allocation, each with its own misalignment, and room for the result.
struct Operands {
  Bytes memory;
  std::vector<const unsigned char*> pointers;
  std::vector<const void*> voids;
  unsigned char* out;
  unsigned char* begin;

  Operands(int operand_count, std::size_t bytes, std::size_t misalignment) {
    const std::size_t stride = (bytes + 2 * 64 + 63) / 64 * 64;
    memory.resize((operand_count + 1) * stride + 64);
    begin = memory.data() + (-reinterpret_cast<std::uintptr_t>(memory.data()) & 63);
    for (int k = 0; k < operand_count; ++k) {
      pointers.push_back(begin + k * stride + (misalignment * (k + 1)) % 64);
      voids.push_back(pointers.back());
    }
    out = begin + operand_count * stride + misalignment % 64;
  }
};

enum class Where { kApart, kOnFirst, kOnLast };

struct Case {
  DataType type;
  ReduceOp op;
  int operand_count;
  std::size_t count;
  std::size_t misalignment;
  Where where;
  Stores stores;
  Isa isa;

  std::string ToString() const {
    return std::string(Name(type)) + " " + std::string(Name(op)) + " operands " +
           std::to_string(operand_count) + " count " + std::to_string(count) + " misaligned " +
           std::to_string(misalignment) + " where " + std::to_string(static_cast<int>(where)) + " stores " +
           std::to_string(static_cast<int>(stores)) + " " + Name(isa);
  }
};

// Folds and compares with the reference; also that nothing beside the output changed.
template <typename E>
void Check(const Case& c) {
  const std::size_t size = sizeof(typename E::Storage);
  const std::size_t bytes = c.count * size;
  Operands data(c.operand_count, bytes, c.misalignment);
  std::uint64_t state = c.count * 1000 + c.operand_count;
  for (const unsigned char* p : data.pointers) Randomise<E>(const_cast<unsigned char*>(p), c.count, state);
  std::vector<typename E::Storage> expected;
  for (std::size_t i = 0; i < c.count; ++i) expected.push_back(Reference<E>(data.pointers, i, c.op));
  if (c.where == Where::kOnFirst) data.out = const_cast<unsigned char*>(data.pointers.front());
  if (c.where == Where::kOnLast) data.out = const_cast<unsigned char*>(data.pointers.back());
  const Bytes before = data.memory;
  GetFoldVariant(c.type, c.op, c.isa)(data.out, data.voids.data(), c.operand_count, c.count, c.stores);
  for (std::size_t i = 0; i < c.count; ++i) {
    ASSERT_TRUE(Same<E>(Read<E>(data.out, i), expected[i])) << c.ToString() << " element " << i;
  }
  const auto start = static_cast<std::size_t>(data.out - data.memory.data());
  ASSERT_EQ(std::memcmp(before.data(), data.memory.data(), start), 0) << c.ToString();
  ASSERT_EQ(std::memcmp(before.data() + start + bytes, data.out + bytes, before.size() - start - bytes), 0)
      << c.ToString();
}

using TypeAndOp = std::tuple<int, int>;

class FoldAll : public testing::TestWithParam<TypeAndOp> {
 protected:
  DataType type() const { return static_cast<DataType>(std::get<0>(GetParam())); }
  ReduceOp op() const { return static_cast<ReduceOp>(std::get<1>(GetParam())); }
  static std::vector<Isa> Isas() {
    std::vector<Isa> isas;
    for (int isa = 0; isa < kIsas; ++isa) {
      if (GetFoldVariant(DataType::kInt8, ReduceOp::kSum, static_cast<Isa>(isa))) {
        isas.push_back(static_cast<Isa>(isa));
      }
    }
    return isas;
  }
};

TEST_P(FoldAll, EqualsReference) {
  for (const Isa isa : Isas()) {
    for (const int operand_count : kOperandCounts) {
      for (const std::size_t count : kCounts) {
        for (const std::size_t misalignment : {0, 1, 4, 24}) {
          for (const Where where : {Where::kApart, Where::kOnFirst, Where::kOnLast}) {
            const Stores stores = (count + misalignment) % 3 == 0 ? Stores::kNonTemporal : Stores::kCached;
            const Case c{type(), op(), operand_count, count, misalignment, where, stores, isa};
            WithElement(type(), [&](auto element) { Check<decltype(element)>(c); });
            if (HasFatalFailure()) return;
          }
        }
      }
    }
  }
}

// Every pair of 8-bit and, in rows, every 16-bit code against a sample, in every variant.
TEST_P(FoldAll, EveryCodeOfSmallTypes) {
  if (SizeOf(type()) > 2) GTEST_SKIP();
  WithElement(type(), [&](auto element) {
    using E = decltype(element);
    using T = typename E::Storage;
    const std::size_t codes = sizeof(T) == 1 ? 256 : 65536;
    std::vector<T> all(codes), other(codes), out(codes);
    for (std::size_t i = 0; i < codes; ++i) all[i] = static_cast<T>(i);
    for (const Isa isa : Isas()) {
      for (std::size_t row = 0; row < codes; row += codes / 256 + (codes > 256 ? 37 : 0)) {
        std::fill(other.begin(), other.end(), static_cast<T>(row));
        const void* operands[2] = {all.data(), other.data()};
        GetFoldVariant(type(), op(), isa)(out.data(), operands, 2, codes, Stores::kCached);
        const std::vector<const unsigned char*> bytes = {
            reinterpret_cast<const unsigned char*>(all.data()),
            reinterpret_cast<const unsigned char*>(other.data())};
        for (std::size_t i = 0; i < codes; ++i) {
          ASSERT_TRUE(Same<E>(out[i], Reference<E>(bytes, i, op())))
              << Name(isa) << " " << i << " and " << row;
        }
      }
    }
  });
}

INSTANTIATE_TEST_SUITE_P(Fold, FoldAll,
                         testing::Combine(testing::Range(0, kDataTypes), testing::Range(0, kReduceOps)),
                         [](const auto& info) {
                           return std::string(Name(static_cast<DataType>(std::get<0>(info.param)))) + "_" +
                                  std::string(Name(static_cast<ReduceOp>(std::get<1>(info.param))));
                         });

}  // namespace
}  // namespace tutti
