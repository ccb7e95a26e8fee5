// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "tools/sim_command.h"

#include <gtest/gtest.h>

#include <fstream>
#include <string>
#include <vector>

#include "tools/cli.h"

namespace tutti::tools {
namespace {

struct Said {
  int exit = 0;
  std::string out, err;
};

Said Sim(std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), "tutti sim");
  std::vector<char*> argv;
  for (std::string& a : arguments) argv.push_back(a.data());
  testing::internal::CaptureStdout();
  testing::internal::CaptureStderr();
  Said said;
  said.exit = SimCommand(static_cast<int>(argv.size()), argv.data());
  said.out = testing::internal::GetCapturedStdout();
  said.err = testing::internal::GetCapturedStderr();
  return said;
}

// The microseconds in the line of a size.
double UsOf(const Said& said, const std::string& size) {
  const std::size_t at = said.out.find(" " + size + " ");
  return at == std::string::npos ? -1 : std::stod(said.out.substr(at + size.size() + 2));
}

std::string Write(const std::string& name, const std::string& text) {
  const std::string path = testing::TempDir() + name;
  std::ofstream(path) << text;
  return path;
}

constexpr const char* kBox =
    "gpu h100\nnvlink switch\npci gen5 x16\nnic 400 Gbit/s\nhost\n  1 socket\n    2 switches\n      1 gpu\n      1 "
    "nic\n";

TEST(SimCommand, TwoRunsSayTheSameAndASlowCableCosts) {
  const std::vector<std::string> ring = {"all_reduce", "--hosts", "4", "--algo", "ring", "-b", "64M", "-e", "64M"};
  const auto on = [&](const std::string& machine) {
    std::vector<std::string> arguments = ring;
    arguments.insert(arguments.end(), {"--file", machine});
    return Sim(arguments);
  };
  const std::string box = Write("box.txt", kBox),
                    slow = Write("slow.txt", kBox + std::string("but host 1 nic 0 1: 4 Gbit/s\n"));
  const Said sound = on(box);
  ASSERT_EQ(sound.exit, kExitOk) << sound.err;
  EXPECT_EQ(on(box).out, sound.out);
  EXPECT_GT(UsOf(sound, "67108864"), 0) << sound.out;
  EXPECT_GT(UsOf(on(slow), "67108864"), 3 * UsOf(sound, "67108864"));
}

TEST(SimCommand, ALateRankMakesAllLate) {
  const std::string box = Write("late_box.txt", kBox);
  const std::vector<std::string> arguments = {"all_reduce", "--file", box, "--algo", "ring", "-b", "1K", "-e", "1K"};
  std::vector<std::string> late = arguments;
  late.insert(late.end(), {"--late", "1:5000"});
  EXPECT_GT(UsOf(Sim(late), "1024"), 5000);
  EXPECT_LT(UsOf(Sim(arguments), "1024"), 500);
}

TEST(SimCommand, ChoosesTheFastestWhereNoneIsNamed) {
  const std::string box = Write("choose_box.txt", kBox);
  const Said chosen = Sim({"all_reduce", "--file", box, "--hosts", "2", "-b", "8", "-e", "8"});
  const Said ring = Sim({"all_reduce", "--file", box, "--hosts", "2", "-b", "8", "-e", "8", "--algo", "ring"});
  ASSERT_EQ(chosen.exit, kExitOk) << chosen.err;
  EXPECT_LE(UsOf(chosen, "8"), UsOf(ring, "8"));
}

TEST(SimCommand, WorkloadsTracesAndGoal) {
  const std::string box = Write("work_box.txt", kBox), trace = testing::TempDir() + "trace.json",
                    goal = testing::TempDir() + "plan.goal";
  const std::string step = Write("step.txt",
                                 "ranks tensor=2 data=2\nforward\n  compute 1ms\n  all_reduce tensor 8MiB\nbackward\n  "
                                 "compute 2ms\nfinish\n  all_reduce data 64MiB\n");
  const Said work = Sim({"--workload", step, "--file", box, "--hosts", "2"});
  ASSERT_EQ(work.exit, kExitOk) << work.err;
  EXPECT_NE(work.out.find("a rank computes 3.000 ms"), std::string::npos) << work.out;
  EXPECT_NE(work.out.find("tensor"), std::string::npos) << work.out;
  ASSERT_EQ(
      Sim({"all_reduce", "--file", box, "--algo", "ring", "-b", "1K", "-e", "1K", "--trace", trace, "--goal", goal})
          .exit,
      kExitOk);
  std::ifstream goal_file(goal);
  std::string first;
  std::getline(goal_file, first);
  EXPECT_EQ(first, "num_ranks 2");
  std::ifstream trace_file(trace);
  const std::string json(std::istreambuf_iterator<char>(trace_file), {});
  EXPECT_NE(json.find("traceEvents"), std::string::npos);
}

TEST(SimCommand, SaysWhatIsWrong) {
  const std::string box = Write("wrong_box.txt", kBox);
  EXPECT_EQ(Sim({"--file", box}).exit, kExitUsage);
  EXPECT_EQ(Sim({"nothing", "--file", box}).exit, kExitUsage);
  EXPECT_NE(Sim({"all_reduce", "--file", box, "--algo", "nothing"}).err.find("no algorithm 'nothing'"),
            std::string::npos);
  EXPECT_NE(Sim({"all_reduce", "--file", box, "--late", "9:1"}).err.find("there are 2 ranks"), std::string::npos);
  EXPECT_EQ(Sim({"all_reduce", "--file", box, "-b", "2G", "-e", "1G"}).exit, kExitUsage);
  const std::string step = Write("bad_step.txt", "ranks data=2\nforward\n  compute soon\n");
  EXPECT_NE(Sim({"--workload", step, "--file", box}).err.find("line 3"), std::string::npos);
  const std::string large = Write("large_step.txt", "ranks data=64\nforward\n  compute 1ms\n");
  EXPECT_NE(Sim({"--workload", large, "--file", box}).err.find("64 ranks"), std::string::npos);
}

}  // namespace
}  // namespace tutti::tools
