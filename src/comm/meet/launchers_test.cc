// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
//
// Meetings under real launchers. They start this program again with TUTTI_LAUNCH_TEST set; then it meets the other ranks.
#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <thread>
#include <vector>

#include "comm/identity/unique_id.h"
#include "comm/meet/bootstrap.h"
#include "comm/meet/job_id.h"

namespace tutti::comm {
namespace {

int MeetOthers() {
  setenv("TUTTI_UNIQUE_ID", "job", 1);
  // The ranks meet twice under ids of the environment and twice under ids as ncclGetUniqueId delivers them, all at once.
  std::vector<std::thread> meetings;
  std::atomic<int> met = 0;
  for (int i = 0; i < 4; ++i) {
    const Result<LaunchIdentity> identity = i < 2 ? NextIdentityFromEnvironment() : IdentityFromEnvironment();
    if (!identity.ok() || identity->ranks != 4) {
      std::fprintf(stderr, "identity: %s\n", identity.status().ToString().c_str());
      _exit(1);
    }
    const UniqueId id = i < 2 ? identity->id : *JobUniqueId();
    meetings.emplace_back([&met, id, rank = identity->rank] {
      const Result<std::vector<Member>> members = Meet({.id = id, .rank = rank, .ranks = 4, .timeout_ms = 30'000});
      if (!members.ok()) std::fprintf(stderr, "meeting: %s\n", members.status().ToString().c_str());
      if (members.ok() && members->size() == 4) ++met;
    });
  }
  for (std::thread& meeting : meetings) meeting.join();
  return met == 4 ? 0 : 1;
}

// Ends this program as a rank where a launcher test started it as one.
const bool kIsRank = [] {
  if (std::getenv("TUTTI_LAUNCH_TEST") != nullptr) _exit(MeetOthers());
  return false;
}();

void RunLauncher(const std::string& launcher, const std::string& wrapper) {
  char self[4096] = {};
  ASSERT_GT(readlink("/proc/self/exe", self, sizeof(self) - 1), 0);
  if (std::system(("command -v " + launcher.substr(0, launcher.find(' ')) + " >/dev/null").c_str()) != 0) {
    GTEST_SKIP() << launcher << " is not installed";
  }
  const std::string command = "TUTTI_LAUNCH_TEST=1 " + launcher + " " + wrapper + " '" + self + "' </dev/null";
  EXPECT_EQ(std::system(command.c_str()), 0) << command;
}

const char kOpenMpiRun[] = "mpirun.openmpi --allow-run-as-root --oversubscribe -np 4";
const char kMpichRun[] = "mpirun.mpich -np 4";

TEST(LaunchersTest, MeetsUnderOpenMpi) { RunLauncher(kOpenMpiRun, ""); }
TEST(LaunchersTest, MeetsUnderMpich) { RunLauncher(kMpichRun, ""); }
// A shell between the launcher and the ranks, which does not replace itself by the rank.
TEST(LaunchersTest, MeetsUnderOpenMpiThroughAShell) { RunLauncher(kOpenMpiRun, "sh -c '\"$0\"; exit $?'"); }
TEST(LaunchersTest, MeetsUnderMpichThroughAShell) { RunLauncher(kMpichRun, "sh -c '\"$0\"; exit $?'"); }

}  // namespace
}  // namespace tutti::comm
