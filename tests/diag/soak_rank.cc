// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "tests/diag/soak_rank.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstring>
#include <functional>
#include <thread>
#include <vector>

namespace tutti::tests {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::size_t kCheckpointBytes = 4 << 20;
constexpr int kComputesMs = 250;   // between writes, while something is saved
constexpr int kStorePauseMs = 50;  // a store that takes a page, and then nothing for so long

void SleepMs(int ms) { std::this_thread::sleep_for(std::chrono::milliseconds(ms)); }

double MsSince(Clock::time_point begin) {
  return std::chrono::duration<double, std::milli>(Clock::now() - begin).count();
}

// A child that does no more than the system calls of `body`: the process has threads.
template <typename Body>
pid_t Fork(const Body& body) {
  const pid_t pid = fork();
  if (pid != 0) return pid;
  body();
  _exit(0);
}

class Rank {
 public:
  Rank(const SoakPlan& plan, int rank, const Settings& settings, const std::string& folder, SoakBoard& board)
      : plan_(plan), rank_(rank), folder_(folder), board_(board) {
    options_ = {.rank = rank, .ranks = plan.ranks(), .settings = settings, .name = "dp"};
    std::size_t most = 1;
    for (const SoakStep& step : plan.steps) {
      for (const SoakCall& call : step.calls) most = std::max(most, call.count);
    }
    in_.assign(most * static_cast<std::size_t>(plan.ranks()), 1.0f);
    out_.resize(in_.size());
  }

  Status Run() {
    SleepMs(plan_.join_ms[static_cast<std::size_t>(rank_)]);
    if (rank_ == 0) {
      std::strcpy(board_.id, CreateUniqueId()->ToHex().c_str());
      std::strcpy(board_.second_id, CreateUniqueId()->ToHex().c_str());
      board_.has_ids = 1;
    }
    while (board_.has_ids == 0) SleepMs(2);
    options_.id = *UniqueId::FromHex(board_.id);
    Result<Communicator> dp = Communicator::Create(options_);
    if (!dp.ok()) return dp.status();
    Status s;
    if (plan_.stage_ms < 0) {
      s = Steps(*dp, nullptr);
    } else {
      options_.id = *UniqueId::FromHex(board_.second_id);
      options_.name = "pp";
      Result<Communicator> pp = Communicator::Create(options_);
      s = pp.ok() ? Steps(*dp, &*pp) : pp.status();
    }
    SleepMs(plan_.leave_ms[static_cast<std::size_t>(rank_)]);
    return s;
  }

 private:
  Status Steps(Communicator& dp, Communicator* pp) {
    const auto begin = Clock::now();
    for (int i = 0; i < static_cast<int>(plan_.steps.size()); ++i) {
      const SoakStep& step = plan_.steps[static_cast<std::size_t>(i)];
      // On a busy machine steps take longer than planned.
      if (rank_ == 0 && board_.steps == 0 && MsSince(begin) > 1000 * plan_.seconds) board_.steps = i + 2 * kStepsApart;
      if (board_.steps != 0 && i >= board_.steps) break;
      SleepMs(plan_.WorkMs(i, rank_));
      if (step.victim == rank_ || step.pause == Pause::kEverybody) Hold(step);
      if (pp != nullptr) TUTTI_RETURN_IF_ERROR(Pipeline(*pp));
      for (const SoakCall& call : step.calls) {
        if (step.victim == rank_) SleepMs(step.slow_ms);
        TUTTI_RETURN_IF_ERROR(Run(dp, call));
      }
    }
    return Status::Ok();
  }

  Status Run(Communicator& c, const SoakCall& call) {
    Operation operation{.kind = call.kind,
                        .in = in_.data(),
                        .out = out_.data(),
                        .count = call.count,
                        .type = DataType::kFloat32,
                        .root = call.root};
    if (call.kind == Collective::kBarrier) operation = Barrier();
    out_[0] = 1.0f;
    TUTTI_RETURN_IF_ERROR(c.Run(operation));
    const bool adds = call.kind == Collective::kAllReduce || call.kind == Collective::kReduceScatter;
    const float right = adds ? static_cast<float>(plan_.ranks()) : 1.0f;
    if (out_[0] != right) return Status(Code::kInternal, fmt::format("{} where {} is right", out_[0], right));
    return Status::Ok();
  }

