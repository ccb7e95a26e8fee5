// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
// What goes wrong while ranks meet, as ncclCommInitRank tells it: on every rank that is there a code and a last error that
// names who is missing or wrong, in time. Ranks are processes.
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <new>
#include <string>
#include <thread>
#include <vector>

#include "nccl.h"
#include "tests/support/meeting.h"

namespace tutti {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

constexpr int kMost = 8;
constexpr std::int64_t kInitTimeoutMs = 1500;  // of a test whose ranks wait for nothing else
constexpr std::int64_t kSoonMs = 5000;         // a second is promised; sanitizers and a busy machine get some more

struct Outcome {
  ncclResult_t result;
  bool null;        // the communicator
  char said[1024];  // the last error
  std::int64_t ms;
};

struct Board {
  std::atomic<int> about_to_call;
  Outcome outcomes[kMost];
};

// What one process calls.
struct Caller {
  int rank = 0;
  int ranks = 0;
  std::int64_t timeout_ms = kInitTimeoutMs;
  int delay_ms = 0;
};

class InitErrors : public testing::Test {
 protected:
  InitErrors() {
    void* page = mmap(nullptr, sizeof(Board), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    board_ = new (page) Board{};
    EXPECT_EQ(ncclGetUniqueId(&id_), ncclSuccess);
  }
  ~InitErrors() override {
    for (const pid_t pid : pids_) {
      if (pid <= 0) continue;
      kill(pid, SIGKILL);
      waitpid(pid, nullptr, 0);
    }
    munmap(board_, sizeof(Board));
  }

  void Start(const std::vector<Caller>& callers) {
    for (const Caller& caller : callers) {
      const std::size_t place = pids_.size();
      pids_.push_back(fork());
      if (pids_.back() == 0) Init(caller, board_->outcomes[place]);
    }
  }
  void Init(const Caller& caller, Outcome& outcome) {
    setenv("TUTTI_INIT_TIMEOUT_MS", std::to_string(caller.timeout_ms).c_str(), 1);
    std::this_thread::sleep_for(milliseconds(caller.delay_ms));
    const Clock::time_point begin = Clock::now();
    ncclComm_t comm = reinterpret_cast<ncclComm_t>(8);
    ++board_->about_to_call;
    outcome.result = ncclCommInitRank(&comm, caller.ranks, id_, caller.rank);
    outcome.ms = std::chrono::duration_cast<milliseconds>(Clock::now() - begin).count();
    outcome.null = comm == nullptr;
    strncpy(outcome.said, ncclGetLastError(nullptr), sizeof(outcome.said) - 1);
    _exit(0);
  }
  // Waits for a process; what it got.
  const Outcome& Get(std::size_t place) {
    if (pids_[place] > 0) waitpid(pids_[place], nullptr, 0);
    pids_[place] = -1;
    return board_->outcomes[place];
  }
  // That these processes got this code and words, and within `ms`.
  void ExpectAll(const std::vector<std::size_t>& places, ncclResult_t code, const std::vector<std::string>& words,
                 std::int64_t ms) {
    for (const std::size_t place : places) {
      const Outcome& outcome = Get(place);
      EXPECT_EQ(outcome.result, code) << place << ": " << outcome.said;
      EXPECT_TRUE(outcome.null) << place;
      EXPECT_LT(outcome.ms, ms) << place << ": " << outcome.said;
      EXPECT_TRUE(std::string(outcome.said).starts_with("ncclCommInitRank: ")) << outcome.said;
      for (const std::string& word : words) {
        EXPECT_NE(std::string(outcome.said).find(word), std::string::npos) << word << " is not in: " << outcome.said;
      }
    }
  }
  void WaitUntilCalling(int processes) const {
    while (board_->about_to_call < processes) std::this_thread::yield();
  }
  UniqueId Id() const {
    UniqueId id;
    std::memcpy(id.bytes.data(), id_.internal, id.bytes.size());
    return id;
  }

  ncclUniqueId id_;
  Board* board_;
  std::vector<pid_t> pids_;
};

TEST_F(InitErrors, ARankThatNeverComes) {
  Start({{.rank = 0, .ranks = 3}, {.rank = 2, .ranks = 3}});
  ExpectAll({0, 1}, ncclTimeout, {"2 of 3 ranks have come, all but rank 1", "TUTTI_INIT_TIMEOUT_MS"},
            kInitTimeoutMs + kSoonMs);
}

TEST_F(InitErrors, ARankThatComesTwice) {
  Start({{.rank = 0, .ranks = 3}, {.rank = 1, .ranks = 3}, {.rank = 1, .ranks = 3}});
  ExpectAll({0, 1, 2}, ncclInvalidUsage, {"two ranks of 3 say that they are rank 1", "an id of its own"}, kSoonMs);
}

TEST_F(InitErrors, RanksThatWereToldDifferentNumbers) {
  Start({{.rank = 0, .ranks = 4}, {.rank = 1, .ranks = 8}, {.rank = 3, .ranks = 4}});
  ExpectAll({0, 1, 2}, ncclInvalidUsage, {"different numbers of ranks: 4 (ranks 0 and 3), 8 (rank 1)"}, kSoonMs);
}

TEST_F(InitErrors, ARankOutOfRangeIsRefusedAtOnce) {
  Start({{.rank = 3, .ranks = 3}});
  ExpectAll({0}, ncclInvalidArgument, {"rank 3 does not exist: with 3 ranks they go from 0 to 2"}, kSoonMs);
}

TEST_F(InitErrors, AnotherVersion) {
  Start({{.rank = 0, .ranks = 3, .timeout_ms = 20000}, {.rank = 1, .ranks = 3, .timeout_ms = 20000}});
  const sys::Fd socket = tests::Approach(Id());
  ASSERT_TRUE(socket.valid());
  WaitUntilCalling(2);
  ASSERT_TRUE(tests::SayHello(socket, Id(), {.version = 7, .rank = 2, .ranks = 3}).has_value());
  ExpectAll({0, 1}, ncclInvalidUsage, {"rank 2", "version 7", "install the same one for all ranks"}, kSoonMs);
}

TEST_F(InitErrors, TwoJobsWithOneId) {
  Start({{.rank = 0, .ranks = 3}, {.rank = 1, .ranks = 3}, {.rank = 0, .ranks = 3}, {.rank = 1, .ranks = 3}});
  for (std::size_t place = 0; place < 4; ++place) {
    ExpectAll({place}, ncclInvalidUsage, {"two ranks of 3 say that they are rank", "two jobs share one id"}, kSoonMs);
  }
}

TEST_F(InitErrors, ARankThatDiesWhileOthersWait) {
  Start({{.rank = 0, .ranks = 4, .timeout_ms = 20000},
         {.rank = 1, .ranks = 4, .timeout_ms = 20000, .delay_ms = 300},  // so that another one gathers
         {.rank = 2, .ranks = 4, .timeout_ms = 20000}});
  WaitUntilCalling(3);
  std::this_thread::sleep_for(milliseconds(500));  // it has joined then
  kill(pids_[1], SIGKILL);
  ExpectAll({0, 2}, ncclRemoteError, {"rank 1 (pid " + std::to_string(pids_[1]) + ")", "died"}, 2 * kSoonMs);
}

TEST_F(InitErrors, ARankThatIsStopped) {
  Start({{.rank = 0, .ranks = 3, .timeout_ms = 3000}, {.rank = 1, .ranks = 3, .timeout_ms = 3000, .delay_ms = 300}});
  WaitUntilCalling(2);
  std::this_thread::sleep_for(milliseconds(300));
  kill(pids_[1], SIGSTOP);
  Start({{.rank = 2, .ranks = 3, .timeout_ms = 3000}});
  ExpectAll({0, 2}, ncclTimeout, {"was not taken by rank 1", "SIGCONT"}, 3000 + kSoonMs);
}

// Who gives up is named, and those who wait for it need not wait for their deadline.
TEST_F(InitErrors, ARankWhoseProgramAborts) {
  Start({{.rank = 0, .ranks = 4, .timeout_ms = 20000}});
  pids_.push_back(fork());
  if (pids_.back() == 0) {
    ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
    config.blocking = 0;
    ncclComm_t comm;
    if (ncclCommInitRankConfig(&comm, 4, id_, 1, &config) != ncclInProgress) _exit(1);
    std::this_thread::sleep_for(milliseconds(500));
    if (ncclCommAbort(comm) != ncclSuccess) _exit(2);
    std::this_thread::sleep_for(milliseconds(3 * kSoonMs));  // goes on; its end would tell the others too
    _exit(0);
  }
  Start({{.rank = 2, .ranks = 4, .timeout_ms = 20000}});
  ExpectAll({0, 2}, ncclRemoteError, {"rank 1 (pid " + std::to_string(pids_[1]) + ") gave up", "aborted"}, kSoonMs);
}

}  // namespace
}  // namespace tutti
