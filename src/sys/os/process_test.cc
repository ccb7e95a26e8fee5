// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "sys/os/process.h"

#include <gtest/gtest.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>
#include <vector>

#include "sys/os/clock.h"
#include "sys/os/fd.h"

namespace tutti::sys {
namespace {

// A forked child that sleeps, or runs `body`, until it is killed.
class Child {
 public:
  explicit Child(void (*body)() = nullptr) {
    int pipe_fds[2];
    EXPECT_EQ(pipe(pipe_fds), 0);
    pid_ = fork();
    if (pid_ == 0) {
      (void)!write(pipe_fds[1], "x", 1);
      if (body != nullptr) body();
      while (true) pause();
    }
    char ready;
    EXPECT_EQ(read(pipe_fds[0], &ready, 1), 1);
    close(pipe_fds[0]);
    close(pipe_fds[1]);
    const std::optional<ProcessStat> stat = ReadProcessStat(pid_);
    id_ = {.pid = pid_, .start_ticks = stat ? stat->start_ticks : 0};
  }
  ~Child() { KillAndReap(); }

  void Kill() { kill(pid_, SIGKILL); }
  void KillAndReap() {
    if (pid_ <= 0) return;
    Kill();
    waitpid(pid_, nullptr, 0);
    pid_ = 0;
  }
  ProcessId id() const { return id_; }

