// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "comm/gpu/presence.h"

#include <gtest/gtest.h>

#include <memory>

namespace tutti::comm {
namespace {

TEST(GpuPresence, IsCountedPerDevice) {
  GpuPresence first;
  EXPECT_TRUE(first.IsAlone());
  first.Begin(3);
  EXPECT_TRUE(first.IsAlone());
  auto second = std::make_unique<GpuPresence>();
  second->Begin(3);
  EXPECT_FALSE(first.IsAlone());
  EXPECT_FALSE(second->IsAlone());
  second.reset();
  EXPECT_TRUE(first.IsAlone());
}

TEST(GpuPresence, EndsOnce) {
  GpuPresence first, broken;
  first.Begin(100);
  broken.Begin(63);  // shares its count with all devices from there on
  EXPECT_FALSE(first.IsAlone());
  broken.End();
  broken.End();
  EXPECT_TRUE(broken.IsAlone());
  EXPECT_TRUE(first.IsAlone());
  first.End();
}

}  // namespace
}  // namespace tutti::comm
