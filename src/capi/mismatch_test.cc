// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
// A call on one of 4 ranks that does not match the others', through nccl.h: every rank ends soon, in an error whose text
// quotes both calls, whether its thread waits or another one polls.
#include <gtest/gtest.h>

#include <chrono>
#include <functional>
#include <string>
#include <vector>

#include "nccl.h"
#include "tests/support/nccl_ranks.h"
#include "tests/support/soon.h"

namespace tutti {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;
using tests::kSoon;
using tests::WithRanks;

constexpr int kRanks = 4;
constexpr std::size_t kElements = 4096;

struct Buffers {
  std::vector<float> in = std::vector<float>(kRanks * kElements, 1);
  std::vector<float> out = std::vector<float>(kRanks * kElements);
};

struct Scenario {
  const char* name;
  // The call; `odd`: on the rank that is wrong.
  std::function<ncclResult_t(Buffers&, ncclComm_t, bool odd)> call;
  std::vector<std::string> quotes;
};

ncclResult_t AllReduce(Buffers& b, ncclComm_t comm, std::size_t count = 100, ncclDataType_t type = ncclFloat32,
                       ncclRedOp_t op = ncclSum) {
  return ncclAllReduce(b.in.data(), b.out.data(), count, type, op, comm, nullptr);
}

const Scenario kScenarios[] = {
    {"Count",
     [](Buffers& b, ncclComm_t comm, bool odd) { return AllReduce(b, comm, odd ? 101 : 100); },
     {"rank 3 called all_reduce(count 101, float32, sum) as its operation 3",
      " called all_reduce(count 100, float32, sum)"}},
    {"Type",
     [](Buffers& b, ncclComm_t comm, bool odd) { return AllReduce(b, comm, 100, odd ? ncclInt32 : ncclFloat32); },
     {"all_reduce(count 100, int32, sum)", "all_reduce(count 100, float32, sum)"}},
    {"Operator",
     [](Buffers& b, ncclComm_t comm, bool odd) {
       return AllReduce(b, comm, 100, ncclFloat32, odd ? ncclMax : ncclSum);
     },
     {"all_reduce(count 100, float32, max)", "all_reduce(count 100, float32, sum)"}},
    {"Root",
     [](Buffers& b, ncclComm_t comm, bool odd) {
       return ncclReduce(b.in.data(), b.out.data(), 100, ncclFloat32, ncclSum, odd ? 3 : 0, comm, nullptr);
     },
     {"reduce(count 100, float32, sum, root 3)", "reduce(count 100, float32, sum, root 0)"}},
    {"RootOfBroadcast",
     [](Buffers& b, ncclComm_t comm, bool odd) {
       return ncclBcast(b.out.data(), 100, ncclFloat32, odd ? 3 : 0, comm, nullptr);
     },
     {"broadcast(count 100, float32, root 3)", "broadcast(count 100, float32, root 0)"}},
    {"Function",
     [](Buffers& b, ncclComm_t comm, bool odd) {
       return odd ? ncclAllGather(b.in.data(), b.out.data(), 100, ncclFloat32, comm, nullptr) : AllReduce(b, comm);
     },
     {"rank 3 called all_gather(count 100, float32)", "all_reduce(count 100, float32, sum)"}},
    {"LargeCount",
     [](Buffers& b, ncclComm_t comm, bool odd) { return AllReduce(b, comm, odd ? 16000 : 100); },
     {"rank 3 called all_reduce(count 16000, float32, sum)", "all_reduce(count 100, float32, sum)"}},
    {"InAGroup",
     [](Buffers& b, ncclComm_t comm, bool odd) {
       (void)ncclGroupStart();
       (void)AllReduce(b, comm);
       (void)ncclReduceScatter(b.in.data(), b.out.data(), odd ? 51 : 50, ncclFloat32, ncclSum, comm, nullptr);
       return ncclGroupEnd();
     },
     {"rank 3 called reduce_scatter(count 51, float32, sum) as its operation 4",
      "reduce_scatter(count 50, float32, sum)"}},
    {"OrderInAGroup",
     [](Buffers& b, ncclComm_t comm, bool odd) {
       (void)ncclGroupStart();
       if (odd) (void)ncclAlltoAll(b.in.data(), b.out.data(), 10, ncclFloat32, comm, nullptr);
       (void)AllReduce(b, comm);
       if (!odd) (void)ncclAlltoAll(b.in.data(), b.out.data(), 10, ncclFloat32, comm, nullptr);
       return ncclGroupEnd();
     },
     {"rank 3 called all_to_all(count 10, float32) as its operation 3", "all_reduce(count 100, float32, sum)"}},
    {"SendsOfAGroup",
     [](Buffers& b, ncclComm_t comm, bool odd) {
       int rank = -1;
       (void)ncclCommUserRank(comm, &rank);
       (void)ncclGroupStart();
       (void)ncclSend(b.in.data(), odd ? 11 : 10, ncclFloat32, (rank + 1) % kRanks, comm, nullptr);
       (void)ncclRecv(b.out.data(), 10, ncclFloat32, (rank + kRanks - 1) % kRanks, comm, nullptr);
       return ncclGroupEnd();
     },
     {"send(count 11, float32, to rank 0)", "recv(count 10, float32, from rank 3)"}},
};

class Mismatch : public testing::TestWithParam<Scenario> {
 protected:
  // Matching calls, then the odd one, then matching ones until there is an error: one-way calls end before it shows.
  static ncclResult_t Provoke(Buffers& buffers, ncclComm_t comm, int rank) {
    for (int i = 0; i < 2; ++i) {
      EXPECT_EQ(AllReduce(buffers, comm), ncclSuccess) << ncclGetLastError(nullptr);
    }
    ncclResult_t result = ncclTuttiSynchronize(comm);
    if (result == ncclInvalidUsage) return result;  // others are ahead, and have found it
    EXPECT_EQ(result, ncclSuccess) << ncclGetLastError(nullptr);
    result = GetParam().call(buffers, comm, rank == kRanks - 1);
    if (result == ncclSuccess) result = AllReduce(buffers, comm);
    return result;
  }
  static void ExpectQuotes(const std::string& said) {
    EXPECT_NE(said.find("the calls of the ranks do not match"), std::string::npos) << said;
    for (const std::string& quote : GetParam().quotes) {
      EXPECT_NE(said.find(quote), std::string::npos) << quote << " is not in: " << said;
    }
  }
};

TEST_P(Mismatch, IsToldToWhoWaits) {
  WithRanks(kRanks, [](ncclComm_t& comm, int rank) {
    Buffers buffers;
    const Clock::time_point begin = Clock::now();
    ncclResult_t result = Provoke(buffers, comm, rank);
    if (result == ncclSuccess) result = ncclTuttiSynchronize(comm);
    EXPECT_EQ(result, ncclInvalidUsage) << "rank " << rank << ": " << ncclGetLastError(nullptr);
    ExpectQuotes(ncclGetLastError(nullptr));
    EXPECT_LT(Clock::now() - begin, kSoon);
    NCCL_EXPECT_OK(ncclCommAbort(comm));
    comm = nullptr;
  });
}

TEST_P(Mismatch, IsToldToAnotherThreadThatPolls) {
  WithRanks(kRanks, [](ncclComm_t& comm, int rank) {
    Buffers buffers;
    const Clock::time_point begin = Clock::now();
    (void)Provoke(buffers, comm, rank);
    std::thread([&] {  // as the watchdog of a framework does
      ncclResult_t state = ncclInProgress;
      while (state == ncclInProgress && Clock::now() - begin < 2 * kSoon) {
        NCCL_OK(ncclCommGetAsyncError(comm, &state));
        std::this_thread::sleep_for(milliseconds(10));
      }
      EXPECT_EQ(state, ncclInvalidUsage) << "rank " << rank;
      ExpectQuotes(ncclGetLastError(comm));
    })
        .join();
    EXPECT_LT(Clock::now() - begin, kSoon);
    NCCL_EXPECT_OK(ncclCommAbort(comm));
    comm = nullptr;
  });
}

INSTANTIATE_TEST_SUITE_P(Calls, Mismatch, testing::ValuesIn(kScenarios),
                         [](const auto& scenario) { return std::string(scenario.param.name); });

}  // namespace
}  // namespace tutti
