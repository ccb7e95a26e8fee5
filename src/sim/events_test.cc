// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "sim/events.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <tuple>
#include <vector>

namespace tutti::sim {
namespace {

TEST(EventQueue, GivesNothingWhenEmpty) {
  EventQueue queue;
  Event event;
  EXPECT_FALSE(queue.Pop(event));
  queue.Push(5, 1);
  EXPECT_TRUE(queue.Pop(event));
  EXPECT_FALSE(queue.Pop(event));
  queue.Push(5, 2);  // a time that has come is not past
  EXPECT_TRUE(queue.Pop(event));
  EXPECT_EQ(event.what, 2u);
}

// Against a sorted list, while events are pushed between pops. `what` is the order in which they were pushed.
TEST(EventQueue, IsInOrderOfTimeAndThenOfPushing) {
  std::mt19937_64 random(22);
  EventQueue queue;
  std::vector<Event> popped;
  std::uint64_t pushed = 0;
  Event event;
  for (int i = 0; i < 100; ++i) queue.Push(static_cast<Time>(random() % 50), pushed++);
  while (queue.Pop(event)) {
    popped.push_back(event);
    while (pushed < 20000 && random() % 3 != 0) {
      const Time later =
          random() % 3 == 0 ? 0 : static_cast<Time>(random() % (random() % 100 == 0 ? Time{1} << 45 : 64));
      queue.Push(event.time + later, pushed++);
    }
  }
  ASSERT_EQ(popped.size(), 20000u);
  EXPECT_EQ(popped.size(), pushed);
  EXPECT_TRUE(std::ranges::is_sorted(popped, {}, [](const Event& each) { return std::tuple(each.time, each.what); }));
}

}  // namespace
}  // namespace tutti::sim
