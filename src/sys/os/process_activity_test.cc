// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
// What other processes do: real ones that sleep, write, are stopped or have ended, and a tree of files with what is rare.
#include "sys/os/process_activity.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <functional>
#include <thread>
#include <vector>

#include "tests/support/scratch_folder.h"

namespace tutti::sys {
namespace {

class Child {
 public:
  explicit Child(const std::function<void()>& body) : pid_(fork()) {
    if (pid_ != 0) return;
    body();
    _exit(3);
  }
  ~Child() {
    kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
  }
  pid_t pid() const { return pid_; }
  // Its activity when `wanted` holds, or after some seconds.
  ProcessActivity When(const std::function<bool(const ProcessActivity&)>& wanted) const {
    ProcessActivity seen;
    for (int i = 0; i < 5000; ++i) {
      seen = ReadActivity(pid_).value_or(ProcessActivity{});
      if (wanted(seen)) break;
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    return seen;
  }

 private:
  pid_t pid_;
};

bool Sleeps(const ProcessActivity& a) { return a.state == 'S'; }

TEST(Activity, OfAProcessThatSleeps) {
  const Child child([] {
    while (true) sleep(60);
  });
  const ProcessActivity a = child.When(Sleeps);
  EXPECT_EQ(a.pid, child.pid());
  EXPECT_EQ(a.state, 'S');
  ASSERT_EQ(a.threads.size(), 1u);
  EXPECT_EQ(a.threads[0].tid, child.pid());
  EXPECT_GE(a.run_ns, -1);
  EXPECT_FALSE(a.end);
  if (a.threads[0].system_call.empty()) GTEST_SKIP() << "this system does not show system calls";
  EXPECT_EQ(a.threads[0].system_call, "clock_nanosleep");
  EXPECT_TRUE(a.threads[0].object.empty());
}

TEST(Activity, NamesWhatACallWorksOn) {
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  const Child child([&] {
    const std::vector<char> much(1 << 20);
    (void)!write(ends[1], much.data(), much.size());
  });
  const ProcessActivity a = child.When(Sleeps);
  close(ends[0]);
  close(ends[1]);
  ASSERT_FALSE(a.threads.empty());
  if (a.threads[0].system_call.empty()) GTEST_SKIP() << "this system does not show system calls";
  EXPECT_EQ(a.threads[0].system_call, "write");
  EXPECT_EQ(a.threads[0].object.substr(0, 6), "pipe:[");
}

TEST(Activity, OfProcessesThatAreStoppedOrHaveEnded) {
  const Child stopped([] {
    raise(SIGSTOP);
    pause();
  });
  EXPECT_EQ(stopped.When([](const ProcessActivity& a) { return a.state == 'T'; }).state, 'T');
  const Child ended([] {});
  ProcessActivity a = ended.When([](const ProcessActivity& a) { return a.state == 'Z'; });
  EXPECT_EQ(a.state, 'Z');
  EXPECT_TRUE(a.threads.empty());
  if (a.end && *a.end != 0) {
    EXPECT_EQ(WEXITSTATUS(*a.end), 3);
  }
  EXPECT_FALSE(ReadActivity(2147483632));
}

TEST(Activity, ListsProcesses) {
  const std::vector<std::int32_t> all = ListProcesses();
  EXPECT_NE(std::ranges::find(all, getpid()), all.end());
}

void Write(const std::filesystem::path& path, const std::string& text) {
  std::filesystem::create_directories(path.parent_path());
  std::ofstream(path) << text;
}

std::string Stat(int pid, const std::string& name, char state, int threads) {
  std::string text = std::to_string(pid) + " (" + name + ") " + state + " 1";
  for (int field = 5; field <= 52; ++field)
    text += field == 20 ? " " + std::to_string(threads) : field == 52 ? " 9" : " " + std::to_string(field);
  return text + "\n";
}

// A process with a thread that waits for a disk, children, and a control group that is kept off the cores.
TEST(Activity, ReadsWhatIsRare) {
  const tests::ScratchFolder folder;
  const std::filesystem::path proc = std::filesystem::path(folder.path()) / "proc",
                              group = std::filesystem::path(folder.path()) / "cgroup";
  const ActivityRoots roots{.proc = proc.string(), .cgroup = group.string()};
  const auto thread = [&](int tid, const std::string& name, char state, const std::string& call,
                          const std::string& place) {
    const std::filesystem::path task = proc / "70" / "task" / std::to_string(tid);
    Write(task / "stat", Stat(tid, name, state, 4));
    Write(task / "syscall", call);
    Write(task / "wchan", place);
  };
  Write(proc / "70" / "stat", Stat(70, "a (b) c", 'S', 4));
  thread(70, "a (b) c", 'S', "-1 0x7f 0x7f\n", "0");
  thread(71, "sleeper", 'S', "running\n", "0");
  thread(72, "runner", 'R', "running\n", "0");
  thread(73, "saver", 'D', std::to_string(SYS_write) + " 0x5 0x0\n", "nfs_wait_on_request");
  std::filesystem::create_directories(proc / "70" / "fd");
  std::filesystem::create_symlink("/ckpt/17.pt", proc / "70" / "fd" / "5");
  Write(proc / "70" / "task" / "70" / "children", "80 81 ");
  Write(proc / "80" / "stat", Stat(80, "nvcc", 'S', 1));
  Write(proc / "81" / "stat", Stat(81, "over", 'Z', 1));
  Write(proc / "70" / "task" / "70" / "schedstat", "100 200 3\n");
  Write(proc / "70" / "io",
        "rchar: 1\nwchar: 2\nsyscr: 3\nsyscw: 4\nread_bytes: 5\nwrite_bytes: 6\ncancelled_write_bytes: 7\n");
  Write(proc / "70" / "cgroup", "4:memory:/x\n1:cpu,cpuacct:/job/a\n0::/job/b\n");
  Write(group / "cpu" / "job" / "cpu.stat", "nr_throttled 1\nthrottled_time 7000\n");
  Write(group / "job" / "b" / "cpu.stat", "usage_usec 1\nthrottled_usec 5\n");
  const auto a = ReadActivity(70, roots);
  ASSERT_TRUE(a);
  EXPECT_EQ(a->name, "a (b) c");
  ASSERT_EQ(a->threads.size(), 3u);
  EXPECT_EQ(a->threads[0].tid, 70);
  EXPECT_EQ(a->threads[0].system_call, "");
  EXPECT_EQ(a->threads[1].name, "saver");
  EXPECT_EQ(a->threads[1].system_call, "write");
  EXPECT_EQ(a->threads[1].object, "/ckpt/17.pt");
  EXPECT_EQ(a->threads[1].kernel_place, "nfs_wait_on_request");
  EXPECT_EQ(a->threads[2].name, "runner");
  EXPECT_EQ(a->children, std::vector<std::string>{"nvcc"});
  EXPECT_EQ(a->run_ns, 100);
  EXPECT_EQ(a->queue_ns, 200);
  EXPECT_EQ(a->throttled_ns, 7000);
  EXPECT_EQ(a->group_run_ns, -1);
  EXPECT_EQ(a->written_bytes, 6);
  const auto zombie = ReadActivity(81, roots);
  ASSERT_TRUE(zombie);
  EXPECT_EQ(zombie->end, 9);
  std::vector<std::int32_t> all = ListProcesses(roots);
  std::ranges::sort(all);
  EXPECT_EQ(all, (std::vector<std::int32_t>{70, 80, 81}));
}

TEST(Activity, NamesSystemCalls) {
  EXPECT_EQ(NameOfSystemCall(SYS_fsync), "fsync");
  EXPECT_EQ(NameOfSystemCall(99999), "system call 99999");
  EXPECT_TRUE(TakesDescriptor("fsync"));
  EXPECT_FALSE(TakesDescriptor("futex"));
}

}  // namespace
}  // namespace tutti::sys
