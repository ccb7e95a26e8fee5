// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
// The life of communicators of 2 to 5 hosts with 1 to 4 ranks each (life_rank.cc): several roots, grow, split across and within
// hosts, shrink, abort and revoke.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/hosts/hosts.h"
#include "tests/support/child_process.h"
#include "tests/support/scratch_folder.h"

namespace tutti::tests {
namespace {

class HostsLifeTest : public testing::TestWithParam<std::vector<int>> {};

TEST_P(HostsLifeTest, FromSeveralRootsToRevoke) {
  if (const std::string why_not = Hosts::WhyNot(); !why_not.empty()) GTEST_SKIP() << why_not;
  const std::vector<int>& host_of = GetParam();
  const std::vector<std::string> names = {"east", "west", "north", "south", "mid"};
  const ScratchFolder folder;
  Hosts hosts({names.begin(), names.begin() + host_of.back() + 1});
  std::vector<std::string> words = {TUTTI_LIFE_RANK, folder.path()};
  for (const int host : host_of) words.push_back(std::to_string(host));
  std::vector<ChildProcess> ranks;
  for (std::size_t rank = 0; rank < host_of.size(); ++rank) {
    ranks.push_back(hosts.Start(host_of[rank], words, {fmt::format("TUTTI_RANK={}", rank)}));
  }
  for (ChildProcess& rank : ranks) EXPECT_EQ(rank.Wait(), 0) << rank.output();
}

INSTANTIATE_TEST_SUITE_P(Shapes, HostsLifeTest,
                         testing::Values(std::vector<int>{0, 1, 1}, std::vector<int>{0, 0, 0, 1},
                                         std::vector<int>{0, 1, 1, 2, 2, 2}, std::vector<int>{0, 0, 1, 2, 3, 4},
                                         std::vector<int>{0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2},
                                         std::vector<int>{0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3, 4, 4, 4, 4}));

}  // namespace
}  // namespace tutti::tests
