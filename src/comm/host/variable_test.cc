// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "tutti/variable.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <numeric>
#include <random>
#include <span>
#include <string>
#include <vector>

#include "tests/support/ranks.h"

namespace tutti {
namespace {

using Counts = std::vector<std::size_t>;
using tests::RunRanks;

std::size_t SumOf(const Counts& counts) { return std::accumulate(counts.begin(), counts.end(), std::size_t{0}); }

// counts[from][to], some of them 0, one longer than a message's pages.
std::vector<Counts> Matrix(int ranks, unsigned seed) {
  std::mt19937 random(seed);
  std::vector<Counts> matrix(static_cast<std::size_t>(ranks));
  for (Counts& row : matrix) {
    for (int to = 0; to < ranks; ++to) row.push_back(random() % 3 == 0 ? 0 : random() % 1000);
  }
  matrix.back().front() = 300'001;
  return matrix;
}

// Which element of which rank's piece for which rank it is.
std::uint32_t Element(std::size_t from, std::size_t to, std::size_t index) {
  return static_cast<std::uint32_t>(from * 0x9e3779b1u + to * 0x85ebca77u + index);
}

class Variable : public testing::TestWithParam<int> {};

TEST_P(Variable, AllToAllV) {
  const auto check = [](Communicator& c) {
    const auto rank = static_cast<std::size_t>(c.rank()), ranks = static_cast<std::size_t>(c.ranks());
    for (unsigned seed = 0; seed < 4; ++seed) {
      const std::vector<Counts> matrix = Matrix(c.ranks(), seed);
      Counts out_counts;
      std::vector<std::uint32_t> in, expected;
      for (std::size_t peer = 0; peer < ranks; ++peer) {
        out_counts.push_back(matrix[peer][rank]);
        for (std::size_t i = 0; i < matrix[rank][peer]; ++i) in.push_back(Element(rank, peer, i));
        for (std::size_t i = 0; i < matrix[peer][rank]; ++i) expected.push_back(Element(peer, rank, i));
      }
      std::vector<std::uint32_t> out(expected.size());
      const Result<std::vector<Operation>> group = AllToAllV(in, matrix[rank], out, out_counts);
      if (!group.ok()) return group.status();
      TUTTI_RETURN_IF_ERROR(c.RunGroup(*group));
      if (out != expected) return Status(Code::kInternal, "wrong data");
    }
    return Status::Ok();
  };
  EXPECT_EQ(RunRanks(GetParam(), {}, check), "");
}

TEST_P(Variable, AllGatherV) {
  const auto check = [](Communicator& c) {
    const auto rank = static_cast<std::size_t>(c.rank()), ranks = static_cast<std::size_t>(c.ranks());
    for (unsigned seed = 0; seed < 4; ++seed) {
      const Counts counts = Matrix(c.ranks(), seed).back();
      std::vector<std::uint32_t> expected;
      std::size_t begin = 0;
      for (std::size_t peer = 0; peer < ranks; ++peer) {
        if (peer == rank) begin = expected.size();
        for (std::size_t i = 0; i < counts[peer]; ++i) expected.push_back(Element(peer, 0, i));
      }
      const std::vector<std::uint32_t> in(expected.begin() + static_cast<std::ptrdiff_t>(begin),
                                          expected.begin() + static_cast<std::ptrdiff_t>(begin + counts[rank]));
      std::vector<std::uint32_t> out(SumOf(counts));
      Result<std::vector<Operation>> group = AllGatherV(in, out, counts, c.rank());
      if (!group.ok()) return group.status();
      TUTTI_RETURN_IF_ERROR(c.RunGroup(*group));
      if (out != expected) return Status(Code::kInternal, "wrong data");
      // In place.
      std::ranges::fill(out, 0u);
      const std::span<std::uint32_t> own = std::span(out).subspan(begin, counts[rank]);
      std::ranges::copy(in, own.begin());
      group = AllGatherV(own, out, counts, c.rank());
      if (!group.ok()) return group.status();
      TUTTI_RETURN_IF_ERROR(c.RunGroup(*group));
      if (out != expected) return Status(Code::kInternal, "wrong data in place");
    }
    return Status::Ok();
  };
  EXPECT_EQ(RunRanks(GetParam(), {}, check), "");
}
INSTANTIATE_TEST_SUITE_P(Ranks, Variable, testing::Values(1, 2, 3, 5, 8));

std::string ErrorOf(const Result<std::vector<Operation>>& group) { return group.ok() ? "" : group.status().message(); }

TEST(VariableErrors, SayWhatIsWrong) {
  std::vector<float> in(10), out(10);
  const Counts ten = {4, 6}, nine = {4, 5}, one = {10}, huge = {~std::size_t{0}, 11};
  EXPECT_EQ(ErrorOf(AllToAllV(in, nine, out, ten)),
            "AllToAllV: the counts of the input make 9 elements, and it has 10");
  EXPECT_EQ(ErrorOf(AllToAllV(in, ten, out, nine)),
            "AllToAllV: the counts of the output make 9 elements, and it has 10");
  EXPECT_EQ(ErrorOf(AllToAllV(in, huge, out, ten)), "AllToAllV: the counts of the input overflow");
  EXPECT_EQ(ErrorOf(AllToAllV(in, ten, out, one)),
            "AllToAllV: there are counts for 2 pieces of the input and for 1 of the output; give one for each rank");
  EXPECT_EQ(ErrorOf(AllGatherV(in, out, ten, 2)),
            "AllGatherV: rank 2 has none of the 2 counts; give one for each rank");
  EXPECT_EQ(ErrorOf(AllGatherV(in, out, ten, 1)), "AllGatherV: the counts of the input make 6 elements, and it has 10");
}

// Who sends less than its peer awaits may be done with it before that notices.
TEST(VariableErrors, TheReceiverOfAnotherLengthSaysSo) {
  const std::string said = RunRanks(2, {}, [](Communicator& c) {
    const Counts even = {5, 5}, odd = {4, 5};
    const std::vector<float> in(c.rank() == 0 ? 10 : 9);
    std::vector<float> out(10);
    const Result<std::vector<Operation>> group = AllToAllV(in, c.rank() == 0 ? even : odd, out, even);
    const Status status = c.RunGroup(*group);
    if (c.rank() == 1) return Status::Ok();
    EXPECT_FALSE(status.ok());
    EXPECT_NE(status.message().find("count 4"), std::string::npos) << status.message();
    return Status::Ok();
  });
  EXPECT_EQ(said, "");
}

}  // namespace
}  // namespace tutti
