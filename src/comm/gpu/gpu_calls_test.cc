// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
// Calls on GPUs as the black box holds them, compared between ranks. No GPU is needed: calls are only written down.
#include <gtest/gtest.h>

#include <array>
#include <barrier>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "comm/host/comparer.h"
#include "comm/host/impl.h"
#include "comm/host/ledger.h"
#include "tests/support/ranks.h"
#include "tutti/communicator.h"

namespace tutti {
namespace {

using Kind = Collective;
using tests::RunRanks;

constexpr int kRanks = 3;

Operation Make(Kind kind, std::size_t count, int root = 0) {
  return {.kind = kind, .count = count, .type = DataType::kFloat32, .root = root};
}

// Lets every rank write down its calls, then compares them on all. What each rank finds, by rank.
std::array<Status, kRanks> Compare(const std::function<std::vector<Operation>(int rank)>& calls_of) {
  std::array<Status, kRanks> found;
  std::barrier meet(kRanks);  // the communicator's own would be a call
  const std::string failure = RunRanks(kRanks, Settings(), [&](Communicator& c) {
    for (const Operation& o : calls_of(c.rank())) c.impl()->ledger.RecordGpuCall(o);
    meet.arrive_and_wait();
    found[c.rank()] = c.impl()->comparer.CompareGpuCalls();
    meet.arrive_and_wait();
    return Status::Ok();
  });
  EXPECT_EQ(failure, "");
  return found;
}

void ExpectAll(const std::array<Status, kRanks>& found, const std::string& sentence) {
  for (int rank = 0; rank < kRanks; ++rank) {
    EXPECT_EQ(found[rank].code(), Code::kInvalidUsage) << rank;
    EXPECT_NE(found[rank].message().find(sentence), std::string::npos) << rank << ": " << found[rank].message();
  }
}

TEST(GpuCalls, ThatMatchAreFine) {
  const auto found = Compare([](int rank) {
    std::vector<Operation> calls(300, Make(Kind::kAllReduce, 100));  // in a row, sharing a record
    calls.push_back(Make(Kind::kBroadcast, 7, 2));
    calls.push_back(Make(Kind::kSend, 5, (rank + 1) % kRanks));
    calls.push_back(Make(Kind::kRecv, 5, (rank + kRanks - 1) % kRanks));
    calls.push_back(Make(Kind::kAllReduce, 0));
    calls.push_back(Make(Kind::kAllReduce, 100));
    return calls;
  });
  for (const Status& s : found) EXPECT_TRUE(s.ok()) << s.message();
}

TEST(GpuCalls, OfARankThatIsBehindAreNoMismatch) {
  const auto found = Compare([](int rank) {
    std::vector<Operation> calls(10 + 90 * rank, Make(Kind::kAllReduce, 100));
    return calls;
  });
  for (const Status& s : found) EXPECT_TRUE(s.ok()) << s.message();
}

TEST(GpuCalls, WithAnotherCountAreQuoted) {
  ExpectAll(Compare([](int rank) {
              std::vector<Operation> calls(20, Make(Kind::kAllReduce, 100));
              if (rank == 1) calls[7].count = 101;
              return calls;
            }),
            "rank 1 called all_reduce(count 101, float32, sum) as its operation 8 where rank 0 called "
            "all_reduce(count 100, float32, sum)");
}

TEST(GpuCalls, OfAnotherFunctionOrRootAreQuoted) {
  ExpectAll(Compare([](int rank) {
              return std::vector<Operation>{rank == 2 ? Make(Kind::kReduce, 9, 1) : Make(Kind::kBroadcast, 9, 1)};
            }),
            "rank 2 called reduce(count 9, float32, sum, root 1) as its operation 1 where rank 0 called "
            "broadcast(count 9, float32, root 1)");
  ExpectAll(Compare([](int rank) { return std::vector<Operation>{Make(Kind::kBroadcast, 9, rank == 0 ? 1 : 2)}; }),
            "rank 0 called broadcast(count 9, float32, root 1)");
}

TEST(GpuCalls, SendsMeetReceivesOfAsManyBytes) {
  const auto found = Compare([](int rank) {
    if (rank == 0) return std::vector<Operation>{Make(Kind::kSend, 5, 1), Make(Kind::kSend, 6, 1)};
    if (rank == 1) return std::vector<Operation>{Make(Kind::kRecv, 5, 0), Make(Kind::kRecv, 7, 0)};
    return std::vector<Operation>{};
  });
  for (const int rank : {0, 1}) {
    EXPECT_NE(found[rank].message().find("send(count 6, float32, to rank 1)"), std::string::npos)
        << found[rank].message();
    EXPECT_NE(found[rank].message().find("recv(count 7, float32, from rank 0)"), std::string::npos)
        << found[rank].message();
  }
  EXPECT_TRUE(found[2].ok());
}

TEST(GpuCalls, CountTogetherWithThoseOnHostMemory) {
  const std::string failure = RunRanks(kRanks, Settings(), [&](Communicator& c) -> Status {
    int value = 1, sum = 0;
    for (int i = 0; i < 3; ++i) {
      c.impl()->ledger.RecordGpuCall(Make(Kind::kAllReduce, 4));
      TUTTI_RETURN_IF_ERROR(c.Run(AllReduce(std::span(&value, 1), std::span(&sum, 1))));
      EXPECT_EQ(sum, kRanks);
    }
    return c.impl()->comparer.CompareGpuCalls();
  });
  EXPECT_EQ(failure, "");
}

}  // namespace
}  // namespace tutti
