// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
// What ranks say by themselves of who holds them up: processes that are stopped, killed, asleep, mismatched, crossed or missing are found
// in the log of every other rank, and nobody else is; and the thread that finds them is there only while it is needed.
#include <dirent.h>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <fstream>
#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "sys/os/kernel_log.h"
#include "tests/support/child_process.h"
#include "tests/support/memory_limit.h"
#include "tests/support/own_threads.h"
#include "tests/support/rank_processes.h"
#include "tests/support/scratch_folder.h"

namespace tutti::tests {
namespace {

using std::chrono::milliseconds;

constexpr int kWarmUp = 20;

void SleepMs(int ms) { std::this_thread::sleep_for(milliseconds(ms)); }
[[noreturn]] void PauseForEver() {
  while (true) pause();
}

int CountEntries(const char* folder) {
  int count = 0;
  DIR* d = opendir(folder);
  while (readdir(d) != nullptr) ++count;
  closedir(d);
  return count;
}

int Monitors() {
  return CountThreads([](const std::string& name) { return name == "tutti-monitor"; });
}

// What a monitor has logged.
struct Line {
  std::string level;
  std::string text;
};

// A job whose ranks log to files of their own.
class Monitored : public testing::Test {
 protected:
  static Settings Base() {
    Settings settings;
    settings.debug = "INFO";
    settings.log_format = "json";
    settings.init_timeout_ms = 120'000;
    return settings;
  }
  void Start(int ranks, const RankProcesses::Body& body, Settings settings = Base()) {
    job_ = std::make_unique<RankProcesses>(ranks);
    ranks_ = ranks;
    settings.debug_file = folder_.Path("rank%d");
    job_->Start(
        [body](const CommunicatorOptions& options, Board& board) {
          board.pid[options.rank] = getpid();
          return body(options, board);
        },
        settings);
  }
  std::vector<Line> Said(int rank) const {
    std::vector<Line> lines;
    std::ifstream file(folder_.Path(fmt::format("rank{}", rank)));
    for (std::string text; std::getline(file, text);) {
      const auto json = nlohmann::json::parse(text, nullptr, false);
      if (json.is_discarded() || json["file"] != "watch/vigil.cc") continue;
      lines.push_back({.level = json["level"], .text = json["message"]});
    }
    return lines;
  }
  std::string All(int rank) const {
    std::string all = fmt::format("rank {}:", rank);
    for (const Line& line : Said(rank)) all += fmt::format("\n  {} {}", line.level, line.text);
    return all;
  }
  // Waits until each of these ranks has said `what` at that level, with nothing else in between.
  void ExpectSaid(const std::vector<int>& ranks, const std::string& level, const std::string& what) {
    for (const int rank : ranks) {
      const auto has_said = [&] {
        const std::vector<Line> said = Said(rank);
        return std::ranges::any_of(said, [&](const Line& l) { return l.level == level && l.text.starts_with(what); });
      };
      EXPECT_TRUE(WaitUntil(has_said)) << level << " " << what << " is not in what was said:\n" << All(rank);
      for (const Line& line : Said(rank)) {
        const bool fine = line.text.starts_with(what) || line.text.find(": " + what) != std::string::npos;
        EXPECT_TRUE(fine) << line.text << "\nis more than " << what;
      }
    }
  }
  void ExpectSilence(int ranks) {
    for (int rank = 0; rank < ranks; ++rank) EXPECT_TRUE(Said(rank).empty()) << All(rank);
  }
  std::string Who(int rank) {
    char host[256];
    gethostname(host, sizeof(host));
    return fmt::format("rank {} (host {}, pid {})", rank, host, job_->board().pid[rank].load());
  }

