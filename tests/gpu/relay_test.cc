// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "exec/gpu/relay.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <map>
#include <memory>
#include <random>
#include <tuple>
#include <vector>

#include "algo/algorithm.h"
#include "exec/gpu/compile.h"
#include "tune/gpu_model.h"

// Runs relays on the host as the kernel's teams do, step by step in a random order, with rings of the same length, on
// numbers of 32 bits. What it shows: that both ends of a link agree, that each end has one team, that rings hold what is
// under way, that nobody waits for ever, and that results are right.

namespace tutti::exec::gpu {
namespace {

using transport::p2p::Layout;

struct Team {
  int rank;
  const RelayRole* role;
  std::uint32_t channel;
  std::uint32_t step = 0;
};

class Relays {
 public:
  Relays(algo::Algorithm algorithm, Collective collective, int ranks, int root, int most_blocks,
         std::size_t scratch_bytes)
      : collective_(collective),
        ranks_(ranks),
        root_(root),
        most_blocks_(most_blocks),
        layout_(Layout::Fit(ranks, most_blocks, scratch_bytes)),
        plans_(ranks),
        relays_(ranks),
        in_(ranks),
        out_(ranks) {
    const std::vector<plan::RankPlan> plans = algo::BuildAll(algorithm, collective, ranks, root);
    for (int r = 0; r < ranks; ++r) {
      Result<PreparedPlan> plan = PreparePlan(plans, r);
      EXPECT_TRUE(plan.ok()) << plan.status().ToString();
      plans_[r] = std::make_unique<PreparedPlan>(*plan);
      relays_[r] = std::make_unique<Relay>();
    }
  }

  bool AllAreRelays() const {
    return std::ranges::all_of(plans_, [](const auto& plan) { return IsRelay(*plan); });
  }
  const Relay& relay(int rank) const { return *relays_[rank]; }

  // "": all is well.
  std::string Run(std::size_t count, bool in_place, unsigned seed) {
    std::mt19937 random(seed);
    const int in_pieces = plan::InPieces(collective_, ranks_);
    for (int r = 0; r < ranks_; ++r) {
      in_[r].resize(count * in_pieces);
      for (std::uint32_t& value : in_[r]) value = static_cast<std::uint32_t>(random());
      out_[r].assign(count, 0);
    }
    inputs_ = in_;
    std::vector<Team> teams;
    ends_.clear();
    for (int r = 0; r < ranks_; ++r) {
      const std::size_t at = in_place && in_pieces > 1 ? static_cast<std::size_t>(r) * count : 0;
      const Work work{.in = in_[r].data(),
                      .out = in_place ? in_[r].data() + at : out_[r].data(),
                      .count = count,
                      .type = DataType::kUint32};
      Relay& relay = *relays_[r];
      CompileRelay(*plans_[r], work, layout_, most_blocks_, relay);
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
          teams.push_back({r, &relay.role[i], channel});
          if (!ClaimEnds(teams.back())) return "two teams for one end of a link";
        }
      }
    }
    for (const auto& [link, ends] : ends_) {
      if (ends != 3) return "a link has one end only";
    }
    if (const std::string stuck = Play(teams, random); !stuck.empty()) return stuck;
    return Compare(count, in_place);
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

