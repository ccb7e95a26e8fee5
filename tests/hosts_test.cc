// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
// What ranks on several hosts are told. Ranks with different host ids (NCCL_HOSTID) count as being on different hosts.
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <string>
#include <thread>
#include <vector>

#include "sys/os/clock.h"
#include "tests/support/errors_page.h"
#include "tutti/communicator.h"

namespace tutti::tests {
namespace {

Status Make(const UniqueId& id, int rank, int ranks, const std::string& host) {
  CommunicatorOptions options = {.rank = rank, .ranks = ranks, .id = id, .settings = Quick()};
  options.settings.host_id = host;
  options.settings.init_timeout_ms = 30'000;
  return Communicator::Create(options).status();
}

TEST_F(Provoke, SharedMemoryOnSeveralHosts) {
  const std::vector<Status> said = OnCommunicators(
      3, [](Communicator& c) { return c.AllocateShared(4096).status(); },
      [](int rank, CommunicatorOptions& options) { options.settings.host_id = rank == 1 ? "east" : "west"; });
  for (const Status& status : said) EXPECT_EQ(status.code(), Code::kUnsupported);
  Expect(said[0]);
}

TEST_F(Provoke, HostsThatWereToldDifferentThings) {
  const UniqueId id = *CreateUniqueId();
  Expect(OnRankThreads(2, [&](int rank) { return Make(id, rank, 3 + rank, rank == 0 ? "a" : "b"); })[0]);
  Expect(OnRankThreads(2, [&](int rank) { return Make(id, 1, 3, rank == 0 ? "a" : "b"); })[0]);
}

TEST_F(Provoke, AHostThatLeavesBeforeAllHaveMet) {
  const UniqueId id = *CreateUniqueId();
  const pid_t child = fork();
  if (child == 0) _exit(Make(id, 1, 3, "b").ok() ? 0 : 1);
  std::thread killer([&] {
    sys::SleepNs(1500 * sys::kNsPerMs);
    kill(child, SIGKILL);
    waitpid(child, nullptr, 0);
  });
  Expect(Make(id, 0, 3, "a"));
  killer.join();
}

}  // namespace
}  // namespace tutti::tests