  ScratchFolder folder_;
  std::unique_ptr<RankProcesses> job_;
  int ranks_ = 0;
};

// All_reduces until one fails; then the communicator stays, so that there is something to look at. `act` is the victim's own deed before
// the first call after it was told to go on.
RankProcesses::Body Loop(int victim, std::function<Status(Communicator&)> act = {}) {
  return [victim, act](CommunicatorOptions options, Board& board) -> Status {
    options.name = "dp";
    Result<Communicator> c = Communicator::Create(options);
    if (!c.ok()) return c.status();
    std::vector<float> in(1024, 1.0f), out(1024);
    bool acted = false;
    Status s;
    for (int call = 0; s.ok(); ++call) {
      if (call == kWarmUp) ++board.ready;
      if (call >= kWarmUp && board.go == 1 && options.rank == victim && act && !acted) {
        acted = true;
        s = act(*c);
      } else {
        s = c->Run(AllReduce(in, out));
      }
    }
    snprintf(board.said[options.rank], sizeof(board.said[0]), "%s", s.ToString().c_str());
    PauseForEver();
  };
}

TEST_F(Monitored, ARankThatIsStoppedAndGoesOn) {
  Start(4, Loop(2));
  job_->WaitReady(4);
  kill(job_->board().pid[2], SIGSTOP);
  ExpectSaid({0, 1, 3}, "WARN", Who(2) + " is stopped; ranks 0, 1 and 3 have waited for ");
  kill(job_->board().pid[2], SIGCONT);
  for (const int rank : {0, 1, 3}) {
    const auto cleared = [&] { return Said(rank).back().text.starts_with("cleared after "); };
    EXPECT_TRUE(WaitUntil(cleared)) << All(rank);
    EXPECT_NE(Said(rank).back().text.find(": " + Who(2) + " is stopped"), std::string::npos) << All(rank);
  }
}

TEST_F(Monitored, ARankThatWasKilled) {
  Start(3, Loop(1));
  job_->WaitReady(3);
  const std::string who = Who(1);
  job_->Kill(1);
  ExpectSaid({0, 2}, "WARN", who + " is gone: its process ");
}

// The kernel ends it: its control group has less memory than it takes. Monitors count once a communicator is a second old.
TEST_F(Monitored, ARankThatLacksMemory) {
  if (!MemoryLimit::IsPossible()) GTEST_SKIP() << "control groups of memory cannot be made here";
  const MemoryLimit limit(std::int64_t{128} << 20);
  const auto take = [](Communicator&) -> Status { MemoryLimit::TakeUntilKilled(); };
  Start(3, [&limit, loop = Loop(1, take)](const CommunicatorOptions& options, Board& board) {
    if (options.rank == 1) limit.Enter(getpid());
    return loop(options, board);
  });
  job_->WaitReady(3);
  SleepMs(2000);
  const std::string gone = Who(1) + " is gone: its process ";
  job_->board().go = 1;
  for (const int rank : {0, 2}) {
    // On a busy machine it may have been late before.
    std::string text;
    EXPECT_TRUE(WaitUntil([&] {
      for (const Line& line : Said(rank)) text = line.text.starts_with(gone) ? line.text : text;
      return !text.empty();
    })) << All(rank);
    EXPECT_NE(text.find("memory (limit 128.0 MiB"), std::string::npos) << text;
    EXPECT_NE(text.find(". Give the control group more memory"), std::string::npos) << text;
  }
  job_->Kill(1);  // or its group stays
}

// The kernel's log is a file here.
TEST_F(Monitored, ARankOfWhichTheKernelHasWritten) {
  Settings settings = Base();
  settings.kernel_log = folder_.Path("kern.log");
  std::ofstream log(settings.kernel_log);
  log << "[1.000000] Out of memory: Killed process 1 (old) total-vm:8kB, anon-rss:4kB" << std::endl;
  Start(3, Loop(-1), settings);
  job_->WaitReady(3);
  log << "Nov 26 17:00:00 node7 kernel: Out of memory: Killed process " << job_->board().pid[1]
      << " (train) total-vm:4096kB, anon-rss:2048kB, file-rss:1024kB" << std::endl;
  const std::string who = Who(1);
  job_->Kill(1);
  ExpectSaid({0, 2}, "WARN", who + " is gone: its process ");
  if (!sys::PidsAreTheKernels()) GTEST_SKIP() << "the kernel knows processes by other ids";
  for (const int rank : {0, 2}) {
    const std::string text = Said(rank).front().text;
    EXPECT_NE(text.find(": the kernel ended it because the host lacked memory (it had 3.0 MiB); "), std::string::npos)
        << text;
  }
}

TEST_F(Monitored, ARankThatSleeps) {
  Start(3, Loop(0, [](Communicator&) {
          SleepMs(600'000);
          return Status::Ok();
        }));
  job_->WaitReady(3);
  job_->board().go = 1;
  ExpectSaid({1, 2}, "INFO", Who(0) + " has not called all_reduce(count 1024, float32, sum), operation ");
}

TEST_F(Monitored, ARankThatCallsSomethingElse) {
  Start(3, Loop(2, [](Communicator& c) {
          std::vector<float> in(7), out(7);
          return c.Run(AllReduce(in, out));
        }));
  job_->WaitReady(3);
  job_->board().go = 1;
  ExpectSaid({0, 1, 2}, "WARN", "the calls of the ranks do not match: ");
  EXPECT_NE(Said(0).front().text.find(Who(2) + " called all_reduce(count 7, "), std::string::npos) << All(0);
}

TEST_F(Monitored, TwoOrdersOfTwoCommunicators) {
  const UniqueId second = *CreateUniqueId();
  Start(2, [second](CommunicatorOptions options, Board& board) -> Status {
    options.name = "dp";
    Result<Communicator> dp = Communicator::Create(options);
    options.name = "tp";
    options.id = second;
    Result<Communicator> tp = Communicator::Create(options);
    if (!dp.ok() || !tp.ok()) return Status(Code::kInternal, "no communicators");
    ++board.ready;
    Communicator& first = options.rank == 0 ? *dp : *tp;
    return first.Run(Barrier());
  });
  ExpectSaid({0, 1}, "WARN", "deadlock: ");
  for (const int rank : {0, 1}) {
    const std::string text = Said(rank).front().text;
    EXPECT_NE(text.find(Who(0) + " is in barrier(), operation 1 of communicator dp"), std::string::npos) << text;
    EXPECT_NE(text.find(Who(1) + " is in barrier(), operation 1 of communicator tp"), std::string::npos) << text;
  }
}

TEST_F(Monitored, ARankThatNeverComes) {
  Start(4, [](CommunicatorOptions options, Board&) -> Status {
    if (options.rank == 1) PauseForEver();
    options.name = "dp";
    return Communicator::Create(options).status();
  });
  ExpectSaid({0, 2, 3}, "INFO", "communicator dp waits for rank 1 of 4, ");
}

// Rank 1 waits for rank 2 in a communicator that rank 0 has no part in. Rank 0 is not to take rank 1 for late.
TEST_F(Monitored, AWaitOutOfSight) {
  const UniqueId second = *CreateUniqueId();
  Start(3, [second](CommunicatorOptions options, Board& board) -> Status {
    std::vector<Communicator> dp, tp;
    const int rank = options.rank;
    options.name = "dp";
    options.ranks = 2;
    if (rank < 2) {
      Result<Communicator> made = Communicator::Create(options);
      if (!made.ok()) return made.status();
      dp.push_back(std::move(*made));
    }
    options.name = "tp";
    options.id = second;
    options.rank = rank - 1;
    if (rank > 0) {
      Result<Communicator> made = Communicator::Create(options);
      if (!made.ok()) return made.status();
      tp.push_back(std::move(*made));
    }
    ++board.ready;
    if (rank == 2) PauseForEver();
    if (rank == 1) TUTTI_RETURN_IF_ERROR(tp[0].Run(Barrier()));
    return dp[0].Run(Barrier());
  });
  job_->WaitReady(3);
  const std::string who = Who(2).substr(Who(2).find(" (")),
                    late = fmt::format("rank 1{} has not called barrier(), ", who);
  ExpectSaid({1}, "INFO", late);
  ExpectSaid({0}, "INFO", "what holds communicator dp up is not known: rank 1 waits in communicator 0x");
}

TEST_F(Monitored, NothingWhereAllIsWell) {
  Start(3, Loop(1, [](Communicator&) {
          SleepMs(700);
          return Status::Ok();
        }));
  job_->WaitReady(3);
  SleepMs(1500);
  ExpectSilence(3);
  job_->board().go = 1;  // a pause
  SleepMs(3000);
  ExpectSilence(3);
}

std::string Joined(const std::vector<int>& ranks) { return fmt::format("{}", fmt::join(ranks, " ")); }

TEST_F(Monitored, EndsACommunicatorWhereItShall) {
  Settings settings = Base();
  settings.abort_after_ms = 1000;
  Start(
      3,
      [](CommunicatorOptions options, Board& board) -> Status {
        options.name = "dp";
        Result<Communicator> c = Communicator::Create(options);
        if (!c.ok()) return c.status();
        const Status s = AllReduceForEver(*c, 1024, board);
        const StandingVerdict verdict = c->WhoHoldsItUp();
        return Status(s.code(), fmt::format("{}|{}|{}", verdict.kind, Joined(verdict.exclude), s.message()));
      },
      settings);
  job_->WaitReady(3);
  kill(job_->board().pid[1], SIGSTOP);
  const std::string who = Who(1);
  for (const int rank : {0, 2}) {
    EXPECT_TRUE(WaitUntil([&] { return job_->board().ended_ms[rank] != 0; })) << All(rank);
    EXPECT_NE(job_->said(rank).find("stopped|1|"), std::string::npos) << job_->said(rank);
    EXPECT_NE(job_->said(rank).find(who + " is stopped; "), std::string::npos) << job_->said(rank);
    EXPECT_NE(job_->said(rank).find("Continue it with kill -CONT "), std::string::npos) << job_->said(rank);
    for (const Line& line : Said(rank)) EXPECT_TRUE(line.text.starts_with(who + " is stopped; ")) << line.text;
  }
}

// A warning comes after ten seconds.
TEST_F(Monitored, EndsTheMakingOfACommunicatorWhereItShall) {
  Settings settings = Base();
  settings.abort_after_ms = 0;
  Start(
      3,
      [](CommunicatorOptions options, Board&) -> Status {
        if (options.rank == 2) PauseForEver();
        options.name = "dp";
        return Communicator::Create(options).status();
      },
      settings);
  for (const int rank : {0, 1}) {
    EXPECT_TRUE(WaitUntil([&] { return job_->board().ended_ms[rank] != 0; })) << All(rank);
    EXPECT_NE(job_->said(rank).find("communicator dp waits for rank 2 of 3, "), std::string::npos) << job_->said(rank);
    EXPECT_NE(job_->said(rank).find("TUTTI_ON_VERDICT=abort:0 has ended"), std::string::npos) << job_->said(rank);
  }
}

// Runs `body` on two ranks of a communicator, as threads of this process.
void OnTwoRanks(const Settings& settings, const std::function<void(Communicator&)>& body) {
  const UniqueId id = *CreateUniqueId();
  const auto run = [&](int rank) {
    Result<Communicator> c = Communicator::Create({.rank = rank, .ranks = 2, .id = id, .settings = settings});
    ASSERT_TRUE(c.ok()) << c.status().message();
    body(*c);
  };
  std::thread other(run, 1);
  run(0);
  other.join();
}

TEST(Monitor, IsThereWhileThereAreCommunicators) {
  EXPECT_EQ(Monitors(), 0);
  const auto is_there = [](Communicator& c) {
    EXPECT_TRUE(c.Run(Barrier()).ok());
    EXPECT_TRUE(WaitUntil([] { return Monitors() == 1; }));
    EXPECT_TRUE(c.WhoHoldsItUp().kind.empty());
    EXPECT_TRUE(c.Run(Barrier()).ok());
  };
  OnTwoRanks({}, is_there);
  EXPECT_TRUE(WaitUntil([] { return Monitors() == 0; }));
  OnTwoRanks({}, is_there);
  EXPECT_TRUE(WaitUntil([] { return Monitors() == 0; }));
}

TEST(Monitor, IsNotThereWhereItIsOff) {
  Settings settings;
  settings.monitor = false;
  OnTwoRanks(settings, [](Communicator& c) {
    EXPECT_TRUE(c.Run(Barrier()).ok());
    SleepMs(50);
    EXPECT_EQ(Monitors(), 0);
    EXPECT_TRUE(c.WhoHoldsItUp().kind.empty());
    EXPECT_TRUE(c.Run(Barrier()).ok());
  });
}

TEST(Monitor, LeavesNothingBehind) {
  const auto once = [](Communicator& c) { EXPECT_TRUE(c.Run(Barrier()).ok()); };
  const auto only_own = [] {  // and those that stay: one answers other hosts, by the other one peers name this process
    return CountThreads([](const std::string& name) { return name != "tutti-hosts" && name != kSleeper; }) == 1;
  };
  EXPECT_TRUE(only_own());
  OnTwoRanks({}, once);
  EXPECT_TRUE(WaitUntil(only_own));
  const int descriptors = CountEntries("/proc/self/fd");
  for (int i = 0; i < 50; ++i) OnTwoRanks({}, once);
  EXPECT_TRUE(WaitUntil(only_own));
  EXPECT_EQ(CountEntries("/proc/self/fd"), descriptors);
}

// The signals that the monitor blocks, a bit for each; 0 where there is none.
std::uint64_t SignalsBlockedByMonitor() {
  std::uint64_t blocked = 0;
  DIR* d = opendir("/proc/self/task");
  while (const dirent* entry = readdir(d)) {
    std::ifstream status(fmt::format("/proc/self/task/{}/status", entry->d_name));
    std::string name, line;
    std::getline(status, name);
    if (!name.ends_with("tutti-monitor")) continue;
    while (std::getline(status, line)) {
      if (line.starts_with("SigBlk:")) blocked = std::stoull(line.substr(7), nullptr, 16);
    }
  }
  closedir(d);
  return blocked;
}

TEST(Monitor, TakesNoSignal) {
  OnTwoRanks({}, [](Communicator& c) {
    if (c.rank() == 0) {
      EXPECT_TRUE(WaitUntil([] { return Monitors() == 1; }));
      for (const int signal : {SIGTERM, SIGINT, SIGALRM, SIGCHLD, SIGPROF, SIGUSR1})
        EXPECT_NE(SignalsBlockedByMonitor() >> (signal - 1) & 1, 0u) << signal;
    }
    EXPECT_TRUE(c.Run(Barrier()).ok());
  });
}

// A process ends although its monitor looks and one of its threads waits for ever.
TEST(Monitor, DoesNotHoldUpTheEndOfItsProcess) {
  ChildProcess child([] {
    const UniqueId id = *CreateUniqueId();
    std::atomic<int> made{0};
    std::thread([&made, id] {
      Result<Communicator> c = Communicator::Create({.rank = 1, .ranks = 2, .id = id});
      ++made;
      PauseForEver();
    }).detach();
    std::thread([&made, id] {
      Result<Communicator> c = Communicator::Create({.rank = 0, .ranks = 2, .id = id});
      ++made;
      (void)c->Run(Barrier()).ok();
    }).detach();
    while (made < 2) SleepMs(1);
    SleepMs(1000);
    std::exit(WaitUntil([] { return Monitors() == 1; }) ? 7 : 1);  // a thread has its maker's name at first
    return 0;
  });
  EXPECT_EQ(child.Wait(), 7) << child.output();
}

// A forked child has no monitor of its parent, gets one with a communicator of its own, and ends.
TEST(Monitor, IsNotInheritedByAFork) {
  ChildProcess child([] {
    int outcome = 0;
    OnTwoRanks({}, [&outcome](Communicator& c) {
      if (c.rank() == 0) {
        (void)WaitUntil([] { return Monitors() == 1; });
        SleepMs(700);  // rank 1 waits: the monitor looks, and forks come at any moment of that
        for (int i = 0; i < 20 && outcome == 0; ++i) {
          const pid_t pid = fork();
          if (pid == 0) {
            if (Monitors() != 0 || !c.WhoHoldsItUp().kind.empty()) _exit(2);
            bool there = false;
            OnTwoRanks({}, [&there](Communicator& own) {
              (void)WaitUntil([] { return Monitors() == 1; });
              there = own.Run(Barrier()).ok() && Monitors() <= 1;
            });
            _exit(there && WaitUntil([] { return Monitors() == 0; }) ? 0 : 3);
          }
          int status = 0;
          waitpid(pid, &status, 0);
          outcome = WIFEXITED(status) ? WEXITSTATUS(status) : 100;
        }
      }
      EXPECT_TRUE(c.Run(Barrier()).ok());
    });
    return testing::Test::HasFailure() ? 99 : outcome;
  });
  EXPECT_EQ(child.Wait(), 0) << child.output();
}

}  // namespace
}  // namespace tutti::tests
