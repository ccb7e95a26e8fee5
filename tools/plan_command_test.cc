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

TEST(PlanCommandTest, TakesSeveralHosts) {
  const Outcome even = Plan({"all_reduce", "--algo", "hier_leader", "--hosts", "2x2", "--rank", "2"});
  EXPECT_EQ(even.exit, kExitOk) << even.err;
  EXPECT_EQ(even.out, "all_reduce rank 2 of 4 in 1 out 1 slots 2\n  in0 + <3 -> out0 >0\n  @1 <0 + out0 -> out0 >3\n");
  const Outcome uneven = Plan({"all_to_all", "--algo", "hier_one_shot", "--hosts", "3,1", "--check", "--cost"});
  EXPECT_EQ(uneven.exit, kExitOk) << uneven.err;
  EXPECT_NE(uneven.out.find("correct: all_to_all hier_one_shot, 4 ranks of 2 hosts\n"), std::string::npos)
      << uneven.out;
  EXPECT_NE(uneven.out.find("between hosts\nhops             1 "), std::string::npos) << uneven.out;
}

TEST(PlanCommandTest, RefusesWhatIsNoShapeOfHosts) {
  for (const char* shape : {"2x", "x4", "0x4", "3,,1", "3,0", "three", "2x4x1", "1025", "33x33", "-2,3", ","}) {
    const Outcome o = Plan({"all_reduce", "--algo", "ring", "--hosts", shape});
    EXPECT_EQ(o.exit, kExitUsage) << shape;
    EXPECT_NE(o.err.find("is no shape of up to 1024 ranks"), std::string::npos) << shape << ": " << o.err;
  }
  const Outcome one_host = Plan({"all_reduce", "--algo", "hier_ring", "--ranks", "8"});
  EXPECT_EQ(one_host.exit, kExitUsage);
  EXPECT_NE(one_host.err.find("hier_ring is for several hosts; say which with --hosts"), std::string::npos)
      << one_host.err;
  EXPECT_EQ(Plan({"all_reduce", "--algo", "ring", "--hosts", "2x2", "--ranks", "4"}).exit, kExitUsage);
}

TEST(PlanCommandTest, ExplainsAChoice) {
  const Outcome o = Plan({"all_reduce", "--explain", "--machine", "hgx-h200", "-b", "64K"});
  ASSERT_EQ(o.exit, kExitOk) << o.err;
  for (const char* said :
       {"8 ranks on 1 host, memory of GPUs; all_reduce of 65536 bytes", ", because it takes ", "; runner-up ",
        " times as long; bound by ", "by the model, as ncclGroupSimulateEnd", "bus ", "      links"}) {
    EXPECT_NE(o.out.find(said), std::string::npos) << said << "\n" << o.out;
  }
  const Outcome hosts = Plan({"all_reduce", "--explain", "--machine", "hgx-h200", "--hosts", "2", "-b", "16M"});
  ASSERT_EQ(hosts.exit, kExitOk) << hosts.err;
  EXPECT_NE(hosts.out.find("16 ranks on 2 hosts"), std::string::npos) << hosts.out;
  EXPECT_NE(hosts.out.find("out of the busiest network card"), std::string::npos) << hosts.out;
  EXPECT_NE(hosts.out.find("each rail, through host memory"), std::string::npos) << hosts.out;
  const Outcome shape = Plan({"all_reduce", "--explain", "--machine", "hgx-h200", "--hosts", "3x2", "-b", "1001"});
  EXPECT_NE(shape.out.find("6 ranks on 3 hosts, memory of GPUs; all_reduce of 1001 bytes"), std::string::npos)
      << shape.out;
  const Outcome memory =
      Plan({"all_gather", "--explain", "--machine", "hgx-h200", "--host-memory", "--ranks", "3", "-b", "1000"});
  EXPECT_NE(memory.out.find("3 ranks on 1 host, host memory; all_gather of 999 bytes"), std::string::npos)
      << memory.out;
}

