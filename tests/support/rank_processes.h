// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_TESTS_SUPPORT_RANK_PROCESSES_H_
#define TUTTI_TESTS_SUPPORT_RANK_PROCESSES_H_

// Ranks of one communicator as forked processes, which tests kill, stop and listen to.

#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <functional>
#include <new>
#include <string>
#include <thread>
#include <vector>

#include "tests/support/soon.h"
#include "tests/support/start_gate.h"
#include "tutti/tutti.h"

namespace tutti::tests {

using Clock = std::chrono::steady_clock;

inline constexpr int kMaxRanks = 8;

// A page that the test and all its ranks share.
struct Board {
  std::atomic<int> ready;  // ranks that have got as far as the test wants
  std::atomic<int> go;
  std::atomic<int> pid[kMaxRanks];                // where a test wants them
  std::atomic<std::int64_t> ended_ms[kMaxRanks];  // when the rank's body returned
  char said[kMaxRanks][512];                      // what it returned
};

inline std::int64_t NowMs() {
  return std::chrono::duration_cast<std::chrono::milliseconds>(Clock::now().time_since_epoch()).count();
}

// Ranks of one communicator, each a child process.
class RankProcesses {
 public:
  explicit RankProcesses(int ranks) : ranks_(ranks) {
    void* page = mmap(nullptr, sizeof(Board), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    board_ = new (page) Board{};
    id_ = *CreateUniqueId();
  }
  ~RankProcesses() {
    for (const pid_t pid : pids_) {
      if (pid > 0) kill(pid, SIGKILL), waitpid(pid, nullptr, 0);
    }
    munmap(board_, sizeof(Board));
  }

  using Body = std::function<Status(const CommunicatorOptions&, Board&)>;
  void Start(const Body& body, Settings settings = {}) {
    if (settings.init_timeout_ms == Settings{}.init_timeout_ms) settings.init_timeout_ms = 20000;
    StartGate gate;
    for (int rank = 0; rank < ranks_; ++rank) {
      const pid_t pid = fork();
      if (pid == 0) {
        gate.Await();
        const Status s = body({.rank = rank, .ranks = ranks_, .id = id_, .settings = settings}, *board_);
        snprintf(board_->said[rank], sizeof(board_->said[rank]), "%s", s.ToString().c_str());
        board_->ended_ms[rank] = NowMs();
        _exit(s.ok() ? 0 : 1);
      }
      pids_.push_back(pid);
    }
  }
  void SignalAll(int signal) {
    for (const pid_t pid : pids_) kill(pid, signal);
  }
  void WaitReady(int ranks) {
    while (board_->ready < ranks) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  void Kill(int rank) {
    kill(pids_[rank], SIGKILL);
    waitpid(pids_[rank], nullptr, 0);
    pids_[rank] = 0;
  }
  // Waits for all that were not killed; false if one is still there at the end of `limit`.
  bool Join(std::chrono::milliseconds limit = kSoon) {
    const auto deadline = Clock::now() + limit;
    for (pid_t& pid : pids_) {
      while (pid > 0 && waitpid(pid, nullptr, WNOHANG) == 0) {
        if (Clock::now() > deadline) return false;
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
      }
      pid = 0;
    }
    return true;
  }
  std::string said(int rank) const { return board_->said[rank]; }
  Board& board() { return *board_; }

 private:
  const int ranks_;
  Board* board_;
  UniqueId id_;
  std::vector<pid_t> pids_;
};

// Runs all_reduces until one fails; `ready` counts the ranks that have run one.
inline Status AllReduceForEver(Communicator& c, std::size_t count, Board& board) {
  std::vector<float> in(count, 1.0f), out(count);
  TUTTI_RETURN_IF_ERROR(c.Run(AllReduce(in, out)));
  ++board.ready;
  while (true) TUTTI_RETURN_IF_ERROR(c.Run(AllReduce(in, out)));
}

}  // namespace tutti::tests

#endif  // TUTTI_TESTS_SUPPORT_RANK_PROCESSES_H_
