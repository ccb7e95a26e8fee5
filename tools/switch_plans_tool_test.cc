// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
// What the tools say of plans whose values switches copy and fold.

#include <gtest/gtest.h>

#include <cstdio>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "tools/algorithms_page.h"
#include "tools/cli.h"
#include "tools/plan_command.h"
#include "tools/sim_command.h"

namespace tutti::tools {
namespace {

struct Said {
  int exit = 0;
  std::string out, err;
};

Said Call(int (*command)(int, char**), std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), "tutti");
  std::vector<char*> argv;
  for (std::string& a : arguments) argv.push_back(a.data());
  argv.push_back(nullptr);
  testing::internal::CaptureStdout();
  testing::internal::CaptureStderr();
  Said said;
  said.exit = command(static_cast<int>(arguments.size()), argv.data());
  std::fflush(stdout);
  said.out = testing::internal::GetCapturedStdout();
  said.err = testing::internal::GetCapturedStderr();
  return said;
}

Said Plan(std::vector<std::string> arguments) { return Call(PlanCommand, std::move(arguments)); }

// GB/s of bus bandwidth in the line of the only size.
double BusbwOf(std::vector<std::string> arguments) {
  const Said said = Call(SimCommand, std::move(arguments));
  EXPECT_EQ(said.exit, kExitOk) << said.err;
  std::istringstream lines(said.out);
  double busbw = -1;
  for (std::string line; std::getline(lines, line);) {
    double size = 0, us = 0, algbw = 0, read = 0;
    if (std::sscanf(line.c_str(), "%lf %lf %lf %lf", &size, &us, &algbw, &read) == 4) busbw = read;
  }
  return busbw;
}

TEST(ToolsAndSwitches, PlansAreShownAndProven) {
  const Said shown = Plan({"all_reduce", "--algo", "nvls", "--ranks", "2", "--rank", "0"});
  EXPECT_EQ(shown.exit, kExitOk) << shown.err;
  EXPECT_EQ(shown.out,
            "all_reduce rank 0 of 2 in 2 out 2 slots 4\n  in1 -> ^1\n  in0 -> ^0\n  @1 ^0 + ^1 -> >>out0 >>1\n  @2 <1 "
            "-> out1\n");
  const Said proven = Plan({"all_reduce", "--algo", "NVLSTree", "--hosts", "2x4", "--check"});
  EXPECT_EQ(proven.exit, kExitOk) << proven.err;
  EXPECT_EQ(proven.out,
            "correct: all_reduce nvls_tree, 8 ranks of 2 hosts\na switch folds, in an order of its own: the last bits "
            "of a result may "
            "differ from run to run\n");
  EXPECT_EQ(Plan({"all_gather", "--algo", "nvls", "--ranks", "8", "--check"}).out,
            "correct: all_gather nvls, 8 ranks\n");
  const Said faulty =
      Plan({"all_reduce", "--algo", "sharp", "--ranks", "4", "--plant-fault", "drop-receive", "--check"});
  EXPECT_EQ(faulty.exit, kExitFailed);
  EXPECT_NE(faulty.out.find("planted: rank 2, step 1: '@1 ^0 + ^1 + ^2 + ^3 -> out0' became '@1 ^0 + ^1 + ^2 -> out0'"),
            std::string::npos)
      << faulty.out;
  EXPECT_NE(Plan({"all_reduce", "--algo", "what"}).err.find("nvls"), std::string::npos);
  EXPECT_NE(Plan({"all_reduce", "--algo", "collnet_chain"}).err.find("collnet_chain is for several hosts"),
            std::string::npos);
}

TEST(ToolsAndSwitches, PlansAreDrawn) {
  const std::string path = testing::TempDir() + "switches_test.svg";
  ASSERT_EQ(Plan({"all_reduce", "--algo", "nvls", "--ranks", "4", "--svg", path}).exit, kExitOk);
  std::stringstream svg;
  svg << std::ifstream(path).rdbuf();
  for (const char* part : {"stroke-dasharray=\"7 3\"", "stroke-dasharray=\"2 3\"", ">^ →→ out0<"}) {
    EXPECT_NE(svg.str().find(part), std::string::npos) << part;
  }
  std::remove(path.c_str());
}

TEST(ToolsAndSwitches, PagesHaveThem) {
  EXPECT_NE(AlgorithmsPage().find("| nvls | all_reduce | 2, 2, 2 |"), std::string::npos);
  EXPECT_NE(HierarchyPage().find("| nvls_sharp | all_reduce | 1, 1, 1 | 0.25, 0.25, "), std::string::npos);
}

// NCCL's NVLS has been measured at 473 to 482 GB/s on 8 H100 and H200, 838 on 8 B200; its rings at 365.
TEST(ToolsAndSwitches, NvlsIsPredictedAsMeasured) {
  const std::vector<std::string> large = {"all_reduce", "--algo", "nvls", "-b", "8G", "-e", "8G", "--machine"};
  const auto on = [&](const char* machine) {
    std::vector<std::string> arguments = large;
    arguments.emplace_back(machine);
    return BusbwOf(arguments);
  };
  EXPECT_NEAR(on("hgx-h100"), 476, 12);
  EXPECT_NEAR(on("hgx-b200"), 838, 21);
}

TEST(ToolsAndSwitches, WhatAMachineCannotDoIsSaid) {
  const auto failed = [](std::vector<std::string> arguments) {
    const Said said = Call(SimCommand, std::move(arguments));
    EXPECT_EQ(said.exit, kExitFailed);
    return said.err;
  };
  const std::string sentence = "no switch that all ranks of a group reach copies and folds";
  EXPECT_NE(failed({"all_reduce", "--algo", "nvls", "--machine", "dgx-a100", "-b", "1M", "-e", "1M"}).find(sentence),
            std::string::npos);
  EXPECT_NE(failed({"all_reduce", "--algo", "sharp", "--machine", "hgx-h100", "--hosts", "2", "-b", "1M", "-e", "1M"})
                .find(sentence),
            std::string::npos);
}

// With the word in the machine's text the network's switches fold: each card carries every byte of its part once each way.
TEST(ToolsAndSwitches, TheNetworkReducesWhereItsTextSaysSo) {
  const std::string path = testing::TempDir() + "switches_test_box.txt";
  std::ofstream(path) << "gpu h100\nnvlink switch\npci gen5 x16\nnic 400 Gbit/s\nhost\n  1 socket\n    2 switches\n    "
                         "  1 gpu\n      1 "
                         "nic\nfabric rails, reduces\n";
  for (const char* algorithm : {"nvls_sharp", "collnet_direct", "collnet_chain", "nvls_tree"}) {
    EXPECT_GT(BusbwOf({"all_reduce", "--algo", algorithm, "--channels", "4", "--file", path, "--hosts", "4", "-b",
                       "64M", "-e", "64M"}),
              1)
        << algorithm;
  }
  std::remove(path.c_str());
}

}  // namespace
}  // namespace tutti::tools
