// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
// Many communicators at once, and what is left behind of them: in children, and after failures.
#include <dirent.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <span>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "comm/identity/unique_id.h"
#include "sys/os/clock.h"
#include "tests/support/meeting.h"
#include "tests/support/sanitizers.h"
#include "tutti/communicator.h"

namespace tutti {
namespace {

using namespace tests;

constexpr int kCommunicators = 200;

Settings SmallSettings() {
  Settings settings;
  settings.init_timeout_ms = kPatientMs;
  settings.shared_bytes = 256 << 10;
  settings.monitor = Settings::FromEnvironment().monitor;  // sanitizers want none (TUTTI_FORKING_TESTS)
  return settings;
}

Result<Communicator> Join(const UniqueId& id, int rank, int ranks) {
  return Communicator::Create({.rank = rank, .ranks = ranks, .id = id, .settings = SmallSettings()});
}

// Whether the ranks of a communicator are those that were meant: the sum of their tags tells.
Status CheckSum(Communicator& communicator, int tag, int expected) {
  int sum = tag;
  std::span<int> one(&sum, 1);
  TUTTI_RETURN_IF_ERROR(communicator.Run(AllReduce(one, one)));
  return sum == expected ? Status::Ok() : Status(Code::kInternal, "other ranks than meant");
}

std::vector<UniqueId> Ids(int count) {
  std::vector<UniqueId> ids;
  for (int i = 0; i < count; ++i) ids.push_back(*CreateUniqueId());
  return ids;
}

// Restores the limit of open files, which a storm of threads needs raised.
class InitStormTest : public MeetingTest {
 protected:
  InitStormTest() {
    getrlimit(RLIMIT_NOFILE, &limit_);
    const rlimit raised = {.rlim_cur = std::min<rlim_t>(limit_.rlim_max, 16384), .rlim_max = limit_.rlim_max};
    setrlimit(RLIMIT_NOFILE, &raised);
  }
  ~InitStormTest() override { setrlimit(RLIMIT_NOFILE, &limit_); }

