// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
// The store of PMI-1 against a launcher of this test. Real launchers: comm/meet/launchers_test.cc, tests/hosts/launchers_test.cc.
#include "sys/job/job_store.h"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "sys/os/clock.h"

namespace tutti::sys {
namespace {

constexpr char kId[] = "ab12";

// Answers what a rank says, line by line; what of it was said is then in `heard`.
class Launcher {
 public:
  explicit Launcher(std::vector<std::string> answers) : answers_(std::move(answers)) {
    EXPECT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends_), 0);
    thread_ = std::thread([this] { Run(); });
  }
  ~Launcher() {
    shutdown(ends_[1], SHUT_RDWR);
    if (thread_.joinable()) thread_.join();
    close(ends_[0]);
    close(ends_[1]);
  }
  Result<std::string> Share(int rank, std::int64_t patience_ns = 10 * kNsPerSecond) {
    return internal::ShareByPmi(ends_[1], rank, kId, NowNs() + patience_ns);
  }
  std::vector<std::string> Heard() {
    shutdown(ends_[1], SHUT_RDWR);
    thread_.join();
    return heard_;
  }

 private:
  void Run() {
    std::string line;
    std::size_t next = 0;
    for (char byte = 0; read(ends_[0], &byte, 1) == 1;) {
      if (byte != '\n') {
        line += byte;
        continue;
      }
      heard_.push_back(std::exchange(line, ""));
      if (next == answers_.size()) continue;
      const std::string answer = answers_[next++] + "\n";
      if (answer == "close\n") {
        shutdown(ends_[0], SHUT_RDWR);
        return;
      }
      EXPECT_EQ(write(ends_[0], answer.data(), answer.size()), static_cast<ssize_t>(answer.size()));
    }
  }

  const std::vector<std::string> answers_;
  int ends_[2] = {-1, -1};
  std::vector<std::string> heard_;
  std::thread thread_;
};

const std::string kInit = "cmd=response_to_init pmi_version=1 pmi_subversion=1 rc=0",
                  kName = "cmd=my_kvsname kvsname=k_1", kPut = "cmd=put_result rc=0 msg=success",
                  kBarrier = "cmd=barrier_out", kGet = "cmd=get_result rc=0 msg=success value=ab12",
                  kEnd = "cmd=finalize_ack";

TEST(JobStoreTest, RankZeroPutsAndAllGet) {
  Launcher zero({kInit, kName, kPut, kBarrier, kGet, kEnd});
  EXPECT_EQ(*zero.Share(0), kId);
  EXPECT_EQ(zero.Heard(), (std::vector<std::string>{"cmd=init pmi_version=1 pmi_subversion=1", "cmd=get_my_kvsname",
                                                    "cmd=put kvsname=k_1 key=tutti-id value=ab12", "cmd=barrier_in",
                                                    "cmd=get kvsname=k_1 key=tutti-id", "cmd=finalize"}));
  Launcher one({kInit, kName, kBarrier, kGet, kEnd});
  EXPECT_EQ(*one.Share(1), kId);
  EXPECT_EQ(one.Heard().size(), 5u);
}

TEST(JobStoreTest, WhatALauncherRefusesIsSaid) {
  Launcher launcher({kInit, kName, "cmd=put_result rc=-1 msg=duplicate_key"});
  const Status status = launcher.Share(0).status();
  EXPECT_EQ(status.code(), Code::kSystem);
  EXPECT_NE(status.message().find("\"cmd=put_result rc=-1 msg=duplicate_key\" to \"cmd=put kvsname=k_1 key=tutti-id\""),
            std::string::npos)
      << status.message();
}

TEST(JobStoreTest, ALauncherThatGoes) {
  Launcher launcher({kInit, "close"});
  const Status status = launcher.Share(0).status();
  EXPECT_EQ(status.code(), Code::kRemote);
  EXPECT_NE(status.message().find("it was closed"), std::string::npos) << status.message();
}

TEST(JobStoreTest, ARankThatNeverComes) {
  Launcher launcher({kInit, kName});
  EXPECT_EQ(launcher.Share(1, 50 * kNsPerMs).status().code(), Code::kTimeout);
}

TEST(JobStoreTest, NothingIsSaidWhereNothingCanBe) {
  setenv("PMI_FD", "none", 1);
  const Status status = ShareText(JobStore::kPmi, 0, kId, NowNs() + kNsPerSecond).status();
  unsetenv("PMI_FD");
  EXPECT_EQ(status.code(), Code::kUnsupported);
  EXPECT_NE(status.message().find("PMI_FD"), std::string::npos) << status.message();
  EXPECT_EQ(internal::FindMpi(), "");
}

}  // namespace
}  // namespace tutti::sys