  std::string Play(std::vector<Team>& teams, std::mt19937& random) {
    links_.clear();
    std::size_t done = 0;
    while (done < teams.size()) {
      std::shuffle(teams.begin(), teams.end(), random);
      bool moved = false;
      done = 0;
      for (Team& team : teams) {
        const Relay& relay = *relays_[team.rank];
        while (team.step < relay.steps && CanStep(team)) {
          Step(team);
          ++team.step;
          moved = true;
          if (random() % 3 == 0) break;
        }
        done += team.step == relay.steps ? 1 : 0;
      }
      if (!moved && done < teams.size()) return "everybody waits";
    }
    for (const auto& [link, messages] : links_) {
      if (!messages.empty()) return "a message was not read";
    }
    return "";
  }
  bool CanStep(const Team& t) {
    const Relay& relay = *relays_[t.rank];
    const std::size_t most = (std::size_t{1} << relay.log2_ring_units[2]) / relay.units;
    for (int k = 0; k < t.role->sources; ++k) {
      if (links_[From(t, k)].empty()) return false;
    }
    for (int k = 0; k < t.role->targets; ++k) {
      if (links_[To(t, k)].size() >= most) return false;
    }
    return true;
  }
  using Message = std::vector<std::uint32_t>;
  Message Take(const Team& t, int k) {
    std::deque<Message>& link = links_[From(t, k)];
    Message message = std::move(link.front());
    link.pop_front();
    return message;
  }
  // Words of a block in a step of a channel.
  struct Range {
    std::size_t begin, words;
  };
  static Range RangeOf(const Relay& relay, const Team& t, const RelayBlock& block) {
    const std::uint64_t slice = t.channel * relay.slice, begin = slice + std::uint64_t{t.step} * relay.message;
    const std::uint64_t end = std::min<std::uint64_t>(slice + relay.slice, block.bytes);
    if (begin >= end) return {0, 0};
    return {begin / 4, std::min<std::uint64_t>(end - begin, relay.message) / 4};
  }
  static Message Read(const RelayBlock& block, const Range& range) {
    const auto* words = reinterpret_cast<const std::uint32_t*>(block.in) + range.begin;
    return range.words == 0 ? Message() : Message(words, words + range.words);
  }
  static void Write(const RelayBlock& block, const Range& range, const Message& message) {
    if (block.out == nullptr || message.empty()) return;
    std::ranges::copy(message, reinterpret_cast<std::uint32_t*>(block.out) + range.begin);
  }
  void Step(const Team& t) {
    const Relay& relay = *relays_[t.rank];
    if (t.role->kind == RelayRole::kSend) {
      for (int k = 0; k < t.role->targets; ++k) {
        const Range range = RangeOf(relay, t, relay.send[k]);
        Message message = Read(relay.send[k], range);
        Write(relay.send[k], range, message);
        links_[To(t, k)].push_back(std::move(message));
      }
    } else if (t.role->kind == RelayRole::kReceive) {
      for (int k = 0; k < t.role->sources; ++k) {
        const Range range = RangeOf(relay, t, relay.receive[k]);
        const Message message = Take(t, k);
        EXPECT_EQ(message.size(), range.words);
        Write(relay.receive[k], range, message);
      }
    } else {
      const Range range = RangeOf(relay, t, relay.owned);
      Message sum(range.words);
      for (int k = 0; k < t.role->sources; ++k) {
        const Message message = Take(t, k);
        EXPECT_EQ(message.size(), range.words);
        for (std::size_t i = 0; i < std::min(sum.size(), message.size()); ++i) sum[i] += message[i];
      }
      if (relay.own != kNoInput) {
        const Message own = Read(relay.owned, range);
        for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += own[i];
      }
      Write(relay.owned, range, sum);
      for (int k = 0; k < t.role->targets; ++k) links_[To(t, k)].push_back(sum);
    }
  }

  std::string Compare(std::size_t count, bool in_place) {
    for (int r = 0; r < ranks_; ++r) {
      if (collective_ == Collective::kReduce && r != root_) continue;
      const bool pieces = collective_ == Collective::kReduceScatter;
      const std::size_t at = pieces ? static_cast<std::size_t>(r) * count : 0;
      for (std::size_t i = 0; i < count; ++i) {
        std::uint32_t expected = 0;
        for (int other = 0; other < ranks_; ++other) {
          if (collective_ == Collective::kBroadcast && other != root_) continue;
          expected += inputs_[other][at + i];
        }
        const std::uint32_t got = in_place ? in_[r][at + i] : out_[r][i];
        if (got != expected) return "wrong result";
      }
    }
    return "";
  }

