// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "tools/tune_regret.h"

#include <gtest/gtest.h>
#include <stdlib.h>
#include <unistd.h>

#include <cstdio>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "tools/cli.h"
#include "tools/median.h"

namespace tutti::tools {
namespace {

TEST(Regret, TheMedianOfAnEvenNumberIsBetweenTheMiddleTwo) {
  EXPECT_DOUBLE_EQ(MedianOf({3, 1, 2}), 2);
  EXPECT_DOUBLE_EQ(MedianOf({4, 1, 3, 2}), 2.5);
}

// Of 100 throws of a coin between 40 and 60 show heads in 95 of 100 cases.
TEST(Regret, AMedianIsAsUncertainAsTheValuesAroundIt) {
  std::vector<double> values;
  for (int i = 0; i < 100; ++i) values.push_back((37 * i) % 100);
  EXPECT_DOUBLE_EQ(UncertaintyOfMedian(values), (59 - 40) / 2.0);
  EXPECT_DOUBLE_EQ(UncertaintyOfMedian({1, 9, 3, 4}), 4);
  EXPECT_DOUBLE_EQ(UncertaintyOfMedian({5}), 0);
  for (double& value : values) value = value < 60 ? 7 : value;
  EXPECT_DOUBLE_EQ(UncertaintyOfMedian(values), 0);
}

TEST(Regret, ALineSaysWhatIsBetter) {
  const RegretLine worse{.collective = Collective::kReduce,
                         .bytes = 32768,
                         .chosen = "one_shot Simple",
                         .best = "tree Simple",
                         .chosen_us = 15,
                         .best_us = 3,
                         .regret = 4};
  EXPECT_EQ(
      FormatRegret(worse),
      "    32 KiB  one_shot Simple                          15.00  tree Simple                               3.00  "
      "400.0 %  <--\n");
  const RegretLine best{.bytes = 8, .chosen = "one_shot LL", .best = "one_shot LL", .chosen_us = 0.12, .best_us = 0.12};
  EXPECT_EQ(FormatRegret(best), "       8 B  one_shot LL                               0.12\n");
  const std::vector<RegretLine> both = {worse, best};
  EXPECT_EQ(
      SummarizeRegret(both),
      "2 sizes: the chosen way takes 200.0 % longer than the best one (mean), at worst 400.0 %: reduce of 32 KiB\n1 "
      "of them more than 10 % longer\n");
}

TEST(Regret, TheMedianOfSeveralChoicesCounts) {
  std::vector<RegretLine> choices;
  for (const double regret : {0.35, 0.0, 0.04}) {
    choices.push_back({.bytes = 8,
                       .chosen = "ring LL",
                       .best = regret > 0 ? "one_shot LL" : "ring LL",
                       .chosen_us = 1 + regret,
                       .best_us = 1,
                       .regret = regret});
  }
  const RegretLine median = MedianOfChoices(choices);
  EXPECT_DOUBLE_EQ(median.regret, 0.04);
  EXPECT_DOUBLE_EQ(median.chosen_us, 1.04);
  EXPECT_EQ(median.of_each_choice, (std::vector<double>{0.0, 0.04, 0.35}));
  EXPECT_EQ(
      FormatRegret(median),
      "       8 B  ring LL                                   1.04  one_shot LL                               1.00    "
      "4.0 %  (35 % once)\n");
  const std::vector<RegretLine> lines = {median};
  EXPECT_NE(SummarizeRegret(lines).find("0 of them more than 10 % longer\nof 3 single choices 1 take more than 10 % "
                                        "longer, at worst 35.0 %\n"),
            std::string::npos)
      << SummarizeRegret(lines);
}

// With real ranks: every operation's ways run, and all that was found is in the file.
TEST(Regret, MeasuresEveryOperation) {
  char folder[] = "/tmp/tutti_regret_XXXXXX";
  ASSERT_NE(mkdtemp(folder), nullptr);
  const std::string file = std::string(folder) + "/times.json";
  RegretOptions options{.ranks = 3, .min_bytes = 1024, .max_bytes = 65536, .factor = 64, .rounds = 1, .batch_ms = 0.01};
  for (int c = 0; c < kCollectives; ++c) {
    if (static_cast<Collective>(c) != Collective::kBarrier) options.collectives.push_back(static_cast<Collective>(c));
  }
  options.raw_file = file;
  EXPECT_EQ(MeasureRegret(options), kExitOk);
  std::ifstream stream(file);
  const std::string text((std::istreambuf_iterator<char>(stream)), std::istreambuf_iterator<char>());
  for (const Collective collective : options.collectives) {
    EXPECT_NE(text.find("\"op\": \"" + std::string(Name(collective)) + "\""), std::string::npos) << Name(collective);
  }
  EXPECT_NE(text.find("ll_hop_us"), std::string::npos);
  std::remove(file.c_str());
  rmdir(folder);
}

}  // namespace
}  // namespace tutti::tools
