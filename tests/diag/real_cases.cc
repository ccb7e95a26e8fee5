// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "tests/diag/real_cases.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <functional>
#include <optional>
#include <random>
#include <thread>
#include <utility>
#include <vector>

#include "tests/support/rank_processes.h"
#include "tools/top_look.h"

namespace tutti::tests {
namespace {

using diag::Kind;

constexpr int kWarmUp = 20;  // operations before a fault
constexpr auto kLookEvery = std::chrono::milliseconds(150);

void SleepMs(int ms) { std::this_thread::sleep_for(std::chrono::milliseconds(ms)); }

// What one rank does until it is killed. A communicator that breaks stays: there is something to look at.
class Rank {
 public:
  Rank(const RealCase& what, const UniqueId& second, const CommunicatorOptions& options, Board& board)
      : what_(what), second_(second), options_(options), board_(board), in_(what.count, 1.0f), out_(what.count) {}

  Status Run() {
    board_.pid[options_.rank] = getpid();
    ++board_.ready;
    if (IsVictim() && what_.fault == RealFault::kNeverComes) Pause();
    options_.name = "dp";
    Result<Communicator> dp = Communicator::Create(options_);
    if (!dp.ok()) return dp.status();
    std::optional<Communicator> tp;
    if (what_.fault == RealFault::kOrders) {
      options_.id = second_;
      options_.name = "tp";
      Result<Communicator> made = Communicator::Create(options_);
      if (!made.ok()) return made.status();
      tp = std::move(*made);
    }
    const Status s = tp ? Orders(*dp, *tp) : what_.fault == RealFault::kNoReceive ? NoReceive(*dp) : Loop(*dp);
    snprintf(board_.said[options_.rank], sizeof(board_.said[0]), "%s", s.ToString().c_str());
    Pause();
  }

 private:
  bool IsVictim() const { return options_.rank == what_.victim; }
  [[noreturn]] static void Pause() {
    while (true) pause();
  }

  Status Loop(Communicator& c) {
    for (int call = 0;; ++call) {
      if (call == kWarmUp) ++board_.ready;
      if (call >= kWarmUp && board_.go == 1) TUTTI_RETURN_IF_ERROR(Act(c));
      TUTTI_RETURN_IF_ERROR(c.Run(AllReduce(in_, out_)));
    }
  }

  // Its part in the fault, at the first call after it was told.
  Status Act(Communicator& c) {
    if (acted_ || !IsVictim()) return Status::Ok();
    acted_ = true;
    switch (what_.fault) {
      case RealFault::kSleep:
        Sleep(std::chrono::seconds(60));
        break;
      case RealFault::kPause:
        Sleep(std::chrono::milliseconds(900));
        break;
      case RealFault::kWrite: {
        // Blocks for good when the pipe is full. To look like a file it would have to be one of a dead server.
        int ends[2];
        if (pipe(ends) != 0) return Status(Code::kSystem, "no pipe");
        const std::vector<char> much(1 << 20);
        (void)!write(ends[1], much.data(), much.size());
        break;
      }
      case RealFault::kOtherCall:
        return c.Run(AllReduce(in_, out_, ReduceOp::kMax));
      default:
        break;
    }
    return Status::Ok();
  }

  // The rank before the victim sends more than links hold, and the victim does something else.
  Status NoReceive(Communicator& c) {
    for (int call = 0; call < kWarmUp; ++call) TUTTI_RETURN_IF_ERROR(c.Run(AllReduce(in_, out_)));
    ++board_.ready;
    while (board_.go == 0) SleepMs(1);
    if ((options_.rank + 1) % what_.ranks != what_.victim) Pause();
    while (true) TUTTI_RETURN_IF_ERROR(c.Run(Send(in_, what_.victim)));
  }

  template <typename Time>
  static void Sleep(Time time) {
    std::this_thread::sleep_for(time);
  }

  // The same number of calls everywhere, then each half begins with another communicator.
  Status Orders(Communicator& dp, Communicator& tp) {
    for (int call = 0; call < kWarmUp; ++call) {
      TUTTI_RETURN_IF_ERROR(dp.Run(AllReduce(in_, out_)));
      TUTTI_RETURN_IF_ERROR(tp.Run(AllReduce(in_, out_)));
    }
    ++board_.ready;
    while (board_.go == 0) SleepMs(1);
    const bool first = options_.rank < (what_.ranks + 1) / 2;
    TUTTI_RETURN_IF_ERROR((first ? dp : tp).Run(AllReduce(in_, out_)));
    return (first ? tp : dp).Run(AllReduce(in_, out_));
  }

  const RealCase& what_;
  const UniqueId& second_;
  CommunicatorOptions options_;
  Board& board_;
  std::vector<float> in_, out_;
  bool acted_ = false;
};

Expected ExpectedOf(const RealCase& what) {
  std::vector<int> all;
  for (int r = 0; r < what.ranks; ++r) all.push_back(r);
  switch (what.fault) {
    case RealFault::kStop:
      return {.kind = Kind::kStopped, .ranks = {what.victim}};
    case RealFault::kKill:
      return {.kind = Kind::kDead, .ranks = {what.victim}};
    case RealFault::kOtherCall:
      return {.kind = Kind::kMismatch, .ranks = {what.victim}};
    case RealFault::kOrders:
      return {.kind = Kind::kDeadlock, .ranks = all};
    case RealFault::kNeverComes:
      return {.kind = Kind::kInitIncomplete, .ranks = {what.victim}};
    case RealFault::kDebugger:
      return {.kind = Kind::kTraced, .ranks = {what.victim}};
    default:
      return {.kind = Kind::kLateHost, .ranks = {what.victim}};
  }
}

bool IsBenign(RealFault fault) { return fault == RealFault::kPause || fault == RealFault::kNothing; }

class Trial {
 public:
  explicit Trial(const RealCase& what) : what_(what), job_(what.ranks), second_(*CreateUniqueId()) {}