  // From the first rank to the last, each of which works on it.
  Status Pipeline(Communicator& c) {
    if (rank_ > 0) TUTTI_RETURN_IF_ERROR(c.Run(Recv(stage_, rank_ - 1)));
    SleepMs(plan_.stage_ms);
    if (rank_ + 1 < plan_.ranks()) TUTTI_RETURN_IF_ERROR(c.Run(Send(stage_, rank_ + 1)));
    return Status::Ok();
  }

  void Hold(const SoakStep& step) {
    if (step.pause != Pause::kEverybody || rank_ == 0) ++board_.pauses[static_cast<int>(step.pause)];
    switch (step.pause) {
      case Pause::kNone:
        return;
      case Pause::kSleep:
      case Pause::kEverybody:
        return SleepMs(step.pause_ms);
      case Pause::kCheckpoint:
        return Checkpoint();
      case Pause::kSlowStore:
        return Store(step.pause_ms, 0);
      case Pause::kSaving:
        return Store(step.pause_ms, kComputesMs);
      case Pause::kCompile:
        return Compile(step.pause_ms);
      case Pause::kFork:
        return (void)Fork([&] { SleepMs(step.pause_ms); });
      case Pause::kStop:
        return StopSelf(step.pause_ms);
      case Pause::kBurn:
        for (const auto begin = Clock::now(); MsSince(begin) < step.pause_ms;) {
        }
    }
  }

  void Checkpoint() const {
    const std::string path = fmt::format("{}/checkpoint{}", folder_, rank_);
    const int file = open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    const std::vector<char> much(kCheckpointBytes, 'x');
    (void)!write(file, much.data(), much.size());
    fsync(file);
    close(file);
  }

  // A pipe with a name, whose reader is slow, looks like a file of a slow server.
  void Store(int ms, int computes_ms) const {
    const std::string path = fmt::format("{}/store{}", folder_, rank_);
    mkfifo(path.c_str(), 0600);
    const pid_t reader = Fork([&] {
      const int from = open(path.c_str(), O_RDONLY);
      char page[4096];
      while (read(from, page, sizeof(page)) > 0) usleep(kStorePauseMs * 1000);
    });
    const int to = open(path.c_str(), O_WRONLY | O_CLOEXEC);
    fcntl(to, F_SETPIPE_SZ, 4096);
    const std::vector<char> some(4096 * 6, 'x');
    for (const auto begin = Clock::now(); MsSince(begin) < ms;) {
      (void)!write(to, some.data(), some.size());
      SleepMs(computes_ms);
    }
    close(to);
    waitpid(reader, nullptr, 0);
  }

  // The name is all that shows a compiler.
  void Compile(int ms) const {
    const std::string compiler = fmt::format("{}/cc1plus", folder_);
    const std::string seconds = fmt::format("{:.3f}", ms * 1e-3);
    const pid_t child = Fork([&] { execl(compiler.c_str(), "cc1plus", seconds.c_str(), nullptr); });
    waitpid(child, nullptr, 0);
  }

  void StopSelf(int ms) {
    const pid_t self = getpid();
    const auto begin = Clock::now();
    const pid_t child = Fork([&] {
      kill(self, SIGSTOP);
      SleepMs(ms);
      kill(self, SIGCONT);
    });
    waitpid(child, nullptr, 0);
    const auto took_ms = static_cast<std::int64_t>(MsSince(begin));
    std::int64_t longest = board_.longest_stop_ms;
    while (took_ms > longest && !board_.longest_stop_ms.compare_exchange_weak(longest, took_ms)) {
    }
  }

  const SoakPlan& plan_;
  const int rank_;
  const std::string& folder_;
  SoakBoard& board_;
  CommunicatorOptions options_;
  std::vector<float> in_, out_;
  std::vector<float> stage_ = std::vector<float>(1000);
};

}  // namespace

Status RunSoakRank(const SoakPlan& plan, int rank, const Settings& settings, const std::string& folder,
                   SoakBoard& board) {
  signal(SIGPIPE, SIG_IGN);
  return Rank(plan, rank, settings, folder, board).Run();
}

}  // namespace tutti::tests
