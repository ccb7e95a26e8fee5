// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "tools/perf_check.h"

#include <gtest/gtest.h>

#include <cstring>
#include <vector>

#include "tools/perf_buffers.h"
#include "tools/verify_data.h"

// The checker against results computed here by the definition of each operation, and against planted faults.

namespace tutti::tools {
namespace {

constexpr std::uint64_t kSeed = 7;
constexpr std::size_t kCount = 100;

using Bytes = std::vector<std::byte>;

// A rank's two buffers.
struct Ends {
  explicit Ends(const Work& work) : first(work.bytes() + kGuardBytes), second(work.bytes() + kGuardBytes) {}
  Bytes first, second;
};

std::vector<Work> AllRanks(Collective collective, int ranks, int root) {
  std::vector<Work> works;
  for (int rank = 0; rank < ranks; ++rank) {
    works.push_back({.collective = collective, .root = root, .rank = rank, .ranks = ranks, .count = kCount});
  }
  return works;
}

// The sum of everybody's elements [first, first + count).
Bytes Reduced(const Work& work, const std::vector<Bytes>& inputs, std::size_t first, std::size_t count) {
  std::vector<float> sums(count);
  for (const Bytes& input : inputs) {
    for (std::size_t i = 0; i < count; ++i) {
      float value = 0;
      std::memcpy(&value, input.data() + (first + i) * sizeof(float), sizeof(float));
      sums[i] += value;
    }
  }
  Bytes bytes(count * SizeOf(work.type));
  std::memcpy(bytes.data(), sums.data(), bytes.size());
  return bytes;
}

Bytes Part(const Bytes& whole, int part) {
  const std::size_t bytes = kCount * sizeof(float);
  return {whole.begin() + static_cast<std::ptrdiff_t>(part * bytes),
          whole.begin() + static_cast<std::ptrdiff_t>((part + 1) * bytes)};
}

// What rank `work.rank` gets.
Bytes ResultOf(const Work& work, const std::vector<Bytes>& inputs) {
  Bytes result;
  const auto rank = static_cast<std::size_t>(work.rank);
  switch (work.collective) {
    case Collective::kAllReduce:
    case Collective::kReduce:
      return Reduced(work, inputs, 0, kCount);
    case Collective::kReduceScatter:
      return Reduced(work, inputs, rank * kCount, kCount);
    case Collective::kBroadcast:
      return inputs[static_cast<std::size_t>(work.root)];
    case Collective::kScatter:
      return Part(inputs[static_cast<std::size_t>(work.root)], work.rank);
    case Collective::kSendRecv:
      return inputs[(rank + inputs.size() - 1) % inputs.size()];
    default:
      for (const Bytes& input : inputs) {
        const Bytes part = work.collective == Collective::kAllToAll ? Part(input, work.rank) : input;
        result.insert(result.end(), part.begin(), part.end());
      }
      return result;
  }
}

// Fills every rank's buffers, then puts the right results into the outputs.
std::vector<Ends> RunCorrectly(const std::vector<Work>& works, Placement placement) {
  std::vector<Ends> ends;
  std::vector<Bytes> inputs;
  for (const Work& work : works) {
    Ends& mine = ends.emplace_back(work);
    FillBuffers(work, placement, mine.first.data(), mine.second.data(), kSeed);
    const std::byte* in = PlaceOf(work, placement, mine.first.data(), mine.second.data()).in;
    inputs.emplace_back(in, in + work.in_count() * SizeOf(work.type));
  }
  for (const Work& work : works) {
    if (!work.uses_out()) continue;
    Ends& mine = ends[static_cast<std::size_t>(work.rank)];
    const Bytes result = ResultOf(work, inputs);
    std::memcpy(PlaceOf(work, placement, mine.first.data(), mine.second.data()).out, result.data(), result.size());
  }
  return ends;
}

class CheckerTest : public testing::TestWithParam<Collective> {
 protected:
  std::size_t Wrong(const Work& work, Placement placement, const Ends& ends) {
    return checker_.CountWrong(work, placement, ends.first.data(), ends.second.data(), kSeed);
  }
  Checker checker_;
};

TEST_P(CheckerTest, AcceptsWhatIsRight) {
  for (int ranks : {1, 2, 3}) {
    for (Placement placement : {Placement::kOutOfPlace, Placement::kInPlace}) {
      if (placement == Placement::kInPlace && !HasInPlace(GetParam())) continue;
      const std::vector<Work> works = AllRanks(GetParam(), ranks, ranks - 1);
      const std::vector<Ends> ends = RunCorrectly(works, placement);
      for (const Work& work : works) {
        EXPECT_EQ(Wrong(work, placement, ends[static_cast<std::size_t>(work.rank)]), 0u)
            << ranks << " ranks, rank " << work.rank << (placement == Placement::kInPlace ? " in place" : "");
      }
    }
  }
}

// Canary: each planted fault must be found.
TEST_P(CheckerTest, FindsFaults) {
  const std::vector<Work> works = AllRanks(GetParam(), 3, 1);
  const std::vector<Ends> ends = RunCorrectly(works, Placement::kOutOfPlace);
  for (const Work& work : works) {
    const Ends& right = ends[static_cast<std::size_t>(work.rank)];
    const std::size_t out_bytes = work.out_count() * SizeOf(work.type);
    if (work.uses_out()) {
      Ends bent = right;
      bent.second[out_bytes - 1] ^= std::byte{1};
      bent.second[0] ^= std::byte{0x80};
      EXPECT_EQ(Wrong(work, Placement::kOutOfPlace, bent), 2u) << "output, rank " << work.rank;
      Ends idle = right;
      FillBuffers(work, Placement::kOutOfPlace, idle.first.data(), idle.second.data(), kSeed);
      EXPECT_EQ(Wrong(work, Placement::kOutOfPlace, idle), work.out_count()) << "nothing written, rank " << work.rank;
    }
    if (work.uses_in()) {
      Ends bent = right;
      bent.first[5] ^= std::byte{1};
      EXPECT_EQ(Wrong(work, Placement::kOutOfPlace, bent), 1u) << "input changed, rank " << work.rank;
    }
    Ends overrun = right;
    overrun.second[out_bytes] = std::byte{0};
    EXPECT_EQ(Wrong(work, Placement::kOutOfPlace, overrun), 1u) << "written behind the end, rank " << work.rank;
  }
}

INSTANTIATE_TEST_SUITE_P(Collectives, CheckerTest,
                         testing::Values(Collective::kAllReduce, Collective::kAllGather, Collective::kReduceScatter,
                                         Collective::kBroadcast, Collective::kReduce, Collective::kGather,
                                         Collective::kScatter, Collective::kAllToAll, Collective::kSendRecv),
                         [](const auto& info) { return std::string(Name(info.param)); });

TEST(OperationsOf, UsesNullWhereARankHasNoBuffer) {
  Work work{.collective = Collective::kReduce, .root = 1, .rank = 0, .ranks = 2, .count = 4};
  Bytes bytes(64);
  const Place place{bytes.data(), bytes.data() + 32};
  EXPECT_EQ(OperationsOf(work, place)[0].out, nullptr);
  work.rank = 1;
  EXPECT_EQ(OperationsOf(work, place)[0].out, place.out);
  work.collective = Collective::kScatter;
  work.root = 0;
  EXPECT_EQ(OperationsOf(work, place)[0].in, nullptr);
}

TEST(OperationsOf, SendsToTheNextAndReceivesFromThePrevious) {
  const Work work{.collective = Collective::kSendRecv, .rank = 0, .ranks = 3, .count = 4};
  Bytes bytes(64);
  const std::vector<Operation> operations = OperationsOf(work, {bytes.data(), bytes.data() + 32});
  ASSERT_EQ(operations.size(), 2u);
  EXPECT_EQ(operations[0].kind, Collective::kSend);
  EXPECT_EQ(operations[0].root, 1);
  EXPECT_EQ(operations[1].kind, Collective::kRecv);
  EXPECT_EQ(operations[1].root, 2);
}

}  // namespace
}  // namespace tutti::tools