  const Collective collective_;
  const int ranks_, root_, most_blocks_;
  const Layout layout_;
  std::vector<std::unique_ptr<PreparedPlan>> plans_;
  std::vector<std::unique_ptr<Relay>> relays_;
  std::vector<std::vector<std::uint32_t>> in_, out_, inputs_;
  std::map<Link, int> ends_;  // 1: the receiver's, 2: the sender's
  std::map<Link, std::deque<Message>> links_;
};

constexpr Collective kCollectivesOfRelays[] = {Collective::kAllReduce, Collective::kReduceScatter, Collective::kReduce,
                                               Collective::kBroadcast};
constexpr algo::Algorithm kAlgorithms[] = {algo::Algorithm::kOneShot, algo::Algorithm::kTwoShot,
                                           algo::Algorithm::kRing};
constexpr std::size_t kScratch = std::size_t{64} << 20;

bool IsUsed(algo::Algorithm algorithm, Collective collective, int ranks) {
  const bool passed_on = algorithm != algo::Algorithm::kOneShot || Reduces(collective);
  const auto& registry = algo::Registry();
  const bool supported = std::ranges::any_of(registry, [&](const algo::Entry& entry) {
    return entry.algorithm == algorithm && entry.supports(collective, ranks);
  });
  return supported && passed_on && tune::IsDirect(algorithm, collective, proto::Protocol::kSimple, ranks);
}

TEST(Relay, EveryCollectiveManySizes) {
  int cases = 0;
  for (const Collective collective : kCollectivesOfRelays) {
    for (const algo::Algorithm algorithm : kAlgorithms) {
      for (const int ranks : {2, 3, 4, 7, 8, 16}) {
        if (!IsUsed(algorithm, collective, ranks)) continue;
        for (const int most_blocks : {1, 2, 8, 32, 60, 128}) {
          Relays relays(algorithm, collective, ranks, ranks / 2, most_blocks, kScratch);
          ASSERT_TRUE(relays.AllAreRelays()) << algo::Get(algorithm).name << " " << Name(collective) << " " << ranks;
          for (const std::size_t count : {1, 33, 1000, 100003}) {
            if (count * ranks > 1000000) continue;
            const std::string error = relays.Run(count, count % 2 == 0, static_cast<unsigned>(count));
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
TEST(Relay, EveryRootsPlanIsOne) {
  for (const Collective collective : {Collective::kReduce, Collective::kBroadcast}) {
    for (const int root : {0, 1, 3}) {
      Relays relays(algo::Algorithm::kTwoShot, collective, 4, root, 128, kScratch);
      EXPECT_TRUE(relays.AllAreRelays());
      EXPECT_EQ(relays.Run(5001, false, 1), "");
    }
  }
}

// Every ring of sends and receives is lent, whether a channel needs it or not, so that both ends of each agree.
TEST(Relay, ChainsBorrowAllRings) {
  for (const Collective collective : {Collective::kReduce, Collective::kBroadcast}) {
    Relays chain(algo::Algorithm::kRing, collective, 4, 1, 128, kScratch);
    ASSERT_TRUE(chain.AllAreRelays());
    ASSERT_EQ(chain.Run(700'001, false, 1), "");
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
    ASSERT_EQ(others.Run(700'001, false, 1), "");
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
  ASSERT_EQ(all.Run(700'001, false, 1), "");
  EXPECT_EQ(warps(all.relay(0)), (std::vector{4, 8, 4}));
  EXPECT_EQ(all.relay(0).slices, 8);
  Relays scatter(algo::Algorithm::kOneShot, Collective::kReduceScatter, 2, 0, 8, kScratch);
  ASSERT_EQ(scatter.Run(700'001, false, 1), "");
  EXPECT_EQ(warps(scatter.relay(0)), (std::vector{3, 3, 5, 5}));
  EXPECT_EQ(scatter.relay(0).slices, 16);
  // A rank that has one role has as many teams of it as others do.
  Relays broadcast(algo::Algorithm::kTwoShot, Collective::kBroadcast, 4, 1, 8, kScratch);
  ASSERT_EQ(broadcast.Run(700'001, false, 1), "");
  EXPECT_EQ(warps(broadcast.relay(1)), (std::vector{8, 8}));
  EXPECT_EQ(warps(broadcast.relay(0)).size(), 4);
  // Where slices are few, roles have blocks of their own.
  Relays many(algo::Algorithm::kTwoShot, Collective::kAllReduce, 2, 0, 32, kScratch);
  ASSERT_EQ(many.Run(30'000, false, 1), "");
  EXPECT_EQ(many.relay(0).slices, 7);
  EXPECT_EQ(warps(many.relay(0)), std::vector{16});
  ASSERT_EQ(many.Run(700'001, false, 1), "");
  EXPECT_EQ(warps(many.relay(0)), (std::vector{4, 8, 4}));
  EXPECT_EQ(many.relay(0).blocks, 32);
}

// The teams of a slice are in one block where there is no room for more, so that a slice does not wait for blocks that have not begun.
TEST(Relay, ABlockHasAllRolesOfItsSlices) {
  for (const int ranks : {2, 4}) {
    Relays relays(algo::Algorithm::kTwoShot, Collective::kAllReduce, ranks, 0, 32, kScratch);
    ASSERT_EQ(relays.Run(1'000'000, false, 1), "");
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
    EXPECT_TRUE(plan->chain);
    std::vector<std::int32_t> data(1000);
    CompileRelay(*plan,
                 {.in = data.data(), .out = data.data(), .count = 1000, .type = DataType::kInt32, .op = ReduceOp::kAvg},
                 layout, 128, *relay);
    const bool owner = relay->role[0].kind == RelayRole::kOwner;
    EXPECT_EQ(owner, rank != 3);  // which begins, just behind the root
    if (owner) EXPECT_EQ(relay->divisor, rank == 2 ? 4u : 0u) << rank;
  }
}

TEST(Relay, OtherPlansAreNone) {
  const auto is_relay = [](algo::Algorithm algorithm, Collective collective) {
    const Result<PreparedPlan> plan = PreparePlan(algo::BuildAll(algorithm, collective, 4), 1);
    return plan.ok() && IsRelay(*plan);
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
                 layout, 128, *relay);
    EXPECT_EQ(relay->divisor, 4u) << rank;
  }
}

}  // namespace
}  // namespace tutti::exec::gpu
