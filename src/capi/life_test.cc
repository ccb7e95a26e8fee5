// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
// The life of communicators through nccl.h: made in every way, split, shrunk, grown, finalized, revoked, aborted. Ranks
// are threads.
#include <gtest/gtest.h>

#include <atomic>
#include <barrier>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <cstring>
#include <mutex>
#include <string>

#include "nccl.h"
#include "tests/support/nccl_ranks.h"
#include "tests/support/own_threads.h"
#include "tests/support/soon.h"

namespace tutti {
namespace {

using std::chrono::milliseconds;
using Clock = std::chrono::steady_clock;
using tests::kSoon;
using tests::Sum;
using tests::WithRanks;

ncclConfig_t NonBlocking() {
  ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
  config.blocking = 0;
  return config;
}

// But for the one that stays.
int Threads() {
  return tests::CountThreads([](const std::string& name) { return name != tests::kSleeper; });
}

// Whether no more threads than `most` are left, soon.
bool ThreadsEnd(int most) {
  const Clock::time_point end = Clock::now() + kSoon;
  while (Threads() > most && Clock::now() < end) std::this_thread::sleep_for(milliseconds(5));
  return Threads() <= most;
}

ncclResult_t WaitUntilSettled(ncclComm_t comm) {
  const Clock::time_point end = Clock::now() + 4 * kSoon;
  ncclResult_t state = ncclInProgress;
  while (state == ncclInProgress && Clock::now() < end) {
    if (ncclCommGetAsyncError(comm, &state) != ncclSuccess) return ncclInternalError;
    std::this_thread::sleep_for(milliseconds(1));
  }
  return state;
}

TEST(Library, SaysItsVersion) {
  int version = 0;
  NCCL_OK(ncclGetVersion(&version));
  EXPECT_EQ(version, 22809);
  EXPECT_EQ(version, NCCL_VERSION_CODE);
  NCCL_EXPECT_ERROR(ncclGetVersion(nullptr), ncclInvalidArgument, "NULL");
  NCCL_EXPECT_ERROR(ncclGetUniqueId(nullptr), ncclInvalidArgument, "NULL");
  EXPECT_STREQ(ncclGetErrorString(ncclSuccess), "no error");
  EXPECT_STREQ(ncclGetErrorString(ncclInProgress), "NCCL operation in progress");
  EXPECT_STREQ(ncclGetErrorString(static_cast<ncclResult_t>(42)), "unknown result code");
}

TEST(Library, LastErrorBelongsToItsThread) {
  NCCL_EXPECT_ERROR(ncclGroupEnd(), ncclInvalidUsage, "ncclGroupEnd: there is no group");
  std::thread([] { EXPECT_STREQ(ncclGetLastError(nullptr), ""); }).join();
}

TEST(Init, WrongArguments) {
  ncclUniqueId id;
  NCCL_OK(ncclGetUniqueId(&id));
  ncclComm_t comm = reinterpret_cast<ncclComm_t>(8);
  NCCL_EXPECT_ERROR(ncclCommInitRank(nullptr, 1, id, 0), ncclInvalidArgument, "NULL");
  NCCL_EXPECT_ERROR(ncclCommInitRank(&comm, 0, id, 0), ncclInvalidArgument, "number of ranks is 0");
  EXPECT_EQ(comm, nullptr);
  NCCL_EXPECT_ERROR(ncclCommInitRank(&comm, 2, id, 2), ncclInvalidArgument, "rank 2 does not exist");
  ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
  config.magic = 1;
  NCCL_EXPECT_ERROR(ncclCommInitRankConfig(&comm, 1, id, 0, &config), ncclInvalidArgument, "magic");
  NCCL_EXPECT_ERROR(ncclCommInitRankScalable(&comm, 2, 0, 3, &id, nullptr), ncclInvalidArgument, "3 ids for 2 ranks");
  NCCL_EXPECT_ERROR(ncclCommInitRankScalable(&comm, 2, 0, 1, nullptr, nullptr), ncclInvalidArgument, "NULL");
  const int twice[] = {1, 1};
  ncclComm_t comms[2];
  NCCL_EXPECT_ERROR(ncclCommInitAll(comms, 2, twice), ncclInvalidUsage, "device 1 is listed twice");
  NCCL_EXPECT_ERROR(ncclCommInitAll(comms, 0, nullptr), ncclInvalidArgument, "number of devices is 0");
  ncclUniqueId garbage;
  std::memset(&garbage, 7, sizeof(garbage));
  EXPECT_EQ(ncclCommInitRank(&comm, 2, garbage, 0), ncclInvalidArgument) << ncclGetLastError(nullptr);
  EXPECT_EQ(comm, nullptr);
}

TEST(Init, FromSeveralIds) {
  ncclUniqueId ids[2];
  for (ncclUniqueId& id : ids) NCCL_OK(ncclGetUniqueId(&id));
  std::vector<std::thread> threads;
  for (int rank = 0; rank < 3; ++rank) {
    threads.emplace_back([&, rank] {
      ncclComm_t comm;
      NCCL_OK(ncclCommInitRankScalable(&comm, 3, rank, 2, ids, nullptr));
      EXPECT_EQ(Sum(comm, rank), 3);
      NCCL_EXPECT_OK(ncclCommDestroy(comm));
    });
  }
  for (std::thread& thread : threads) thread.join();
}

TEST(Init, SeveralRanksOfOneThreadInAGroup) {
  ncclUniqueId id;
  NCCL_OK(ncclGetUniqueId(&id));
  ncclComm_t comms[3];
  int in[3] = {1, 2, 3}, out[3] = {};
  NCCL_OK(ncclGroupStart());
  for (int rank = 0; rank < 3; ++rank) {
    NCCL_OK(ncclCommInitRank(&comms[rank], 3, id, rank));
    NCCL_OK(ncclAllReduce(&in[rank], &out[rank], 1, ncclInt32, ncclSum, comms[rank], nullptr));
  }
  int count;
  NCCL_EXPECT_ERROR(ncclCommCount(comms[0], &count), ncclInvalidArgument, "ncclGroupEnd first");
  NCCL_OK(ncclGroupEnd());
  for (ncclComm_t comm : comms) NCCL_OK(ncclTuttiSynchronize(comm));
  EXPECT_EQ(out[0], 6);
  EXPECT_EQ(out[2], 6);
  NCCL_OK(ncclGroupStart());
  for (ncclComm_t comm : comms) NCCL_OK(ncclCommDestroy(comm));
  NCCL_OK(ncclGroupEnd());
}

TEST(Init, AFailedGroupLeavesNothingBehind) {
  ncclUniqueId id;
  NCCL_OK(ncclGetUniqueId(&id));
  ncclComm_t comms[2];
  NCCL_OK(ncclGroupStart());
  NCCL_OK(ncclCommInitRank(&comms[0], 2, id, 0));
  NCCL_OK(ncclCommInitRank(&comms[1], 2, id, 0));  // the same rank again
  EXPECT_NE(ncclGroupEnd(), ncclSuccess);
  EXPECT_NE(std::string(ncclGetLastError(nullptr)).find("rank 0"), std::string::npos) << ncclGetLastError(nullptr);
  EXPECT_EQ(comms[0], nullptr);
  EXPECT_EQ(comms[1], nullptr);
}

TEST(Init, TwoHundredAtOnce) {
  constexpr int kCommunicators = 200;
  std::vector<ncclUniqueId> ids(kCommunicators);
  for (ncclUniqueId& id : ids) NCCL_OK(ncclGetUniqueId(&id));
  std::vector<ncclComm_t> comms(2 * kCommunicators);
  NCCL_OK(ncclGroupStart());
  for (int i = 0; i < 2 * kCommunicators; ++i) NCCL_OK(ncclCommInitRank(&comms[i], 2, ids[i / 2], i % 2));
  NCCL_OK(ncclGroupEnd());
  std::vector<int> out(comms.size());
  const int one = 1;
  NCCL_OK(ncclGroupStart());
  for (std::size_t i = 0; i < comms.size(); ++i) {
    NCCL_OK(ncclAllReduce(&one, &out[i], 1, ncclInt32, ncclSum, comms[i], nullptr));
  }
  NCCL_OK(ncclGroupEnd());
  for (ncclComm_t comm : comms) NCCL_OK(ncclTuttiSynchronize(comm));
  EXPECT_EQ(out, std::vector<int>(comms.size(), 2));
  for (ncclComm_t comm : comms) NCCL_OK(ncclCommDestroy(comm));
}

TEST(Handles, UseAfterDestroyIsTold) {
  ncclComm_t comm;
  NCCL_OK(ncclCommInitAll(&comm, 1, nullptr));
  NCCL_OK(ncclCommDestroy(comm));
  int count;
  ncclResult_t state;
  NCCL_EXPECT_ERROR(ncclCommCount(comm, &count), ncclInvalidArgument, "was destroyed or aborted");
  NCCL_EXPECT_ERROR(ncclCommDestroy(comm), ncclInvalidArgument, "was destroyed");
  NCCL_EXPECT_ERROR(ncclCommAbort(comm), ncclInvalidArgument, "was destroyed");
  NCCL_EXPECT_ERROR(ncclCommGetAsyncError(comm, &state), ncclInvalidArgument, "was destroyed");
  NCCL_EXPECT_ERROR(ncclTuttiSynchronize(comm), ncclInvalidArgument, "was destroyed");
  NCCL_OK(ncclCommDestroy(nullptr));
  NCCL_OK(ncclCommAbort(nullptr));
  NCCL_OK(ncclCommRevoke(nullptr, 0));
  NCCL_EXPECT_ERROR(ncclCommCount(nullptr, &count), ncclInvalidArgument, "NULL");
  NCCL_EXPECT_ERROR(ncclCommGetAsyncError(nullptr, &state), ncclInvalidArgument, "NULL");
}

TEST(Finalize, WaitsAndThenAllowsOnlyDestroy) {
  WithRanks(2, [](ncclComm_t& comm, int rank) {
    std::vector<float> in(1 << 20, 1), out(in.size());
    if (rank == 1) std::this_thread::sleep_for(milliseconds(20));
    NCCL_OK(ncclAllReduce(in.data(), out.data(), in.size(), ncclFloat32, ncclSum, comm, nullptr));
    NCCL_OK(ncclCommFinalize(comm));
    EXPECT_EQ(out.back(), 2);
    NCCL_EXPECT_ERROR(ncclAllReduce(in.data(), out.data(), 1, ncclFloat32, ncclSum, comm, nullptr), ncclInvalidUsage,
                      "finalized");
    NCCL_EXPECT_ERROR(ncclCommFinalize(comm), ncclInvalidArgument, "finalized before");
  });
}

TEST(Split, ByColorOrderedByKeyThenRank) {
  WithRanks(5, [](ncclComm_t& comm, int rank) {
    ncclComm_t child = reinterpret_cast<ncclComm_t>(8);
    // Colors: 0 for even ranks in reverse order, 7 for rank 1, none for rank 3.
    const int color = rank % 2 == 0 ? 0 : rank == 1 ? 7 : NCCL_SPLIT_NOCOLOR;
    NCCL_OK(ncclCommSplit(comm, color, -rank, &child, nullptr));
    if (color == NCCL_SPLIT_NOCOLOR) {
      EXPECT_EQ(child, nullptr);
    } else {
      int number = -1, count = -1;
      NCCL_OK(ncclCommUserRank(child, &number));
      NCCL_OK(ncclCommCount(child, &count));
      EXPECT_EQ(count, rank == 1 ? 1 : 3);
      EXPECT_EQ(number, rank == 1 ? 0 : (4 - rank) / 2);
      EXPECT_EQ(Sum(child, rank), rank == 1 ? 1 : 6);
      NCCL_OK(ncclCommDestroy(child));
    }
    EXPECT_EQ(Sum(comm, 1), 5);  // the parent goes on
    ncclComm_t same;
    NCCL_OK(ncclCommSplit(comm, 3, 0, &same, nullptr));  // equal keys: in the parent's order
    int number = -1;
    NCCL_OK(ncclCommUserRank(same, &number));
    EXPECT_EQ(number, rank);
    NCCL_OK(ncclCommDestroy(same));
    NCCL_EXPECT_ERROR(ncclCommSplit(comm, -2, 0, &child, nullptr), ncclInvalidArgument, "color -2");
  });
}

TEST(Split, OfABrokenParentFailsAtOnceWithItsError) {
  WithRanks(3, [](ncclComm_t& comm, int rank) {
    if (rank == 1) {
      NCCL_OK(ncclCommAbort(comm));
      comm = nullptr;
      return;  // and never comes to the split
    }
    float in = 1, out = 0;
    (void)ncclAllReduce(&in, &out, 1, ncclFloat32, ncclSum, comm, nullptr);
    NCCL_EXPECT_ERROR(ncclTuttiSynchronize(comm), ncclRemoteError, "rank 1 aborted");
    const Clock::time_point begin = Clock::now();
    ncclComm_t child = reinterpret_cast<ncclComm_t>(8);
    NCCL_EXPECT_ERROR(ncclCommSplit(comm, 0, rank, &child, nullptr), ncclRemoteError, "rank 1 aborted");
    EXPECT_EQ(child, nullptr);
    NCCL_EXPECT_ERROR(ncclCommSplit(comm, NCCL_SPLIT_NOCOLOR, 0, &child, nullptr), ncclRemoteError, "rank 1 aborted");
    EXPECT_LT(Clock::now() - begin, kSoon);
    NCCL_OK(ncclCommAbort(comm));
    comm = nullptr;
  });
}

TEST(Shrink, LeavesRanksOut) {
  WithRanks(4, [](ncclComm_t& comm, int rank) {
    int exclude[] = {2, 0};
    ncclComm_t child = nullptr;
    if (rank == 1 || rank == 3) {
      NCCL_OK(ncclCommShrink(comm, exclude, 2, &child, nullptr, NCCL_SHRINK_DEFAULT));
      int number = -1;
      NCCL_OK(ncclCommUserRank(child, &number));
      EXPECT_EQ(number, rank / 2);
      EXPECT_EQ(Sum(child, rank), 4);
      NCCL_OK(ncclCommDestroy(child));
    } else {
      NCCL_EXPECT_ERROR(ncclCommShrink(comm, exclude, 2, &child, nullptr, 0), ncclInvalidArgument, "only those that");
    }
    int wrong[] = {9};
    NCCL_EXPECT_ERROR(ncclCommShrink(comm, wrong, 1, &child, nullptr, 0), ncclInvalidArgument, "9 is not a rank");
    NCCL_EXPECT_ERROR(ncclCommShrink(comm, exclude, 0, &child, nullptr, 0), ncclInvalidArgument, "at least 1");
    NCCL_EXPECT_ERROR(ncclCommShrink(comm, wrong, 1, &child, nullptr, 8), ncclInvalidArgument, "shrink flags");
    EXPECT_EQ(Sum(comm, 1), 4);
  });
}

// Ranks 0 to 2 go on without 3, then 1 to 3 without 0, then 0 to 2 without 3 once more: 0 and 3 have each missed one.
TEST(Shrink, TwiceWithOtherRanksLeftOut) {
  WithRanks(4, [](ncclComm_t comm, int rank) {
    for (const int without : {3, 0, 3}) {
      if (rank == without) continue;
      int exclude[] = {without};
      ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
      ncclComm_t child;
      NCCL_OK(ncclCommShrink(comm, exclude, 1, &child, &config, NCCL_SHRINK_DEFAULT));
      EXPECT_EQ(Sum(child, rank), 6 - without);
      NCCL_OK(ncclCommDestroy(child));
    }
  });
}

TEST(Grow, AddsRanks) {
  // The id travels from the old communicator to the new rank as it would by MPI.
  std::mutex mutex;
  ncclUniqueId id;
  std::atomic<bool> there{false};
  std::thread newcomer([&] {
    while (!there) std::this_thread::yield();
    ncclComm_t comm;
    NCCL_OK(ncclCommGrow(nullptr, 3, &id, 2, &comm, nullptr));
    EXPECT_EQ(Sum(comm, 2), 3);
    NCCL_OK(ncclCommDestroy(comm));
  });
  WithRanks(2, [&](ncclComm_t& comm, int rank) {
    ncclComm_t larger = nullptr;
    NCCL_EXPECT_ERROR(ncclCommGrow(comm, 2, nullptr, -1, &larger, nullptr), ncclInvalidArgument, "cannot grow");
    NCCL_EXPECT_ERROR(ncclCommGrow(comm, 3, nullptr, 1, &larger, nullptr), ncclInvalidArgument, "pass -1");
    if (rank == 1) {
      NCCL_OK(ncclCommGetUniqueId(comm, &id));
      there = true;
    }
    NCCL_OK(ncclCommGrow(comm, 3, rank == 1 ? &id : nullptr, -1, &larger, nullptr));
    int number = -1;
    NCCL_OK(ncclCommUserRank(larger, &number));
    EXPECT_EQ(number, rank);
    EXPECT_EQ(Sum(larger, rank), 3);
    NCCL_OK(ncclCommDestroy(larger));
  });
  newcomer.join();
}

TEST(NonBlocking, EveryStep) {
  const ncclConfig_t config = NonBlocking();
  ncclUniqueId id;
  NCCL_OK(ncclGetUniqueId(&id));
  std::vector<std::thread> threads;
  for (int rank = 0; rank < 3; ++rank) {
    threads.emplace_back([&, rank] {
      if (rank == 2) std::this_thread::sleep_for(milliseconds(100));
      ncclConfig_t own = config;
      ncclComm_t comm = nullptr, child = nullptr;
      ASSERT_EQ(ncclCommInitRankConfig(&comm, 3, id, rank, &own), ncclInProgress);
      ASSERT_NE(comm, nullptr);
      if (rank == 0) {  // rank 2 has not come yet
        int count;
        NCCL_EXPECT_ERROR(ncclCommCount(comm, &count), ncclInvalidArgument, "still busy");
      }
      ASSERT_EQ(WaitUntilSettled(comm), ncclSuccess);
      EXPECT_EQ(Sum(comm, rank), 3);
      ASSERT_EQ(ncclCommSplit(comm, rank == 1 ? NCCL_SPLIT_NOCOLOR : 0, rank, &child, nullptr), ncclInProgress);
      EXPECT_EQ(child == nullptr, rank == 1);
      ASSERT_EQ(WaitUntilSettled(comm), ncclSuccess);
      if (child != nullptr) {
        ASSERT_EQ(WaitUntilSettled(child), ncclSuccess);
        EXPECT_EQ(Sum(child, rank), 2);
        NCCL_OK(ncclCommDestroy(child));
      }
      ASSERT_EQ(ncclCommFinalize(comm), ncclInProgress);
      ASSERT_EQ(WaitUntilSettled(comm), ncclSuccess);
      NCCL_OK(ncclCommDestroy(comm));
    });
  }
  for (std::thread& thread : threads) thread.join();
}

TEST(NonBlocking, AFailedInitIsAnAsyncError) {
  ncclConfig_t config = NonBlocking();
  ncclUniqueId id;
  NCCL_OK(ncclGetUniqueId(&id));
  ncclComm_t comms[2];
  for (ncclComm_t& comm : comms) ASSERT_EQ(ncclCommInitRankConfig(&comm, 2, id, 0, &config), ncclInProgress);
  for (ncclComm_t comm : comms) {
    const ncclResult_t state = WaitUntilSettled(comm);
    EXPECT_NE(state, ncclSuccess);
    EXPECT_NE(state, ncclInProgress);
    NCCL_EXPECT_OK(ncclCommAbort(comm));
  }
}

TEST(NonBlocking, AbortWhileItIsMade) {
  ncclConfig_t config = NonBlocking();
  ncclUniqueId id;
  NCCL_OK(ncclGetUniqueId(&id));
  ncclComm_t comm;
  std::thread([] {}).join();  // a sanitizer starts one of its own with the first
  const int threads = Threads();
  ASSERT_EQ(ncclCommInitRankConfig(&comm, 2, id, 0, &config), ncclInProgress);  // rank 1 never comes
  const Clock::time_point begin = Clock::now();
  NCCL_OK(ncclCommAbort(comm));
  EXPECT_LT(Clock::now() - begin, kSoon);
  EXPECT_TRUE(ThreadsEnd(threads)) << "who made it goes on";
  ncclResult_t state = ncclInProgress;
  NCCL_EXPECT_OK(ncclCommGetAsyncError(comm, &state));  // as a watchdog may
  EXPECT_EQ(state, ncclSuccess);
}

TEST(NonBlocking, AbortOfAParentEndsWhatIsSplitOffFromIt) {
  const ncclConfig_t config = NonBlocking();
  std::atomic<int> aborted{0};
  const auto body = [&](ncclComm_t& comm, int rank, bool revoked) {
    ASSERT_EQ(WaitUntilSettled(comm), ncclSuccess);
    if (revoked) {
      NCCL_OK(ncclCommRevoke(comm, NCCL_REVOKE_DEFAULT));
    }
    if (rank == 0) {
      ncclComm_t child = nullptr;
      ASSERT_EQ(ncclCommSplit(comm, 0, 0, &child, nullptr), ncclInProgress);  // rank 1 never does
      std::this_thread::sleep_for(milliseconds(20));
      const Clock::time_point begin = Clock::now();
      NCCL_OK(ncclCommAbort(comm));
      EXPECT_LT(Clock::now() - begin, kSoon);
      EXPECT_EQ(WaitUntilSettled(child), ncclRemoteError);
      NCCL_OK(ncclCommAbort(child));
      ++aborted;
    } else {
      while (aborted == 0) std::this_thread::sleep_for(milliseconds(1));
      NCCL_OK(ncclCommAbort(comm));
    }
    comm = nullptr;
  };
  WithRanks(
      2, [&](ncclComm_t& comm, int rank) { body(comm, rank, false); }, &config);
  aborted = 0;
  WithRanks(
      2, [&](ncclComm_t& comm, int rank) { body(comm, rank, true); }, &config);
}

TEST(Abort, FromAnotherThreadEndsAWait) {
  WithRanks(2, [](ncclComm_t& comm, int rank) {
    float in = 1, out = 0;
    if (rank == 1) {
      std::this_thread::sleep_for(milliseconds(50));
      NCCL_OK(ncclCommAbort(comm));
      comm = nullptr;
      return;
    }
    const Clock::time_point begin = Clock::now();
    NCCL_OK(ncclAllReduce(&in, &out, 1, ncclFloat32, ncclSum, comm, nullptr));
    NCCL_EXPECT_ERROR(ncclTuttiSynchronize(comm), ncclRemoteError, "rank 1 aborted");
    EXPECT_LT(Clock::now() - begin, kSoon);
    ncclResult_t state = ncclSuccess;
    NCCL_OK(ncclCommGetAsyncError(comm, &state));
    EXPECT_EQ(state, ncclRemoteError);
  });
}

TEST(Abort, OfTheOwnCommunicatorWhileAThreadWaits) {
  WithRanks(2, [](ncclComm_t& comm, int rank) {
    if (rank == 1) {
      std::this_thread::sleep_for(milliseconds(200));
      return;
    }
    std::thread aborter([&] {
      std::this_thread::sleep_for(milliseconds(50));
      NCCL_OK(ncclCommAbort(comm));
    });
    float in = 1, out = 0;
    NCCL_OK(ncclAllReduce(&in, &out, 1, ncclFloat32, ncclSum, comm, nullptr));
    EXPECT_EQ(ncclTuttiSynchronize(comm), ncclRemoteError) << ncclGetLastError(nullptr);
    aborter.join();
    comm = nullptr;
  });
}

// The watchdog of a program polls while another thread works, and is told first.
TEST(AsyncError, TellsAWatchdogWhatHappened) {
  WithRanks(2, [](ncclComm_t& comm, int rank) {
    float in = 1, out = 0;
    if (rank == 1) {
      std::this_thread::sleep_for(milliseconds(50));
      NCCL_OK(ncclCommAbort(comm));
      comm = nullptr;
      return;
    }
    NCCL_OK(ncclAllReduce(&in, &out, 1, ncclFloat32, ncclSum, comm, nullptr));
    std::thread([&] {
      EXPECT_EQ(WaitUntilSettled(comm), ncclRemoteError);
      EXPECT_NE(std::string(ncclGetLastError(comm)).find("rank 1 aborted"), std::string::npos)
          << ncclGetLastError(comm);
    }).join();
  });
}

TEST(Revoke, EndsOperationsAndLeavesWaysToGoOn) {
  std::barrier called(3);  // no rank revokes it while another has still to sum or to call
  WithRanks(3, [&](ncclComm_t& comm, int rank) {
    float in = 1, out = 0;
    EXPECT_EQ(Sum(comm, rank), 3);
    if (rank == 0) {  // the others never do
      NCCL_EXPECT_OK(ncclAllReduce(&in, &out, 1, ncclFloat32, ncclSum, comm, nullptr));
    }
    called.arrive_and_wait();
    NCCL_EXPECT_ERROR(ncclCommRevoke(comm, 5), ncclInvalidArgument, "revoke flags");
    NCCL_OK(ncclCommRevoke(comm, NCCL_REVOKE_DEFAULT));
    NCCL_EXPECT_ERROR(ncclCommRevoke(comm, NCCL_REVOKE_DEFAULT), ncclInvalidArgument, "revoked before");
    NCCL_EXPECT_ERROR(ncclAllReduce(&in, &out, 1, ncclFloat32, ncclSum, comm, nullptr), ncclInvalidUsage, "revoked");
    NCCL_EXPECT_ERROR(ncclCommFinalize(comm), ncclInvalidArgument, "revoked");
    ncclComm_t child;
    NCCL_OK(ncclCommSplit(comm, 0, -rank, &child, nullptr));
    EXPECT_EQ(Sum(child, rank), 3);
    NCCL_OK(ncclCommDestroy(child));
    int exclude[] = {1};
    if (rank != 1) {
      NCCL_OK(ncclCommShrink(comm, exclude, 1, &child, nullptr, NCCL_SHRINK_DEFAULT));
      EXPECT_EQ(Sum(child, rank), 2);
      NCCL_OK(ncclCommDestroy(child));
    }
  });
}

}  // namespace
}  // namespace tutti