  CaseResult Run() {
    Settings settings;
    settings.algo = what_.algo;
    settings.proto = what_.proto;
    settings.debug = "NONE";
    job_.Start(
        [&](const CommunicatorOptions& options, Board& board) { return Rank(what_, second_, options, board).Run(); },
        settings);
    const bool begins = what_.fault == RealFault::kNeverComes;
    job_.WaitReady(begins ? what_.ranks : 2 * what_.ranks);
    for (int r = 0; r < what_.ranks; ++r) pids_.push_back(job_.board().pid[r]);
    if (!begins) SleepMs(100);
    CaseResult result{.name = fmt::format("rank {} of {}, {} {}, {} floats", what_.victim, what_.ranks,
                                          what_.algo.empty() ? "any" : what_.algo, what_.proto, what_.count),
                      .kind = Name(what_.fault)};
    std::vector<Expected> expected;
    if (!IsBenign(what_.fault)) expected.push_back(ExpectedOf(what_));
    Listener listener(std::move(expected), {});
    Fault();
    Listen(listener);
    listener.Tell(result);
    if (what_.fault == RealFault::kStop && !Clears(listener)) {
      result.right = false;
      result.wrong.push_back("it was not cleared when the process went on");
    }
    if (what_.fault == RealFault::kDebugger) ptrace(PTRACE_DETACH, Victim(), nullptr, nullptr);
    return result;
  }

 private:
  pid_t Victim() const { return pids_[static_cast<std::size_t>(what_.victim)]; }

  void Fault() {
    begin_ = Clock::now();
    switch (what_.fault) {
      case RealFault::kStop:
        kill(Victim(), SIGSTOP);
        return;
      case RealFault::kKill:
        if (what_.zombie) {
          kill(Victim(), SIGKILL);
        } else {
          job_.Kill(what_.victim);
        }
        return;
      case RealFault::kDebugger:
        ptrace(PTRACE_ATTACH, Victim(), nullptr, nullptr);
        (void)waitpid(Victim(), nullptr, __WALL);
        return;
      default:
        job_.board().go = 1;
    }
  }

  double Seconds() const { return std::chrono::duration<double>(Clock::now() - begin_).count(); }

  void Step(Listener& listener) {
    std::this_thread::sleep_until(next_ += kLookEvery);
    diag::Look now = tools::TakeLook(pids_);
    if (now.taken_ns - before_.taken_ns >= diag::ApartNs(what_.ranks))
      listener.Hear(diag::Judge(before_, now), Seconds());
    before_ = std::move(now);
  }

  // Until something is told, and for a while longer, since that may not be all.
  void Listen(Listener& listener) {
    next_ = Clock::now();
    before_ = tools::TakeLook(pids_);
    double until = IsBenign(what_.fault) ? 2.5 : 8;
    for (bool heard = false; Seconds() < until; Step(listener)) {
      if (!heard && listener.heard()) until = Seconds() + 0.6;
      heard = listener.heard();
    }
  }

  bool Clears(Listener& listener) {
    kill(Victim(), SIGCONT);
    const double until = Seconds() + 5;
    while (!listener.nothing_stands() && Seconds() < until) Step(listener);
    return listener.nothing_stands();
  }

  const RealCase what_;
  RankProcesses job_;
  const UniqueId second_;
  std::vector<std::int32_t> pids_;
  Clock::time_point begin_, next_;
  diag::Look before_;
};

}  // namespace

const char* Name(RealFault fault) {
  constexpr const char* kNames[kRealFaults] = {"stop",       "kill",        "sleep",       "blocked write",
                                               "other call", "two orders",  "never comes", "debugger",
                                               "no receive", "short pause", "nothing"};
  return kNames[static_cast<int>(fault)];
}

RealCase RealCase::Of(RealFault fault, std::uint64_t seed) {
  std::mt19937_64 random(seed * 0x9e3779b97f4a7c15u + static_cast<std::uint64_t>(fault));
  const auto any = [&](int below) { return static_cast<int>(random() % static_cast<std::uint64_t>(below)); };
  constexpr const char* kAlgorithms[] = {"", "ring", "tree", "one_shot", "two_shot"};
  constexpr const char* kProtocols[] = {"", "LL", "Simple"};
  constexpr std::size_t kCounts[] = {2, 1024, 100'000, 1'000'000};
  RealCase what{.fault = fault, .ranks = 3 + any(3)};
  what.victim = any(what.ranks);
  what.algo = kAlgorithms[any(5)];
  what.proto = kProtocols[any(3)];
  what.count = kCounts[any(4)];
  // Short messages are sent to whoever does not receive them.
  if (fault == RealFault::kNoReceive) what.count = std::max<std::size_t>(what.count, 100'000);
  what.zombie = any(2) == 0;
  return what;
}

CaseResult RunRealCase(const RealCase& what) { return Trial(what).Run(); }

}  // namespace tutti::tests
