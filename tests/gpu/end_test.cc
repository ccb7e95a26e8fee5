// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
// Calls on device memory that differ between the ranks in a way that lets all of them end: they are told of when the
// communicator ends, at the latest. The driver does nothing (tests/support/fake_cuda.cc), so every call ends.
#include <gtest/gtest.h>

#include <cstdlib>
#include <functional>
#include <string>
#include <vector>

#include "comm/gpu/impl.h"
#include "tests/support/errors_page.h"
#include "tests/support/fake_cuda.h"
#include "tests/support/ranks.h"

namespace tutti::tests {
namespace {

using Kind = Collective;

constexpr int kRanks = 3;

const bool loaded = [] {
  setenv(kFakeGpus, "8", 1);
  return LoadFakeCuda(TUTTI_FAKE_CUDA);
}();

Operation Make(Kind kind, std::size_t count, int root = 0) {
  return {.kind = kind,
          .in = reinterpret_cast<const void*>(std::uintptr_t{1} << 45),
          .out = reinterpret_cast<void*>(std::uintptr_t{1} << 46),
          .count = count,
          .type = DataType::kFloat32,
          .root = root};
}

// What is said while ranks make these calls on their GPUs and leave.
std::string SaidAtEnd(const std::function<std::vector<Operation>(int rank)>& calls_of) {
  return SaidByChild([&] {
    return RunRanks(kRanks, Quick(), [&](Communicator& c) -> Status {
      Result<GpuCommunicator> gpu = GpuCommunicator::Create(c, {.device = c.rank()});
      if (!gpu.ok()) return gpu.status();
      for (const Operation& o : calls_of(c.rank())) TUTTI_RETURN_IF_ERROR(gpu->Run(o, nullptr));
      return Status::Ok();
    });
  });
}

void ExpectPart(const std::string& said, const std::string& part) {
  EXPECT_NE(said.find(part), std::string::npos) << "not \"" << part << "\" in: " << said;
}

TEST(GpuCallsAtTheEnd, ThatAreTheSameAreFine) {
  EXPECT_TRUE(loaded);
  const std::string said = SaidAtEnd([](int rank) {
    std::vector<Operation> calls(1000, Make(Kind::kAllReduce, 100));
    calls.push_back(Make(Kind::kBroadcast, 0));
    calls.push_back(Make(Kind::kReduce, 7, 2));
    calls.push_back(Make(Kind::kSend, 0, (rank + 1) % kRanks));  // nobody needs to receive nothing
    return calls;
  });
  EXPECT_EQ(said, "");
}

TEST(GpuCallsAtTheEnd, OfAnotherRootAreQuoted) {
  const std::string said = SaidAtEnd([](int rank) {
    return std::vector<Operation>{Make(Kind::kAllReduce, 5), Make(Kind::kBroadcast, 9, rank == 1 ? 1 : 2)};
  });
  ExpectPart(said, "has ended with results that are likely wrong");
  ExpectPart(said, "rank 1 called broadcast(count 9, float32, root 1)");
  ExpectPart(said, "called broadcast(count 9, float32, root 2)");
}

TEST(GpuCallsAtTheEnd, OfNothingWhereOthersMoveSomethingAreQuoted) {
  for (const Kind kind : {Kind::kBroadcast, Kind::kAllReduce}) {
    const std::string said =
        SaidAtEnd([&](int rank) { return std::vector<Operation>{Make(kind, rank == 2 ? 0 : 5, 0)}; });
    ExpectPart(said, "has ended with results that are likely wrong");
    ExpectPart(said, "rank 2 called " + std::string(Name(kind)) + "(count 0, float32");
    ExpectPart(said, "called " + std::string(Name(kind)) + "(count 5, float32");
  }
}

TEST(GpuCallsAtTheEnd, LongerAgoThanIsWrittenDownAreToldToo) {
  const std::string said = SaidAtEnd([](int rank) {
    std::vector<Operation> calls{Make(Kind::kBroadcast, 9, rank == 1 ? 1 : 2)};
    for (std::size_t i = 0; i < 3000; ++i) calls.push_back(Make(Kind::kAllReduce, 1 + i % 2));
    return calls;
  });
  ExpectPart(said, "longer ago than is written down");
}

}  // namespace
}  // namespace tutti::tests
