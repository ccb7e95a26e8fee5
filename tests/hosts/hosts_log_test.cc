// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
// What operators look for in a log at INFO, by their own commands, on one host and on two.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <regex>
#include <string>
#include <vector>

#include "tests/hosts/hosts.h"
#include "tests/support/child_process.h"
#include "tests/support/scratch_folder.h"

namespace tutti::tests {
namespace {

class HostsLogTest : public testing::Test {
 protected:
  // What a command of the shell says of the log, $LOG.
  std::string Shell(const std::string& command) const {
    ChildProcess shell({"sh", "-c", command}, {"LOG=" + path_});
    shell.Wait();
    return shell.output();
  }
  void Keep(const std::string& log) const { std::ofstream(path_) << log; }
  // How many lines of the log are "host:pid:tid [rank] NCCL INFO " and then this.
  int Count(const std::string& text) const {
    const std::regex line(R"(\w+:\d+:\d+ \[\d+\] NCCL INFO )" + text);
    std::ifstream log(path_);
    int count = 0;
    for (std::string each; std::getline(log, each);) count += std::regex_match(each, line) ? 1 : 0;
    return count;
  }
  // What any good run has.
  void ExpectCommonLines(int ranks) const {
    EXPECT_EQ(Count("comm 0x[0-9a-f]+ rank \\d+ nranks \\d+ .*Init COMPLETE.*"), ranks);
    EXPECT_GE(Count("NET/Socket : Using( \\[\\d\\]\\w+:[0-9a-f.:]+<0>)+"), 1);
    EXPECT_GE(Count("Using network Socket"), 1);
    EXPECT_GE(Count("Algorithm \\w+, Protocol (LL|LL128|Simple) \\(AllReduce\\)"), ranks);
    // A kind of call is told once: three sizes by at most as many ways.
    EXPECT_LE(Count("Algorithm .*"), 3 * ranks);
    EXPECT_NE(Shell("grep Algorithm $LOG | sort | uniq -c"), "");
    EXPECT_EQ(Shell("grep -i 'error\\|warn\\|fail' $LOG"), "");
    EXPECT_EQ(Shell("grep -E 'WARN|ERROR|Timeout' $LOG"), "");
    // Each rank names the number of its channels by their lines.
    EXPECT_EQ(Shell("grep Channel $LOG | grep -c ' -> '"), Shell("grep -c Channel $LOG"));
  }

  const ScratchFolder folder_;
  const std::string path_ = folder_.Path("log");
};

TEST_F(HostsLogTest, OneHost) {
  ChildProcess run({TUTTI_TOOL, "run", "-n", "3", TUTTI_HOST_RANK}, {"NCCL_DEBUG=INFO"});
  EXPECT_EQ(run.Wait(), 0) << run.output();
  Keep(run.output());
  ExpectCommonLines(3);
  for (const char* pair : {"0\\[0\\] -> 1\\[1\\]", "1\\[1\\] -> 2\\[2\\]", "2\\[2\\] -> 0\\[0\\]"}) {
    EXPECT_EQ(Count(fmt::format("Channel 00/0 : {} via SHM", pair)), 1) << run.output();
  }
  EXPECT_EQ(Shell("grep -c NET/Socket/0 $LOG"), "0\n");
  EXPECT_EQ(Shell("grep Channel $LOG | grep 'via SHM' | awk '{print $5 $6}' | sort -u | head -n 1"), "Channel00/0\n");
}

TEST_F(HostsLogTest, TwoHosts) {
  if (const std::string why_not = Hosts::WhyNot(); !why_not.empty()) GTEST_SKIP() << why_not;
  Hosts hosts({"east", "west"});
  std::string log;
  std::vector<ChildProcess> ranks;
  for (int rank = 0; rank < 4; ++rank) {
    ranks.push_back(hosts.Start(
        rank / 2, {TUTTI_HOST_RANK},
        {"NCCL_DEBUG=INFO", "TUTTI_RANKS=4", fmt::format("TUTTI_RANK={}", rank), "NCCL_COMM_ID=10.77.0.1:5000"}));
  }
  for (ChildProcess& rank : ranks) {
    EXPECT_EQ(rank.Wait(), 0) << rank.output();
    log += rank.output();
  }
  Keep(log);
  ExpectCommonLines(4);
  EXPECT_EQ(Count("NET/Socket : Using \\[0\\]eth0:10\\.77\\.0\\.[12]<0>"), 4) << log;
  for (const char* link :
       {"0\\[0\\] -> 1\\[1\\] via SHM", "2\\[0\\] -> 3\\[1\\] via SHM",
        "1\\[1\\] -> 2\\[0\\] \\[send\\] via NET/Socket/0", "1\\[1\\] -> 2\\[0\\] \\[receive\\] via NET/Socket/0",
        "3\\[1\\] -> 0\\[0\\] \\[send\\] via NET/Socket/0", "3\\[1\\] -> 0\\[0\\] \\[receive\\] via NET/Socket/0"}) {
    EXPECT_EQ(Count(fmt::format("Channel 00/0 : {}", link)), 1) << link << "\n" << log;
  }
}

// A job in which a rank is missing says so where operators look.
TEST_F(HostsLogTest, AHangIsFound) {
  ChildProcess rank({TUTTI_HOST_RANK}, {"NCCL_DEBUG=INFO", "TUTTI_INIT_TIMEOUT_MS=300", "TUTTI_RANKS=2", "TUTTI_RANK=1",
                                        "NCCL_COMM_ID=127.0.0.1:5001"});
  EXPECT_EQ(rank.Wait(), 1);
  Keep(rank.output());
  EXPECT_NE(Shell("grep -E 'WARN|ERROR|Timeout' $LOG | head -50"), "") << rank.output();
}

}  // namespace
}  // namespace tutti::tests
