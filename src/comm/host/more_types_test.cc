// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
// Element types and operators that NCCL does not have: every defined pair by several algorithms, against numbers that are exact.
#include <gtest/gtest.h>

#include <complex>
#include <cstdint>
#include <functional>
#include <memory>
#include <random>
#include <span>
#include <string>
#include <vector>

#include "comm/host/validate.h"
#include "tests/support/ranks.h"
#include "tutti/communicator.h"

namespace tutti {
namespace {

using tests::RunRanks;

template <typename T>
using Combine = std::function<T(T, T)>;

// Small numbers, so that products stay exact in float.
template <typename T>
T Value(std::mt19937& random) {
  const int small = static_cast<int>(random() % 3) + 1;
  if constexpr (std::is_same_v<T, bool>) {
    return small == 1;
  } else if constexpr (std::is_integral_v<T>) {
    return static_cast<T>(random());
  } else {
    return T(static_cast<typename T::value_type>(small), static_cast<typename T::value_type>(small % 2));
  }
}

// std::vector<bool> has no elements that could be sent.
template <typename T>
struct Elements {
  explicit Elements(std::size_t count) : memory(new T[count + 1]()), size(count) {}
  std::span<T> span() { return {memory.get(), size}; }
  std::unique_ptr<T[]> memory;
  std::size_t size;
};

template <typename T>
Status Compare(std::span<const T> got, std::span<const T> expected, const std::string& what) {
  for (std::size_t i = 0; i < expected.size(); ++i) {
    if (got[i] != expected[i]) return Status(Code::kInternal, what + ": element " + std::to_string(i) + " is wrong");
  }
  return Status::Ok();
}

template <typename T>
Status CheckOne(Communicator& c, ReduceOp op, const Combine<T>& combine, std::size_t count) {
  const auto ranks = static_cast<std::size_t>(c.ranks()), rank = static_cast<std::size_t>(c.rank());
  const std::string what = std::string(Name(DataTypeOf<T>::value)) + " " + std::string(Name(op));
  std::vector<Elements<T>> inputs;
  for (std::size_t r = 0; r < ranks; ++r) {
    std::mt19937 random(static_cast<unsigned>(r * 100 + count));
    inputs.emplace_back(count * ranks);
    for (T& x : inputs.back().span()) x = Value<T>(random);
  }
  Elements<T> folded(count * ranks);
  for (std::size_t i = 0; i < folded.size; ++i) {
    T value = inputs[0].memory[i];
    for (std::size_t r = 1; r < ranks; ++r) value = combine(value, inputs[r].memory[i]);
    folded.memory[i] = value;
  }
  const std::span<const T> all(folded.span());
  Elements<T> out(count * ranks);
  TUTTI_RETURN_IF_ERROR(c.Run(AllReduce(inputs[rank].span(), out.span(), op)));
  TUTTI_RETURN_IF_ERROR(Compare<T>(out.span(), all, "all_reduce of " + what));
  Elements<T> piece(count);
  TUTTI_RETURN_IF_ERROR(c.Run(ReduceScatter(inputs[rank].span(), piece.span(), op)));
  TUTTI_RETURN_IF_ERROR(Compare<T>(piece.span(), all.subspan(rank * count, count), "reduce_scatter of " + what));
  // In place, and what is gathered are the pieces.
  TUTTI_RETURN_IF_ERROR(c.Run(AllGather(piece.span(), out.span())));
  TUTTI_RETURN_IF_ERROR(Compare<T>(out.span(), all, "all_gather of " + what));
  const std::span<T> own = inputs[rank].span();
  TUTTI_RETURN_IF_ERROR(c.Run(AllReduce(own, own, op)));
  return Compare<T>(own, all, "all_reduce in place of " + what);
}

template <typename T>
Status CheckOperators(Communicator& c, const std::vector<std::pair<ReduceOp, Combine<T>>>& operators) {
  for (const auto& [op, combine] : operators) {
    for (const std::size_t count : {std::size_t{0}, std::size_t{1}, std::size_t{33}, std::size_t{5001}}) {
      TUTTI_RETURN_IF_ERROR(CheckOne<T>(c, op, combine, count));
    }
  }
  return Status::Ok();
}

template <typename T>
std::vector<std::pair<ReduceOp, Combine<T>>> Bitwise() {
  return {{ReduceOp::kAnd, [](T a, T b) { return static_cast<T>(a & b); }},
          {ReduceOp::kOr, [](T a, T b) { return static_cast<T>(a | b); }},
          {ReduceOp::kXor, [](T a, T b) { return static_cast<T>(a ^ b); }}};
}

template <typename T>
std::vector<std::pair<ReduceOp, Combine<T>>> OfIntegers() {
  auto operators = Bitwise<T>();
  operators.emplace_back(ReduceOp::kSum, [](T a, T b) { return static_cast<T>(a + b); });
  operators.emplace_back(ReduceOp::kProd, [](T a, T b) {
    return static_cast<T>(static_cast<std::uint64_t>(a) * static_cast<std::uint64_t>(b));
  });
  operators.emplace_back(ReduceOp::kMax, [](T a, T b) { return std::max(a, b); });
  operators.emplace_back(ReduceOp::kMin, [](T a, T b) { return std::min(a, b); });
  return operators;
}

template <typename T>
std::vector<std::pair<ReduceOp, Combine<T>>> OfComplex() {
  return {{ReduceOp::kSum, [](T a, T b) { return a + b; }}, {ReduceOp::kProd, [](T a, T b) { return a * b; }}};
}

std::vector<std::pair<ReduceOp, Combine<bool>>> OfBool() {
  auto operators = Bitwise<bool>();
  const Combine<bool> either = [](bool a, bool b) { return a || b; }, both = [](bool a, bool b) { return a && b; };
  operators.emplace_back(ReduceOp::kSum, either);
  operators.emplace_back(ReduceOp::kMax, either);
  operators.emplace_back(ReduceOp::kProd, both);
  operators.emplace_back(ReduceOp::kMin, both);
  return operators;
}

class MoreTypes : public testing::TestWithParam<int> {};

TEST_P(MoreTypes, AllThatIsDefined) {
  for (const char* algorithm : {"", "ring", "one_shot"}) {
    SCOPED_TRACE(algorithm);
    Settings settings;
    settings.algo = algorithm;
    ASSERT_EQ(
        RunRanks(GetParam(), settings,
                 [](Communicator& c) {
                   TUTTI_RETURN_IF_ERROR(CheckOperators<bool>(c, OfBool()));
                   TUTTI_RETURN_IF_ERROR(CheckOperators<std::int16_t>(c, OfIntegers<std::int16_t>()));
                   TUTTI_RETURN_IF_ERROR(CheckOperators<std::uint16_t>(c, OfIntegers<std::uint16_t>()));
                   TUTTI_RETURN_IF_ERROR(CheckOperators<std::complex<float>>(c, OfComplex<std::complex<float>>()));
                   TUTTI_RETURN_IF_ERROR(CheckOperators<std::complex<double>>(c, OfComplex<std::complex<double>>()));
                   TUTTI_RETURN_IF_ERROR(CheckOperators<std::int8_t>(c, Bitwise<std::int8_t>()));
                   TUTTI_RETURN_IF_ERROR(CheckOperators<std::uint32_t>(c, Bitwise<std::uint32_t>()));
                   return CheckOperators<std::int64_t>(c, Bitwise<std::int64_t>());
                 }),
        "");
  }
}
INSTANTIATE_TEST_SUITE_P(Ranks, MoreTypes, testing::Values(1, 2, 3, 5));

TEST(MoreTypes, Averages) {
  ASSERT_EQ(RunRanks(3, {},
                     [](Communicator& c) {
                       std::int16_t shorts[2] = {static_cast<std::int16_t>(c.rank() * 3), -7};
                       TUTTI_RETURN_IF_ERROR(c.Run(AllReduce(std::span(shorts), std::span(shorts), ReduceOp::kAvg)));
                       std::complex<float> number(3.0f * static_cast<float>(c.rank()), 6);
                       const std::span<std::complex<float>> one(&number, 1);
                       TUTTI_RETURN_IF_ERROR(c.Run(AllReduce(one, one, ReduceOp::kAvg)));
                       const bool right =
                           shorts[0] == 3 && shorts[1] == -7 && std::abs(number - std::complex<float>(3, 6)) < 1e-5f;
                       return right ? Status::Ok() : Status(Code::kInternal, "an average is wrong");
                     }),
            "");
}

TEST(MoreTypes, WhatIsNotDefinedIsRefused) {
  ASSERT_EQ(
      RunRanks(1, {},
               [](Communicator& c) {
                 float number = 1;
                 const Status bits = c.Run(AllReduce(std::span(&number, 1), std::span(&number, 1), ReduceOp::kAnd));
                 EXPECT_EQ(bits.code(), Code::kInvalidArgument);
                 EXPECT_NE(bits.message().find("and is not defined for elements of type float"), std::string::npos)
                     << bits.message();
                 bool flag = true;
                 EXPECT_FALSE(c.Run(AllReduce(std::span(&flag, 1), std::span(&flag, 1), ReduceOp::kAvg)).ok());
                 std::complex<float> z = 1;
                 EXPECT_FALSE(c.Run(AllReduce(std::span(&z, 1), std::span(&z, 1), ReduceOp::kMax)).ok());
                 return Status::Ok();
               }),
      "");
}

TEST(ValidateForGpu, RefusesWhatGpusLack) {
  float data[4] = {};
  Operation o{.kind = Collective::kAllReduce, .in = data, .out = data, .count = 4, .type = DataType::kFloat32};
  EXPECT_TRUE(comm::ValidateForGpu(o, 0, 2).ok());
  o.type = DataType::kInt16;
  EXPECT_EQ(comm::ValidateForGpu(o, 0, 2).message(),
            "all_reduce on rank 0: GPUs have no elements of type int16; copy the data to host memory, or reduce "
            "another type");
  o.type = DataType::kInt32;
  o.op = ReduceOp::kXor;
  EXPECT_EQ(comm::ValidateForGpu(o, 0, 2).message(),
            "all_reduce on rank 0: GPUs have no reduction operator xor; copy the data to host memory, or reduce "
            "another type");
  o = {.kind = Collective::kSend, .in = data, .count = 1, .type = DataType::kComplex128, .root = 1};
  EXPECT_EQ(comm::ValidateForGpu(o, 0, 2).message(),
            "send on rank 0: GPUs have no elements of type complex128; copy the data to host memory, or move bytes");
}

}  // namespace
}  // namespace tutti