TEST(PlanCommandTest, WritesJson) {
  const Outcome plan = Plan({"all_reduce", "--algo", "ring", "--ranks", "3", "--rank", "0", "--json", "-"});
  EXPECT_EQ(plan.exit, kExitOk) << plan.err;
  EXPECT_NE(plan.out.find("\"in1 + <2 -> >1\""), std::string::npos) << plan.out;
  EXPECT_NE(plan.out.find("\"correct\": true"), std::string::npos) << plan.out;
  const Outcome damaged =
      Plan({"all_reduce", "--algo", "ring", "--ranks", "3", "--plant-fault", "drop-send", "--json", "-"});
  EXPECT_NE(damaged.out.find("\"correct\": false"), std::string::npos) << damaged.out;
  EXPECT_TRUE(damaged.out.starts_with("{")) << damaged.out;
  const Outcome explained = Plan({"all_reduce", "--explain", "--machine", "hgx-h200", "-b", "64K", "--json", "-"});
  EXPECT_NE(explained.out.find("\"why\": \"two_shot LL, "), std::string::npos) << explained.out;
  EXPECT_NE(explained.out.find("\"hops_us\": "), std::string::npos) << explained.out;
}

TEST(PlanCommandTest, SaysWhatCannotBeExplained) {
  EXPECT_EQ(Plan({"barrier", "--explain"}).exit, kExitUsage);
  EXPECT_EQ(Plan({"nothing", "--explain"}).exit, kExitUsage);
  EXPECT_EQ(Plan({"all_reduce", "--explain", "-b", "0"}).exit, kExitUsage);
  EXPECT_EQ(Plan({"all_reduce", "--explain", "-b", "much"}).exit, kExitUsage);
  EXPECT_EQ(Plan({"all_reduce", "-b", "1M"}).exit, kExitUsage) << "without --explain";
  for (const char* hosts : {"0", "2x", "3,1", "two"}) {
    const Outcome o = Plan({"all_reduce", "--explain", "--machine", "p5", "--hosts", hosts});
    EXPECT_EQ(o.exit, kExitUsage) << hosts;
    EXPECT_NE(o.err.find("how many hosts"), std::string::npos) << o.err;
  }
  const Outcome unknown = Plan({"all_reduce", "--explain", "--machine", "hgx-h1000"});
  EXPECT_EQ(unknown.exit, kExitFailed);
  EXPECT_NE(unknown.err.find("hgx-h100"), std::string::npos) << unknown.err;
  EXPECT_NE(Plan({"all_reduce", "--explain", "--machine", "./none.txt"}).err.find("none.txt"), std::string::npos);
  const Outcome alone = Plan({"all_reduce", "--explain", "--machine", "p5", "--ranks", "1"});
  EXPECT_EQ(alone.exit, kExitFailed);
  EXPECT_NE(alone.err.find("one rank alone exchanges nothing"), std::string::npos) << alone.err;
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

// What every rank sends to all in one hop is drawn message by message, what it does alike in others as one box.
TEST(PlanCommand, DrawingsOfManyMessagesStayReadable) {
  const std::string path = testing::TempDir() + "plan_command_test_many.svg";
  const auto draw = [&](const char* operation, const char* algorithm) {
    EXPECT_EQ(Plan({operation, "--algo", algorithm, "--ranks", "16", "--svg", path}).exit, kExitOk);
    std::stringstream svg;
    svg << std::ifstream(path).rdbuf();
    return svg.str();
  };
  const std::string rounds = draw("all_to_all", "one_shot");
  EXPECT_NE(rounds.find(">round 15<"), std::string::npos);
  EXPECT_EQ(rounds.find(">hop 1<"), std::string::npos);
  const std::string hops = draw("all_reduce", "two_shot");
  EXPECT_NE(hops.find(">hop 2<"), std::string::npos);
  EXPECT_NE(hops.find(">in1 … in15 (15)<"), std::string::npos);
}

}  // namespace
}  // namespace tutti::tools
