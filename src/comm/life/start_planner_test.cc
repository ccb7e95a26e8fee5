// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
// What ranks of several hosts decide, each by itself, fits together.
#include "comm/life/start_planner.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "algo/algorithm.h"
#include "comm/host/entry.h"
#include "comm/host/jobs.h"
#include "comm/host/planner.h"
#include "exec/cpu/chunks.h"
#include "exec/cpu/prepared_plan.h"
#include "plan/check.h"
#include "transport/shm/segment.h"
#include "tune/chooser.h"
#include "tutti/communicator.h"

namespace tutti::comm {
namespace {

// The planners of all ranks of a communicator.
class Team {
 public:
  explicit Team(std::vector<std::int32_t> host_of, const Settings& settings = {}) : host_of_(std::move(host_of)) {
    const int ranks = static_cast<int>(host_of_.size());
    const auto geometry = transport::shm::MakeGeometry(ranks, 2, std::size_t{6} << 20);
    rules_ = {.rings = geometry.rings, .pool_bytes = geometry.pool_bytes, .ranks = ranks};
    for (int rank = 0; rank < ranks; ++rank) {
      planners_.push_back(std::make_unique<Planner>(rank, ranks, jobs_));
      const Status status = StartPlanner(*planners_.back(), settings,
                                         {.rank = rank,
                                          .ranks = ranks,
                                          .cpus = 2,
                                          .machine = machine_,
                                          .channels = 2,
                                          .can_refer = true,
                                          .chunks = rules_,
                                          .host_of = host_of_});
      EXPECT_TRUE(status.ok()) << status.message();
    }
  }

  int ranks() const { return static_cast<int>(planners_.size()); }
  Planner& planner(int rank) { return *planners_[static_cast<std::size_t>(rank)]; }
  std::string Name() const { return fmt::format("hosts {}", fmt::join(host_of_, ",")); }

  // Every rank's recipe; what has to be alike is.
  std::vector<const Recipe*> Recipes(Collective collective, std::size_t bytes, int root) {
    std::vector<const Recipe*> recipes;
    for (int rank = 0; rank < ranks(); ++rank) {
      const Result<Entry*> entry = planner(rank).FindEntry(collective, bytes, root);
      EXPECT_TRUE(entry.ok()) << entry.status().message();
      if (!entry.ok()) return {};
      const Recipe* const recipe = &(*entry)->recipe;
      recipes.push_back(recipe);
      const Recipe& first = *recipes.front();
      EXPECT_EQ(recipe->how, first.how);
      EXPECT_EQ(recipe->chunk_bytes, first.chunk_bytes);
      EXPECT_EQ(recipe->pool_chunk_bytes, first.pool_chunk_bytes);
      EXPECT_EQ(recipe->plans.size(), first.plans.size());
      EXPECT_GT(first.chunk_bytes, 0u);
      for (std::size_t i = 0; i < first.plans.size(); ++i) {
        EXPECT_EQ(recipe->plans[i]->footprint, first.plans[i]->footprint);
        EXPECT_EQ(recipe->plans[i]->refers_in_place, first.plans[i]->refers_in_place);
      }
    }
    return recipes;
  }

 private:
  const std::vector<std::int32_t> host_of_;
  const tune::Machine machine_;
  exec::cpu::ChunkRules rules_;
  Jobs jobs_;
  std::vector<std::unique_ptr<Planner>> planners_;
};

std::vector<std::vector<std::int32_t>> Shapes() {
  return {{0, 1}, {0, 0, 1, 1}, {0, 0, 0, 1}, {5, 3, 3, 5, 4}, {0, 1, 1, 1, 2, 2}};
}

TEST(PlannerOfHosts, PlansOfAllRanksFitTogether) {
  for (const std::vector<std::int32_t>& host_of : Shapes()) {
    Team team(host_of);
    const algo::Hosts hosts = algo::Hosts::ByRank(host_of);
    for (int c = 0; c < kCollectives; ++c) {
      const auto collective = static_cast<Collective>(c);
      if (collective == Collective::kSendRecv) continue;
      for (int root = 0; root < (HasRoot(collective) ? team.ranks() : 1); ++root) {
        for (const std::size_t bytes : {std::size_t{8}, std::size_t{4096}, std::size_t{16} << 20}) {
          const std::vector<const Recipe*> recipes = team.Recipes(collective, bytes, root);
          ASSERT_EQ(recipes.size(), host_of.size());
          std::vector<plan::RankPlan> plans;
          for (const Recipe* recipe : recipes) plans.push_back(recipe->plans[0]->plan);
          EXPECT_EQ(recipes[0]->plans[0]->footprint, plan::MeasureFootprint(plans));
          const bool ordered = Reduces(collective) && !tune::OrderOf(collective, hosts, bytes);
          const Status status = plan::Check(plans, {.rank_ordered = ordered, .host_of = hosts.host_of()});
          EXPECT_TRUE(status.ok()) << team.Name() << ' ' << recipes[0]->plans[0]->name << ": " << status.message();
        }
      }
    }
  }
}

TEST(PlannerOfHosts, ChannelsShareAFootprint) {
  Settings settings;
  settings.min_channels = 2;
  Team team({0, 0, 0, 1}, settings);
  for (int root = 0; root < team.ranks(); ++root) {
    for (const Recipe* recipe : team.Recipes(Collective::kBroadcast, 1 << 20, root)) {
      ASSERT_EQ(recipe->plans.size(), 2u);
      EXPECT_EQ(recipe->plans[0]->footprint, recipe->plans[1]->footprint);
    }
  }
}

TEST(PlannerOfHosts, SaysWhatItWillDo) {
  Team team({0, 0, 1, 1});
  std::vector<float> in(2), out(2);
  const Operation operation = AllReduce(in, out);
  for (int rank = 0; rank < team.ranks(); ++rank) {
    EXPECT_EQ(team.planner(rank).Explain(operation).substr(0, 5), "hier_");
    EXPECT_GT(*team.planner(rank).PredictUs({&operation, 1}), 5);
  }
  Team alone({0, 0, 0, 0});
  EXPECT_LT(*alone.planner(0).PredictUs({&operation, 1}), 5);
}

}  // namespace
}  // namespace tutti::comm
