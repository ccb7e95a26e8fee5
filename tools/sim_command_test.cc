// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "tools/sim_command.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <sstream>
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

// The lines of a table, without those that begin with #.
std::vector<std::string> LinesOf(const Said& said) {
  std::vector<std::string> lines;
  std::istringstream stream(said.out);
  for (std::string line; std::getline(stream, line);) {
    if (!line.empty() && line[0] != '#') lines.push_back(line);
  }
  return lines;
}

std::vector<double> NumbersOf(const std::string& line) {
  std::vector<double> numbers;
  std::istringstream stream(line);
  for (std::string word; stream >> word;) {
    char* end = nullptr;
    const double number = std::strtod(word.c_str(), &end);
    if (*end == '\0') numbers.push_back(number);
  }
  return numbers;
}

TEST(SimCommand, ComparesAlgorithmsEachInItsFastestWay) {
  const std::string box = Write("compare_box.txt", kBox);
  const Said both = Sim({"all_reduce", "--file", box, "--hosts", "8", "--algo", "ring,double_tree", "--channels", "1,4",
                         "--sizes", "1K,64M,5e5"});
  ASSERT_EQ(both.exit, kExitOk) << both.err;
  const std::vector<std::string> lines = LinesOf(both);
  ASSERT_EQ(lines.size(), 3u) << both.out;
  const std::vector<double> small = NumbersOf(lines[0]), large = NumbersOf(lines[2]);
  EXPECT_EQ(NumbersOf(lines[1])[0], 500000);
  ASSERT_GE(small.size(), 4u) << both.out;
  EXPECT_NEAR(small[3], small[1] / small[2], 0.006);
  EXPECT_NE(lines[0].find("double_tree LL"), std::string::npos) << both.out;
  EXPECT_NE(lines[2].find("ring "), std::string::npos) << both.out;
  EXPECT_NE(both.out.find("# fastest: double_tree at 1 KiB, ring from 488.3 KiB to 64 MiB"), std::string::npos)
      << both.out;
  // The column is the best of what a single algorithm takes in these ways.
  double best = 1e9;
  for (const std::string protocol : {"LL", "LL128", "Simple"}) {
    for (const std::string channels : {"1", "4"}) {
      const Said one = Sim({"all_reduce", "--file", box, "--hosts", "8", "--algo", "ring", "--proto", protocol,
                            "--channels", channels, "--sizes", "64M"});
      best = std::min(best, UsOf(one, "67108864"));
    }
  }
  EXPECT_EQ(large[1], best) << both.out;
}