 private:
  pid_t pid_;
  ProcessId id_;
};

// Waits until the process is found to be in `state`; whether that happened within 5 s.
bool Becomes(ProcessId id, Liveness state) {
  for (int i = 0; i < 5000; ++i) {
    if (ProbeProcess(id) == state) return true;
    SleepNs(kNsPerMs);
  }
  return false;
}

TEST(ProcessTest, SelfIsAlive) {
  const ProcessId self = Self();
  EXPECT_EQ(self.pid, getpid());
  EXPECT_GT(self.start_ticks, 0u);
  EXPECT_EQ(ProbeProcess(self), Liveness::kAlive);
  EXPECT_EQ(self, Self());
  EXPECT_EQ(Parent().pid, getppid());
  EXPECT_NE(ProcessNamespace(), 0u);
}

TEST(ProcessTest, KilledChildIsDeadAsZombieAndAfterReaping) {
  Child child;
  EXPECT_EQ(ProbeProcess(child.id()), Liveness::kAlive);
  child.Kill();
  EXPECT_TRUE(Becomes(child.id(), Liveness::kDead)) << "a zombie must count as dead";
  child.KillAndReap();
  EXPECT_EQ(ProbeProcess(child.id()), Liveness::kDead);
}

TEST(ProcessTest, StoppedChildIsAlive) {
  Child child;
  kill(child.id().pid, SIGSTOP);
  SleepNs(20 * kNsPerMs);
  EXPECT_EQ(ProbeProcess(child.id()), Liveness::kAlive);
}

TEST(ProcessTest, AnotherStartTimeMeansAnotherProcess) {
  Child child;
  ProcessId other = child.id();
  ++other.start_ticks;
  EXPECT_EQ(ProbeProcess(other), Liveness::kDead);
}

TEST(ProcessTest, WithoutStartTimeThePidDecides) {
  Child child;
  ProcessId id = child.id();
  id.start_ticks = 0;
  EXPECT_EQ(ProbeProcess(id), Liveness::kAlive);
  child.KillAndReap();
  EXPECT_EQ(ProbeProcess(id), Liveness::kDead);
  EXPECT_EQ(ProbeProcess({}), Liveness::kUnknown);
}

TEST(ProcessTest, AliveWhileAnyThreadRuns) {
  Child child(+[] {
    pthread_t thread;
    pthread_create(
        &thread, nullptr,
        +[](void*) -> void* {
          while (true) pause();
        },
        nullptr);
    syscall(SYS_exit, 0);  // ends this thread only: leaves a first thread in state Z and a process that lives
  });
  bool seen = false;
  for (int i = 0; i < 2000 && !seen; ++i) {
    const std::optional<ProcessStat> stat = ReadProcessStat(child.id().pid);
    seen = stat && stat->state == 'Z';
    EXPECT_EQ(ProbeProcess(child.id()), Liveness::kAlive);
    SleepNs(kNsPerMs);
  }
  EXPECT_TRUE(seen);
  EXPECT_EQ(ProbeProcess(child.id()), Liveness::kAlive);
  child.Kill();
  EXPECT_TRUE(Becomes(child.id(), Liveness::kDead));
}

TEST(ProcessTest, OddNamesAreParsed) {
  Child child(+[] { prctl(PR_SET_NAME, ") Z (x) 1 2"); });
  SleepNs(20 * kNsPerMs);
  const std::optional<ProcessStat> stat = ReadProcessStat(child.id().pid);
  ASSERT_TRUE(stat);
  EXPECT_EQ(stat->name, ") Z (x) 1 2");
  EXPECT_EQ(stat->parent, getpid());
  EXPECT_GE(stat->threads, 1);  // a sanitizer may have one of its own
  EXPECT_EQ(ProbeProcess(child.id()), Liveness::kAlive);
}

TEST(ProcessTest, OtherTextIsNoProcessStat) {
  for (const char* text : {"", "12", "12 (", "12 )(", "x (a) S 1", "12 (a) S 1 2 3", "12 (a)"}) {
    EXPECT_FALSE(ParseProcessStat(text)) << text;
  }
  const std::optional<ProcessStat> stat =
      ParseProcessStat("12 (a b) c) S 1 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 2 21 777 23");
  ASSERT_TRUE(stat);
  EXPECT_EQ(stat->name, "a b) c");
  EXPECT_EQ(stat->start_ticks, 777u);
  EXPECT_EQ(stat->threads, 2);
}

TEST(ProcessTest, ProbeIsCheap) {
  const ProcessId self = Self();
  constexpr int kProbes = 2000;
  const std::int64_t begin_ns = NowNs();
  for (int i = 0; i < kProbes; ++i) ASSERT_EQ(ProbeProcess(self), Liveness::kAlive);
  const double us = static_cast<double>(NowNs() - begin_ns) / 1000 / kProbes;
  RecordProperty("probe_us", std::to_string(us));
  EXPECT_LT(us, 1000) << "a probe must be cheap enough to be made between two sleeps";
}

TEST(ProcessTest, ReadsAndWritesAnotherProcessesMemory) {
  static std::vector<int> numbers(100'000, 7);
  AllowPeersToRead();
  Child child(+[] {
    for (int& n : numbers) n = 8;
    prctl(PR_SET_NAME, "written");
  });
  for (int i = 0; i < 1000 && ReadProcessStat(child.id().pid)->name != "written"; ++i) SleepNs(kNsPerMs);
  const std::size_t bytes = numbers.size() * sizeof(int);
  std::vector<int> seen(numbers.size());
  const Result<std::size_t> read = ReadProcessMemory(child.id().pid, numbers.data(), seen.data(), bytes);
  if (!read.ok() && read.status().code() == Code::kSystem) GTEST_SKIP() << read.status().ToString();
  ASSERT_TRUE(read.ok()) << read.status().ToString();
  EXPECT_EQ(*read, bytes);
  EXPECT_EQ(seen, std::vector<int>(numbers.size(), 8));
  seen.assign(seen.size(), 9);
  ASSERT_TRUE(WriteProcessMemory(child.id().pid, numbers.data(), seen.data(), bytes).ok());
  std::vector<int> again(numbers.size());
  ASSERT_TRUE(ReadProcessMemory(child.id().pid, numbers.data(), again.data(), bytes).ok());
  EXPECT_EQ(again, seen);
  EXPECT_EQ(numbers[0], 7);
}

TEST(ProcessTest, BadTransfersAreErrorsThatSayWhy) {
  char byte = 0;
  const Result<std::size_t> hole = ReadProcessMemory(getpid(), reinterpret_cast<void*>(16), &byte, 1);
  ASSERT_FALSE(hole.ok());
  EXPECT_NE(hole.status().message().find("not mapped"), std::string::npos) << hole.status().ToString();
  Child child;
  const ProcessId id = child.id();
  child.KillAndReap();
  const Result<std::size_t> gone = ReadProcessMemory(id.pid, &byte, &byte, 1);
  ASSERT_FALSE(gone.ok());
  EXPECT_EQ(gone.status().code(), Code::kRemote) << gone.status().ToString();
  EXPECT_TRUE(ReadProcessMemory(getpid(), &byte, &byte, 0).ok());
}

TEST(ProcessTest, UsableCpusFollowsTheAffinityMask) {
  const int all = UsableCpus();
  EXPECT_GE(all, 1);
  cpu_set_t before, one;
  ASSERT_EQ(sched_getaffinity(0, sizeof(before), &before), 0);
  CPU_ZERO(&one);
  for (int cpu = 0; cpu < CPU_SETSIZE && CPU_COUNT(&one) == 0; ++cpu) {
    if (CPU_ISSET(cpu, &before)) CPU_SET(cpu, &one);
  }
  ASSERT_EQ(sched_setaffinity(0, sizeof(one), &one), 0);
  EXPECT_EQ(UsableCpus(), 1);
  sched_setaffinity(0, sizeof(before), &before);
  EXPECT_EQ(UsableCpus(), all);
}

TEST(ProcessTest, CpuQuotasAreRoundedUp) {
  EXPECT_EQ(internal::ParseCpuMax("150000 100000\n"), 2);
  EXPECT_EQ(internal::ParseCpuMax("200000 100000\n"), 2);
  EXPECT_EQ(internal::ParseCpuMax("1000 100000\n"), 1);
  for (const char* text : {"max 100000\n", "", "x", "100000", "1 0"}) {
    EXPECT_FALSE(internal::ParseCpuMax(text)) << text;
  }
}

TEST(ProcessTest, HostAndEnvironment) {
  EXPECT_FALSE(HostName().empty());
  EXPECT_EQ(HostHash(), HostHash());
  EXPECT_NE(HostHash(), 0u);
  EXPECT_EQ(GetEnv("TUTTI_TEST_NO_SUCH_VARIABLE"), std::nullopt);
  setenv("TUTTI_TEST_VARIABLE", "value", 1);
  EXPECT_EQ(GetEnv("TUTTI_TEST_VARIABLE"), "value");
}

TEST(ProcessTest, LeaksNoDescriptors) {
  const int before = CountOpenFds();
  (void)ProbeProcess(Self());
  (void)ProbeProcess({.pid = 1 << 22, .start_ticks = 1});
  (void)UsableCpus();
  (void)HostHash();
  EXPECT_EQ(CountOpenFds(), before);
}

}  // namespace
}  // namespace tutti::sys
