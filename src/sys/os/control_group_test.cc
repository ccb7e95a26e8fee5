// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
// Control groups of both versions, as files; and a real one whose process the kernel ends for want of memory.
#include "sys/os/control_group.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <vector>

#include "sys/os/kernel_log.h"
#include "tests/support/memory_limit.h"
#include "tests/support/scratch_folder.h"

namespace tutti::sys {
namespace {

class Groups : public testing::Test {
 protected:
  void Write(const std::string& path, const std::string& text) const {
    const std::filesystem::path whole = folder_.Path(path);
    std::filesystem::create_directories(whole.parent_path());
    std::ofstream(whole) << text;
  }
  GroupTime Time() const { return ReadGroupTime(folder_.Path("proc/7"), folder_.Path("proc"), folder_.Path("cgroup")); }
  std::optional<MemoryGroup> Memory() const { return FindMemoryGroup(folder_.Path("proc/7"), folder_.Path("cgroup")); }

  tests::ScratchFolder folder_;
};

TEST_F(Groups, TimeOfTheSecondVersion) {
  Write("proc/7/cgroup", "0::/pod/job\n");
  Write("cgroup/pod/job/cpu.stat", "usage_usec 30\nnr_throttled 1\nthrottled_usec 5\n");
  Write("cgroup/pod/cpu.stat", "usage_usec 40\nthrottled_usec 70\n");
  EXPECT_EQ(Time().throttled_ns, 70'000);  // of the group that lacks most
  EXPECT_EQ(Time().run_ns, 40'000);
}

TEST_F(Groups, TimeOfTheFirstVersion) {
  Write("proc/7/cgroup", "4:memory:/x\n1:cpu,cpuacct:/job\n0::/job\n");
  Write("cgroup/cpu/job/cpu.stat", "nr_throttled 1\nthrottled_time 7000\n");
  Write("cgroup/cpu/job/cpuacct.usage", "9000\n");
  EXPECT_EQ(Time().throttled_ns, 7000);
  EXPECT_EQ(Time().run_ns, 9000);
  // Of another mount: by what its processes say.
  std::filesystem::remove(folder_.Path("cgroup/cpu/job/cpuacct.usage"));
  EXPECT_EQ(Time().run_ns, -1);
  Write("cgroup/cpu/job/cgroup.procs", "7\n8\n9\n");
  Write("proc/7/stat", "7 (a b) S 1 1 1 0 -1 0 0 0 0 0 30 12 0 0 20 0 1\n");
  Write("proc/8/stat", "8 (b) S 1 1 1 0 -1 0 0 0 0 0 5 3 0 0 20 0 1\n");
  EXPECT_EQ(Time().run_ns, 50 * (1'000'000'000 / sysconf(_SC_CLK_TCK)));
}

TEST_F(Groups, NoneThatIsKnown) {
  EXPECT_EQ(Time().throttled_ns, -1);
  EXPECT_FALSE(Memory());
  Write("proc/7/cgroup", "junk\n0::/none\n");
  EXPECT_EQ(Time().throttled_ns, -1);
  EXPECT_FALSE(Memory());
}

TEST_F(Groups, MemoryOfTheSecondVersion) {
  Write("proc/7/cgroup", "0::/pod/job (deleted)\n");
  Write("cgroup/pod/job/memory.events", "low 0\nhigh 0\nmax 9\noom 3\noom_kill 2\n");
  Write("cgroup/pod/job/memory.max", "max\n");
  Write("cgroup/pod/memory.max", "67108864\n");
  const std::optional<MemoryGroup> group = Memory();
  ASSERT_TRUE(group);
  EXPECT_EQ(group->name, "/pod/job");
  EXPECT_EQ(group->limit_bytes, 64 << 20);
  EXPECT_EQ(ReadMemoryKills(*group), 2);
}

TEST_F(Groups, MemoryOfTheFirstVersion) {
  Write("proc/7/cgroup", "4:memory:/../x\n0::/\n");  // a container's, seen from inside
  Write("cgroup/memory/memory.oom_control", "oom_kill_disable 0\nunder_oom 0\noom_kill 5\n");
  Write("cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n");
  const std::optional<MemoryGroup> group = Memory();
  ASSERT_TRUE(group);
  EXPECT_EQ(group->limit_bytes, -1);
  EXPECT_EQ(ReadMemoryKills(*group), 5);
}

TEST(ControlGroup, CountsWhoLackedMemory) {
  if (!tests::MemoryLimit::IsPossible()) GTEST_SKIP() << "control groups of memory cannot be made here";
  const tests::MemoryLimit limit(48 << 20);
  KernelLog log(kKernelLog, KernelLog::From::kNow);
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
  const std::optional<MemoryGroup> group = FindMemoryGroup(fmt::format("/proc/{}", child), "/sys/fs/cgroup");
  EXPECT_EQ(write(go[1], "x", 1), 1);
  int status = 0;
  waitpid(child, &status, 0);
  for (const int fd : {go[0], go[1], there[0], there[1]}) close(fd);
  ASSERT_TRUE(group);
  EXPECT_EQ(group->limit_bytes, 48 << 20);
  EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == 9);
  EXPECT_EQ(ReadMemoryKills(*group), 1);
  if (!log.readable() || !PidsAreTheKernels()) return;
  int found = 0;
  for (const KernelLine& line : log.More()) {
    const std::optional<KernelEvent> event = ParseKernelEvent(line);
    if (!event || event->kind != KernelEvent::Kind::kOutOfMemory || event->pid != child) continue;
    ++found;
    EXPECT_EQ(event->of_group, true) << line.text;
    if (!event->group.empty()) {
      EXPECT_EQ(event->group, group->name);
    } else {
      EXPECT_GT(event->resident_bytes, 10 << 20);
    }
  }
  EXPECT_EQ(found, 2);
}

}  // namespace
}  // namespace tutti::sys
