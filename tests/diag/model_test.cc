// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
// The analyser on the model: faults of all kinds and places by their seeds, flaws that must be noticed, and 512 ranks.
#include "tests/diag/model.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <ctime>

#include "diag/sentence.h"
#include "diag/story.h"
#include "tests/diag/model_cases.h"

namespace tutti::tests {
namespace {

constexpr int kSeeds = 12;

std::string Tell(const CaseResult& r, std::uint64_t seed) {
  std::string text =
      fmt::format("{}, seed {}: {}; heard: {}", r.kind, seed, r.name, r.sentence.empty() ? "nothing" : r.sentence);
  for (const std::string& w : r.wrong) text += "\n  " + w;
  return text;
}

TEST(Model, GoesOnWithoutAFault) {
  for (const Shape shape : {Shape::kRing, Shape::kTree, Shape::kPairwise}) {
    Model model({.ranks = 6, .shape = shape});
    model.Run(1000);
    EXPECT_GT(model.finished(), 5u) << Name(shape);
  }
}

TEST(Model, EveryFaultIsNamedAndNobodyElse) {
  for (int fault = 0; fault < kModelFaults; ++fault) {
    for (std::uint64_t seed = 1; seed <= kSeeds; ++seed) {
      const CaseResult result = RunModelCase(static_cast<ModelFault>(fault), seed);
      EXPECT_TRUE(result.right) << Tell(result, seed);
    }
  }
}

int Misses(const diag::Rules& rules, const std::function<void(diag::Look&)>& distort) {
  int misses = 0;
  for (int fault = 0; fault < kModelFaults; ++fault) {
    for (std::uint64_t seed = 1; seed <= 3; ++seed) {
      misses += RunModelCase(static_cast<ModelFault>(fault), seed, rules, distort).right ? 0 : 1;
    }
  }
  return misses;
}

// Flaws that the same cases must find: two rows of the table mixed up, and credit that is lost on the way to the analyser.
TEST(Model, PlantedFlawsAreFound) {
  EXPECT_EQ(Misses({}, {}), 0);
  diag::Rules swapped;
  std::swap(swapped.edges[1].finding, swapped.edges[2].finding);
  EXPECT_GT(Misses(swapped, {}), 0);
  swapped = {};
  std::swap(swapped.edges[3].finding, swapped.edges[4].finding);
  EXPECT_GT(Misses(swapped, {}), 0);
  EXPECT_GT(Misses({}, LoseConsumed), 0);
}

double CpuMs() {
  timespec t{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return static_cast<double>(t.tv_sec) * 1e3 + static_cast<double>(t.tv_nsec) * 1e-6;
}

// 512 ranks, 8 to a host, and the link between hosts 31 and 32 at a tenth of its speed. Looks are as far apart as a monitor's.
TEST(Model, FindsTheCableOfNode31) {
  constexpr int kRanks = 512;
  Model model({.ranks = kRanks, .ranks_per_host = 8, .units = 64, .rounds = 1});
  model.Run(300);
  model.SetLink(255, 256, 10);
  const int apart_ms = static_cast<int>(diag::ApartNs(kRanks) / diag::kMs);
  diag::Story story;
  diag::Look before = model.Take();
  std::vector<diag::Story::Line> told;
  double seconds = 0, least_ms = 1e9;
  for (; seconds < 12 && told.empty(); seconds += apart_ms * 1e-3) {
    model.Run(apart_ms);
    diag::Look now = model.Take();
    const double begin_ms = CpuMs();
    std::vector<diag::Verdict> verdicts = diag::Judge(before, now);
    least_ms = std::min(least_ms, CpuMs() - begin_ms);
    told = story.Update(std::move(verdicts), now.taken_ns);
    before = std::move(now);
  }
  ASSERT_EQ(told.size(), 1u);
  EXPECT_NE(
      told[0].text.find(
          "data move slowly on the link from rank 255 (host node31, pid 5255, GPU 7) by card mlx5_7 to rank 256 (host "
          "node32, pid 5256, GPU 0) by card mlx5_0"),
      std::string::npos)
      << told[0].text;
  EXPECT_LE(seconds, 10.0);
  EXPECT_LT(least_ms, 100);  // of the processor's time, on whatever machine
  RecordProperty("analysis_ms", fmt::format("{:.1f}", least_ms));
  RecordProperty("named_after_s", fmt::format("{:.1f}", seconds));
}

}  // namespace
}  // namespace tutti::tests
