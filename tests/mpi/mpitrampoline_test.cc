// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
// The library that JAX loads for an MPI, by ranks of `tutti run` (mpi_program.c), and as the loader sees it.
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "tests/support/child_process.h"

namespace tutti {
namespace {

using tests::ChildProcess;

struct Outcome {
  int code;
  std::string output;
};

Outcome Run(std::vector<std::string> words) {
  ChildProcess process(std::move(words), {"NCCL_SOCKET_IFNAME=lo"});
  const int code = process.Wait();
  return {code, process.output()};
}

Outcome RunAlone(const char* what) { return Run({TUTTI_MPI_PROGRAM, TUTTI_MPI_LIBRARY, what}); }

Outcome RunRanks(int ranks, const char* what) {
  return Run({TUTTI_TOOL, "run", "-n", std::to_string(ranks), TUTTI_MPI_PROGRAM, TUTTI_MPI_LIBRARY, what});
}

TEST(MpiTrampoline, HasEveryNameThatIsResolved) {
  const Outcome o = RunAlone("symbols");
  EXPECT_EQ(o.code, 0) << o.output;
}

TEST(MpiTrampoline, ComputesWithEveryTypeAndOperator) {
  for (const int ranks : {4, 2}) {
    const Outcome o = RunRanks(ranks, "all");
    EXPECT_EQ(o.code, 0) << o.output;
  }
}

TEST(MpiTrampoline, ServesManyThreads) {
  const Outcome o = RunRanks(3, "many");
  EXPECT_EQ(o.code, 0) << o.output;
}

TEST(MpiTrampoline, FunctionsThatAreNotThereSayTheirName) {
  const Outcome o = RunAlone("absent");
  EXPECT_EQ(o.code, 0) << o.output;
  EXPECT_NE(o.output.find("tutti: MPI_Bcast is not in this library"), std::string::npos) << o.output;
}

TEST(MpiTrampoline, ADeathIsNamed) {
  const Outcome o = RunRanks(3, "death");
  EXPECT_EQ(o.code, 0) << o.output;
  EXPECT_NE(o.output.find("heard: MPI_Allreduce: "), std::string::npos) << o.output;
}

TEST(MpiTrampoline, TagsAreCompared) {
  const Outcome o = RunRanks(2, "tags");
  EXPECT_EQ(o.code, 0) << o.output;
}

TEST(MpiTrampoline, SeveralDevicesInAProcessAreRefused) {
  const Outcome o = RunRanks(2, "keys");
  EXPECT_EQ(o.code, 0) << o.output;
  // XLA does not look at the code.
  EXPECT_NE(o.output.find("tutti: MPI_Comm_split: the 2 ranks of color 0 have the keys 0, 2"), std::string::npos)
      << o.output;
}

TEST(MpiTrampoline, WithoutALauncherNothingIsSplit) {
  const Outcome o = RunAlone("self");
  EXPECT_EQ(o.code, 0) << o.output;
  EXPECT_NE(o.output.find("tutti run -n 4"), std::string::npos) << o.output;
}

TEST(MpiTrampoline, SaysWhatTheCallerDidWrong) {
  const Outcome o = RunRanks(2, "errors");
  EXPECT_EQ(o.code, 0) << o.output;
}

TEST(MpiTrampoline, StartsAgain) {
  const Outcome o = RunRanks(2, "again");
  EXPECT_EQ(o.code, 0) << o.output;
}

}  // namespace
}  // namespace tutti
