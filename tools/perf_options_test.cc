// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "tools/perf_options.h"

#include <gtest/gtest.h>

#include <initializer_list>
#include <string>
#include <vector>

#include "tools/cli.h"
#include "tools/perf_shape.h"

namespace tutti::tools {
namespace {

std::variant<PerfOptions, int> Parse(std::initializer_list<const char*> words) {
  std::vector<std::string> copies = {"perf"};
  copies.insert(copies.end(), words.begin(), words.end());
  std::vector<char*> argv;
  for (std::string& copy : copies) argv.push_back(copy.data());
  return ParsePerfOptions(static_cast<int>(argv.size()), argv.data());
}

PerfOptions Good(std::initializer_list<const char*> words) {
  auto parsed = Parse(words);
  EXPECT_TRUE(std::holds_alternative<PerfOptions>(parsed));
  return std::holds_alternative<PerfOptions>(parsed) ? std::get<PerfOptions>(parsed) : PerfOptions();
}

// The error that a command line gets.
std::string Bad(std::initializer_list<const char*> words) {
  testing::internal::CaptureStderr();
  const auto parsed = Parse(words);
  const std::string error = testing::internal::GetCapturedStderr();
  const int* code = std::get_if<int>(&parsed);
  EXPECT_EQ(code != nullptr ? *code : -1, kExitUsage);
  return error;
}

std::vector<std::size_t> SizesOf(const PerfOptions& options) {
  std::vector<std::size_t> sizes;
  for (std::optional<std::size_t> bytes = options.min_bytes; bytes; bytes = NextSize(options, *bytes)) {
    sizes.push_back(*bytes);
  }
  return sizes;
}

TEST(ParsePerfOptions, HasTheDefaultsOfNcclTests) {
  const PerfOptions options = Good({"all_reduce"});
  EXPECT_EQ(options.collective, Collective::kAllReduce);
  EXPECT_EQ(options.min_bytes, 32u << 20);
  EXPECT_EQ(options.max_bytes, 32u << 20);
  EXPECT_EQ(options.step_bytes, 1u << 20);
  EXPECT_EQ(options.step_factor, 1u);
  EXPECT_EQ(options.iterations, 20);
  EXPECT_EQ(options.warmup, 1);
  EXPECT_EQ(options.checks, 1);
  EXPECT_EQ(options.types, std::vector{DataType::kFloat32});
  EXPECT_EQ(options.ops, std::vector{ReduceOp::kSum});
  EXPECT_EQ(options.root, 0);
  EXPECT_EQ(options.average, PerfOptions::Average::kMean);
  EXPECT_EQ(options.launch, PerfOptions::Launch::kEnvironment);
}

TEST(ParsePerfOptions, ReadsNcclTestsOptions) {
  const PerfOptions options =
      Good({"reduce", "-b", "8",   "-e", "128M", "-f", "2", "-n", "50", "-w", "5", "-c", "0",     "-d",
            "half",   "-o", "max", "-r", "-1",   "-a", "3", "-z", "3",  "-m", "4", "-J", "x.json"});
  EXPECT_EQ(options.collective, Collective::kReduce);
  EXPECT_EQ(options.min_bytes, 8u);
  EXPECT_EQ(options.max_bytes, 128u << 20);
  EXPECT_EQ(options.step_factor, 2u);
  EXPECT_EQ(options.iterations, 50);
  EXPECT_EQ(options.warmup, 5);
  EXPECT_EQ(options.checks, 0);
  EXPECT_EQ(options.types, std::vector{DataType::kFloat16});
  EXPECT_EQ(options.ops, std::vector{ReduceOp::kMax});
  EXPECT_EQ(options.root, kEveryRoot);
  EXPECT_EQ(options.average, PerfOptions::Average::kMax);
  EXPECT_EQ(options.barrier, PerfOptions::Barrier::kUntimed);
  EXPECT_EQ(options.group, 4);
  EXPECT_EQ(options.json, "x.json");
}

TEST(ParsePerfOptions, TakesListsAndAll) {
  EXPECT_EQ(Good({"all_reduce", "-d", "all"}).types.size(), static_cast<std::size_t>(kNcclDataTypes));
  EXPECT_EQ(Good({"all_reduce", "-o", "all"}).ops.size(), static_cast<std::size_t>(kNcclReduceOps));
  EXPECT_EQ(Good({"all_reduce", "-d", "int8,double"}).types, (std::vector{DataType::kInt8, DataType::kFloat64}));
}

TEST(ParsePerfOptions, StartsRanks) {
  EXPECT_EQ(Good({"gather", "--ranks", "4"}).launch, PerfOptions::Launch::kProcesses);
  const PerfOptions threads = Good({"gather", "--ranks", "4", "--threads"});
  EXPECT_EQ(threads.launch, PerfOptions::Launch::kThreads);
  EXPECT_EQ(threads.ranks, 4);
}

TEST(ParsePerfOptions, RaisesTheLargestSizeOnlyWhereItIsNotGiven) {
  EXPECT_EQ(Good({"all_reduce", "-b", "64M"}).max_bytes, 64u << 20);
  EXPECT_NE(Bad({"all_reduce", "-b", "64M", "-e", "1M"}).find("above the largest"), std::string::npos);
}

TEST(ParsePerfOptions, SaysWhatIsWrong) {
  EXPECT_NE(Bad({"all_reduec"}).find("did you mean 'all_reduce'?"), std::string::npos);
  EXPECT_NE(Bad({"barrier"}).find("there is no operation"), std::string::npos);
  EXPECT_NE(Bad({"all_reduce", "-d", "flaot"}).find("choose from int8"), std::string::npos);
  EXPECT_NE(Bad({"all_reduce", "-b", "8Q"}).find("'8Q' is no size"), std::string::npos);
  EXPECT_NE(Bad({"all_reduce", "-n", "0"}).find("--iters"), std::string::npos);
  EXPECT_NE(Bad({"all_reduce", "-i", "0"}).find("never ends"), std::string::npos);
  EXPECT_NE(Bad({"all_reduce", "--threads"}).find("--ranks"), std::string::npos);
  EXPECT_NE(Bad({"reduce", "--ranks", "2", "-r", "2"}).find("root 2 does not exist"), std::string::npos);
  EXPECT_NE(Bad({"all_reduce", "--all-algos", "--algo", "ring"}).find("--all-algos"), std::string::npos);
  EXPECT_NE(Bad({}).find("tutti perf --help"), std::string::npos);
}

TEST(ParsePerfOptions, HelpEndsWellWithAnExample) {
  testing::internal::CaptureStdout();
  const auto parsed = Parse({"--help"});
  EXPECT_NE(testing::internal::GetCapturedStdout().find("Examples:\n  tutti perf"), std::string::npos);
  EXPECT_EQ(std::get<int>(parsed), kExitOk);
}

TEST(NextSize, AddsOrMultiplies) {
  PerfOptions options{.min_bytes = 8, .max_bytes = 64, .step_bytes = 24};
  EXPECT_EQ(SizesOf(options), (std::vector<std::size_t>{8, 32, 56}));
  options.step_factor = 2;
  EXPECT_EQ(SizesOf(options), (std::vector<std::size_t>{8, 16, 32, 64}));
  options.min_bytes = 0;
  options.max_bytes = 4;
  EXPECT_EQ(SizesOf(options), (std::vector<std::size_t>{0, 1, 2, 4}));
}

TEST(ParseBytes, KnowsBinarySuffixes) {
  EXPECT_EQ(ParseBytes("0"), 0u);
  EXPECT_EQ(ParseBytes("17"), 17u);
  EXPECT_EQ(ParseBytes("4k"), 4096u);
  EXPECT_EQ(ParseBytes("1.5M"), 3u << 19);
  EXPECT_EQ(ParseBytes("2GiB"), std::size_t{2} << 30);
  EXPECT_EQ(ParseBytes("1T"), std::size_t{1} << 40);
  for (const char* wrong : {"", "-1", "M", "4X", "4KX", "nan", "1e300"}) EXPECT_FALSE(ParseBytes(wrong)) << wrong;
}

TEST(FormatBytes, RoundsToWhatOneReads) {
  EXPECT_EQ(FormatBytes(0), "0 B");
  EXPECT_EQ(FormatBytes(1023), "1023 B");
  EXPECT_EQ(FormatBytes(32 << 20), "32 MiB");
  EXPECT_EQ(FormatBytes(1536), "1.50 KiB");
  EXPECT_EQ(FormatBytes(std::size_t{22} << 30 | 512 << 20), "22.5 GiB");
}

TEST(Nearest, FindsTyposAndBeginnings) {
  constexpr std::string_view kWords[] = {"perf", "plan", "tune", "run", "version"};
  EXPECT_EQ(Nearest("prf", kWords), "perf");
  EXPECT_EQ(Nearest("pefr", kWords), "perf");
  EXPECT_EQ(Nearest("ver", kWords), "version");
  EXPECT_FALSE(Nearest("benchmark", kWords));
}

TEST(CountFor, FollowsNcclTests) {
  using enum Rounding;
  EXPECT_EQ(CountFor(Collective::kAllReduce, DataType::kFloat32, 3, 1000, kTo16Bytes), 250u);
  EXPECT_EQ(CountFor(Collective::kAllGather, DataType::kFloat32, 4, 131072, kTo16Bytes), 8192u);
  EXPECT_EQ(CountFor(Collective::kScatter, DataType::kFloat32, 4, 32, kTo16Bytes), 0u);
  EXPECT_EQ(CountFor(Collective::kScatter, DataType::kFloat32, 4, 32, kExact), 2u);
  EXPECT_EQ(CountFor(Collective::kReduceScatter, DataType::kInt8, 3, 1000, kTo16Bytes), 320u);
  EXPECT_EQ(CountFor(Collective::kReduceScatter, DataType::kInt8, 3, 1000, kExact), 333u);
  EXPECT_EQ(CountFor(Collective::kAllToAll, DataType::kFloat64, 1, 24, kTo16Bytes), 2u);
}

TEST(BusFactor, FollowsNcclTests) {
  EXPECT_DOUBLE_EQ(BusFactor(Collective::kAllReduce, 4), 1.5);
  EXPECT_DOUBLE_EQ(BusFactor(Collective::kAllReduce, 1), 0);
  EXPECT_DOUBLE_EQ(BusFactor(Collective::kAllGather, 4), 0.75);
  EXPECT_DOUBLE_EQ(BusFactor(Collective::kGather, 4), 0.75);
  EXPECT_DOUBLE_EQ(BusFactor(Collective::kBroadcast, 4), 1);
  EXPECT_DOUBLE_EQ(BusFactor(Collective::kSendRecv, 4), 1);
  EXPECT_DOUBLE_EQ(AlgorithmBandwidth(2'000'000'000, 0.5), 4);
}

}  // namespace
}  // namespace tutti::tools