TEST(SimCommand, MergesWhatIsReadyForAPeer) {
  const std::string box = Write("merge_box.txt", kBox);
  const auto sim = [&](std::vector<std::string> more) {
    std::vector<std::string> arguments = {"all_reduce", "--file", box, "--sizes", "1K"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return Sim(arguments);
  };
  const std::vector<std::string> halving = {"--algo", "halving_doubling", "--hosts", "32"};
  std::vector<std::string> merged = halving;
  merged.emplace_back("--merge");
  // 2 log2(64) messages of a rank instead of 126.
  EXPECT_LT(UsOf(sim(merged), "1024"), UsOf(sim(halving), "1024"));
  EXPECT_NE(sim(merged).out.find("halving_doubling Simple, merged"), std::string::npos) << sim(merged).out;
  EXPECT_EQ(sim({"--algo", "double_tree", "--merge"}).out, sim({"--algo", "double_tree"}).out);
  const Said refused = sim({"--algo", "halving_doubling", "--hosts", "1500", "--channels", "256"});
  EXPECT_EQ(refused.exit, kExitUsage);
  EXPECT_NE(refused.err.find("among 3000 ranks has about 5e+09 steps"), std::string::npos) << refused.err;
  EXPECT_EQ(sim({"--algo", "halving_doubling", "--hosts", "1500", "--merge"}).exit, kExitOk);
}

TEST(SimCommand, MachinesAndHostsOneAfterTheOther) {
  const std::string box = Write("one_box.txt", kBox),
                    other = Write("other_box.txt", std::string("name other\n") + kBox);
  const Said said =
      Sim({"all_reduce", "--machine", box + "," + other, "--hosts", "2,4", "--algo", "ring", "--sizes", "1K"});
  ASSERT_EQ(said.exit, kExitOk) << said.err;
  std::size_t at = 0;
  for (const char* head : {"# 4 ranks on 2 hosts, one_box\n", "# 8 ranks on 4 hosts, one_box\n",
                           "# 4 ranks on 2 hosts, other\n", "# 8 ranks on 4 hosts, other\n"}) {
    at = said.out.find(head, at);
    EXPECT_NE(at, std::string::npos) << head << said.out;
  }
  EXPECT_EQ(LinesOf(said).size(), 4u);
}

TEST(SimCommand, ASlowCableThatNobodyKnowsOf) {
  const std::string box = Write("cable_box.txt", kBox);
  const Said said = Sim({"all_reduce", "--file", box, "--hosts", "4", "--algo", "ring", "--channels", "32", "--sizes",
                         "64M", "--slow", "1:0:0.1,1:0:0,1:0:0.5+2:1:0.1"});
  ASSERT_EQ(said.exit, kExitOk) << said.err;
  EXPECT_NE(said.out.find("; host 1's port 0 at 0.1 of its rate\n"), std::string::npos) << said.out;
  EXPECT_NE(said.out.find("; host 1's port 0 dead\n"), std::string::npos) << said.out;
  EXPECT_NE(said.out.find("; host 1's port 0 at 0.5 of its rate, host 2's port 1 at 0.1 of its rate\n"),
            std::string::npos)
      << said.out;
  const std::vector<std::string> lines = LinesOf(said);
  ASSERT_EQ(lines.size(), 4u);
  const double sound = NumbersOf(lines[0])[1];
  const std::vector<double> slow = NumbersOf(lines[1]), dead = NumbersOf(lines[2]);
  EXPECT_NEAR(slow[2], slow[1] / sound, 0.006);
  EXPECT_GT(slow[2], 4);
  // Round a dead one the ranks find a way, over the other card of the host.
  EXPECT_GT(dead[2], 1.2);
  EXPECT_LT(dead[2], slow[2]);
  const Said both = Sim({"all_reduce", "--file", box, "--hosts", "4", "--algo", "ring,double_tree", "--channels", "32",
                         "--proto", "Simple", "--sizes", "64M", "--slow", "1:0:0.1"});
  ASSERT_EQ(LinesOf(both).size(), 2u) << both.err;
  EXPECT_NEAR(NumbersOf(LinesOf(both)[1])[4], slow[2], 0.006) << both.out;
}

// What does not go to the card directly goes through host memory, so twice over the link that the switch has in common.
TEST(SimCommand, CardsUseMemoryOfGpusAsFarAsTheLevelSays) {
  const std::string shared = Write("shared_box.txt",
                                   "gpu h100\nnvlink switch\npci gen5 x16\nnic 400 Gbit/s\nhost\n  socket\n    switch\n"
                                   "      2 gpus\n      2 nics\n");
  const auto us = [&](const std::string& level) {
    return UsOf(Sim({"all_reduce", "--file", shared, "--hosts", "2", "--algo", "hier_ring", "--channels", "32",
                     "--sizes", "64M", "--gdr-level", level}),
                "67108864");
  };
  EXPECT_GT(us("LOC"), 1.3 * us("PXB"));
}

TEST(SimCommand, SeveralStepsAreATable) {
  const std::string box = Write("steps_box.txt", kBox);
  const std::string text =
      "ranks data=4\ngpu 1PFLOP/s\nmodel 1e9 parameters 1e4 tokens\nbackward\n  compute 30ms\n  all_reduce data 64MiB";
  const std::string hidden = Write("hidden.txt", text + " beside\n  compute 30ms\n"),
                    exposed = Write("exposed.txt", "ranks data=4\nforward\n  compute 60ms\n  all_reduce data 64MiB\n");
  const Said said = Sim({"--workload", hidden + "," + exposed, "--file", box, "--hosts", "2", "--slow", "0:0:0.1"});
  ASSERT_EQ(said.exit, kExitOk) << said.err;
  const std::vector<std::string> lines = LinesOf(said);
  ASSERT_EQ(lines.size(), 4u) << said.out;
  const std::vector<double> first = NumbersOf(lines[0]), second = NumbersOf(lines[1]);
  EXPECT_EQ(lines[0].find("  hidden"), 0u) << said.out;
  EXPECT_NE(lines[2].find("host 0's port 0 at 0.1 of its rate"), std::string::npos) << said.out;
  // Hosts, step, compute, busy, exposed, its part of the step, MFU.
  ASSERT_EQ(first.size(), 7u) << said.out;
  EXPECT_EQ(first[1], 60);
  EXPECT_EQ(first[4], 0);
  EXPECT_NEAR(first[6], 100 * 6e13 / (4 * 1e15 * 0.060), 0.06);
  EXPECT_NEAR(second[1], 60 + second[4], 0.002);
  EXPECT_NEAR(second[5], 100 * second[4] / second[1], 0.06);
  EXPECT_EQ(second.size(), 6u) << "no MFU where the file says no model: " << said.out;
  const Said one = Sim({"--workload", hidden, "--file", box, "--hosts", "2"});
  EXPECT_NE(one.out.find("model FLOPs utilisation 25.0 %"), std::string::npos) << one.out;
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

TEST(SimCommand, WritesJson) {
  const std::string box = Write("json_box.txt", kBox);
  const Said alone = Sim({"all_reduce", "--file", box, "--hosts", "8", "--algo", "ring,tree", "--channels", "1",
                          "--proto", "LL", "--sizes", "1K", "--json", "-"});
  ASSERT_EQ(alone.exit, kExitOk) << alone.err;
  EXPECT_TRUE(alone.out.starts_with("{")) << alone.out;
  for (const char* part : {"\"algorithm\": \"ring\"", "\"algorithm\": \"tree\"", "\"bytes\": 1024", "\"hosts\": 8",
                           "\"protocol\": \"LL\"", "\"slow\": null"}) {
    EXPECT_NE(alone.out.find(part), std::string::npos) << part << " in " << alone.out;
  }
  const std::string workload = Write("json_step.txt", "ranks data=8\nbackward\n  compute 1ms\n  all_reduce data 1MB\n");
  const std::string path = testing::TempDir() + "step.json";
  const Said step = Sim({"--workload", workload, "--file", box, "--hosts", "8", "--json", path});
  ASSERT_EQ(step.exit, kExitOk) << step.err;
  EXPECT_NE(step.out.find("communication"), std::string::npos) << step.out;
  std::ifstream file(path);
  const std::string written(std::istreambuf_iterator<char>(file), {});
  EXPECT_NE(written.find("\"workload\": \"json_step\""), std::string::npos) << written;
  EXPECT_NE(written.find("\"compute_us\": 1000.0"), std::string::npos) << written;
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
  const struct {
    std::vector<std::string> words;
    const char* error;
  } wrong[] = {
      {{"all_reduce", "--file", box, "--sizes", "8,x"}, "--sizes are sizes with commas, as 8,32M,14e9, found 'x'"},
      {{"all_reduce", "--file", box, "--hosts", "2,0"},
       "--hosts is a number from 1 to 65536, or several with commas, found '0'"},
      {{"all_reduce", "--file", box, "--channels", "300"}, "--channels is a number from 1 to 256"},
      {{"all_reduce", "--file", box, "--merge"}, "--merge needs --algo"},
      {{"all_reduce", "--file", box, "--algo", "pat", "--merge", "--goal", "x"}, "leave out --merge"},
      {{"all_reduce", "--file", box, "--chunk", "0"}, "--chunk is a size, as 512K, or several with commas, found '0'"},
      {{"all_reduce", "--file", box, "--chunk", "1K,2K"},
       "several sizes of --chunk are tried for algorithms that --algo names"},
      {{"all_reduce", "--file", box, "--algo", "ring", "--proto", "SLOW"}, "there is no protocol 'SLOW'"},
      {{"all_reduce", "--file", box, "--proto", "LL"}, "--proto needs --algo"},
      {{"--workload", step, "--file", box, "--goal", "x"}, "a --workload has none"},
      {{"all_reduce", "--file", box, "--algo", "ring,tree", "--trace", "x"}, "--trace and --goal are of one algorithm"},
      {{"all_reduce", "--file", box, "--slow", "0:0"}, "--slow 0:0: write HOST:PORT:RATE, as 30:1:0.1"},
      {{"all_reduce", "--file", box, "--slow", "0:7:1"}, "--slow 0:7:1: host 0 of 1 has no port 7 at a network"},
      {{"all_reduce", "--file", box, "--gdr-level", "NEAR"}, "--gdr-level is a level of NCCL's, from LOC to SYS"},
      {{"--workload", step, "--file", box, "--chunk", "1K,2K"}, "a workload takes one size of --chunk"},
  };
  for (const auto& each : wrong) {
    const Said said = Sim(each.words);
    EXPECT_EQ(said.exit, kExitUsage) << each.error;
    EXPECT_NE(said.err.find(each.error), std::string::npos) << each.error << "\n  " << said.err;
  }
  const Said unwritten = Sim({"all_reduce", "--file", box, "--algo", "ring", "--sizes", "8", "--trace", "/nowhere/x"});
  EXPECT_EQ(unwritten.exit, kExitFailed);
  EXPECT_NE(unwritten.err.find("cannot write /nowhere/x: "), std::string::npos) << unwritten.err;
  const std::string large = Write("large_step.txt", "ranks data=64\nforward\n  compute 1ms\n");
  EXPECT_NE(Sim({"--workload", large, "--file", box}).err.find("64 ranks"), std::string::npos);
}

}  // namespace
}  // namespace tutti::tools
