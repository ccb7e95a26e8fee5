// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
// Communicators of processes through nccl.h: forked, named in the log, left by an exit, killed.
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include "nccl.h"
#include "tests/support/nccl_ranks.h"
#include "tests/support/soon.h"

namespace tutti {
namespace {

using std::chrono::milliseconds;
using Clock = std::chrono::steady_clock;
using tests::kSoon;
using tests::Processes;
using tests::Sum;

// A page that the test and its ranks share.
struct Board {
  ncclUniqueId id;
  std::atomic<int> ready;
  std::atomic<int> go;
};

class Processed : public testing::Test {
 protected:
  Processed() {
    void* page = mmap(nullptr, sizeof(Board), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    board = new (page) Board{};
    EXPECT_EQ(ncclGetUniqueId(&board->id), ncclSuccess);
  }
  ~Processed() override { munmap(board, sizeof(Board)); }

  ncclComm_t Join(int ranks, int rank) {
    ncclComm_t comm = nullptr;
    if (ncclCommInitRank(&comm, ranks, board->id, rank) != ncclSuccess) _exit(90);
    return comm;
  }
  // Waits until all ranks are here.
  void Meet(int ranks) {
    ++board->ready;
    while (board->ready < ranks) std::this_thread::yield();
  }
  Board* board;
};

TEST_F(Processed, AForkedChildIsToldAndHarmsNobody) {
#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
  GTEST_SKIP()
      << "in the child of a process with threads the sanitizers allow no threads, or leave their allocator locked";
#endif
  Processes ranks(2, [&](int rank) {
    ncclComm_t comm = Join(2, rank);
    if (Sum(comm, 1) != 2) return 1;
    const pid_t child = fork();
    if (child == 0) {
      float in = 1, out = 0;
      if (ncclAllReduce(&in, &out, 1, ncclFloat32, ncclSum, comm, nullptr) != ncclInvalidUsage) _exit(2);
      if (std::string(ncclGetLastError(nullptr)).find("forked") == std::string::npos) _exit(3);
      if (ncclCommDestroy(comm) != ncclSuccess) _exit(4);  // frees what is the child's, says nothing to peers
      ncclComm_t own;
      if (ncclCommInitAll(&own, 1, nullptr) != ncclSuccess || Sum(own, 5) != 5) _exit(5);
      ncclComm_t both[2];
      if (ncclCommInitAll(both, 2, nullptr) != ncclSuccess) _exit(6);  // needs a progress thread of its own
      int in2 = 1, out2[2] = {};
      for (int i = 0; i < 2; ++i) ncclAllReduce(&in2, &out2[i], 1, ncclInt32, ncclSum, both[i], nullptr);
      while (reinterpret_cast<volatile int&>(out2[0]) != 2) std::this_thread::yield();
      exit(0);  // with destructors
    }
    int status = -1;
    waitpid(child, &status, 0);
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) return 10 + WEXITSTATUS(status);
    if (Sum(comm, 2) != 4) return 30;
    return ncclCommDestroy(comm) == ncclSuccess ? 0 : 31;
  });
  for (int rank = 0; rank < 2; ++rank) EXPECT_EQ(ranks.Wait(rank), 0);
}

// What TheLogShowsTheNameOfACommunicator runs in a process of its own, because the log is opened once.
TEST(Named, DISABLED_Communicator) {
  ncclUniqueId id;
  NCCL_OK(ncclGetUniqueId(&id));
  ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
  config.commName = "data\nparallel";
  ncclComm_t comm, child;
  NCCL_OK(ncclCommInitRankConfig(&comm, 1, id, 0, &config));
  NCCL_OK(ncclCommSplit(comm, 0, 0, &child, nullptr));
  NCCL_OK(ncclCommDestroy(child));
  NCCL_OK(ncclCommDestroy(comm));
}

TEST(Named, TheLogShowsTheNameOfACommunicator) {
  const std::string self = std::filesystem::read_symlink("/proc/self/exe");
  const std::string path = testing::TempDir() + "tutti_comm_name." + std::to_string(getpid());
  const std::string command = "NCCL_DEBUG=INFO NCCL_DEBUG_FILE=" + path + " " + self +
                              " --gtest_also_run_disabled_tests --gtest_filter=Named.DISABLED_Communicator >" + path +
                              ".out 2>&1";
  EXPECT_EQ(std::system(command.c_str()), 0);
  std::ifstream file(path);
  int named = 0, all = 0;
  for (std::string line; std::getline(file, line);) {
    if (line.find("Init COMPLETE") == std::string::npos) continue;
    ++all;
    if (line.find("commName \"data?parallel\"") != std::string::npos) ++named;
  }
  for (const char* end : {"", ".out"}) std::filesystem::remove(path + end);
  EXPECT_EQ(all, 2);
  EXPECT_EQ(named, 1) << "a child has no name but its own";
}

TEST_F(Processed, ExitWithoutDestroy) {
  Processes ranks(2, [&](int rank) -> int {
    ncclComm_t comm = Join(2, rank);
    if (Sum(comm, 1) != 2) return 1;
    // One operation is still running when the process ends, so the progress thread is at work.
    static std::vector<float> in(1 << 20, 1), out(in.size());
    if (rank == 0) ncclAllReduce(in.data(), out.data(), in.size(), ncclFloat32, ncclSum, comm, nullptr);
    std::this_thread::sleep_for(milliseconds(20));
    exit(0);
  });
  for (int rank = 0; rank < 2; ++rank) EXPECT_EQ(ranks.Wait(rank), 0);
}

TEST_F(Processed, AKilledRankIsNamed) {
  constexpr int kRanks = 3;
  Processes ranks(kRanks, [&](int rank) {
    ncclComm_t comm = Join(kRanks, rank);
    Meet(kRanks);
    if (rank == 2) pause();
    int in = 1, out = 0;
    if (ncclAllReduce(&in, &out, 1, ncclInt32, ncclSum, comm, nullptr) != ncclSuccess) return 1;
    if (ncclTuttiSynchronize(comm) != ncclRemoteError) return 2;
    if (std::string(ncclGetLastError(nullptr)).find("rank 2") == std::string::npos) return 3;
    // The others go on without it.
    int exclude[] = {2};
    ncclComm_t rest;
    if (ncclCommShrink(comm, exclude, 1, &rest, nullptr, NCCL_SHRINK_ABORT) != ncclSuccess) return 4;
    if (Sum(rest, 1) != 2) return 5;
    if (ncclCommDestroy(rest) != ncclSuccess) return 6;
    return ncclCommAbort(comm) == ncclSuccess ? 0 : 7;
  });
  while (board->ready < kRanks) std::this_thread::yield();
  std::this_thread::sleep_for(milliseconds(50));
  const Clock::time_point killed = Clock::now();
  kill(ranks.pid(2), SIGKILL);
  for (int rank = 0; rank < 2; ++rank) EXPECT_EQ(ranks.Wait(rank), 0);
  EXPECT_LT(Clock::now() - killed, 2 * kSoon);
}

TEST_F(Processed, ARankKilledWhileOthersMakeTheCommunicator) {
  Processes ranks(3, [&](int rank) -> int {
    if (rank == 2) {
      ++board->ready;
      pause();
    }
    if (rank == 1) ++board->ready;
    ncclComm_t comm = reinterpret_cast<ncclComm_t>(8);
    setenv("TUTTI_INIT_TIMEOUT_MS", "1500", 1);
    const ncclResult_t result = ncclCommInitRank(&comm, 3, board->id, rank);
    if (result == ncclSuccess || comm != nullptr) return 1;
    return std::string(ncclGetLastError(nullptr)).find("2") != std::string::npos ? 0 : 2;
  });
  while (board->ready < 2) std::this_thread::yield();
  kill(ranks.pid(2), SIGKILL);
  for (int rank = 0; rank < 2; ++rank) EXPECT_EQ(ranks.Wait(rank), 0);
}

}  // namespace
}  // namespace tutti
