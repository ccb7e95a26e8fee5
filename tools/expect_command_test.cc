// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "tools/expect_command.h"

#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "tools/cli.h"
#include "topo/named_machines.h"

namespace tutti::tools {
namespace {

struct Said {
  int exit = 0;
  std::string out, err;
};

Said Expect(std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), "tutti expect");
  std::vector<char*> argv;
  for (std::string& a : arguments) argv.push_back(a.data());
  testing::internal::CaptureStdout();
  testing::internal::CaptureStderr();
  Said said;
  said.exit = ExpectCommand(static_cast<int>(argv.size()), argv.data());
  said.out = testing::internal::GetCapturedStdout();
  said.err = testing::internal::GetCapturedStderr();
  return said;
}

TEST(ExpectCommand, FiguresAreThoseOfTheMachine) {
  const tune::NcclMachine h100 = *NcclMachineOf(*topo::FindMachine("hgx-h100"), 4);
  EXPECT_EQ(h100.ranks(), 32);
  EXPECT_EQ(h100.nics_per_host, 8);
  EXPECT_EQ(h100.nic_gb_per_s, 50);
  EXPECT_DOUBLE_EQ(h100.nvlink_gb_per_s, 18 * 20.6);
  EXPECT_TRUE(h100.multicast);
  const tune::NcclMachine p5 = *NcclMachineOf(*topo::FindMachine("p5"), 2);
  EXPECT_EQ(p5.nics_per_host, 8);  // four cards of a GPU are one to NCCL
  EXPECT_EQ(p5.nic_gb_per_s, 50);
  EXPECT_EQ(p5.fabric, tune::FabricKind::kEfa);
  const tune::NcclMachine rack = *NcclMachineOf(*topo::FindMachine("gb200-nvl72"), 18);
  EXPECT_EQ(rack.hosts, 1);
  EXPECT_EQ(rack.gpus_per_host, 72);
  EXPECT_EQ(NcclMachineOf(*topo::FindMachine("rtx-4090-x8"), 1)->nvlink_gb_per_s, 0);
}

TEST(ExpectCommand, PrintsWhatTuttiChoosesAndTakes) {
  const Said said = Expect({"all_reduce", "--machine", "hgx-h200", "--ranks", "4", "-b", "8", "-e", "64M", "-f", "8"});
  ASSERT_EQ(said.exit, kExitOk) << said.err;
  EXPECT_NE(said.out.find("4 ranks on 1 host, memory of GPUs; Tutti's all_reduce"), std::string::npos) << said.out;
  EXPECT_NE(said.out.find("one_shot LL, 1 channel of"), std::string::npos) << said.out;
  EXPECT_NE(said.out.find("NVLink"), std::string::npos) << said.out;
  EXPECT_EQ(said.out.find("no error is known"), std::string::npos) << said.out;
  EXPECT_NE(said.out.find(" %\n"), std::string::npos) << said.out;
}

TEST(ExpectCommand, SaysThatNothingWasMeasured) {
  const Said said = Expect({"all_gather", "--machine", "hgx-h100", "--hosts", "2", "-b", "1M", "-e", "1M"});
  ASSERT_EQ(said.exit, kExitOk) << said.err;
  EXPECT_NE(said.out.find("# no error is known: Tutti was not measured between such hosts"), std::string::npos)
      << said.out;
  EXPECT_NE(said.out.find("      -\n"), std::string::npos) << said.out;
}

// A piece has at least a byte, and sizes that come to the same are there once.
TEST(ExpectCommand, SmallSizesAreThoseOfAByteForEachRank) {
  const Said said = Expect({"all_gather", "--machine", "hgx-h200", "-b", "1", "-e", "16", "-f", "2"});
  ASSERT_EQ(said.exit, kExitOk) << said.err;
  EXPECT_NE(said.out.find("\n             8 "), std::string::npos) << said.out;
  EXPECT_NE(said.out.find("\n            16 "), std::string::npos) << said.out;
  EXPECT_EQ(said.out.find("\n             4 "), std::string::npos) << said.out;
}

TEST(ExpectCommand, TakesAFileAndMemoryOfTheHost) {
  const std::string path = testing::TempDir() + "expect_box.txt";
  std::ofstream(path) << "name a box\nnic 100 Gbit/s\nhost\n  2 sockets\n    1 nic\n";
  const Said file = Expect({"broadcast", "--machine", path, "--hosts", "2", "--ranks", "1", "-b", "1M", "-e", "1M"});
  ASSERT_EQ(file.exit, kExitOk) << file.err;
  EXPECT_NE(file.out.find("# a box: 2 ranks on 2 hosts, host memory; Tutti's broadcast"), std::string::npos)
      << file.out;
  EXPECT_EQ(Expect({"broadcast", "--file", path, "--hosts", "2", "--ranks", "1", "-b", "1M", "-e", "1M"}).out,
            file.out);
  const Said memory = Expect({"reduce", "--machine", "p5", "--host-memory", "-b", "1K", "-e", "1K"});
  EXPECT_NE(memory.out.find("host memory; Tutti's reduce"), std::string::npos) << memory.out;
}

