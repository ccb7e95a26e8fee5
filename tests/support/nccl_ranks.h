// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_TESTS_SUPPORT_NCCL_RANKS_H_
#define TUTTI_TESTS_SUPPORT_NCCL_RANKS_H_

// For tests of nccl.h: ranks as threads or as processes. Header-only, and uses nothing but nccl.h, so that the tests
// link the shared library alone.

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "nccl.h"
#include "tests/support/start_gate.h"

// A call that must succeed; elsewhere its sentence is shown.
#define NCCL_OK(call) ASSERT_EQ(call, ncclSuccess) << ncclGetLastError(nullptr)
#define NCCL_EXPECT_OK(call) EXPECT_EQ(call, ncclSuccess) << ncclGetLastError(nullptr)
// A call that must fail with a code and a sentence that has these words in it.
#define NCCL_EXPECT_ERROR(call, code, words)                                         \
  do {                                                                               \
    EXPECT_EQ(call, code) << ncclGetLastError(nullptr);                              \
    EXPECT_NE(std::string(ncclGetLastError(nullptr)).find(words), std::string::npos) \
        << "the sentence is: " << ncclGetLastError(nullptr);                         \
  } while (0)

namespace tutti::tests {

// Runs `body` on ranks that are threads, each with a communicator of its own, destroyed afterwards unless `body` did.
inline void WithRanks(int ranks, const std::function<void(ncclComm_t& comm, int rank)>& body,
                      const ncclConfig_t* config = nullptr) {
  ncclUniqueId id;
  NCCL_OK(ncclGetUniqueId(&id));
  std::vector<std::thread> threads;
  for (int rank = 0; rank < ranks; ++rank) {
    threads.emplace_back([&, rank] {
      ncclComm_t comm = nullptr;
      ncclConfig_t own = NCCL_CONFIG_INITIALIZER;
      if (config != nullptr) own = *config;
      const ncclResult_t made = ncclCommInitRankConfig(&comm, ranks, id, rank, &own);
      ASSERT_TRUE(made == ncclSuccess || (made == ncclInProgress && own.blocking == 0)) << ncclGetLastError(nullptr);
      body(comm, rank);
      if (testing::Test::HasFatalFailure()) {
        ncclCommAbort(comm);
      } else if (comm != nullptr) {
        NCCL_EXPECT_OK(ncclCommDestroy(comm));
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

// An all_reduce of one int, run to its end: the sum of all ranks' values, or a negative number where a call fails.
inline int Sum(ncclComm_t comm, int value) {
  int out = -1;
  if (ncclAllReduce(&value, &out, 1, ncclInt32, ncclSum, comm, nullptr) != ncclSuccess) return -2;
  return ncclTuttiSynchronize(comm) == ncclSuccess ? out : -3;
}

// Processes, each of which runs `body` and exits with what it returns. Ends them when it goes out of scope.
class Processes {
 public:
  Processes(int count, const std::function<int(int rank)>& body) {
    StartGate gate;
    for (int rank = 0; rank < count; ++rank) {
      const pid_t pid = fork();
      if (pid == 0) {
        gate.Await();
        _exit(body(rank));
      }
      pids_.push_back(pid);
    }
  }
  ~Processes() {
    for (const pid_t pid : pids_) {
      if (pid <= 0) continue;
      kill(pid, SIGKILL);
      waitpid(pid, nullptr, 0);
    }
  }
  pid_t pid(int rank) const { return pids_[rank]; }
  // The exit status of a rank, or 128 and the signal that ended it.
  int Wait(int rank) {
    int status = 0;
    waitpid(pids_[rank], &status, 0);
    pids_[rank] = -1;
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  }

 private:
  std::vector<pid_t> pids_;
};

}  // namespace tutti::tests

#endif  // TUTTI_TESTS_SUPPORT_NCCL_RANKS_H_
