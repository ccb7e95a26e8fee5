// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "tune/plugin/ask.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

namespace tutti::tune::plugin {
namespace {

using proto::Protocol;
using Taken = Way::Taken;

constexpr ChannelLimits kLimits{.least = 1, .most = 4};
constexpr int kSimple = static_cast<int>(Protocol::kSimple), kLl = static_cast<int>(Protocol::kLl);

// Numbers of algorithms as a caller may have them.
enum Own { kOneShot, kRing, kTree, kDoubleTree };

// A way that NCCL has no name for is best; the ring would not be chosen unasked.
std::vector<Way> Ways() {
  return {
      {.nccl_name = "", .protocol = Protocol::kLl, .algorithm = kOneShot, .us = 5},
      {.nccl_name = "TREE", .protocol = Protocol::kSimple, .algorithm = kTree, .channels = 1, .us = 20},
      {.nccl_name = "TREE", .protocol = Protocol::kSimple, .algorithm = kTree, .channels = 2, .us = 16},
      {.nccl_name = "TREE", .protocol = Protocol::kSimple, .algorithm = kDoubleTree, .channels = 1, .us = 18},
      {.nccl_name = "RING", .protocol = Protocol::kSimple, .algorithm = kRing, .us = 3, .taken = Taken::kOnRequest},
      {.nccl_name = "RING", .protocol = Protocol::kLl, .algorithm = kRing, .us = 7, .taken = Taken::kOnRequest},
  };
}

Answer AskThat(const std::vector<Way>& ways, const Asked& asked) { return Ask(ways, kLimits, asked); }

TEST(Ask, TheTableHasTheBestOfEachNameAndProtocol) {
  CostTable seen;
  AskThat(Ways(), [&](CostTable& table, int& channels) {
    seen = table;
    EXPECT_EQ(channels, 0);
    return true;
  });
  for (int row = 0; row < abi::kAlgorithms; ++row) {
    for (int column = 0; column < abi::kProtocols; ++column) {
      const bool tree = row == abi::kTree && column == kSimple;
      const bool ring = row == abi::kRing && column == kSimple, ring_ll = row == abi::kRing && column == kLl;
      EXPECT_EQ(seen.us[row][column], tree ? 16 : ring ? 3 : ring_ll ? 7 : -1) << row << ' ' << column;
    }
  }
}

TEST(Ask, APredictionOfZeroIsNoRequest) {
  std::vector<Way> ways = Ways();
  ways[1].us = 0;
  AskThat(ways, [](CostTable& table, int&) {
    EXPECT_GT(table.us[abi::kTree][kSimple], 0);
    return true;
  });
}

TEST(Ask, WhoChangesNothingHasNoSay) {
  const Answer answer = AskThat(Ways(), [](CostTable&, int&) { return true; });
  EXPECT_EQ(answer.way, 0u);
  EXPECT_FALSE(answer.had_a_say);
  EXPECT_EQ(answer.channels, 0);
}

TEST(Ask, AfterAnErrorNothingCounts) {
  const Answer answer = AskThat(Ways(), [](CostTable& table, int& channels) {
    table.us[abi::kRing][kSimple] = 0;
    channels = 2;
    return false;
  });
  EXPECT_EQ(answer.way, 0u);
  EXPECT_FALSE(answer.had_a_say);
  EXPECT_EQ(answer.channels, 0);
}

TEST(Ask, ZeroAsksForAWay) {
  const Answer ring = AskThat(Ways(), [](CostTable& table, int&) {
    table.us[abi::kRing][kLl] = 0;
    return true;
  });
  EXPECT_EQ(ring.way, 5u);
  EXPECT_TRUE(ring.had_a_say);
  const Answer tree = AskThat(Ways(), [](CostTable& table, int&) {
    table.us[abi::kTree][kSimple] = 0;
    return true;
  });
  EXPECT_EQ(tree.way, 2u);
}

TEST(Ask, OfEqualsTheFirstOfTheTableIsTaken) {
  const Answer answer = AskThat(Ways(), [](CostTable& table, int&) {
    for (auto& row : table.us) row.fill(0);
    return true;
  });
  EXPECT_EQ(answer.way, 2u) << "the tree is the first row";
  const Answer rings = AskThat(Ways(), [](CostTable& table, int&) {
    table.us[abi::kRing].fill(4);
    return true;
  });
  EXPECT_EQ(rings.way, 5u) << "LL is the first column";
  std::vector<Way> ways = Ways();
  ways[0].us = 4;
  const Answer equal = AskThat(ways, [](CostTable& table, int&) {
    table.us[abi::kRing][kSimple] = 4;
    return true;
  });
  EXPECT_EQ(equal.way, 4u) << "what is in the table comes first";
}

TEST(Ask, OtherCostsCompeteWithPredictions) {
  const auto with_tree_at = [](float us) {
    return AskThat(Ways(), [us](CostTable& table, int&) {
      table.us[abi::kTree][kSimple] = us;
      return true;
    });
  };
  EXPECT_EQ(with_tree_at(4.5f).way, 2u);
  EXPECT_EQ(with_tree_at(5.5f).way, 0u);
  EXPECT_TRUE(with_tree_at(5.5f).had_a_say);
}

TEST(Ask, WhatDoesNotExistStaysImpossible) {
  const Answer answer = AskThat(Ways(), [](CostTable& table, int&) {
    table.us[abi::kNvls][kSimple] = table.us[abi::kPat][kSimple] = table.us[abi::kTree][kLl] = 0;
    table.before.back() = table.after.front() = 0;
    return true;
  });
  EXPECT_EQ(answer.way, 0u);
  EXPECT_FALSE(answer.had_a_say);
}

TEST(Ask, NonsenseIsPassedOver) {
  for (const float us : {-1.0f, -0.5f, -std::numeric_limits<float>::infinity(), std::nanf(""),
                         std::numeric_limits<float>::infinity(), std::numeric_limits<float>::max()}) {
    const Answer answer = AskThat(Ways(), [us](CostTable& table, int&) {
      for (auto& row : table.us) row.fill(us);
      return true;
    });
    EXPECT_EQ(answer.way, 0u) << us;
  }
}

TEST(Ask, WhereAllIsForbiddenTheFirstWayRemains) {
  std::vector<Way> ways = Ways();
  ways.erase(ways.begin());
  const Answer answer = AskThat(ways, [](CostTable& table, int&) {
    for (auto& row : table.us) row.fill(-1);
    return true;
  });
  EXPECT_EQ(answer.way, 0u);
  EXPECT_TRUE(answer.had_a_say);
}

TEST(Ask, AForbiddenWayGivesWayToTheNextBest) {
  std::vector<Way> ways = Ways();
  std::swap(ways[0], ways[2]);
  ways[0].us = 1;
  const Answer answer = AskThat(ways, [](CostTable& table, int&) {
    table.us[abi::kTree][kSimple] = -1;
    return true;
  });
  EXPECT_EQ(answer.way, 2u) << "not the ring, which nobody has asked for";
}

TEST(Ask, ChannelsAreKeptWithinTheLimits) {
  const auto with_channels = [](int channels) {
    return AskThat(Ways(), [channels](CostTable& table, int& asked) {
      table.us[abi::kTree][kSimple] = 0;
      asked = channels;
      return true;
    });
  };
  EXPECT_EQ(with_channels(1).channels, 1);
  EXPECT_EQ(with_channels(1).way, 1u) << "the same algorithm, not the other one of that name";
  EXPECT_EQ(with_channels(2).way, 2u);
  EXPECT_EQ(with_channels(3).channels, 3);
  EXPECT_EQ(with_channels(3).way, 2u) << "there is none with 3";
  EXPECT_EQ(with_channels(1 << 30).channels, 4);
  EXPECT_EQ(with_channels(-7).channels, 0);
}

TEST(Ask, ChannelsAloneAreAnAnswerToo) {
  std::vector<Way> ways = Ways();
  ways.push_back({.nccl_name = "", .protocol = Protocol::kLl, .algorithm = kOneShot, .channels = 2, .us = 6});
  const Answer answer = AskThat(ways, [](CostTable&, int& channels) {
    channels = 2;
    return true;
  });
  EXPECT_EQ(answer.way, 6u);
  EXPECT_TRUE(answer.had_a_say);
}

}  // namespace
}  // namespace tutti::tune::plugin
