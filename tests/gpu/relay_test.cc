// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "exec/gpu/format/relay.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <memory>
#include <tuple>
#include <vector>

#include "algo/algorithm.h"
#include "exec/gpu/lower/compile.h"
#include "plan/forms.h"
#include "tests/gpu/cuts.h"

// How relays are cut: that both ends of each link agree, that each end has one team, and that a block holds its teams. What
// the teams do is run by tests/kernels/.

namespace tutti::exec::gpu {
namespace {

using transport::p2p::Layout;

struct Team {
  int rank;
  const RelayRole* role;
  std::uint32_t channel;
};

class Relays {
 public:
  Relays(algo::Algorithm algorithm, Collective collective, int ranks, int root, int most_blocks,
         std::size_t scratch_bytes)
      : ranks_(ranks),
        most_blocks_(most_blocks),
        layout_(Layout::Fit(ranks, most_blocks, scratch_bytes)),
        plans_(ranks),
        relays_(ranks) {
    const std::vector<plan::RankPlan> plans = algo::BuildAll(algorithm, collective, ranks, root);
    for (int r = 0; r < ranks; ++r) {
      Result<PreparedPlan> plan = PreparePlan(plans, r);
      EXPECT_TRUE(plan.ok()) << plan.status().ToString();
      plans_[r] = std::make_unique<PreparedPlan>(*plan);
      relays_[r] = std::make_unique<Relay>();
    }
  }

  bool AllAreRelays() const {
    return std::ranges::all_of(plans_, [](const auto& plan) { return plan->forms.relay; });
  }
  const Relay& relay(int rank) const { return *relays_[rank]; }
  const std::byte* in() const { return &buffer_; }
  const std::byte* out() const { return &buffer_ + 1; }

  // "": all is well.
  std::string Cut(std::size_t count) {
    ends_.clear();
    for (int r = 0; r < ranks_; ++r) {
      const Work work{.in = &buffer_, .out = const_cast<std::byte*>(out()), .count = count, .type = DataType::kUint32};
      Relay& relay = *relays_[r];
      CompileRelay(*plans_[r], work, layout_, Cuts(), most_blocks_, relay);
      if (relay.blocks > most_blocks_) return "more blocks than allowed";
      if (relay.blocks * relay.teams_per_block < relay.teams) return "too few blocks";
      for (int t = 0; t < relay.teams_per_block; ++t) {
        if (relay.first_warp[t + 1] < relay.first_warp[t] + 2) return "a team without warps for its links";
      }
      if (relay.first_warp[relay.teams_per_block] > kMostTeamWarps) return "more warps than a block has";
      if (relay.slices != relays_[0]->slices || relay.message != relays_[0]->message ||
          relay.steps != relays_[0]->steps || relay.units != relays_[0]->units) {
        return "ranks cut differently";
      }
      for (int i = 0; i < relay.roles; ++i) {
        for (std::uint32_t channel = 0; channel < relay.slices; ++channel) {
          if (!ClaimEnds({r, &relay.role[i], channel})) return "two teams for one end of a link";
        }
      }
    }
    for (const auto& [link, ends] : ends_) {
      if (ends != 3) return "a link has one end only";
    }
    return "";
  }

 private:
  using Link = std::tuple<int, int, int>;  // sender, receiver, channel

  static Link From(const Team& t, int k) {
    return {t.role->source[k], t.rank, t.role->source_channel + static_cast<int>(t.channel)};
  }
  static Link To(const Team& t, int k) {
    return {t.rank, t.role->target[k], t.role->target_channel + static_cast<int>(t.channel)};
  }
  bool ClaimEnds(const Team& t) {
    const auto claim = [&](const Link& link, int end) {
      if (std::get<2>(link) >= relays_[t.rank]->channels || (ends_[link] & end) != 0) return false;
      ends_[link] |= end;
      return true;
    };
    for (int k = 0; k < t.role->sources; ++k) {
      if (!claim(From(t, k), 1)) return false;
    }
    for (int k = 0; k < t.role->targets; ++k) {
      if (!claim(To(t, k), 2)) return false;
    }
    return true;
  }

