// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
//
// What a job whose kernels wait is told of who holds it up (docs/diagnosis.md), through NCCL's C interface. Needs a GPU.
//
//   nccl_verdicts [--ranks N] [--hosts H] [--only NAME]
//   nccl_verdicts --cases N [--seed S] [--json FILE] ...
//   nccl_verdicts --case SEED ...
//
// Ranks are processes. In each scenario one rank, the last one, holds the others up, whose verdict is asked for until it says what it must; then
// it goes on, all results must be right, and the verdict must go. With --cases the dice choose scenario, rank, size, number of ranks, and
// whether they are on several hosts (NCCL_HOSTID), so many times; --case runs one of these again. One line for each rank that was told, with the sentence and
// the time since it began to wait; exit status 1 where something was wrong, missing, or did not end.

#include <fmt/format.h>
#include <sys/mman.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <new>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "tests/diag/dice.h"
#include "tests/diag/results_file.h"
#include "tests/gpu/nccl_job.h"
#include "tests/gpu/verdict_case.h"

namespace tutti::tests {
namespace {

constexpr int kMostRanks = 64;

struct Options {
  int ranks = 0, hosts = 1, cases = 0;
  std::uint64_t seed = 1, again = 0;
  std::string only, json;
};

nlohmann::json RowOf(const VerdictCase& c, std::uint64_t seed, int gpus, bool right, const ToldOfRank* told) {
  std::vector<double> seconds;
  std::string sentence;
  for (int r = 0; r < c.ranks; ++r) {
    if (told[r].seconds < 0) continue;
    seconds.push_back(told[r].seconds);
    sentence = told[r].sentence;
  }
  return {{"case", NameOf(c.way)}, {"seed", seed},      {"ranks", c.ranks},    {"gpus", gpus},
          {"hosts", c.hosts},      {"rank", c.culprit}, {"count", c.count},    {"calls", c.calls},
          {"right", right},        {"told_s", seconds}, {"sentence", sentence}};
}

// The case that a seed stands for.
VerdictCase Choose(std::uint64_t seed, const Options& options, int gpus) {
  Dice dice(seed);
  constexpr std::size_t kCounts[] = {2, 1000, 100'000, 1'000'000, 8'000'000};
  constexpr int kCalls[] = {1, 3, 40};
  VerdictCase c{.ranks = dice.Between(2, options.ranks)};
  c.hosts = dice.Between(1, std::min(options.hosts, c.ranks));
  c.culprit = dice.Any(c.ranks);
  c.count = kCounts[dice.Any(std::size(kCounts))];
  c.calls = kCalls[dice.Any(std::size(kCalls))];
  do {
    c.way = dice.Any(kVerdictWays);
  } while (!Fits(c, gpus));
  return c;
}

bool RunAll(const Options& options, int gpus) {
  void* const shared =
      mmap(nullptr, sizeof(ToldOfRank) * kMostRanks, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (shared == MAP_FAILED) return false;
  auto* const told = static_cast<ToldOfRank*>(shared);
  std::vector<nlohmann::json> rows;
  int failed = 0;
  const auto run = [&](const VerdictCase& c, std::uint64_t seed) {
    std::uninitialized_fill_n(told, kMostRanks, ToldOfRank{});
    const bool right = RunVerdictCase(c, gpus, told);
    if (!right) ++failed;
    rows.push_back(RowOf(c, seed, gpus, right, told));
  };
  const auto run_chosen = [&](std::uint64_t seed) {
    fmt::print("seed {} ", seed);
    run(Choose(seed, options, gpus), seed);
  };
  if (options.again != 0) run_chosen(options.again);
  for (int i = 0; i < options.cases; ++i) run_chosen(options.seed * 1'000'000 + static_cast<std::uint64_t>(i));
  for (int way = 0; options.cases == 0 && options.again == 0 && way < kVerdictWays; ++way) {
    const VerdictCase c{.way = way, .ranks = options.ranks, .hosts = options.hosts, .culprit = options.ranks - 1};
    const bool wanted = options.only.empty() ? Fits(c, gpus) : options.only == NameOf(way);
    if (wanted) run(c, 0);
  }
  fmt::print("verdicts: {} ranks on {} GPUs, {} of {} passed\n", options.ranks, gpus,
             rows.size() - static_cast<std::size_t>(failed), rows.size());
  if (!options.json.empty()) {
    const std::string command = fmt::format("nccl_verdicts --ranks {} --hosts {} --cases {} --seed {}", options.ranks,
                                            options.hosts, options.cases, options.seed);
    WriteResults(options.json, "verdicts", command, rows);
  }
  return failed == 0 && !rows.empty();
}

}  // namespace
}  // namespace tutti::tests

int main(int argc, char** argv) {
  using namespace tutti::tests;
  Options options;
  for (int i = 1; i < argc; ++i) {
    const std::string_view argument = argv[i];
    const char* value = i + 1 < argc ? argv[++i] : "";
    if (argument == "--ranks") {
      options.ranks = std::atoi(value);
    } else if (argument == "--hosts") {
      options.hosts = std::atoi(value);
    } else if (argument == "--only") {
      options.only = value;
    } else if (argument == "--cases") {
      options.cases = std::atoi(value);
    } else if (argument == "--seed") {
      options.seed = std::strtoull(value, nullptr, 10);
    } else if (argument == "--case") {
      options.again = std::strtoull(value, nullptr, 10);
    } else if (argument == "--json") {
      options.json = value;
    } else {
      fmt::print(stderr,
                 "usage: {} [--ranks N] [--hosts H] [--only NAME] [--cases N [--seed S]] [--case SEED] [--json FILE]\n",
                 argv[0]);
      return 2;
    }
  }
  const int gpus = CountGpus();
  if (gpus == 0) {
    fmt::print(stderr, "there is no GPU that the driver shows here\n");
    return 2;
  }
  if (options.ranks == 0) options.ranks = std::max(gpus, 2);
  if (options.ranks < 2 || options.ranks > kMostRanks || options.hosts < 1 || options.hosts > options.ranks) {
    fmt::print(stderr, "at least 2 ranks are needed, at most {} are tried, and every host has one\n", kMostRanks);
    return 2;
  }
  return RunAll(options, gpus) ? 0 : 1;
}
