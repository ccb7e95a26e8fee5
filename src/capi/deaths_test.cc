// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
// Ranks that die while a communicator is made from another one through nccl.h: who is named, how soon, and by which rank.
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <string>

#include "nccl.h"
#include "tests/support/nccl_ranks.h"
#include "tests/support/soon.h"

namespace {
// Set in a process that is to die where it would make its shared memory for the next communicator: it has exchanged with
// the other ranks of the parent all that is exchanged there, and has not met those of the child.
bool dies_at_next_communicator = false;
}  // namespace

// In place of the C library's, also for libnccl.so.
extern "C" [[gnu::visibility("default")]] int memfd_create(const char* name, unsigned int flags) noexcept {
  if (dies_at_next_communicator) kill(getpid(), SIGKILL);
  return static_cast<int>(syscall(SYS_memfd_create, name, flags));
}

namespace tutti {
namespace {

using Clock = std::chrono::steady_clock;
using tests::kSoon;

constexpr int kRanks = 4;
constexpr int kVictim = 2;

// A page that the test and its ranks share.
struct Board {
  ncclUniqueId id, grown_id;
  char said[kRanks + 1][512];
};

class ADeathWhileACommunicatorIsMade : public testing::Test {
 protected:
  ADeathWhileACommunicatorIsMade() {
    void* page = mmap(nullptr, sizeof(Board), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    board = new (page) Board{};
    EXPECT_EQ(ncclGetUniqueId(&board->id), ncclSuccess);
    EXPECT_EQ(ncclGetUniqueId(&board->grown_id), ncclSuccess);
  }
  ~ADeathWhileACommunicatorIsMade() override { munmap(board, sizeof(Board)); }

  using Make = std::function<ncclResult_t(ncclComm_t parent, int rank, ncclComm_t* child)>;
  // Makes a parent of kRanks processes, and lets `make` make the child, which kVictim does not live to see. Ranks from
  // kRanks on have no parent. What the others are told is in `said`.
  void Run(int ranks, const Make& make) {
    const Clock::time_point begin = Clock::now();
    tests::Processes processes(ranks, [&](int rank) {
      ncclComm_t parent = nullptr, child = nullptr;
      if (rank < kRanks && ncclCommInitRank(&parent, kRanks, board->id, rank) != ncclSuccess) return 90;
      dies_at_next_communicator = rank == kVictim;
      const ncclResult_t result = make(parent, rank, &child);
      snprintf(board->said[rank], sizeof(board->said[0]), "%s", ncclGetLastError(nullptr));
      return result == ncclRemoteError ? 0 : 1;
    });
    for (int rank = 0; rank < ranks; ++rank) {
      EXPECT_EQ(processes.Wait(rank), rank == kVictim ? 128 + SIGKILL : 0) << "rank " << rank << ": " << said(rank);
    }
    EXPECT_LT(Clock::now() - begin, kSoon);
  }
  std::string said(int rank) const { return board->said[rank]; }
  void ExpectSaid(int rank, const std::string& words) {
    EXPECT_NE(said(rank).find(words), std::string::npos) << "rank " << rank << " says: " << said(rank);
  }
  Board* board;
};

// Ranks 1 to 3 are the child's 2, 1 and 0.
TEST_F(ADeathWhileACommunicatorIsMade, BySplit) {
  Run(kRanks, [](ncclComm_t parent, int rank, ncclComm_t* child) {
    const ncclResult_t result = ncclCommSplit(parent, rank == 0 ? 0 : 1, -rank, child, nullptr);
    return rank == 0 && result == ncclSuccess ? ncclRemoteError : result;  // it is alone
  });
  for (const int rank : {1, 3}) {
    ExpectSaid(rank, "rank 1 (pid ");
    ExpectSaid(rank, "died before the ranks had met");
    ExpectSaid(rank, "; rank 1 here is rank 2 of the communicator that this one was made from");
  }
}

TEST_F(ADeathWhileACommunicatorIsMade, ByShrink) {
  Run(kRanks, [](ncclComm_t parent, int rank, ncclComm_t* child) {
    int excluded[] = {0};
    return rank == 0 ? ncclRemoteError : ncclCommShrink(parent, excluded, 1, child, nullptr, NCCL_SHRINK_DEFAULT);
  });
  for (const int rank : {1, 3}) {
    ExpectSaid(rank, "rank 1 (pid ");
    ExpectSaid(rank, "died before the ranks had met");
    ExpectSaid(rank, "; rank 1 here is rank 2 of the communicator that this one was made from");
  }
}

TEST_F(ADeathWhileACommunicatorIsMade, ByGrow) {
  Run(kRanks + 1, [this](ncclComm_t parent, int rank, ncclComm_t* child) {
    return ncclCommGrow(parent, kRanks + 1, rank == 0 || rank == kRanks ? &board->grown_id : nullptr,
                        rank == kRanks ? rank : -1, child, nullptr);
  });
  for (const int rank : {0, 1, 3, 4}) {
    ExpectSaid(rank, "rank 2 (pid ");
    ExpectSaid(rank, "died before the ranks had met");
    EXPECT_EQ(said(rank).find("made from"), std::string::npos) << said(rank);  // its number is the same
  }
}

// A revoked communicator's ranks meet before they are split.
TEST_F(ADeathWhileACommunicatorIsMade, BySplitOfARevokedOne) {
  Run(kRanks, [](ncclComm_t parent, int rank, ncclComm_t* child) {
    if (ncclCommRevoke(parent, NCCL_REVOKE_DEFAULT) != ncclSuccess) return ncclInternalError;
    if (rank == kVictim) kill(getpid(), SIGKILL);
    return ncclCommSplit(parent, 0, -rank, child, nullptr);
  });
  for (const int rank : {0, 1, 3}) {
    ExpectSaid(rank, "rank 2 (pid ");
    ExpectSaid(rank, "died before the ranks had met");
  }
}

// The parent's rank is said of a death while the child works too.
TEST_F(ADeathWhileACommunicatorIsMade, AndOneAfterItIsMadeNamesTheParentsRank) {
  Run(kRanks, [](ncclComm_t parent, int rank, ncclComm_t* child) {
    dies_at_next_communicator = false;
    const ncclResult_t made = ncclCommSplit(parent, 0, -rank, child, nullptr);
    if (made != ncclSuccess) return made;
    if (rank == kVictim) kill(getpid(), SIGKILL);
    int in = 1, out = 0;
    (void)ncclAllReduce(&in, &out, 1, ncclInt32, ncclSum, *child, nullptr);
    return ncclTuttiSynchronize(*child);
  });
  for (const int rank : {0, 1, 3}) {
    const std::string words = "; rank 1 here is rank 2 of the communicator that this one was made from";
    ExpectSaid(rank, "rank 1");
    ExpectSaid(rank, words);
    EXPECT_EQ(said(rank).find(words), said(rank).rfind(words)) << said(rank);
  }
}

}  // namespace
}  // namespace tutti
