// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "watch/ways_out.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

namespace tutti::watch {
namespace {

using transport::FlowPace;

FlowPace Flow(int peer, int number, const std::string& card, std::uint64_t posted, std::uint64_t completed,
              bool full = false) {
  return {.peer = peer,
          .flow = number,
          .card = card,
          .traffic = {},
          .posted = posted,
          .completed = completed,
          .peer_is_full = full};
}

constexpr std::int64_t kMs = 1'000'000;

TEST(WaysOut, AddsUpTheConnectionsOfACard) {
  WaysOut out;
  const std::vector<FlowPace> flows{Flow(1, 0, "a", 100, 90), Flow(1, 1, "b", 7, 7), Flow(1, 2, "a", 50, 20, true),
                                    Flow(3, 0, "a", 1, 0, true)};
  out.Note(flows, 5 * kMs);
  ASSERT_EQ(out.ways().size(), 3u);
  const WaysOut::Way& a = out.ways().at({1, "a"});
  EXPECT_EQ(a.posted, 150u);
  EXPECT_EQ(a.completed, 110u);
  EXPECT_EQ(a.stuck_ns, 0);
  EXPECT_FALSE(a.peer_is_full) << "one of them waits for the network";
  EXPECT_EQ(out.ways().at({1, "b"}).posted, 7u);
  EXPECT_FALSE(out.ways().at({1, "b"}).peer_is_full);
  EXPECT_TRUE(out.ways().at({3, "a"}).peer_is_full);
}

TEST(WaysOut, CountsFromWhatLastArrived) {
  WaysOut out;
  const auto stuck_ms = [&](std::uint64_t posted, std::uint64_t completed, std::int64_t now_ms) {
    out.Note(std::vector{Flow(1, 0, "a", posted, completed)}, now_ms * kMs);
    return out.ways().at({1, "a"}).stuck_ns / kMs;
  };
  EXPECT_EQ(stuck_ms(10, 10, 100), 0);
  EXPECT_EQ(stuck_ms(20, 10, 300), 0) << "it may have been sent a moment ago";
  EXPECT_EQ(stuck_ms(20, 10, 500), 200);
  EXPECT_EQ(stuck_ms(30, 10, 900), 600) << "more that is sent is no sign that something arrives";
  EXPECT_EQ(stuck_ms(30, 11, 1100), 0);
  EXPECT_EQ(stuck_ms(30, 11, 1200), 100);
  EXPECT_EQ(stuck_ms(5, 2, 1300), 0) << "another connection";
  EXPECT_EQ(stuck_ms(5, 2, 1400), 100);
  EXPECT_EQ(stuck_ms(5, 5, 9000), 0);
  EXPECT_EQ(stuck_ms(6, 5, 9100), 0);
}

TEST(WaysOut, WithoutConnectionsNothingIsOnItsWay) {
  WaysOut out;
  out.Note(std::vector{Flow(1, 0, "a", 10, 3)}, 0);
  out.Note({}, 700 * kMs);
  EXPECT_EQ(out.ways().at({1, "a"}).posted, 0u);
  out.Note(std::vector{Flow(1, 0, "a", 10, 3)}, 800 * kMs);
  EXPECT_EQ(out.ways().at({1, "a"}).stuck_ns, 0);
}

}  // namespace
}  // namespace tutti::watch
