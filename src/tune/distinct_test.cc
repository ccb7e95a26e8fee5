// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "tune/distinct.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tune/chooser.h"

namespace tutti::tune {
namespace {

using algo::Algorithm;
using proto::Protocol;

std::string Names(const std::vector<Choice>& ways) {
  std::string names;
  for (const Choice& way : ways) names += (names.empty() ? "" : "; ") + ToString(way);
  return names;
}

Choice Simple(Algorithm algorithm, bool by_reference = false, int channels = 1) {
  return {.algorithm = algorithm, .protocol = Protocol::kSimple, .by_reference = by_reference, .channels = channels};
}

TEST(Distinct, TheFirstOfWaysWithOnePlanStays) {
  const std::vector<Choice> ways = {Simple(Algorithm::kTree), Simple(Algorithm::kRing), Simple(Algorithm::kTwoShot),
                                    Simple(Algorithm::kOneShot)};
  EXPECT_EQ(Names(Distinct(ways, Collective::kReduce, algo::Hosts(2), 0)), "tree Simple; two_shot Simple");
  EXPECT_EQ(Distinct(ways, Collective::kReduce, algo::Hosts(4), 3).size(), 4u);
}

TEST(Distinct, ProtocolsReferencesAndChannelsAreWaysOfTheirOwn) {
  const std::vector<Choice> ways = {Simple(Algorithm::kRing),
                                    Simple(Algorithm::kOneShot, true),
                                    Simple(Algorithm::kOneShot, false, 2),
                                    {.algorithm = Algorithm::kOneShot, .protocol = Protocol::kLl, .channels = 1}};
  EXPECT_EQ(Distinct(ways, Collective::kReduce, algo::Hosts(2), 1).size(), 4u);
}

// Each takes building all plans of all ways.
TEST(Distinct, WaysOfManyRanksAreLeftAlone) {
  const std::vector<Choice> ways = {Simple(Algorithm::kRing), Simple(Algorithm::kRing)};
  EXPECT_EQ(Distinct(ways, Collective::kAllReduce, algo::Hosts(8), 0).size(), 1u);
  EXPECT_EQ(Distinct(ways, Collective::kAllReduce, algo::Hosts(9), 0).size(), 2u);
}

}  // namespace
}  // namespace tutti::tune
