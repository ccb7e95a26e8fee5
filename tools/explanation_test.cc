// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "tools/explanation.h"

#include <gtest/gtest.h>

#include <string>

namespace tutti::tools {
namespace {

using tune::Term;

PredictedWay Way(const std::string& name, double hops, double links, double folds = 0) {
  PredictedWay way{.name = name};
  way.terms[Term::kHops] = hops;
  way.terms[Term::kLinks] = links;
  way.terms[Term::kFolds] = folds;
  return way;
}

Prediction Make() {
  Prediction p{.size = 4000, .bytes = 4000, .us = 10, .bound = "links", .binding = "links: 6.0 of 10.0 us"};
  p.ways = {Way("two_shot LL128", 4, 6), Way("one_shot LL", 2, 12)};
  return p;
}

TEST(Explanation, SaysWhatIsSavedAndWhatThatCosts) {
  EXPECT_EQ(SentenceOf(Make()),
            "two_shot LL128, because it takes 6.00 us less for links than one_shot LL, though 2.00 us more for hops; "
            "runner-up one_shot LL would take 1.40 times as long; bound by links: 6.0 of 10.0 us");
}

TEST(Explanation, SaysSoWhereTimesDoNotDecide) {
  Prediction p = Make();
  p.rule = "from 128 KiB on operations are divided by hosts";
  EXPECT_EQ(ReasonOf(p), p.rule);
  p = Make();
  p.ways.pop_back();
  EXPECT_EQ(ReasonOf(p), "it is the only way here");
  p = Make();
  p.ways[1] = Way("tree LL", 4, 6);
  EXPECT_EQ(ReasonOf(p), "it takes no longer than tree LL and comes first");
  p.ways[1] = Way("tree LL", 4, 5);
  EXPECT_EQ(ReasonOf(p), "it is the fastest for the smallest size that is done alike");
}

TEST(Explanation, HasFiguresPartsAndATable) {
  Prediction p = Make();
  p.wire_gb_per_s = 1.25;
  p.error = SeenError{.error = 0.2, .points = 44};
  p.parts = {{.what = "all ranks: all_reduce", .way = "ring LL", .us = 7}};
  const Predictor::About about{
      .machine = "a box", .memory = "host memory", .hosts = 2, .ranks = 4, .notes = {"a note"}};
  const std::string text = Explain(about, Collective::kAllReduce, p);
  for (const char* said : {"# a box: 4 ranks on 2 hosts, host memory; all_reduce of 4000 bytes\n", "# a note\n",
                           "10.00 us", "0.400 GB/s, bus 0.600", "1.250 GB/s", "within 20 % in nine of ten of 44 points",
                           "7.00 us  all ranks: all_reduce; ring LL", "      hops      links  way",
                           "1.40       2.00      12.00  one_shot LL"}) {
    EXPECT_NE(text.find(said), std::string::npos) << said << "\n" << text;
  }
  EXPECT_EQ(text.find("folds"), std::string::npos) << "no way has any";
}

TEST(Explanation, ManyWaysAreCut) {
  Prediction p = Make();
  for (int i = 0; i < 20; ++i) p.ways.push_back(Way("way " + std::to_string(i), 4, 20 + i));
  const std::string text = Explain({}, Collective::kAllReduce, p);
  EXPECT_NE(text.find("way 9\n"), std::string::npos) << text;
  EXPECT_EQ(text.find("way 10\n"), std::string::npos) << text;
  EXPECT_NE(text.find("10 more ways take 3.40 to 4.30 times as long"), std::string::npos) << text;
}

}  // namespace
}  // namespace tutti::tools
