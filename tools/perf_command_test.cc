// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "tools/perf_command.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <vector>

#include "tools/cli.h"

// `tutti perf` from end to end, ranks as processes and as threads.

namespace tutti::tools {
namespace {

struct Outcome {
  int code;
  std::string out, err;
  // The table's rows: what begins with a blank.
  std::vector<std::string> rows() const {
    std::vector<std::string> rows;
    std::istringstream lines(out);
    for (std::string line; std::getline(lines, line);) {
      if (line.starts_with(' ')) rows.push_back(line);
    }
    return rows;
  }
  bool Says(const std::string& text) const { return out.find(text) != out.npos; }
};

Outcome Perf(std::vector<std::string> words) {
  words.insert(words.begin(), "perf");
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  testing::internal::CaptureStdout();
  testing::internal::CaptureStderr();
  const int code = PerfCommand(static_cast<int>(words.size()), argv.data());
  return {code, testing::internal::GetCapturedStdout(), testing::internal::GetCapturedStderr()};
}

TEST(PerfCommand, IsOneRankWithoutALauncher) {
  const Outcome outcome = Perf({"all_reduce", "-b", "8", "-e", "1K", "-f", "8"});
  EXPECT_EQ(outcome.code, kExitOk) << outcome.err;
  EXPECT_EQ(outcome.rows().size(), 3u) << outcome.out;
  EXPECT_TRUE(outcome.Says("# Out of bounds values : 0 OK\n"));
  EXPECT_TRUE(outcome.Says("#  Rank  0 Group  0 Pid "));
}

TEST(PerfCommand, RunsRanksAsProcesses) {
  for (const char* op : {"all_reduce", "all_gather", "reduce_scatter", "broadcast", "reduce", "gather", "scatter",
                         "all_to_all", "send_recv"}) {
    const Outcome outcome = Perf({op, "-b", "1K", "-e", "64K", "-f", "64", "--ranks", "3", "-n", "3", "-c", "2"});
    EXPECT_EQ(outcome.code, kExitOk) << op << "\n" << outcome.out << outcome.err;
    EXPECT_EQ(outcome.err, "");
    EXPECT_EQ(outcome.rows().size(), 2u) << outcome.out;
    EXPECT_TRUE(outcome.Says("#  Rank  2 Group  0 Pid "));
  }
}

TEST(PerfCommand, RunsRanksAsThreadsAndEveryTypeRootAndOperator) {
  const Outcome outcome = Perf(
      {"reduce", "-b", "4K", "-e", "4K", "--ranks", "2", "--threads", "-n", "2", "-d", "all", "-o", "all", "-r", "-1"});
  EXPECT_EQ(outcome.code, kExitOk) << outcome.out << outcome.err;
  EXPECT_EQ(outcome.rows().size(), 12u * 6u * 2u);
  EXPECT_TRUE(outcome.Says("# Out of bounds values : 0 OK\n"));
}

// On the GPUs that there are; without any, every rank says so at once.
TEST(PerfCommand, MeasuresOnGpusOrSaysThatThereAreNone) {
  const Outcome outcome = Perf({"all_reduce", "--gpu", "-b", "8", "-e", "64K", "-f", "64", "--ranks", "2", "-n", "3"});
  if (outcome.code == kExitOk) {
    EXPECT_TRUE(outcome.Says("# Out of bounds values : 0 OK\n")) << outcome.out;
    return;
  }
  EXPECT_EQ(outcome.code, kExitFailed);
  EXPECT_NE(outcome.err.find("--gpu cannot be had"), std::string::npos) << outcome.err;
  EXPECT_EQ(Perf({"all_reduce", "--gpu", "--shared"}).code, kExitUsage);
  EXPECT_EQ(Perf({"all_reduce", "--gpu", "--all-algos"}).code, kExitUsage);
}

TEST(PerfCommand, HasNoInPlaceColumnsWhereThereIsNoSuchForm) {
  const Outcome outcome = Perf({"all_to_all", "-b", "4K", "-e", "4K", "--ranks", "2", "--threads", "-n", "2"});
  ASSERT_EQ(outcome.rows().size(), 1u) << outcome.out << outcome.err;
  EXPECT_TRUE(outcome.rows()[0].ends_with("       0      N/A     N/A     N/A     N/A")) << outcome.rows()[0];
}

TEST(PerfCommand, GroupsRotatesAndSetsBarriers) {
  for (const char* blocking : {"0", "1", "3"}) {
    const Outcome outcome =
        Perf({"all_gather", "-b", "1K",       "-e", "16K", "-f", "4",      "--ranks", "2", "--threads",
              "-m",         "3",  "--rotate", "-n", "5",   "-z", blocking, "-u",      "1", "--exact-sizes"});
    EXPECT_EQ(outcome.code, kExitOk) << outcome.out << outcome.err;
    EXPECT_EQ(outcome.rows().size(), 3u);
  }
}

TEST(PerfCommand, TriesEveryAlgorithm) {
  const Outcome outcome =
      Perf({"all_reduce", "-b", "1K", "-e", "1K", "--ranks", "2", "--threads", "-n", "2", "--all-algos"});
  EXPECT_EQ(outcome.code, kExitOk) << outcome.out << outcome.err;
  EXPECT_GE(outcome.rows().size(), 2u);
  EXPECT_TRUE(outcome.out.ends_with(" passed, 0 failed\n")) << outcome.out;
  EXPECT_FALSE(outcome.Says("\n0 passed"));
}

TEST(PerfCommand, WritesNcclTestsJson) {
  char folder[] = "/tmp/tutti_perf_test_XXXXXX";
  ASSERT_NE(mkdtemp(folder), nullptr);
  const std::string path = fmt::format("{}/result.json", folder);
  setenv("TUTTI_ID", "secret", 1);  // the ranks here are threads and do not read it
  const std::vector<std::string> words = {"scatter", "-b", "1K",        "-e", "4K", "-f", "4",
                                          "--ranks", "2",  "--threads", "-n", "2",  "-J", path};
  const Outcome outcome = Perf(words);
  EXPECT_EQ(outcome.code, kExitOk) << outcome.out << outcome.err;
  EXPECT_EQ(Perf(words).code, kExitOk);  // into result.json.0
  unsetenv("TUTTI_ID");

  std::ifstream file(path);
  const nlohmann::json json = nlohmann::json::parse(file);
  EXPECT_EQ(json["version"], 3);
  EXPECT_EQ(json["args"].size(), words.size() + 1);
  EXPECT_EQ(json["config"]["step_factor"], 4);
  EXPECT_EQ(json["config"]["devices"].size(), 2u);
  ASSERT_EQ(json["results"].size(), 2u);
  EXPECT_EQ(json["results"][0]["size"], 1024);
  EXPECT_EQ(json["results"][0]["type"], "float");
  EXPECT_EQ(json["results"][0]["out_of_place"]["nwrong"], 0);
  EXPECT_TRUE(json["results"][0]["in_place"]["bus_bw"].is_number());
  EXPECT_EQ(json["out_of_bounds"]["okay"], "true");
  EXPECT_EQ(json["average_bus_bandwidth"]["okay"], "unchecked");
  EXPECT_EQ(json["errors"].size(), 0u);
  EXPECT_EQ(json["env"].dump().find("secret"), std::string::npos);
  EXPECT_TRUE(std::filesystem::exists(path + ".0"));
  std::filesystem::remove_all(folder);
}

TEST(PerfCommand, RefusesWhatDoesNotFit) {
  const Outcome outcome = Perf({"all_reduce", "-b", "8", "-e", "1T", "-f", "2"});
  EXPECT_EQ(outcome.code, kExitUsage);
  EXPECT_NE(outcome.err.find("are free: make the largest size"), std::string::npos) << outcome.err;
  EXPECT_EQ(outcome.out, "");
  EXPECT_EQ(Perf({"reduce", "-r", "1"}).code, kExitUsage);  // one rank
}

TEST(PerfCommand, FailsWhereItCannotReport) {
  const Outcome outcome =
      Perf({"all_reduce", "-b", "8", "-e", "8", "--ranks", "2", "--threads", "-J", "/no/such/folder/x.json"});
  EXPECT_EQ(outcome.code, kExitFailed);
  EXPECT_NE(outcome.err.find("cannot create /no/such/folder/x.json"), std::string::npos) << outcome.err;
}

}  // namespace
}  // namespace tutti::tools
