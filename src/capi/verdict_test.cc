// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
// ncclTuttiVerdict: who holds a communicator up, and a program that goes on without them.
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <string>
#include <thread>

#include "nccl.h"
#include "tests/support/nccl_ranks.h"
#include "tests/support/soon.h"

namespace tutti {
namespace {

using Clock = std::chrono::steady_clock;
using tests::kSoon;

constexpr int kRanks = 4;
constexpr int kVictim = 2;

// Asks until ranks are named; how many.
int AwaitVerdict(ncclComm_t comm, char* sentence, std::size_t bytes, int* ranks, int room) {
  const Clock::time_point begin = Clock::now();
  int count = 0;
  do {
    count = room;
    if (ncclTuttiVerdict(comm, sentence, bytes, ranks, &count) != ncclSuccess) return -1;
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  } while (count == 0 && Clock::now() - begin < kSoon);
  return count;
}

// What a rank does that lives on; 0 where all is right.
int GoOnWithout(ncclComm_t comm, int rank, char (&sentence)[512]) {
  int ranks[kRanks];
  if (tests::Sum(comm, rank) >= 0) return 1;
  if (AwaitVerdict(comm, sentence, sizeof(sentence), ranks, kRanks) != 1 || ranks[0] != kVictim) return 2;
  ncclComm_t rest = nullptr;
  if (ncclCommShrink(comm, ranks, 1, &rest, nullptr, NCCL_SHRINK_ABORT) != ncclSuccess) return 3;
  return tests::Sum(rest, rank) == 0 + 1 + 3 ? 0 : 4;
}

TEST(Verdict, SaysWhomToLeaveOut) {
  struct Board {
    ncclUniqueId id;
    char said[kRanks][512];
  };
  void* page = mmap(nullptr, sizeof(Board), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  auto* board = new (page) Board{};
  ASSERT_EQ(ncclGetUniqueId(&board->id), ncclSuccess);
  tests::Processes processes(kRanks, [&](int rank) {
    ncclComm_t comm = nullptr;
    if (ncclCommInitRank(&comm, kRanks, board->id, rank) != ncclSuccess || tests::Sum(comm, 1) != kRanks) return 90;
    if (rank == kVictim) kill(getpid(), SIGKILL);
    return GoOnWithout(comm, rank, board->said[rank]);
  });
  for (int rank = 0; rank < kRanks; ++rank) {
    EXPECT_EQ(processes.Wait(rank), rank == kVictim ? 128 + SIGKILL : 0)
        << "rank " << rank << ": " << board->said[rank];
    if (rank != kVictim) {
      EXPECT_NE(std::string(board->said[rank]).find("rank 2 ("), std::string::npos) << board->said[rank];
    }
  }
  munmap(page, sizeof(Board));
}

TEST(Verdict, IsEmptyWhereNothingIsWrong) {
  tests::WithRanks(2, [](ncclComm_t& comm, int rank) {
    ASSERT_EQ(tests::Sum(comm, rank), 1);
    char sentence[4] = "abc";
    int count = 0;
    NCCL_OK(ncclTuttiVerdict(comm, sentence, sizeof(sentence), nullptr, &count));
    EXPECT_STREQ(sentence, "");
    EXPECT_EQ(count, 0);
    NCCL_OK(ncclTuttiVerdict(comm, nullptr, 0, nullptr, &count));
  });
}

TEST(Verdict, WrongArguments) {
  tests::WithRanks(1, [](ncclComm_t& comm, int) {
    int count = 1;
    NCCL_EXPECT_ERROR(ncclTuttiVerdict(comm, nullptr, 0, nullptr, nullptr), ncclInvalidArgument,
                      "number of ranks is NULL");
    NCCL_EXPECT_ERROR(ncclTuttiVerdict(comm, nullptr, 0, nullptr, &count), ncclInvalidArgument,
                      "list of ranks is NULL");
    count = 0;
    NCCL_EXPECT_ERROR(ncclTuttiVerdict(comm, nullptr, 5, nullptr, &count), ncclInvalidArgument, "sentence is NULL");
    NCCL_EXPECT_ERROR(ncclTuttiVerdict(nullptr, nullptr, 0, nullptr, &count), ncclInvalidArgument, "NULL");
    count = -1;
    NCCL_EXPECT_ERROR(ncclTuttiVerdict(comm, nullptr, 0, nullptr, &count), ncclInvalidArgument, "no room for -1 ranks");
  });
}

}  // namespace
}  // namespace tutti
