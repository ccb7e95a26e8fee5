// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "sim/goal.h"

#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <set>
#include <sstream>
#include <string>
#include <tuple>

#include "sim/plans.h"

namespace tutti::sim {
namespace {

using algo::Algorithm;

std::string Text(const Operation& operation, int ranks) {
  std::string text;
  const Status status = WriteGoal(operation, ranks, [&](std::string_view piece) { text += piece; });
  EXPECT_TRUE(status.ok()) << status.message();
  return text;
}

Operation AllReduce(Algorithm algorithm, int ranks, std::uint64_t bytes) {
  return {.name = "all_reduce",
          .plans = std::make_shared<RegistryPlans>(algorithm, Collective::kAllReduce, ranks),
          .bytes = bytes};
}

TEST(Goal, ARingOfTwo) {
  EXPECT_EQ(Text(AllReduce(Algorithm::kRing, 2, 1024), 2),
            "num_ranks 2\n"
            "rank 0 {\n"
            "l0: send 512b to 1 tag 0\n"
            "l1: recv 512b from 1 tag 0\n"
            "l1 irequires l0\n"
            "l2: send 512b to 1 tag 0\n"
            "l2 requires l1\n"
            "l3: recv 512b from 1 tag 0\n"
            "l3 irequires l2\n"
            "}\n"
            "rank 1 {\n"
            "l0: send 512b to 0 tag 0\n"
            "l1: recv 512b from 0 tag 0\n"
            "l1 irequires l0\n"
            "l2: send 512b to 0 tag 0\n"
            "l2 requires l1\n"
            "l3: recv 512b from 0 tag 0\n"
            "l3 irequires l2\n"
            "}\n");
}

TEST(Goal, ATreesRootWaitsForBothChildren) {
  const std::string text = Text(AllReduce(Algorithm::kTree, 3, 64), 3);
  EXPECT_EQ(text.substr(0, text.find('}')),
            "num_ranks 3\n"
            "rank 0 {\n"
            "l0: recv 64b from 1 tag 0\n"
            "l1: recv 64b from 2 tag 0\n"
            "l2: send 64b to 1 tag 0\n"
            "l2 requires l0\n"
            "l2 requires l1\n"
            "l3: send 64b to 2 tag 0\n"
            "l3 irequires l2\n");
}

// Every send has its receive, of the same size, in the same order; nothing waits for what comes later.
TEST(Goal, BothEndsOfAllMessagesAreThere) {
  for (const algo::Entry& entry : algo::Registry()) {
    for (const int ranks : {2, 5, 8}) {
      if (!entry.supports(Collective::kAllReduce, ranks)) continue;
      Operation operation = AllReduce(entry.algorithm, ranks, 5000);
      operation.channels = 2;
      operation.chunk_bytes = 300;
      std::istringstream lines(Text(operation, ranks));
      std::map<std::tuple<int, int, int>, std::string> sent, received;  // sizes by sender, receiver and tag
      std::set<std::string> known;
      int rank = -1;
      for (std::string line; std::getline(lines, line);) {
        std::istringstream words(line);
        std::string label, what, bytes, word, other;
        int peer = 0, tag = 0;
        words >> label;
        if (label == "rank") {
          ++rank;
          known.clear();
        } else if (label.back() == ':') {
          words >> what >> bytes >> word >> peer >> word >> tag;
          EXPECT_NE(peer, rank);
          known.insert(label.substr(0, label.size() - 1));
          (what == "send" ? sent[{rank, peer, tag}] : received[{peer, rank, tag}]) += bytes + " ";
        } else if (label.front() == 'l') {
          words >> what >> other;
          EXPECT_TRUE(what == "requires" || what == "irequires") << line;
          EXPECT_TRUE(known.contains(label) && known.contains(other)) << line;
        }
      }
      EXPECT_EQ(rank, ranks - 1);
      EXPECT_EQ(sent, received) << entry.name << ", " << ranks << " ranks";
      EXPECT_FALSE(sent.empty());
    }
  }
}

TEST(Goal, RefusesWhatIsNoOperation) {
  EXPECT_FALSE(WriteGoal({.name = "none"}, 2, [](std::string_view) {}).ok());
  EXPECT_FALSE(WriteGoal(AllReduce(Algorithm::kRing, 2, 8), 0, [](std::string_view) {}).ok());
}

}  // namespace
}  // namespace tutti::sim
