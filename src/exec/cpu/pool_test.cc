// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "exec/cpu/pool.h"

#include <gtest/gtest.h>

#include <cstddef>
#include <span>
#include <vector>

#include "proto/simple.h"
#include "transport/link.h"

namespace tutti::exec::cpu {
namespace {

constexpr std::size_t kSlot = 65536;

struct OneReader {
  OneReader() {
    link.credit = &credit;
    pool.Init(memory.data(), memory.size(), 1);
  }
  // Takes a slot for a post that its reader is not done with.
  int Post() {
    const int slot = pool.Take(kSlot, 0);
    if (slot < 0) return slot;
    pool.AddReader(slot, &link, link.post_head++);
    pool.Release(slot);
    return slot;
  }

  std::vector<std::byte> memory = std::vector<std::byte>(4 * kSlot);
  proto::Credit credit{};
  transport::Outgoing link;
  Pool pool;
};

TEST(Pool, SlotsTakeTurnsAndWaitForTheirReaders) {
  OneReader sender;
  ASSERT_TRUE(sender.pool.Cut(kSlot, 4, 1));
  for (int slot = 0; slot < 4; ++slot) EXPECT_EQ(sender.Post(), slot);
  EXPECT_EQ(sender.Post(), -1);
  EXPECT_TRUE(sender.pool.EverySlotIsReadBy([&](const transport::Outgoing* link) { return link == &sender.link; }));
  EXPECT_FALSE(sender.pool.Cut(2 * kSlot, 2, 1));
  sender.credit.posts.store(1);
  EXPECT_EQ(sender.Post(), 0);
  sender.credit.posts.store(5);
  EXPECT_TRUE(sender.pool.Cut(2 * kSlot, 2, 1));
  EXPECT_EQ(sender.Post(), 0);
}

// Short data, and only where nobody reads.
TEST(Pool, TheNextSlotIsFetchedOnceItsReadersAreKnownToBeDone) {
  OneReader sender;
  ASSERT_TRUE(sender.pool.Cut(kSlot, 4, 1));
  for (int slot = 0; slot < 4; ++slot) {
    const std::span<const std::byte> next = sender.pool.Next(1024, 0);
    EXPECT_EQ(next.data(), sender.pool.Data(slot));
    EXPECT_EQ(next.size(), 1024U);
    EXPECT_TRUE(sender.pool.Next(Pool::kSmallBytes + 1, 0).empty());
    sender.Post();
  }
  sender.credit.posts.store(4);
  EXPECT_TRUE(sender.pool.Next(1024, 0).empty()) << "not known yet";
  EXPECT_TRUE(sender.link.Consumed(0));
  EXPECT_EQ(sender.pool.Next(1024, 0).data(), sender.pool.Data(0));
}

}  // namespace
}  // namespace tutti::exec::cpu
