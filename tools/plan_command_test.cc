// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "tools/plan_command.h"

#include <gtest/gtest.h>

#include <cstdio>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "tools/cli.h"

namespace tutti::tools {
namespace {

struct Outcome {
  int exit;
  std::string out, err;
};

Outcome Plan(std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), "plan");
  std::vector<char*> argv;
  for (std::string& argument : arguments) argv.push_back(argument.data());
  argv.push_back(nullptr);
  testing::internal::CaptureStdout();
  testing::internal::CaptureStderr();
  const int exit = PlanCommand(static_cast<int>(arguments.size()), argv.data());
  std::fflush(stdout);
  return {exit, testing::internal::GetCapturedStdout(), testing::internal::GetCapturedStderr()};
}

TEST(PlanCommandTest, PrintsOneRank) {
  const Outcome o = Plan({"all_reduce", "--algo", "one_shot", "--ranks", "3", "--rank", "1"});
  EXPECT_EQ(o.exit, kExitOk);
  EXPECT_EQ(o.out, "all_reduce rank 1 of 3 in 1 out 1 slots 2\n  in0 -> >2 >0\n  @1 <0 + in0 + <2 -> out0\n");
}

TEST(PlanCommandTest, Checks) {
  const Outcome o = Plan({"all_reduce", "--algo", "ring", "--ranks", "8", "--check"});
  EXPECT_EQ(o.exit, kExitOk);
  EXPECT_EQ(o.out, "correct: all_reduce ring, 8 ranks\n");
}

TEST(PlanCommandTest, ReportsPlantedFaults) {
  for (const char* fault : {"drop-send", "wrong-block", "double", "swap"}) {
    const Outcome o = Plan({"all_reduce", "--algo", "two_shot", "--ranks", "4", "--plant-fault", fault, "--check"});
    EXPECT_EQ(o.exit, kExitFailed);
    EXPECT_NE(o.out.find("planted: rank 2, step "), std::string::npos) << o.out;
    EXPECT_NE(o.out.find("wrong: all_reduce of 4 ranks: rank "), std::string::npos) << o.out;
  }
}

TEST(PlanCommandTest, NamesWhatIsValid) {
  const Outcome collective = Plan({"all_fold", "--algo", "ring"});
  EXPECT_EQ(collective.exit, kExitUsage);
  EXPECT_NE(collective.err.find("OP is one of all_reduce, all_gather,"), std::string::npos) << collective.err;
  const Outcome algorithm = Plan({"barrier", "--algo", "rings"});
  EXPECT_EQ(algorithm.exit, kExitUsage);
  EXPECT_NE(algorithm.err.find("barrier has one_shot, tree, recursive_doubling"), std::string::npos) << algorithm.err;
  const Outcome unsupported = Plan({"barrier", "--algo", "pat"});
  EXPECT_EQ(unsupported.exit, kExitUsage);
  EXPECT_NE(unsupported.err.find("it does all_gather, reduce_scatter"), std::string::npos) << unsupported.err;
  EXPECT_EQ(Plan({"barrier", "--algo", "tree", "--plant-fault", "fire"}).exit, kExitUsage);
  EXPECT_EQ(Plan({"reduce", "--algo", "tree", "--ranks", "4", "--root", "4"}).exit, kExitUsage);
}

TEST(PlanCommandTest, Draws) {
  const std::string path = testing::TempDir() + "plan_command_test.svg";
  EXPECT_EQ(Plan({"reduce", "--algo", "tree", "--ranks", "4", "--svg", path}).exit, kExitOk);
  std::stringstream svg;
  svg << std::ifstream(path).rdbuf();
  EXPECT_TRUE(svg.str().starts_with("<svg "));
  EXPECT_NE(svg.str().find(">reduce tree, 4 ranks<"), std::string::npos);
  EXPECT_NE(svg.str().find(">rank 3<"), std::string::npos);
  std::remove(path.c_str());
  EXPECT_EQ(Plan({"reduce", "--algo", "tree", "--ranks", "99", "--svg", path}).exit, kExitUsage);
}

}  // namespace
}  // namespace tutti::tools
