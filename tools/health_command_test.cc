// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
//
// Whole jobs of processes. Their times are held against a small part of the expected speed, so that a busy machine changes nothing.
// Faults on purpose are slower still.
#include "tools/health_command.h"

#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tests/support/child_process.h"
#include "tests/support/scratch_folder.h"

namespace tutti::tools {
namespace {

struct Said {
  int exit = 0;
  std::string out;
};

Said Start(std::vector<std::string> words, const std::string& fault = "") {
  std::vector<std::string> environment;
  if (!fault.empty()) environment.push_back("TUTTI_TEST_HEALTH=" + fault);
  tests::ChildProcess process(std::move(words), std::move(environment));
  Said said;
  said.exit = process.Wait(2 * tests::kPatience);
  said.out = process.output();
  return said;
}

// With thresholds that a busy machine does not reach.
std::vector<std::string> Patient(int ranks) {
  return {TUTTI_TOOL,      "health", "--ranks", std::to_string(ranks), "--bytes", "256K",
          "--host-memory", "--warn", "0.003",   "--critical",          "0.001"};
}

TEST(HealthCommand, Healthy) {
  for (const int ranks : {2, 4, 8}) {
    const Said said = Start(Patient(ranks));
    EXPECT_EQ(said.exit, 0) << said.out;
    EXPECT_NE(said.out.find("OK        health: all ranks move host memory as fast as expected"), std::string::npos)
        << said.out;
    EXPECT_NE(said.out.find("ring 1"), std::string::npos) << said.out;
    EXPECT_NE(said.out.find("1 findings: 1 OK"), std::string::npos) << said.out;
  }
}

TEST(HealthCommand, ASlowRank) {
  const Said said = Start(Patient(4), "slow-rank:2:200");
  EXPECT_EQ(said.exit, 2) << said.out;
  EXPECT_NE(said.out.find("CRITICAL  slow: rank 2 (host "), std::string::npos) << said.out;
  EXPECT_NE(said.out.find(" findings: 1 CRITICAL"), std::string::npos) << said.out;
}

TEST(HealthCommand, ASlowLink) {
  const Said said = Start(Patient(4), "slow-link:1-3:200");
  EXPECT_EQ(said.exit, 2) << said.out;
  EXPECT_NE(said.out.find("CRITICAL  slow: the link between rank 1 (host "), std::string::npos) << said.out;
  EXPECT_NE(said.out.find(" findings: 1 CRITICAL"), std::string::npos) << said.out;
}

TEST(HealthCommand, ChangedData) {
  const tests::ScratchFolder folder;
  const std::string file = folder.path() + "/health.json";
  std::vector<std::string> words = Patient(4);
  words.insert(words.end(), {"--json", file});
  const Said rank = Start(words, "corrupt-rank:1");
  EXPECT_EQ(rank.exit, 2) << rank.out;
  EXPECT_NE(rank.out.find("CRITICAL  corrupt: rank 1 (host "), std::string::npos) << rank.out;
  const auto json = nlohmann::json::parse(std::ifstream(file));
  EXPECT_EQ(json["exit_code"], 2);
  EXPECT_EQ(json["ranks"], 4);
  EXPECT_EQ(json["findings"].size(), 1u) << json["findings"].dump();
  EXPECT_EQ(json["findings"][0]["check"], "corrupt");
  int wrong = 0;
  for (const auto& transfer : json["parts"][0]["transfers"]) {
    const bool hit = transfer["from"] == 1 || transfer["to"] == 1;
    EXPECT_EQ(transfer["wrong_words"].get<int>(), hit ? 1 : 0) << transfer.dump();
    wrong += hit;
  }
  EXPECT_GT(wrong, 10);
  const Said link = Start(Patient(4), "corrupt-link:0-3");
  EXPECT_NE(link.out.find("CRITICAL  corrupt: the link between rank 0 (host "), std::string::npos) << link.out;
}

// Two hosts of two ranks, as NCCL_HOSTID has them, started by a launcher.
TEST(HealthCommand, SeveralHosts) {
  std::vector<std::string> words = {
      TUTTI_TOOL,
      "run",
      "-n",
      "4",
      "/bin/sh",
      "-c",
      "NCCL_HOSTID=east; [ $TUTTI_RANK -lt 2 ] || NCCL_HOSTID=west; export NCCL_HOSTID; exec " TUTTI_TOOL
      " health --bytes 256K --host-memory --warn 0.003 --critical 0.001"};
  const Said healthy = Start(words);
  EXPECT_EQ(healthy.exit, 0) << healthy.out;
  EXPECT_NE(healthy.out.find("# 4 ranks on 2 hosts"), std::string::npos) << healthy.out;
  EXPECT_NE(healthy.out.find("pairs between hosts 2"), std::string::npos) << healthy.out;
  const Said wrong = Start(words, "corrupt-rank:3");
  EXPECT_EQ(wrong.exit, 2) << wrong.out;
  EXPECT_NE(wrong.out.find("CRITICAL  corrupt: rank 3 (host "), std::string::npos) << wrong.out;
}

// A rank that never comes to a transfer within the time: the job ends with the reason.
TEST(HealthCommand, ARankThatHangs) {
  std::vector<std::string> words = Patient(2);
  words.insert(words.end(), {"--timeout", "1", "--json", "-"});
  const Said said = Start(words, "slow-rank:1:5000");
  EXPECT_EQ(said.exit, 2) << said.out;
  EXPECT_NE(said.out.find("\"check\": \"broken\""), std::string::npos) << said.out;
}

TEST(HealthCommand, WrongCommandLines) {
  EXPECT_EQ(Start({TUTTI_TOOL, "health"}).exit, 2);
  EXPECT_EQ(Start({TUTTI_TOOL, "health", "--ranks", "1"}).exit, 2);
  EXPECT_EQ(Start({TUTTI_TOOL, "health", "--ranks", "2", "--bytes", "12"}).exit, 2);
  EXPECT_EQ(Start({TUTTI_TOOL, "health", "--ranks", "2", "--warn", "0.1", "--critical", "0.5"}).exit, 2);
  EXPECT_EQ(Start({TUTTI_TOOL, "health", "--ranks", "2"}, "quick-rank:1").exit, 2);
}

}  // namespace
}  // namespace tutti::tools