  const int ranks_, most_blocks_;
  const Layout layout_;
  std::vector<std::unique_ptr<PreparedPlan>> plans_;
  std::vector<std::unique_ptr<Relay>> relays_;
  std::byte buffer_{};        // only its address is used
  std::map<Link, int> ends_;  // 1: the receiver's, 2: the sender's
};

constexpr Collective kCollectivesOfRelays[] = {Collective::kAllReduce, Collective::kReduceScatter, Collective::kReduce,
                                               Collective::kBroadcast};
constexpr std::size_t kScratch = std::size_t{64} << 20;

// The algorithms whose plans are relays.
std::vector<algo::Algorithm> RelaysFor(Collective collective, int ranks) {
  std::vector<algo::Algorithm> found;
  for (const algo::Entry& entry : algo::Registry()) {
    if (!entry.supports(collective, ranks)) continue;
    if (plan::FindForms(algo::BuildAll(entry.algorithm, collective, ranks)).relay) found.push_back(entry.algorithm);
  }
  return found;
}

TEST(Relay, EveryCollectiveManySizes) {
  int cases = 0;
  for (const Collective collective : kCollectivesOfRelays) {
    for (const int ranks : {2, 3, 4, 7, 8, 16}) {
      for (const algo::Algorithm algorithm : RelaysFor(collective, ranks)) {
        for (const int most_blocks : {1, 2, 8, 32, 60, 128}) {
          Relays relays(algorithm, collective, ranks, ranks / 2, most_blocks, kScratch);
          ASSERT_TRUE(relays.AllAreRelays()) << algo::Get(algorithm).name << " " << Name(collective) << " " << ranks;
          for (const std::size_t count : {1, 33, 1000, 100003}) {
            if (count * ranks > 1000000) continue;
            const std::string error = relays.Cut(count);
            EXPECT_EQ(error, "") << algo::Get(algorithm).name << " " << Name(collective) << ", " << ranks << " ranks, "
                                 << most_blocks << " blocks, " << count;
            ++cases;
          }
        }
      }
    }
  }
  EXPECT_GT(cases, 300);
}

// What the chooser takes for direct has the shape of a relay, from every root.
// Whatever the count, what is sent and what it is folded with begin at the same multiple of 16 bytes of the input.
TEST(Relay, BlocksOfReduceScattersBeginAtVectors) {
  for (const std::size_t count : {std::size_t{1}, std::size_t{3}, std::size_t{4}, std::size_t{5592405}}) {
    Relays relays(algo::Algorithm::kOneShot, Collective::kReduceScatter, 3, 0, 32, kScratch);
    ASSERT_EQ(relays.Cut(count), "") << count;
    for (int owner = 0; owner < 3; ++owner) {
      const Relay& of_owner = relays.relay(owner);
      const std::size_t begin = static_cast<std::size_t>(owner) * count * 4;
      EXPECT_EQ(of_owner.skip, begin % 16) << count << " " << owner;
      EXPECT_EQ(of_owner.owned.in, relays.in() + begin / 16 * 16) << count << " " << owner;
      EXPECT_EQ(of_owner.owned.out + of_owner.skip, relays.out()) << count << " " << owner;
      EXPECT_EQ(of_owner.owned.bytes, count * 4 + begin % 16) << count << " " << owner;
      EXPECT_LE(of_owner.owned.bytes, of_owner.slices * of_owner.slice) << count << " " << owner;
      for (int sender = 0; sender < 3; ++sender) {
        const Relay& relay = relays.relay(sender);
        const RelayRole* end = relay.role + relay.roles;
        const RelayRole* role = std::find_if(relay.role, end, [](const auto& r) { return r.kind == RelayRole::kSend; });
        ASSERT_NE(role, end);
        for (int k = 0; k < role->targets; ++k) {
          if (role->target[k] != owner) continue;
          EXPECT_EQ(relay.send[k].in, of_owner.owned.in) << count << " " << sender << " to " << owner;
          EXPECT_EQ(relay.send[k].bytes, of_owner.owned.bytes) << count << " " << sender << " to " << owner;
        }
      }
    }
  }
}

TEST(Relay, EveryRootsPlanIsOne) {
  for (const Collective collective : {Collective::kReduce, Collective::kBroadcast}) {
    for (const int root : {0, 1, 3}) {
      Relays relays(algo::Algorithm::kTwoShot, collective, 4, root, 128, kScratch);
      EXPECT_TRUE(relays.AllAreRelays());
      EXPECT_EQ(relays.Cut(5001), "");
    }
  }
}

// Every ring of sends and receives is lent, whether a channel needs it or not, so that both ends of each agree.
TEST(Relay, ChainsBorrowAllRings) {
  for (const Collective collective : {Collective::kReduce, Collective::kBroadcast}) {
    Relays chain(algo::Algorithm::kRing, collective, 4, 1, 128, kScratch);
    ASSERT_TRUE(chain.AllAreRelays());
    ASSERT_EQ(chain.Cut(700'001), "");
    const Layout layout = Layout::Fit(4, 128, kScratch);
    for (int rank = 0; rank < 4; ++rank) {
      const Relay& relay = chain.relay(rank);
      EXPECT_EQ(relay.roles, 1);
      EXPECT_EQ(relay.peers, 1);
      EXPECT_EQ(relay.channels, layout.chain.channels);
      EXPECT_EQ(relay.ring_bytes[2], layout.chain.rings * layout.transfers.RingBytes(2));
      EXPECT_EQ(relay.lent.rings, 3 * layout.transfers.channels);
      EXPECT_EQ(relay.lent.units * 16, layout.transfers.RingBytes(2));
      EXPECT_EQ(relay.rings[2], layout.Transfers() + layout.transfers.Ring(2, 0, 0));
    }
    Relays others(algo::Algorithm::kTwoShot, collective, 4, 1, 128, kScratch);
    ASSERT_EQ(others.Cut(700'001), "");
    EXPECT_EQ(others.relay(0).lent.rings, 0);
  }
}

// Of few blocks, each has teams of all roles, whose warps follow what there is to load and store.
TEST(Relay, FewBlocksAreSharedByWork) {
  const auto warps = [](const Relay& relay) {
    std::vector<int> widths;
    for (int t = 0; t < relay.teams_per_block; ++t) widths.push_back(relay.first_warp[t + 1] - relay.first_warp[t]);
    return widths;
  };
  Relays all(algo::Algorithm::kTwoShot, Collective::kAllReduce, 2, 0, 8, kScratch);
  ASSERT_EQ(all.Cut(700'001), "");
  EXPECT_EQ(warps(all.relay(0)), (std::vector{4, 8, 4}));
  EXPECT_EQ(all.relay(0).slices, 8);
  Relays scatter(algo::Algorithm::kOneShot, Collective::kReduceScatter, 2, 0, 8, kScratch);
  ASSERT_EQ(scatter.Cut(700'001), "");
  EXPECT_EQ(warps(scatter.relay(0)), (std::vector{3, 3, 5, 5}));
  EXPECT_EQ(scatter.relay(0).slices, 16);
  // A rank that has one role has as many teams of it as others do.
  Relays broadcast(algo::Algorithm::kTwoShot, Collective::kBroadcast, 4, 1, 8, kScratch);
  ASSERT_EQ(broadcast.Cut(700'001), "");
  EXPECT_EQ(warps(broadcast.relay(1)), (std::vector{8, 8}));
  EXPECT_EQ(warps(broadcast.relay(0)).size(), 4);
  // Where slices are few, roles have blocks of their own.
  Relays many(algo::Algorithm::kTwoShot, Collective::kAllReduce, 2, 0, 32, kScratch);
  ASSERT_EQ(many.Cut(30'000), "");
  EXPECT_EQ(many.relay(0).slices, 7);
  EXPECT_EQ(warps(many.relay(0)), std::vector{16});
  ASSERT_EQ(many.Cut(700'001), "");
  EXPECT_EQ(warps(many.relay(0)), (std::vector{4, 8, 4}));
  EXPECT_EQ(many.relay(0).blocks, 32);
}

// The teams of a slice are in one block where there is no room for more, so that a slice does not wait for blocks that have not begun.
TEST(Relay, ABlockHasAllRolesOfItsSlices) {
  for (const int ranks : {2, 4}) {
    Relays relays(algo::Algorithm::kTwoShot, Collective::kAllReduce, ranks, 0, 32, kScratch);
    ASSERT_EQ(relays.Cut(1'000'000), "");
    const Relay& relay = relays.relay(0);
    for (int block = 0; block < relay.blocks; ++block) {
      for (int team = 0; team < relay.teams_per_block; ++team) {
        const int number = team * relay.blocks + block;
        EXPECT_EQ(number / relay.slices, team) << ranks;
        EXPECT_EQ(number % relay.slices, block) << ranks;
      }
    }
  }
}

TEST(Relay, OnlyTheLastOfAChainDivides) {
  const Layout layout = Layout::Fit(4, 128, kScratch);
  const auto plans = algo::BuildAll(algo::Algorithm::kRing, Collective::kReduce, 4, 2);
  auto relay = std::make_unique<Relay>();
  for (int rank = 0; rank < 4; ++rank) {
    const Result<PreparedPlan> plan = PreparePlan(plans, rank);
    ASSERT_TRUE(plan.ok());
    EXPECT_TRUE(plan->forms.chain);
    std::vector<std::int32_t> data(1000);
    CompileRelay(*plan,
                 {.in = data.data(), .out = data.data(), .count = 1000, .type = DataType::kInt32, .op = ReduceOp::kAvg},
                 layout, Cuts(), 128, *relay);
    const bool owner = relay->role[0].kind == RelayRole::kOwner;
    EXPECT_EQ(owner, rank != 3);  // which begins, just behind the root
    if (owner) {
      EXPECT_EQ(relay->divisor, rank == 2 ? 4u : 0u) << rank;
    }
  }
}

// The blocks of a relay of float by 4 ranks.
int BlocksOf(Collective collective, std::size_t count, const GroupLimits& limits) {
  const auto algorithm =
      collective == Collective::kReduceScatter ? algo::Algorithm::kOneShot : algo::Algorithm::kTwoShot;
  const Result<PreparedPlan> plan = PreparePlan(algo::BuildAll(algorithm, collective, 4, 0), 1);
  return plan.ok() ? RelayBlocks(*plan, {.count = count, .type = DataType::kFloat32, .op = ReduceOp::kSum}, limits) : 0;
}

TEST(Relay, TakesFewBlocksWhereMoreDoNotPay) {
  const GroupLimits limits{.cuts = {.few_blocks = 24,
                                    .few_blocks_bytes = 4096,
                                    .few_blocks_root_bytes = 8192,
                                    .many_blocks_least_bytes = SIZE_MAX},
                           .most_blocks = 128,
                           .team_blocks = 32};
  EXPECT_EQ(BlocksOf(Collective::kReduceScatter, 255, limits), 32);  // of each of 4 ranks
  EXPECT_EQ(BlocksOf(Collective::kReduceScatter, 256, limits), 24);
  EXPECT_EQ(BlocksOf(Collective::kBroadcast, 1023, limits), 32);
  EXPECT_EQ(BlocksOf(Collective::kBroadcast, 1024, limits), 24);
  EXPECT_EQ(BlocksOf(Collective::kReduce, 2047, limits), 32);
  EXPECT_EQ(BlocksOf(Collective::kReduce, 2048, limits), 24);
  EXPECT_EQ(BlocksOf(Collective::kAllReduce, 1 << 20, limits), 32);
}

TEST(Relay, TakesManyBlocksForSomeReduceScattersWhereHalfOfTheGpuStaysFree) {
  GroupLimits limits{.cuts = {.few_blocks = 24,
                              .few_blocks_bytes = 4096,
                              .few_blocks_root_bytes = 8192,
                              .many_blocks = 64,
                              .many_blocks_least_bytes = 4096,
                              .many_blocks_most_bytes = 16384},
                     .most_blocks = 128,
                     .team_blocks = 32};
  EXPECT_EQ(BlocksOf(Collective::kReduceScatter, 255, limits), 32);
  EXPECT_EQ(BlocksOf(Collective::kReduceScatter, 256, limits), 64);
  EXPECT_EQ(BlocksOf(Collective::kReduceScatter, 1024, limits), 64);
  EXPECT_EQ(BlocksOf(Collective::kReduceScatter, 1025, limits), 24);
  EXPECT_EQ(BlocksOf(Collective::kReduce, 2048, limits), 24);
  EXPECT_EQ(BlocksOf(Collective::kBroadcast, 2048, limits), 24);
  limits.most_blocks = 127;
  EXPECT_EQ(BlocksOf(Collective::kReduceScatter, 256, limits), 24);
  limits.most_blocks = 128;
  limits.least_team_blocks = limits.team_blocks = 96;  // as the user asks
  EXPECT_EQ(BlocksOf(Collective::kReduceScatter, 256, limits), 96);
  EXPECT_EQ(BlocksOf(Collective::kReduceScatter, 2048, limits), 96);
}

TEST(Relay, OtherPlansAreNone) {
  const auto is_relay = [](algo::Algorithm algorithm, Collective collective) {
    const Result<PreparedPlan> plan = PreparePlan(algo::BuildAll(algorithm, collective, 4), 1);
    return plan.ok() && plan->forms.relay;
  };
  EXPECT_TRUE(is_relay(algo::Algorithm::kTwoShot, Collective::kAllReduce));
  EXPECT_FALSE(is_relay(algo::Algorithm::kRing, Collective::kAllReduce));
  EXPECT_FALSE(is_relay(algo::Algorithm::kDoubleTree, Collective::kAllReduce));
  EXPECT_FALSE(is_relay(algo::Algorithm::kOneShot, Collective::kAllToAll));
}

TEST(Relay, AveragesOfIntegersAreDividedByTheirOwners) {
  const Layout layout = Layout::Fit(4, 128, kScratch);
  const auto plans = algo::BuildAll(algo::Algorithm::kTwoShot, Collective::kReduce, 4, 0);
  auto relay = std::make_unique<Relay>();
  for (const int rank : {0, 1}) {
    const Result<PreparedPlan> plan = PreparePlan(plans, rank);
    ASSERT_TRUE(plan.ok());
    std::vector<std::int32_t> data(1000);
    CompileRelay(*plan,
                 {.in = data.data(), .out = data.data(), .count = 1000, .type = DataType::kInt32, .op = ReduceOp::kAvg},
                 layout, Cuts(), 128, *relay);
    EXPECT_EQ(relay->divisor, 4u) << rank;
  }
}

}  // namespace
}  // namespace tutti::exec::gpu
