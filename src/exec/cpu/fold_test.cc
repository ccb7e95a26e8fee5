// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "exec/cpu/fold.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <limits>
#include <string>
#include <tuple>
#include <type_traits>
#include <vector>

#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

#include "exec/cpu/fold_reference.h"

namespace tutti {
namespace {

using Bytes = std::vector<unsigned char>;

constexpr std::size_t kCounts[] = {0, 1, 2, 3, 7, 15, 16, 17, 31, 63, 64, 65, 100, 1000, 4099};
constexpr int kOperandCounts[] = {1, 2, 3, 4, 5, 8, 17};

std::uint64_t Next(std::uint64_t& state) {
  state += 0x9e3779b97f4a7c15;
  std::uint64_t x = state;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
  x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
  return x ^ (x >> 31);
}

template <typename E>
typename E::Storage FromSmall(float small) {
  if constexpr (std::is_integral_v<typename E::Wide>) {
    return static_cast<typename E::Storage>(static_cast<int>(small));
  } else {
    return E::Narrow(small);
  }
}

// Random bits: subnormals, infinities and NaNs with their natural frequency; and every fourth element one of
// a few small numbers, so that sums round, tie and cancel and zeros of both signs meet.
template <typename E>
void Randomise(unsigned char* p, std::size_t count, std::uint64_t& state) {
  constexpr float kSmall[] = {0.0f, -0.0f, 1.0f, -1.0f, 0.5f, 1.5f, 3.0f, -2.0f, 448.0f, 1024.0f, 0.001953125f, -7.0f};
  for (std::size_t i = 0; i < count; ++i) {
    const std::uint64_t random = Next(state);
    const std::uint64_t words[2] = {random, Next(state)};
    typename E::Storage x;
    std::memcpy(&x, words, sizeof(x));
    if (random >> 62 == 0) {
      x = FromSmall<E>(kSmall[(random >> 32) % std::size(kSmall)]);
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
    return std::string(Name(type)) + " " + std::string(Name(op)) + " operands " + std::to_string(operand_count) +
           " count " + std::to_string(count) + " misaligned " + std::to_string(misalignment) + " where " +
           std::to_string(static_cast<int>(where)) + " stores " + std::to_string(static_cast<int>(stores)) + " " +
           Name(isa);
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

std::vector<Isa> Isas() {
  std::vector<Isa> isas;
  for (int i = 0; i < kIsas; ++i) {
    const auto isa = static_cast<Isa>(i);
    if (GetFoldVariant(DataType::kInt8, ReduceOp::kSum, isa)) isas.push_back(isa);
  }
  return isas;
}

class FoldAll : public testing::TestWithParam<std::tuple<int, int>> {
 protected:
  DataType type() const { return static_cast<DataType>(std::get<0>(GetParam())); }
  ReduceOp op() const { return static_cast<ReduceOp>(std::get<1>(GetParam())); }
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

// The operators with functions of their own: averages and scaled sums fold as sums do.
class FoldDistinct : public FoldAll {};
class FoldSmall : public FoldAll {};    // of them, those of element types of at most 2 bytes
class FoldExtreme : public FoldAll {};  // of them, maximum and minimum

// Every pair of 8-bit and, in rows, every 16-bit code against a sample, in every variant.
TEST_P(FoldSmall, EveryCode) {
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
        const std::vector<const unsigned char*> bytes = {reinterpret_cast<const unsigned char*>(all.data()),
                                                         reinterpret_cast<const unsigned char*>(other.data())};
        for (std::size_t i = 0; i < codes; ++i) {
          ASSERT_TRUE(Same<E>(out[i], Reference<E>(bytes, i, op()))) << Name(isa) << " " << i << " and " << row;
        }
      }
    }
  });
}

// Past the size where the kernels begin to prefetch, and with heads and tails around aligned streams.
TEST_P(FoldDistinct, LargeArraysEqualReference) {
  auto check = [&](Isa isa, int operand_count, std::size_t bytes, Stores stores) {
    const std::size_t count = bytes / SizeOf(type());
    const std::size_t misalignment = 8 * static_cast<std::size_t>(operand_count) + SizeOf(type());
    const Case c{type(), op(), operand_count, count, misalignment, Where::kOnLast, stores, isa};
    WithElement(type(), [&](auto element) { Check<decltype(element)>(c); });
  };
  for (const Isa isa : Isas()) {
    check(isa, 2, 712'344, Stores::kCached);
    check(isa, 17, 120'008, Stores::kCached);
    for (const int operand_count : {1, 2, 3, 5}) check(isa, operand_count, 10'008, Stores::kNonTemporal);
    if (HasFatalFailure()) return;
  }
}

// Bit for bit, NaN payloads included where they are defined.
TEST_P(FoldExtreme, DoesNotDependOnTheOrder) {
  WithElement(type(), [&](auto element) {
    using E = decltype(element);
    const std::size_t bytes = 1000 * sizeof(typename E::Storage);
    Operands data(5, bytes, 0);
    std::uint64_t state = 1;
    for (const unsigned char* p : data.pointers) Randomise<E>(const_cast<unsigned char*>(p), 1000, state);
    GetFoldVariant(type(), op(), Isa::kBaseline)(data.out, data.voids.data(), 5, 1000, Stores::kCached);
    const Bytes forward(data.out, data.out + bytes);
    std::reverse(data.voids.begin(), data.voids.end());
    for (const Isa isa : Isas()) {
      GetFoldVariant(type(), op(), isa)(data.out, data.voids.data(), 5, 1000, Stores::kCached);
      EXPECT_EQ(std::memcmp(data.out, forward.data(), bytes), 0) << Name(isa);
    }
  });
}

std::string NameOfCase(const testing::TestParamInfo<std::tuple<int, int>>& info) {
  return std::string(Name(static_cast<DataType>(std::get<0>(info.param)))) + "_" +
         std::string(Name(static_cast<ReduceOp>(std::get<1>(info.param))));
}

// Types and operators.
std::vector<std::tuple<int, int>> Cases(bool (*wanted)(DataType, ReduceOp)) {
  std::vector<std::tuple<int, int>> cases;
  for (int t = 0; t < kDataTypes; ++t) {
    for (int o = 0; o < kReduceOps; ++o) {
      const auto type = static_cast<DataType>(t);
      const auto op = static_cast<ReduceOp>(o);
      if (Defined(op, type) && wanted(type, op)) cases.emplace_back(t, o);
    }
  }
  return cases;
}
bool IsAny(DataType, ReduceOp) { return true; }
bool IsDistinct(DataType, ReduceOp op) { return op != ReduceOp::kAvg && op != ReduceOp::kPreMulSum; }
bool IsSmall(DataType type, ReduceOp op) { return SizeOf(type) <= 2 && IsDistinct(type, op); }
bool IsExtreme(DataType, ReduceOp op) { return op == ReduceOp::kMax || op == ReduceOp::kMin; }

INSTANTIATE_TEST_SUITE_P(Fold, FoldAll, testing::ValuesIn(Cases(IsAny)), NameOfCase);
INSTANTIATE_TEST_SUITE_P(Fold, FoldDistinct, testing::ValuesIn(Cases(IsDistinct)), NameOfCase);
INSTANTIATE_TEST_SUITE_P(Fold, FoldSmall, testing::ValuesIn(Cases(IsSmall)), NameOfCase);
INSTANTIATE_TEST_SUITE_P(Fold, FoldExtreme, testing::ValuesIn(Cases(IsExtreme)), NameOfCase);

class ForType : public testing::TestWithParam<int> {
 protected:
  DataType type() const { return static_cast<DataType>(GetParam()); }
};

TEST_P(ForType, ScaleEqualsReference) {
  WithElement(type(), [&](auto element) {
    using E = decltype(element);
    using T = typename E::Storage;
    for (const double scalar : {0.0, 1.0, 2.0, 3.0, 0.5, 1.0 / 3, 1.0 / 1024, -1.0, -2.75, 200.0}) {
      for (const std::size_t count : kCounts) {
        Operands data(1, count * sizeof(T), count % 7);
        std::uint64_t state = count;
        Randomise<E>(const_cast<unsigned char*>(data.pointers[0]), count, state);
        std::vector<T> expected;
        for (std::size_t i = 0; i < count; ++i) {
          const auto x = E::Widen(Read<E>(data.pointers[0], i));
          if constexpr (std::is_integral_v<typename E::Wide>) {
            const auto factor = static_cast<std::uint64_t>(static_cast<std::int64_t>(scalar));
            expected.push_back(static_cast<T>(static_cast<std::uint64_t>(x) * factor));
          } else {
            using Factor =
                std::conditional_t<sizeof(x) == 16 || std::is_same_v<typename E::Wide, double>, double, float>;
            expected.push_back(E::Narrow(x * static_cast<Factor>(scalar)));
          }
        }
        for (const Isa isa : Isas()) {
          ASSERT_TRUE(ScaleVariant(data.out, data.voids[0], count, type(), scalar, isa));
          for (std::size_t i = 0; i < count; ++i) {
            ASSERT_TRUE(Same<E>(Read<E>(data.out, i), expected[i])) << Name(isa) << " " << scalar << " " << i;
          }
        }
        void* in_place = const_cast<void*>(data.voids[0]);
        Scale(in_place, in_place, count, type(), scalar);
        for (std::size_t i = 0; i < count; ++i) {
          ASSERT_TRUE(Same<E>(Read<E>(data.pointers[0], i), expected[i])) << "in place " << scalar << " " << i;
        }
      }
    }
  });
}

class ForInteger : public ForType {};

TEST_P(ForInteger, DivideEqualsReference) {
  WithElement(type(), [&](auto element) {
    using T = typename decltype(element)::Storage;
    if constexpr (std::is_integral_v<T>) {
      std::uint64_t state = 1;
      std::vector<T> values;
      for (std::uint64_t x = 0; x < 300; ++x) {
        for (const std::uint64_t base : {std::uint64_t{0}, std::uint64_t{1} << 31, std::uint64_t{1} << 63}) {
          values.push_back(static_cast<T>(base + x));
          values.push_back(static_cast<T>(base - x));
        }
        values.push_back(static_cast<T>(Next(state)));
      }
      for (const int divisor :
           {1, 2, 3, 5, 7, 8, 10, 127, 128, 129, 255, 256, 257, 641, 1000, 1024, 65535, 1 << 30, 2147483647}) {
        std::vector<unsigned char> bytes(values.size() * sizeof(T) + 1);
        std::memcpy(bytes.data() + 1, values.data(), values.size() * sizeof(T));
        DivideIntegers(bytes.data() + 1, values.size(), type(), divisor);
        for (std::size_t i = 0; i < values.size(); ++i) {
          T got;
          std::memcpy(&got, bytes.data() + 1 + i * sizeof(T), sizeof(T));
          using Wide = std::conditional_t<std::is_signed_v<T>, std::int64_t, std::uint64_t>;
          const auto expected = static_cast<T>(static_cast<Wide>(values[i]) / static_cast<Wide>(divisor));
          ASSERT_EQ(got, expected) << +values[i] << " / " << divisor;
        }
      }
    }
  });
}

std::string NameOfType(const testing::TestParamInfo<int>& info) {
  return std::string(Name(static_cast<DataType>(info.param)));
}
std::vector<int> Types(bool (*wanted)(DataType)) {
  std::vector<int> types;
  for (int t = 0; t < kDataTypes; ++t) {
    if (wanted(static_cast<DataType>(t))) types.push_back(t);
  }
  return types;
}
INSTANTIATE_TEST_SUITE_P(Fold, ForType, testing::ValuesIn(Types([](DataType type) { return type != DataType::kBool; })),
                         NameOfType);
INSTANTIATE_TEST_SUITE_P(Fold, ForInteger, testing::ValuesIn(Types(IsInteger)), NameOfType);

TEST(Copies, AnyAlignmentAndLength) {
  Bytes from(9000), to(9000);
  std::uint64_t state = 1;
  for (unsigned char& byte : from) byte = static_cast<unsigned char>(Next(state));
  for (const std::size_t bytes : {0, 1, 7, 63, 64, 65, 255, 256, 257, 319, 1000, 4096, 8191}) {
    for (const std::size_t to_offset : {0, 1, 17, 63, 64}) {
      for (const std::size_t from_offset : {0, 3, 64}) {
        Bytes expected(to.size(), 0xaa);
        std::memcpy(expected.data() + to_offset, from.data() + from_offset, bytes);
        std::fill(to.begin(), to.end(), static_cast<unsigned char>(0xaa));
        CopyBytesStreaming(to.data() + to_offset, from.data() + from_offset, bytes);
        ASSERT_EQ(to, expected);
        std::fill(to.begin(), to.end(), static_cast<unsigned char>(0xaa));
        CopyBytes(to.data() + to_offset, from.data() + from_offset, bytes);
        ASSERT_EQ(to, expected);
        std::fill(to.begin(), to.end(), static_cast<unsigned char>(0xaa));
        CopyBytesByVectors(to.data() + to_offset, from.data() + from_offset, bytes);
        ASSERT_EQ(to, expected);
      }
    }
  }
  const Bytes before = from;
  CopyBytes(from.data(), from.data(), from.size());
  CopyBytesStreaming(from.data(), from.data(), from.size());
  EXPECT_EQ(from, before);
}

}  // namespace
}  // namespace tutti
