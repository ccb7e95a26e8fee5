// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
// What lines of the kernel's log say, in the forms that they have, and how they are read as they come.
#include "sys/os/kernel_log.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <fstream>
#include <thread>

#include "sys/os/clock.h"
#include "tests/support/scratch_folder.h"

namespace tutti::sys {
namespace {

using Kind = KernelEvent::Kind;

std::optional<KernelEvent> Parse(const std::string& text) { return ParseKernelEvent({.at_ns = 7, .text = text}); }

TEST(KernelEvent, Xids) {
  struct Case {
    const char* text;
    int xid;
    const char* bus_id;
    int pid;
    const char* says;
  };
  for (const Case& c : {
           Case{"NVRM: Xid (PCI:0000:3b:00): 79, pid='<unknown>', name=<unknown>, GPU has fallen off the bus.", 79,
                "0000:3b:00.0", 0, "pid='<unknown>', name=<unknown>, GPU has fallen off the bus."},
           Case{"NVRM: Xid (PCI:0000:01:00): 31, pid=1234, name=train, Ch 00000008, MMU Fault", 31, "0000:01:00.0",
                1234, "pid=1234, name=train, Ch 00000008, MMU Fault"},
           Case{"NVRM: Xid (0000:03:00): 48, An uncorrectable double bit error", 48, "0000:03:00.0", 0,
                "An uncorrectable double bit error"},
           Case{"NVRM: Xid (PCI:0008:01:00 GPU-I:05): 13, pid=77, Graphics Exception", 13, "0008:01:00.0", 77,
                "pid=77, Graphics Exception"},
           Case{"NVRM: Xid (PCI:0000:3B:00.0): 119", 119, "0000:3b:00.0", 0, ""},
       }) {
    const std::optional<KernelEvent> event = Parse(c.text);
    ASSERT_TRUE(event) << c.text;
    EXPECT_EQ(event->kind, Kind::kXid);
    EXPECT_EQ(event->at_ns, 7);
    EXPECT_EQ(event->xid, c.xid);
    EXPECT_EQ(event->bus_id, c.bus_id);
    EXPECT_EQ(event->pid, c.pid);
    EXPECT_EQ(event->text, c.says);
  }
  for (const char* other :
       {"NVRM: loading NVIDIA UNIX x86_64 Kernel Module", "NVRM: Xid (PCI:0000:3b:00", "NVRM: Xid (x): 79",
        "NVRM: Xid (PCI:0000:3b:00): none", "NVRM: GPU 0000:01:00.0: GPU has fallen off the bus."}) {
    EXPECT_FALSE(Parse(other)) << other;
  }
}

TEST(KernelEvent, LackOfMemory) {
  std::optional<KernelEvent> event = Parse(
      "oom-kill:constraint=CONSTRAINT_MEMCG,nodemask=(null),cpuset=/,mems_allowed=0,oom_memcg=/job,task_memcg=/job/a,"
      "task=a, b,pid=4711,uid=0");
  ASSERT_TRUE(event);
  EXPECT_EQ(event->kind, Kind::kOutOfMemory);
  EXPECT_EQ(event->pid, 4711);
  EXPECT_EQ(event->of_group, true);
  EXPECT_EQ(event->group, "/job");
  event = Parse(
      "Memory cgroup out of memory: Killed process 4711 (train (x)) total-vm:221372kB, anon-rss:2048kB, "
      "file-rss:1024kB, "
      "shmem-rss:0kB, UID:0 pgtables:140kB oom_score_adj:0");
  ASSERT_TRUE(event);
  EXPECT_EQ(event->pid, 4711);
  EXPECT_EQ(event->of_group, true);
  EXPECT_EQ(event->resident_bytes, 3 << 20);
  event = Parse("Out of memory: Killed process 12 (train) total-vm:8kB, anon-rss:4kB");
  ASSERT_TRUE(event);
  EXPECT_EQ(event->of_group, false);
  EXPECT_EQ(event->resident_bytes, 4096);
  event = Parse(
      "oom-kill:constraint=CONSTRAINT_NONE,nodemask=(null),cpuset=/,mems_allowed=0,global_oom,task_memcg=/x,"
      "task=train,pid=12,uid=0");
  ASSERT_TRUE(event);
  EXPECT_EQ(event->of_group, false);
  EXPECT_EQ(event->group, "");
  EXPECT_FALSE(Parse("systemd: Killed process 12 (train)"));
  EXPECT_FALSE(Parse("train invoked oom-killer: gfp_mask=0xcc0(GFP_KERNEL), order=0, oom_score_adj=0"));
}

TEST(KernelEvent, Crashes) {
  std::optional<KernelEvent> event = Parse(
      "a b[12][4711]: segfault at 0 ip 00007f7a43974219 sp 00007fffbcae4588 error 4 in libc.so.6[156219,7f+156000] "
      "likely on CPU 1 (core 1, socket 0)");
  ASSERT_TRUE(event);
  EXPECT_EQ(event->kind, Kind::kCrash);
  EXPECT_EQ(event->pid, 4711);
  EXPECT_EQ(event->text,
            "segfault at 0 ip 00007f7a43974219 sp 00007fffbcae4588 error 4 in libc.so.6[156219,7f+156000]");
  event = Parse("traps: train[5] trap invalid opcode ip:401136 sp:7ffd error:0 in train[401000+1000]");
  ASSERT_TRUE(event);
  EXPECT_EQ(event->pid, 5);
  EXPECT_EQ(event->text.substr(0, 19), "trap invalid opcode");
  event = Parse("traps: train[5] general protection fault ip:401136 sp:7ffd error:0");
  ASSERT_TRUE(event);
  EXPECT_FALSE(Parse("segfault at 0"));
  EXPECT_FALSE(Parse("train[x]: segfault at 0"));
}

TEST(KernelLine, Forms) {
  const auto text_of = [](const char* line) {
    const std::optional<KernelLine> parsed = internal::ParseKernelLine(line);
    return parsed ? std::to_string(parsed->at_ns) + " " + parsed->text : "none";
  };
  EXPECT_EQ(text_of("6,30417,59791602449,-;train[1]: segfault; at 0"), "59791602449000 train[1]: segfault; at 0");
  EXPECT_EQ(text_of("4,30417,5,c,caller=T1;text"), "5000 text");
  EXPECT_EQ(text_of("4,30417,x,-;text"), "-1 4,30417,x,-;text");
  EXPECT_EQ(text_of("12,30417,59791602449,-;of a program"), "none");
  EXPECT_EQ(text_of("[   12.000345] NVRM: x"), "12000345000 NVRM: x");
  EXPECT_EQ(text_of("[Tue Nov 26 10:00:00 2026] NVRM: x"), "-1 [Tue Nov 26 10:00:00 2026] NVRM: x");
  EXPECT_EQ(text_of("Nov 26 10:00:00 node7 kernel: [12345.678901] NVRM: x"), "12345678901000 NVRM: x");
  EXPECT_EQ(text_of("2026-11-26T10:00:00.1+00:00 node7 kernel: NVRM: x"), "-1 NVRM: x");
  EXPECT_EQ(text_of("a\tb\x01"), "-1 a?b?");
  EXPECT_EQ(text_of(""), "none");
  EXPECT_EQ(text_of(" SUBSYSTEM=pci"), "-1 SUBSYSTEM=pci");
}

TEST(KernelLog, ReadsAFileAsItGrows) {
  const tests::ScratchFolder folder;
  const std::string path = folder.Path("kern.log");
  std::ofstream file(path);
  file << "[1.000000] one\n[2.000000] two\n[3.0" << std::flush;
  KernelLog all(path, KernelLog::From::kBeginning), later(path, KernelLog::From::kNow);
  std::vector<KernelLine> lines = all.More();
  ASSERT_EQ(lines.size(), 2u);
  EXPECT_EQ(lines[1].text, "two");
  EXPECT_TRUE(all.More().empty());
  EXPECT_TRUE(later.More().empty());
  file << "00000] three\n[4.000000] four\n" << std::flush;
  lines = all.More();
  ASSERT_EQ(lines.size(), 2u);
  EXPECT_EQ(lines[0].at_ns, 3'000'000'000);
  lines = later.More();
  ASSERT_EQ(lines.size(), 2u);  // half of a line is a line, too
  EXPECT_EQ(lines[1].text, "four");
  std::ofstream(path) << "[5.000000] five\n";
  lines = all.More();
  ASSERT_EQ(lines.size(), 1u);
  EXPECT_EQ(lines[0].text, "five");
}

TEST(KernelLog, ReadsNothingElse) {
  for (const char* path : {"/none/kmsg", "/dev/zero", "/proc/self", ""}) {
    KernelLog log(path, KernelLog::From::kBeginning);
    EXPECT_FALSE(log.readable()) << path;
    EXPECT_TRUE(log.More().empty()) << path;
  }
  EXPECT_TRUE(KernelLog().More().empty());
}

// A child that does what it may not, where this system tells of it.
TEST(KernelLog, OfThisMachine) {
  KernelLog log(kKernelLog, KernelLog::From::kNow);
  if (!log.readable()) GTEST_SKIP() << "the kernel's log may not be read";
  if (!PidsAreTheKernels()) GTEST_SKIP() << "the kernel knows processes by other ids";
  const pid_t child = fork();
  if (child == 0) {
    const rlimit no_core{};
    setrlimit(RLIMIT_CORE, &no_core);
    signal(SIGSEGV, SIG_DFL);
    *reinterpret_cast<volatile int*>(8) = 1;
    _exit(0);
  }
  int status = 0;
  waitpid(child, &status, 0);
  ASSERT_TRUE(WIFSIGNALED(status) || WEXITSTATUS(status) != 0);
  for (int i = 0; i < 200; ++i) {
    for (const KernelLine& line : log.More()) {
      const std::optional<KernelEvent> event = ParseKernelEvent(line);
      if (!event || event->kind != Kind::kCrash || event->pid != child) continue;
      EXPECT_EQ(event->text.substr(0, 14), "segfault at 8 ");
      return;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  GTEST_SKIP() << "this system does not log crashes";
}

}  // namespace
}  // namespace tutti::sys
