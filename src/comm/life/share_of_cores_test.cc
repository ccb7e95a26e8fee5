// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "comm/life/share_of_cores.h"

#include <gtest/gtest.h>

#include "comm/host/placement.h"
#include "tutti/settings.h"

namespace tutti::comm {
namespace {

TEST(ShareOfCores, IsThatOfTheRanksOfOneHost) {
  const Placement placement{.host_of = {0, 0, 1, 0}, .hosts = {"a", "b"}};
  EXPECT_EQ(CpusPerRank(placement, 0, 16), 5);
  EXPECT_EQ(CpusPerRank(placement, 2, 16), 16);
  EXPECT_EQ(CpusPerRank(placement, 1, 2), 1);
}

TEST(ShareOfCores, FewCoresGiveNoThreads) {
  EXPECT_EQ(MoversOf(Settings(), 2), 0);
  EXPECT_EQ(FlowsPerCard(Settings(), 2), 1);
  EXPECT_EQ(MoversOf(Settings(), 8), 2);
  EXPECT_EQ(FlowsPerCard(Settings(), 8), 4);
  EXPECT_EQ(MoversOf(Settings(), 200), 3);
}

TEST(ShareOfCores, SettingsDecide) {
  Settings settings;
  settings.socket_threads = 1;
  EXPECT_EQ(MoversOf(settings, 64), 0);
  EXPECT_EQ(FlowsPerCard(settings, 64), 1);
  settings.socks_per_thread = 3;
  settings.socket_threads = 2;
  EXPECT_EQ(MoversOf(settings, 1), 1);
  EXPECT_EQ(FlowsPerCard(settings, 1), 6);
  settings.socks_per_thread = 16;
  EXPECT_EQ(FlowsPerCard(settings, 1), 16);
}

}  // namespace
}  // namespace tutti::comm
