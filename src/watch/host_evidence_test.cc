// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
// What is made of a kernel's log, of control groups and of NVML's answers, all of which are rendered here; and of a process that a real kernel
// ends.
#include "watch/host_evidence.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <fstream>
#include <functional>
#include <thread>

#include "diag/sentence.h"
#include "diag/test_looks.h"
#include "sys/os/clock.h"
#include "sys/os/kernel_log.h"
#include "tests/support/memory_limit.h"
#include "tests/support/rendered_host.h"

namespace tutti::watch {
namespace {

using diag::Job;
using Earlier = HostEvidence::Earlier;
using tests::RenderedGpu;
using tests::RenderedHost;

constexpr const char* kBusIds[] = {"0000:1b:00.0", "0000:2b:00.0", "0000:3b:00.0", "0000:4b:00.0"};

// A host of four ranks with a GPU each, whose processes have made-up ids.
class Rendered : public testing::Test {
 protected:
  Rendered() : job_(4) {
    for (int r = 0; r < 4; ++r) {
      job_.rank(r).gpu_bus_id = kBusIds[r];
      host_.Write(fmt::format("/proc/{}/cgroup", 100 + r), "0::/job");
    }
    host_.Write("/sys/fs/cgroup/job/memory.max", fmt::format("{}", 64 << 20));
    CountKills(3);
    host_.Write("/kmsg", "");
  }
  void CountKills(int kills) {
    host_.Write("/sys/fs/cgroup/job/memory.events", fmt::format("oom 9\noom_kill {}", kills));
  }
  void Log(const std::string& line, std::int64_t ago_s = 1) {
    std::ofstream(host_.root() + "/kmsg", std::ios::app)
        << fmt::format("6,1,{},-;{}\n", (Job::kNow - ago_s * diag::kSecond) / 1000, line);
  }
  HostEvidence Make(Earlier earlier = Earlier::kDoesNotCount) const {
    return {{.kernel_log = host_.root() + "/kmsg",
             .nvml_library = TUTTI_FAKE_NVML,
             .proc = host_.root() + "/proc",
             .cgroup = host_.root() + "/sys/fs/cgroup"},
            earlier};
  }
  // GPUs 0 and 1 are joined by an NVLink, the others' lead to a switch. Lines for GPU 1.
  void SetGpus(const std::string& more,
               const std::vector<std::string>& links = {"1 0 0000:1b:00.0 1", "1 2 ffffffff:ff:ff.0 1"}) {
    host_.SetNvml("driver 580.159.04\n");
    for (int r = 0; r < 4; ++r) {
      host_.AddGpu({.bus_id = kBusIds[r],
                    .nvlinks = r == 1   ? links
                               : r == 0 ? std::vector<std::string>{"1 0 0000:2b:00.0 1", "1 2 ffffffff:ff:ff.0 1"}
                                        : tests::NvLinksToSwitch(2),
                    .more = r == 1 ? more : "ecc 1 0 0\nclocks 0 1980 1980 41\npower 300000 700000\n"});
    }
  }
  // The look with evidence, once NVML has answered.
  diag::Look After(HostEvidence& evidence, std::int64_t later_ns = 0) {
    diag::Look look = job_.now;
    look.taken_ns = sys::NowNs() + later_ns;
    // The ranks' own times go along.
    for (diag::RankLook& rank : look.communicators[0].seen) {
      if (rank.wait.since_ns != 0) rank.wait.since_ns += look.taken_ns - Job::kNow;
    }
    diag::Look asks = look;
    evidence.AddTo(asks);
    for (int i = 0; i < 5000 && evidence.is_asking(); ++i) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    evidence.AddTo(look);
    return look;
  }
  static diag::GpuLook GpuOf(const diag::Look& look, int r) {
    const diag::GpuLook* gpu = look.processes[static_cast<std::size_t>(r)].FindGpu(kBusIds[r]);
    EXPECT_NE(gpu, nullptr);
    return gpu == nullptr ? diag::GpuLook() : *gpu;
  }