// What was measured on such clusters (tests/planning/points), within a fifth.
TEST(ExpectCommand, IsNearWhatWasMeasured) {
  const Said said = Expect({"all_reduce", "--nccl", "--machine", "hgx-h100", "--hosts", "2", "-b", "8G", "-e", "8G"});
  ASSERT_EQ(said.exit, kExitOk) << said.err;
  const std::size_t at = said.out.rfind("8589934592");
  ASSERT_NE(at, std::string::npos) << said.out;
  EXPECT_NEAR(std::stod(said.out.substr(at + 10)), 34500, 6900) << said.out;
}

TEST(ExpectCommand, WritesJson) {
  const Said both = Expect({"all_reduce", "--machine", "hgx-h200", "--ranks", "4", "-b", "64K", "-e", "64K", "--json",
                            testing::TempDir() + "expected.json"});
  EXPECT_EQ(both.exit, kExitOk) << both.err;
  EXPECT_NE(both.out.find("one_shot LL128"), std::string::npos) << both.out;
  std::ifstream file(testing::TempDir() + "expected.json");
  const std::string written(std::istreambuf_iterator<char>(file), {});
  const Said alone =
      Expect({"all_reduce", "--machine", "hgx-h200", "--ranks", "4", "-b", "64K", "-e", "64K", "--json", "-"});
  EXPECT_EQ(alone.out, written);
  EXPECT_TRUE(written.starts_with("{")) << written;
  for (const char* part : {"\"operation\": \"all_reduce\"", "\"ranks\": 4", "\"bytes\": 65536",
                           "\"choice\": \"one_shot LL128, 22 channels of 128 threads\"", "\"bound_by\": \"latency\""}) {
    EXPECT_NE(written.find(part), std::string::npos) << part << " in " << written;
  }
  const Said nccl = Expect({"all_reduce", "--nccl", "--machine", "hgx-h100", "-b", "8", "-e", "8", "--json", "-"});
  EXPECT_NE(nccl.out.find("\"library\": \"NCCL 22809\""), std::string::npos) << nccl.out;
  const Said nowhere =
      Expect({"all_reduce", "--machine", "hgx-h200", "-b", "8", "-e", "8", "--json", "/nowhere/at.json"});
  EXPECT_EQ(nowhere.exit, kExitFailed);
  EXPECT_NE(nowhere.err.find("cannot write /nowhere/at.json"), std::string::npos) << nowhere.err;
}

TEST(ExpectCommand, SaysWhatIsWrong) {
  EXPECT_EQ(Expect({"all_reduce", "--nccl"}).exit, kExitUsage);
  EXPECT_EQ(Expect({"all_reduce", "--machine", "p5", "--nccl", "--ranks", "2"}).exit, kExitUsage);
  EXPECT_NE(Expect({"all_reduce", "--machine", "p5", "--ranks", "1"}).err.find("one rank alone"), std::string::npos);
  EXPECT_NE(Expect({"all_reduce", "--machine", "p5", "--ranks", "100"}).err.find("at most 72"), std::string::npos);
  EXPECT_NE(Expect({"all_reduce", "--machine", "p6"}).err.find("p6-b200"), std::string::npos);
  EXPECT_NE(Expect({"all_reduce", "--machine", "/nowhere/box.txt"}).err.find("/nowhere/box.txt"), std::string::npos);
  EXPECT_EQ(Expect({"all_reduce", "--machine", "p5", "-b", "0"}).exit, kExitUsage);
  EXPECT_EQ(Expect({"barrier", "--machine", "p5"}).exit, kExitUsage);
  EXPECT_NE(Expect({"nothing", "--nccl", "--machine", "p5"}).err.find("no collective 'nothing'"), std::string::npos);
  EXPECT_NE(Expect({"all_reduce", "--nccl", "--machine", "x"}).err.find("hgx-h100"), std::string::npos);
  EXPECT_NE(Expect({"all_reduce", "--nccl", "--machine", "l40s-x8", "--hosts", "2"}).exit, kExitUsage);
  EXPECT_EQ(Expect({"all_reduce", "--nccl", "--machine", "p5", "-b", "2G", "-e", "1G"}).exit, kExitUsage);
}

}  // namespace
}  // namespace tutti::tools