 private:
  rlimit limit_;
};

// Every rank is a thread.
TEST_F(InitStormTest, TwoHundredCommunicatorsOfThreads) {
  constexpr int kRanks = 3;
  const std::vector<UniqueId> ids = Ids(kCommunicators);
  const std::int64_t begin_ns = sys::NowNs();
  ExpectAllOk(OnThreads(UpTo(kCommunicators * kRanks), [&](int i) {
    const int which = i / kRanks, rank = i % kRanks;
    Result<Communicator> communicator = Join(ids[which], rank, kRanks);
    if (!communicator.ok()) return communicator.status();
    return CheckSum(*communicator, which * 10 + rank, which * 30 + 3);
  }));
  RecordProperty("ms", static_cast<int>((sys::NowNs() - begin_ns) / sys::kNsPerMs));
}

// Four processes are the same four ranks of all, with a thread for each communicator.
TEST_F(InitStormTest, TwoHundredCommunicatorsOfTheSameProcesses) {
  constexpr int kRanks = 4;
  const std::vector<UniqueId> ids = Ids(kCommunicators);
  ExpectAllOk(OnProcesses(UpTo(kRanks), [&](int rank) {
    std::vector<Status> outcomes = OnThreads(UpTo(kCommunicators), [&](int which) {
      Result<Communicator> communicator = Join(ids[which], rank, kRanks);
      if (!communicator.ok()) return communicator.status();
      return CheckSum(*communicator, which * 10 + rank, which * 40 + 6);
    });
    const auto bad = std::ranges::find_if(outcomes, [](const Status& s) { return !s.ok(); });
    return bad == outcomes.end() ? Status::Ok() : *bad;
  }));
}

// Four processes make them one after the other, and keep them all.
TEST_F(InitStormTest, TwoHundredCommunicatorsInARow) {
  constexpr int kRanks = 4;
  const std::vector<UniqueId> ids = Ids(kCommunicators);
  ExpectAllOk(OnProcesses(UpTo(kRanks), [&](int rank) {
    std::vector<Communicator> communicators;
    for (int which = 0; which < kCommunicators; ++which) {
      Result<Communicator> communicator = Join(ids[which], rank, kRanks);
      if (!communicator.ok()) return communicator.status();
      communicators.push_back(std::move(*communicator));
    }
    for (Communicator& communicator : communicators) TUTTI_RETURN_IF_ERROR(CheckSum(communicator, rank, 6));
    return Status::Ok();
  }));
}

// One process for each rank of 100 communicators of two.
TEST_F(InitStormTest, TwoHundredProcesses) {
  const std::vector<UniqueId> ids = Ids(100);
  ExpectAllOk(OnProcesses(UpTo(200), [&](int i) {
    Result<Communicator> communicator = Join(ids[i / 2], i % 2, 2);
    return communicator.ok() ? CheckSum(*communicator, i, i / 2 * 4 + 1) : communicator.status();
  }));
}

// How long it takes is written down, not judged: that depends on what else the machine does.
TEST_F(InitStormTest, SixtyFourProcessesAndManyThreads) {
  std::int64_t begin_ns = sys::NowNs();
  ExpectAllOk(OnProcesses(UpTo(64), [&](int rank) { return Join(id_, rank, 64).status(); }));
  const std::int64_t processes_ns = sys::NowNs() - begin_ns;
  begin_ns = sys::NowNs();
  ExpectAllOk(OnThreads(UpTo(256), [&](int rank) { return MeetAndCheck(id_, rank, 256, kPatientMs); }));
  const std::int64_t threads_ns = sys::NowNs() - begin_ns;
  RecordProperty("processes_ms", static_cast<int>(processes_ns / sys::kNsPerMs));
  RecordProperty("threads_ms", static_cast<int>(threads_ns / sys::kNsPerMs));
}

// --- Many ranks of one communicator.

// 256 ranks, fewer under a slow sanitizer, as threads of as many processes, until the end of their first all_reduce. Each process is a host of its own where
// `hosts` is more than 1. How long it takes is written down.
void ManyRanksReduce(const UniqueId& id, int processes, int hosts) {
  constexpr int kRanks = Scaled(256);
  const int each = kRanks / processes;
  const std::int64_t begin_ns = sys::NowNs();
  ExpectAllOk(OnProcesses(UpTo(processes), [&](int process) {
    std::vector<Status> outcomes = OnThreads(UpTo(each), [&](int thread) {
      const int rank = process * each + thread;
      Settings settings = SmallSettings();
      settings.timeout_ms = kPatientMs;
      if (hosts > 1) settings.host_id = "host" + std::to_string(process * hosts / processes);
      Result<Communicator> communicator =
          Communicator::Create({.rank = rank, .ranks = kRanks, .id = id, .settings = settings});
      return communicator.ok() ? CheckSum(*communicator, rank, kRanks * (kRanks - 1) / 2) : communicator.status();
    });
    const auto bad = std::ranges::find_if(outcomes, [](const Status& s) { return !s.ok(); });
    return bad == outcomes.end() ? Status::Ok() : *bad;
  }));
  testing::Test::RecordProperty("ms", static_cast<int>((sys::NowNs() - begin_ns) / sys::kNsPerMs));
}

TEST_F(InitStormTest, ManyRanksOfOneProcess) { ManyRanksReduce(id_, 1, 1); }
TEST_F(InitStormTest, ManyRanksOfOneHost) { ManyRanksReduce(id_, 4, 1); }
TEST_F(InitStormTest, ManyRanksOfFourHosts) {
  if (comm::ReadId(id_)->addresses.empty()) GTEST_SKIP() << "hosts cannot meet under an id without addresses";
  ManyRanksReduce(id_, 4, 4);
}

// --- Children.

// A process that forks after init and whose child ends, with or without destroying what it inherited.
TEST_F(InitStormTest, ForkedChildrenDoNotDisturb) {
  ExpectAllOk(OnProcesses(UpTo(3), [&](int rank) {
    Result<Communicator> communicator = Join(id_, rank, 3);
    if (!communicator.ok()) return communicator.status();
    for (int round = 0; round < 3; ++round) {
      const pid_t child = fork();
      if (child == 0) _exit(0);
      TUTTI_RETURN_IF_ERROR(CheckSum(*communicator, rank, 3));
      waitpid(child, nullptr, 0);
      TUTTI_RETURN_IF_ERROR(CheckSum(*communicator, rank, 3));
    }
    return Status::Ok();
  }));
}

// A child may make communicators of its own, with the parent and with others.
TEST_F(InitStormTest, AForkedChildCanBeARankToo) {
  const UniqueId second = *CreateUniqueId();
  ExpectAllOk(OnProcesses(UpTo(2), [&](int rank) {
    Result<Communicator> communicator = Join(id_, rank, 2);
    if (!communicator.ok()) return communicator.status();
    const pid_t child = fork();
    const int rank_of_four = rank * 2 + (child == 0);
    Result<Communicator> larger = Join(second, rank_of_four, 4);
    if (larger.ok()) TUTTI_RETURN_IF_ERROR(CheckSum(*larger, 1 << rank_of_four, 15));
    if (child == 0) _exit(larger.ok() ? 0 : 1);
    int status = -1;
    waitpid(child, &status, 0);
    if (!larger.ok() || status != 0) return Status(Code::kInternal, "the child failed");
    return CheckSum(*communicator, rank, 1);
  }));
}

// The descriptors of a process that are not close-on-exec, beyond the first three.
std::vector<std::string> Inheritable() {
  std::vector<std::string> found;
  DIR* folder = opendir("/proc/self/fd");
  while (const dirent* entry = readdir(folder)) {
    const int fd = std::atoi(entry->d_name);
    if (entry->d_name[0] == '.' || fd <= 2 || (fcntl(fd, F_GETFD) & FD_CLOEXEC) != 0) continue;
    char target[256] = {};
    (void)!readlink(("/proc/self/fd/" + std::string(entry->d_name)).c_str(), target, sizeof(target) - 1);
    found.push_back(std::string(entry->d_name) + " " + target);
  }
  closedir(folder);
  return found;
}

// A program that is started while ranks meet, when they have met and when they are connected inherits nothing.
TEST_F(InitStormTest, NothingLeaksIntoOtherPrograms) {
  const std::vector<std::string> before = Inheritable();
  std::atomic<bool> done = false;
  std::vector<std::string> leaked;
  std::thread watcher([&] {
    while (!done) {
      for (const std::string& fd : Inheritable()) {
        const bool ours = fd.find("socket") != fd.npos || fd.find("tutti") != fd.npos || fd.find("memfd") != fd.npos;
        if (ours && std::ranges::find(before, fd) == before.end()) leaked.push_back(fd);
      }
    }
  });
  for (int round = 0; round < 20; ++round) {
    const UniqueId id = *CreateUniqueId();
    ExpectAllOk(OnThreads(UpTo(5), [&](int rank) {
      Result<Communicator> communicator = Join(id, rank, 5);
      return communicator.ok() ? CheckSum(*communicator, 1, 5) : communicator.status();
    }));
  }
  done = true;
  watcher.join();
  EXPECT_TRUE(leaked.empty()) << leaked.size() << " descriptors, the first: " << leaked.front();
}

// --- Failures leave no descriptors: MeetingTest counts them. Nor mappings.

int Mappings() {
  int count = 0;
  std::FILE* maps = std::fopen("/proc/self/maps", "r");
  for (char line[4096]; std::fgets(line, sizeof(line), maps) != nullptr;) {
    if (std::string_view(line).find("tutti") != std::string_view::npos) ++count;
  }
  std::fclose(maps);
  return count;
}

TEST_F(InitStormTest, FailuresLeaveNothingBehind) {
  const int before = Mappings();
  Settings impatient = SmallSettings();
  impatient.init_timeout_ms = 300;
  for (int round = 0; round < 3; ++round) {
    const UniqueId id = *CreateUniqueId();
    const auto join = [&](int rank, int ranks, const Settings& settings) {
      return Communicator::Create({.rank = rank, .ranks = ranks, .id = id, .settings = settings}).status();
    };
    for (const Status& missing : OnThreads({0, 2, 3}, [&](int rank) { return join(rank, 5, impatient); })) {
      EXPECT_EQ(missing.code(), Code::kTimeout) << missing.ToString();
    }
    for (const Status& twice : OnThreads({0, 1, 1}, [&](int rank) { return join(rank, 4, SmallSettings()); })) {
      EXPECT_EQ(twice.code(), Code::kInvalidUsage) << twice.ToString();
    }
    for (const Status& differ : OnThreads({0, 1}, [&](int rank) { return join(rank, 3 + rank, SmallSettings()); })) {
      EXPECT_EQ(differ.code(), Code::kInvalidUsage) << differ.ToString();
    }
    for (const Status& unequal : OnThreads(UpTo(3), [&](int rank) {
           Settings settings = SmallSettings();
           if (rank == 1) settings.shared_bytes *= 2;
           return join(rank, 3, settings);
         })) {
      EXPECT_EQ(unequal.code(), Code::kInvalidUsage) << unequal.ToString();
    }
  }
  EXPECT_EQ(Mappings(), before);
}

}  // namespace
}  // namespace tutti