  RenderedHost host_;
  Job job_;
};

TEST_F(Rendered, AsksNothingWhereAllIsWell) {
  SetGpus("stall 3000\n");  // would show
  HostEvidence evidence = Make();
  diag::Look look = job_.now;
  evidence.AddTo(look);
  EXPECT_FALSE(evidence.is_asking());
  EXPECT_TRUE(look.processes[0].gpus.empty());
  // Ranks that wait for a moment are no reason.
  job_.WaitOnRing(0.1, {2});
  look = job_.now;
  evidence.AddTo(look);
  EXPECT_TRUE(look.processes[0].gpus.empty());
}

TEST_F(Rendered, WhoLackedMemoryByTheCounter) {
  HostEvidence evidence = Make();
  for (int r = 0; r < 4; ++r) evidence.Remember(100 + r);
  job_.WaitOnRing(0.3, {1});
  job_.process(1).state = diag::ProcessState::kGone;
  diag::Look look = job_.now;
  evidence.AddTo(look);
  EXPECT_EQ(look.processes[1].ending, diag::EndingLook());  // killed before, or not for that
  CountKills(4);
  look = job_.now;
  evidence.AddTo(look);
  const diag::EndingLook& ending = look.processes[1].ending;
  EXPECT_EQ(ending.group_kills, 1);
  EXPECT_EQ(ending.group, "/job");
  EXPECT_EQ(ending.limit_bytes, 64 << 20);
  EXPECT_FALSE(ending.out_of_memory);
  EXPECT_EQ(look.processes[0].ending, diag::EndingLook());  // it lives
}

TEST_F(Rendered, WhoLackedMemoryByTheLog) {
  if (!sys::PidsAreTheKernels()) GTEST_SKIP() << "the kernel knows processes by other ids";
  Log("Memory cgroup out of memory: Killed process 101 (train) total-vm:9kB, anon-rss:7kB", 100'000);  // another's
  Log("oom-kill:constraint=CONSTRAINT_MEMCG,nodemask=(null),cpuset=/,mems_allowed=0,oom_memcg=/job,task_memcg=/job,"
      "task=train,pid=101,uid=0");
  Log("Memory cgroup out of memory: Killed process 101 (train) total-vm:9kB, anon-rss:2048kB, file-rss:0kB");
  Log("train[103]: segfault at 0 ip 00 sp 00 error 4 in libfoo.so");
  job_.WaitOnRing(0.3, {1});
  job_.rank(1).created_ns = job_.rank(3).created_ns = Job::kNow - 1000 * diag::kSecond;
  for (const int r : {1, 3}) job_.process(r).state = diag::ProcessState::kGone;
  HostEvidence all = Make(Earlier::kCounts);
  diag::Look look = job_.now;
  all.AddTo(look);
  EXPECT_TRUE(look.processes[1].ending.out_of_memory && look.processes[1].ending.of_group);
  EXPECT_EQ(look.processes[1].ending.group, "/job");
  EXPECT_EQ(look.processes[1].ending.resident_bytes, 2 << 20);
  EXPECT_EQ(look.processes[3].ending.crash, "segfault at 0 ip 00 sp 00 error 4 in libfoo.so");
  // Who begins now has not seen it.
  HostEvidence later = Make(Earlier::kDoesNotCount);
  look = job_.now;
  later.AddTo(look);
  EXPECT_EQ(look.processes[1].ending, diag::EndingLook());
  // A thread that makes the rank's calls has an id of its own.
  Log("loader[777]: segfault at 10 ip 00 sp 00 error 4");
  job_.rank(3).wait.thread = 777;
  look = job_.now;
  later.AddTo(look);
  EXPECT_EQ(look.processes[3].ending.crash, "segfault at 10 ip 00 sp 00 error 4");
}

TEST_F(Rendered, Xids) {
  SetGpus("");
  HostEvidence evidence = Make();
  Log("NVRM: Xid (PCI:0000:2b:00): 79, pid='<unknown>', name=<unknown>, GPU has fallen off the bus.");
  Log("NVRM: Xid (PCI:0000:3b:00): 31, pid=102, name=train, MMU Fault");
  Log("NVRM: Xid (PCI:0000:4b:00): 31, pid=4711, name=other, MMU Fault");  // of another program
  Log("NVRM: Xid (PCI:0000:4b:00): 94, pid=4711, name=other, Contained");
  job_.WaitOnRing(5, {2});
  for (int r = 0; r < 4; ++r) job_.rank(r).created_ns = Job::kNow - 100 * diag::kSecond;
  diag::Look look = job_.now;
  evidence.AddTo(look);
  ASSERT_EQ(GpuOf(look, 1).xids.size(), 1u);
  EXPECT_EQ(GpuOf(look, 1).xids[0].number, 79);
  EXPECT_EQ(GpuOf(look, 1).xids[0].at_ns, Job::kNow - diag::kSecond);
  EXPECT_TRUE(GpuOf(look, 0).xids.empty());
  EXPECT_EQ(GpuOf(look, 2).xids.size(), 1u);
  EXPECT_EQ(GpuOf(look, 3).xids.size(), sys::PidsAreTheKernels() ? 1u : 2u);
  // What came before the communicator was made says nothing.
  for (int r = 0; r < 4; ++r) job_.rank(r).created_ns = Job::kNow + 100 * diag::kSecond;
  look = job_.now;
  evidence.AddTo(look);
  EXPECT_TRUE(GpuOf(look, 1).xids.empty());
}

TEST_F(Rendered, HealthAsNvmlTellsIt) {
  SetGpus("ecc 1 12 3\nrows 0 1 1 0\nclocks 48 345 1980 92\npower 210500 700000\n");
  HostEvidence evidence = Make();
  job_.WaitOnRing(5, {1});
  diag::Look look = After(evidence);
  diag::GpuLook gpu = GpuOf(look, 1);
  EXPECT_EQ(gpu.uncorrected, std::uint64_t{3});
  EXPECT_EQ(gpu.uncorrected_rise, std::uint64_t{0});
  EXPECT_TRUE(gpu.rows_pending && !gpu.rows_failed && !gpu.lost);
  EXPECT_EQ(gpu.clock_mhz, 345u);
  EXPECT_EQ(gpu.most_clock_mhz, 1980u);
  EXPECT_EQ(gpu.throttle, std::uint32_t{diag::kTooHot | diag::kHeldByHardware});
  EXPECT_EQ(gpu.power_w, 210u);
  EXPECT_EQ(gpu.power_limit_w, 700u);
  EXPECT_EQ(gpu.temperature_c, 92u);
  EXPECT_EQ(gpu.nvlinks_up, 2);
  EXPECT_EQ(gpu.nvlinks_usual, 2);
  EXPECT_TRUE(gpu.nvlinks.empty());
  // Later there is more: an error of its memory, and of its links.
  SetGpus("ecc 1 12 4\nclocks 0 1980 1980 50\nerrors 0 90000 2 12\nerrors 1 0 0 0\n");
  look = After(evidence, 20 * diag::kSecond);
  gpu = GpuOf(look, 1);
  EXPECT_EQ(gpu.uncorrected_rise, std::uint64_t{1});
  ASSERT_EQ(gpu.nvlinks.size(), 1u);
  EXPECT_EQ(gpu.nvlinks[0].number, 0);
  EXPECT_EQ(gpu.nvlinks[0].to, kBusIds[0]);
  EXPECT_EQ(gpu.nvlinks[0].replays, 90'000u);
  EXPECT_FALSE(gpu.nvlinks[0].down);
  EXPECT_TRUE(GpuOf(look, 0).nvlinks.empty());
  // It goes down: where it led to is known from before.
  SetGpus("", {"0 0 0000:00:00.0 1", "1 2 ffffffff:ff:ff.0 1"});
  look = After(evidence, 40 * diag::kSecond);
  gpu = GpuOf(look, 1);
  ASSERT_EQ(gpu.nvlinks.size(), 1u);
  EXPECT_TRUE(gpu.nvlinks[0].down);
  EXPECT_EQ(gpu.nvlinks[0].to, kBusIds[0]);
  EXPECT_EQ(gpu.nvlinks_up, 1);
}

TEST_F(Rendered, AGpuThatIsLost) {
  SetGpus("fail nvmlDeviceGetHandleByIndex_v2 15\n");
  HostEvidence evidence = Make();
  job_.WaitOnRing(5, {1});
  const diag::Look look = After(evidence);
  EXPECT_TRUE(GpuOf(look, 1).lost);
  EXPECT_FALSE(GpuOf(look, 0).lost);
}

// Nobody waits for a driver that takes its time.
TEST_F(Rendered, ADriverThatDoesNotAnswer) {
  SetGpus("");
  host_.SetNvml("stall 1000\n");
  HostEvidence evidence = Make();
  job_.WaitOnRing(5, {1});
  diag::Look look = job_.now;
  look.taken_ns = sys::NowNs();
  for (diag::RankLook& rank : look.communicators[0].seen) rank.wait.since_ns = look.taken_ns - 5 * diag::kSecond;
  evidence.AddTo(look);
  EXPECT_EQ(GpuOf(look, 1).silent_ns, 0);
  for (diag::ProcessLook& process : look.processes) process.gpus.clear();
  look.taken_ns += 4 * diag::kSecond;  // as if so much had gone by
  evidence.AddTo(look);
  if (!evidence.is_asking()) GTEST_SKIP() << "this machine has taken a second for two calls";
  EXPECT_EQ(GpuOf(look, 1).silent_ns, 4 * diag::kSecond);
  host_.SetNvml("");
  for (int i = 0; i < 5000 && evidence.is_asking(); ++i) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  EXPECT_FALSE(evidence.is_asking());
}

TEST_F(Rendered, WithoutNvml) {
  unsetenv("TUTTI_FAKE_NVML");
  HostEvidence evidence = Make();
  job_.WaitOnRing(5, {1});
  const diag::Look look = After(evidence);
  EXPECT_FALSE(GpuOf(look, 1).lost);
  EXPECT_EQ(GpuOf(look, 1).clock_mhz, 0u);
}

// From lines and answers to the sentence.
TEST_F(Rendered, IsTold) {
  SetGpus("clocks 0 1980 1980 45\npower 118000 700000\n");
  HostEvidence evidence = Make();
  job_.WaitOnRing(5, {1});
  job_.Call(1);
  job_.rank(1).gpu = 1;
  Log("NVRM: Xid (PCI:0000:2b:00): 119, pid=101, name=train, Timeout after 6s of waiting for RPC response from GPU1 "
      "GSP!");
  diag::Look now = job_.now;
  evidence.AddTo(now);
  for (int i = 0; i < 5000 && evidence.is_asking(); ++i) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  now = job_.now;
  evidence.AddTo(now);
  const std::vector<diag::Verdict> verdicts = diag::Judge(job_.Before(), now);
  ASSERT_EQ(verdicts.size(), 1u);
  EXPECT_EQ(
      diag::What(verdicts[0]),
      "the GPU of rank 1 (host a, pid 101, GPU 1) makes no progress in all_reduce(count 1024, float32, sum), operation "
      "11 "
      "of communicator dp and waits for nobody: Xid 119 of GPU 0000:2b:00.0 at 02:16:39 UTC (the GPU's system "
      "processor "
      "(GSP) does not answer the driver); GPU 0000:2b:00.0 runs at 1980 of 1980 MHz, takes 118 of 700 W and has 45 C");
}

// A child that takes more memory than its control group has.
TEST(HostEvidence, OfAProcessThatTheKernelEnds) {
  if (!tests::MemoryLimit::IsPossible()) GTEST_SKIP() << "control groups of memory cannot be made here";
  const tests::MemoryLimit limit(48 << 20);
  HostEvidence evidence({}, Earlier::kDoesNotCount);
  int go[2], there[2];
  ASSERT_EQ(pipe(go), 0);
  ASSERT_EQ(pipe(there), 0);
  const pid_t child = fork();
  if (child == 0) {
    limit.Enter(getpid());
    (void)!write(there[1], "x", 1);
    char c;
    (void)!read(go[0], &c, 1);
    tests::MemoryLimit::TakeUntilKilled();
  }
  char c;
  ASSERT_EQ(read(there[0], &c, 1), 1);
  evidence.Remember(child);
  EXPECT_EQ(write(go[1], "x", 1), 1);
  siginfo_t ended;
  waitid(P_PID, static_cast<id_t>(child), &ended, WEXITED | WNOWAIT);
  for (const int fd : {go[0], go[1], there[0], there[1]}) close(fd);
  Job job(2);
  job.Wait(0, 1, 0.1);
  job.process(1) = {.host = "a", .pid = child, .state = diag::ProcessState::kZombie, .end = SIGKILL};
  diag::Look now = job.now;
  now.taken_ns = sys::NowNs();
  for (diag::RankLook& rank : now.communicators[0].seen) rank.created_ns = now.taken_ns - diag::kSecond;
  evidence.AddTo(now);
  waitpid(child, nullptr, 0);
  EXPECT_EQ(now.processes[1].ending.group_kills, 1);
  EXPECT_EQ(now.processes[1].ending.limit_bytes, 48 << 20);
  EXPECT_EQ(now.processes[1].ending.group.substr(0, 7), "/tutti-");
}

}  // namespace
}  // namespace tutti::watch
