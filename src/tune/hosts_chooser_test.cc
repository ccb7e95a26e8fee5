// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
// What is chosen among several hosts.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "tune/chooser.h"
#include "tune/model.h"
#include "tune/plan_costs.h"

namespace tutti::tune {
namespace {

using algo::Algorithm;
using algo::Hosts;

constexpr std::size_t kLargest = std::size_t{64} << 20;

Hosts Sizes(std::vector<int> sizes) { return Hosts::OfSizes(sizes); }

std::vector<Hosts> Shapes() {
  return {Sizes({1, 1}), Sizes({2, 2}), Sizes({3, 1}), Sizes({8, 8, 5}),
          Hosts::ByRank(std::vector<int>{0, 1, 2, 1, 0})};
}

std::string Name(const Hosts& hosts) { return fmt::format("{}", fmt::join(hosts.host_of(), ",")); }

std::vector<Collective> AllCollectives() {
  std::vector<Collective> all;
  for (int c = 0; c < kCollectives; ++c) {
    if (static_cast<Collective>(c) != Collective::kSendRecv) all.push_back(static_cast<Collective>(c));
  }
  return all;
}

ChooserOptions Options(const Hosts& hosts, std::string algo = "", std::string proto = "") {
  return {.ranks = hosts.ranks(),
          .hosts = hosts,
          .cpus = 8,
          .algo_filter = std::move(algo),
          .proto_filter = std::move(proto),
          .can_refer = true,
          .max_channels = 2,
          .chunk_bytes = [](const plan::Footprint&, proto::Protocol protocol, bool, int) -> std::size_t {
            return protocol == proto::Protocol::kSimple ? 131072 : 4096;
          },
          .transfer_chunk_bytes = [](proto::Protocol, bool) -> std::size_t { return 65536; }};
}

Chooser Make(const ChooserOptions& options) {
  Result<Chooser> chooser = Chooser::Create(options);
  EXPECT_TRUE(chooser.ok()) << chooser.status().message();
  return *chooser;
}

// Each rank learns of its peers' hosts by itself, and calls them what it likes.
Hosts AsSeenBy(int rank, const Hosts& hosts) {
  std::vector<int> host_of;
  for (const int host : hosts.host_of()) host_of.push_back(1000 - 31 * host + rank);
  return Hosts::ByRank(host_of);
}

// To choose, a chooser leaves out what cannot be best. Each chooser knows nothing yet.
TEST(HostsChooser, TheChoiceIsTheBestOfAllCandidates) {
  std::vector<Hosts> shapes = Shapes();
  for (const int ranks : {2, 3, 16, 40}) shapes.push_back(ranks);
  shapes.push_back(Sizes({16, 16, 16}));
  for (const Hosts& hosts : shapes) {
    for (const int cpus : {8, 1}) {
      ChooserOptions options = Options(hosts);
      options.cpus = cpus;
      Chooser all = Make(options);
      for (const Collective collective : AllCollectives()) {
        for (std::size_t bytes = 8; bytes <= kLargest; bytes *= 8) {
          const Choice best = all.Candidates(collective, bytes).front();
          const Result<Choice> choice = Make(options).Choose(collective, bytes);
          ASSERT_TRUE(choice.ok()) << choice.status().message();
          EXPECT_EQ(ToString(*choice), ToString(best)) << Name(hosts) << " " << tutti::Name(collective) << " " << bytes;
          EXPECT_EQ(choice->predicted_us, best.predicted_us);
        }
      }
    }
  }
}

// 64 ranks of a host on 2 cores: the plan with 2 million messages is left out by what rank 0 alone would send.
TEST(HostsChooser, ManyRanksOnFewCoresBuildNoPlanOfManyMessages) {
  ChooserOptions options = Options(Sizes(std::vector<int>(16, 64)));
  options.cpus = 2;
  options.costs = std::make_shared<PlanCosts>(options.hosts);
  ASSERT_TRUE(Make(options).Choose(Collective::kAllReduce, 8).ok());
  EXPECT_TRUE(options.costs->Knows(Algorithm::kHierLeader, Collective::kAllReduce));
  EXPECT_FALSE(options.costs->Knows(Algorithm::kHierTwoShot, Collective::kAllReduce));
}

TEST(HostsChooser, AllRanksChooseAlikeForEveryCollectiveAndSize) {
  for (const Hosts& hosts : Shapes()) {
    std::vector<std::string> first;
    for (int rank = 0; rank < hosts.ranks(); ++rank) {
      Chooser chooser = Make(Options(AsSeenBy(rank, hosts)));
      std::vector<std::string> all;
      for (const Collective collective : AllCollectives()) {
        double before = 0;
        for (std::size_t bytes = 8; bytes <= kLargest; bytes *= 2) {
          const Result<Choice> choice = chooser.Choose(collective, bytes);
          ASSERT_TRUE(choice.ok()) << Name(hosts) << ": " << choice.status().message();
          EXPECT_TRUE(std::isfinite(choice->predicted_us));
          EXPECT_GE(choice->predicted_us, before * 0.8)
              << Name(hosts) << ' ' << tutti::Name(collective) << ' ' << bytes;
          before = choice->predicted_us;
          all.push_back(fmt::format("{} {} {} {}", tutti::Name(collective), bytes, ToString(*choice), before));
        }
      }
      if (rank == 0) first = all;
      ASSERT_EQ(all, first) << Name(hosts) << ", rank " << rank;
    }
  }
}

// Constants as another machine, or another run, might measure them.
Machine SomeMachine(std::mt19937& random) {
  std::uniform_real_distribution<double> power(-1.5, 1.5);
  Machine machine;
  for (Way* way : {&machine.ll, &machine.ll128, &machine.simple, &machine.reference}) {
    for (double* value : {&way->hop_us, &way->message_us, &way->write_us_per_kib, &way->read_us_per_kib}) {
      *value *= std::pow(10, power(random));
    }
  }
  Network& network = machine.network;
  for (double* value : {&network.hop_us, &network.message_us, &network.send_us_per_kib, &network.receive_us_per_kib}) {
    *value *= std::pow(10, power(random));
  }
  return machine;
}

// Shape and size alone say in which order values are folded, whatever has been measured: it is the order of hosts, or else one
// algorithm's on a fixed number of channels.
TEST(HostsChooser, TheOrderOfFoldingFollowsNoMeasuredRate) {
  std::mt19937 random(20);
  std::vector<Hosts> shapes = Shapes();
  shapes.push_back(Sizes({2, 2, 2, 2}));
  for (const Hosts& hosts : shapes) {
    for (int machine = 0; machine < 20; ++machine) {
      ChooserOptions options = Options(hosts);
      options.machine = SomeMachine(random);
      Chooser chooser = Make(options);
      for (const Collective c : {Collective::kAllReduce, Collective::kReduceScatter, Collective::kReduce}) {
        for (std::size_t bytes = 8; bytes <= kLargest; bytes *= 2) {
          const std::optional<Algorithm> other = OrderOf(c, hosts, bytes);
          const Choice choice = *chooser.Choose(c, bytes);
          if (other) {
            EXPECT_EQ(choice.algorithm, *other) << Name(hosts) << ' ' << ToString(choice);
            EXPECT_EQ(choice.channels, 1);
          } else {
            EXPECT_TRUE(algo::Get(choice.algorithm).rank_ordered(c, hosts)) << Name(hosts) << ' ' << ToString(choice);
          }
        }
      }
    }
  }
}

// The canary of the above: other orders are there to be taken, and the constants would take them.
TEST(HostsChooser, OtherOrdersAreThereForWhoAsks) {
  const Hosts hosts = Sizes({8, 8, 8, 8});
  EXPECT_FALSE(algo::Get(Algorithm::kHierRing).rank_ordered(Collective::kAllReduce, hosts));
  EXPECT_EQ(Make(Options(hosts, "hier_ring")).Choose(Collective::kAllReduce, 1 << 20)->algorithm, Algorithm::kHierRing);
  std::set<Algorithm> asked;
  std::mt19937 random(20);
  for (int machine = 0; machine < 20; ++machine) {
    ChooserOptions options = Options(hosts, "^pairwise");
    options.machine = SomeMachine(random);
    Chooser chooser = Make(options);
    for (std::size_t bytes = 8; bytes <= kLargest; bytes *= 2) {
      asked.insert(chooser.Choose(Collective::kAllReduce, bytes)->algorithm);
    }
  }
  EXPECT_TRUE(std::ranges::any_of(
      asked, [&](Algorithm a) { return !algo::Get(a).rank_ordered(Collective::kAllReduce, hosts); }));
}

TEST(HostsChooser, OnlyALargeReduceOfManyHostsTakesAnotherOrder) {
  for (const Hosts& hosts : {Hosts(8), Sizes({1, 1}), Sizes({4, 4}), Sizes({1, 1, 1, 1}), Sizes({2, 2, 2})}) {
    for (const Collective c : AllCollectives()) {
      EXPECT_FALSE(OrderOf(c, hosts, 8));
      EXPECT_EQ(OrderOf(c, hosts, kLargest).has_value(), c == Collective::kReduce && hosts.count() > 2 && !hosts.flat())
          << Name(hosts);
    }
  }
  const Hosts hosts = Sizes({2, 2, 2});
  Chooser chooser = Make(Options(hosts));
  for (const std::size_t bytes : {std::size_t{65535}, std::size_t{65536}, kLargest}) {
    const Choice choice = *chooser.Choose(Collective::kReduce, bytes);
    EXPECT_EQ(algo::Get(choice.algorithm).rank_ordered(Collective::kReduce, hosts), bytes < 65536) << ToString(choice);
  }
  // By name the one order is there for all sizes.
  EXPECT_EQ(Make(Options(hosts, "hier_one_shot")).Choose(Collective::kReduce, kLargest)->algorithm,
            Algorithm::kHierOneShot);
  // Links that cannot hold the other's messages leave the one order.
  ChooserOptions options = Options(hosts);
  options.chunk_bytes = [&](const plan::Footprint& footprint, proto::Protocol, bool, int) -> std::size_t {
    return footprint == Make(Options(hosts)).CostOf(Algorithm::kHierTwoShot, Collective::kReduce).footprint ? 0 : 4096;
  };
  const Result<Choice> narrow = Make(options).Choose(Collective::kReduce, kLargest);
  ASSERT_TRUE(narrow.ok());
  EXPECT_TRUE(algo::Get(narrow->algorithm).rank_ordered(Collective::kReduce, hosts)) << ToString(*narrow);
}

TEST(HostsChooser, SmallMessagesTakeOneHopBetweenHostsAndLargeOnesTheFewestBytes) {
  for (const Hosts& hosts : {Sizes({1, 1}), Sizes({2, 2}), Sizes({8, 8}), Sizes({8, 8, 5}), Sizes({4, 4, 4, 4})}) {
    Chooser chooser = Make(Options(hosts));
    const Choice small = *chooser.Choose(Collective::kAllReduce, 8);
    EXPECT_EQ(chooser.CostOf(small.algorithm, Collective::kAllReduce).network.hops, 1)
        << Name(hosts) << ToString(small);
    EXPECT_NE(small.protocol, proto::Protocol::kSimple);
    const Choice large = *chooser.Choose(Collective::kAllReduce, kLargest);
    const plan::NetworkCost& network = chooser.CostOf(large.algorithm, Collective::kAllReduce).network;
    const double least = 2.0 * (hosts.count() - 1) / hosts.count();
    EXPECT_NEAR(network.host_sent_max, least, 1e-9) << Name(hosts) << ToString(large);
    EXPECT_EQ(large.protocol, proto::Protocol::kSimple);
  }
  for (const Collective c : AllCollectives()) {
    Chooser chooser = Make(Options(Sizes({4, 4})));
    const Choice small = *chooser.Choose(c, 8);
    EXPECT_EQ(chooser.CostOf(small.algorithm, c).network.hops, 1) << ToString(small) << ' ' << tutti::Name(c);
  }
}

// Nobody reads another one's memory where each rank is a host of its own, however slow that is.
TEST(HostsChooser, RanksThatAreAloneOnTheirHostsRefer) {
  const auto refers = [](const Hosts& hosts) {
    ChooserOptions options = Options(hosts);
    options.machine.reference.read_us_per_kib = options.machine.reference_fresh_read_us_per_kib = 100;
    const Result<Choice> choice = Make(options).Choose(Collective::kAllReduce, kLargest);
    EXPECT_TRUE(choice.ok());
    return choice.ok() && choice->by_reference;
  };
  EXPECT_TRUE(refers(Sizes({1, 1})));
  EXPECT_TRUE(refers(Sizes({1, 1, 1, 1})));
  EXPECT_FALSE(refers(Sizes({2, 2})));
  EXPECT_FALSE(refers(4));
}

// LL sends two bytes for one, LL128 16 for 15.
TEST(HostsChooser, BytesOnTheWireCount) {
  ChooserOptions options = Options(Sizes({2, 2}), "hier_one_shot");
  const auto difference = [&](double us_per_kib, proto::Protocol protocol) {
    const std::size_t bytes = 4096;
    const auto predicted = [&](double scale) {
      options.proto_filter = proto::Name(protocol);
      options.machine.network.send_us_per_kib = options.machine.network.receive_us_per_kib = scale * us_per_kib;
      return Make(options).Choose(Collective::kAllReduce, bytes)->predicted_us;
    };
    return predicted(2) - predicted(1);
  };
  const double simple = difference(1000, proto::Protocol::kSimple);
  EXPECT_GT(simple, 1000);
  EXPECT_NEAR(difference(1000, proto::Protocol::kLl) / simple, 2, 0.01);
  EXPECT_NEAR(difference(1000, proto::Protocol::kLl128) / simple, 16.0 / 15, 0.01);
}

TEST(HostsChooser, ASlowerNetworkTakesLonger) {
  for (const Collective c : AllCollectives()) {
    for (const std::size_t bytes : {std::size_t{8}, kLargest}) {
      ChooserOptions options = Options(Sizes({3, 1}));
      const double before = Make(options).Choose(c, bytes)->predicted_us;
      options.machine.network = {50, 20, 2, 2};
      EXPECT_GT(Make(options).Choose(c, bytes)->predicted_us, before) << tutti::Name(c);
    }
  }
}

// Cores are those of a host, whose ranks share them.
TEST(HostsChooser, RanksOfOtherHostsTakeNoCores) {
  ChooserOptions options = Options(Sizes({2, 2, 2, 2}));
  options.cpus = 2;
  const double enough = Make(options).Choose(Collective::kAllReduce, 8)->predicted_us;
  options.cpus = 64;
  EXPECT_EQ(Make(options).Choose(Collective::kAllReduce, 8)->predicted_us, enough);
  options.cpus = 1;
  EXPECT_GT(Make(options).Choose(Collective::kAllReduce, 8)->predicted_us, enough);
}

TEST(HostsChooser, FlatAlgorithmsCanBeForced) {
  for (const char* name : {"one_shot", "two_shot", "ring", "halving_doubling"}) {
    Chooser chooser = Make(Options(Sizes({3, 1}), name));
    EXPECT_EQ(algo::Get(chooser.Choose(Collective::kAllReduce, 1 << 20)->algorithm).name, name);
  }
}

TEST(HostsChooser, OneHostIsAsWithoutHosts) {
  ChooserOptions options = Options(Sizes({4}));
  Chooser with = Make(options);
  options.hosts = {};
  Chooser without = Make(options);
  for (const Collective c : AllCollectives()) {
    for (std::size_t bytes = 8; bytes <= kLargest; bytes *= 4) {
      const std::vector<Choice> a = with.Candidates(c, bytes), b = without.Candidates(c, bytes);
      ASSERT_EQ(a.size(), b.size());
      for (std::size_t i = 0; i < a.size(); ++i) {
        EXPECT_EQ(ToString(a[i]), ToString(b[i]));
        EXPECT_EQ(a[i].predicted_us, b[i].predicted_us);
      }
    }
  }
}

// Chunks are cut by it, and a plan that holds more than it says may wait for ever.
TEST(HostsChooser, FootprintsAreThoseOfEveryRoot) {
  int differ = 0;
  for (const Hosts& hosts :
       {Sizes({1, 1}), Sizes({2, 2}), Sizes({4, 4, 4}), Sizes({5, 5}), Sizes({2, 2, 2, 2, 2}),
        Hosts::ByRank(std::vector<int>{0, 1, 2, 0, 1, 2, 0, 1, 2}), Hosts::ByRank(std::vector<int>{0, 1, 1, 0}),
        Sizes({3, 1}), Sizes({1, 3}), Sizes({3, 1, 2}), Sizes({8, 8, 5}), Sizes({1, 4, 2, 3, 1})}) {
    Chooser chooser = Make(Options(hosts));
    for (const algo::Entry& entry : algo::Registry()) {
      for (const Collective c : AllCollectives()) {
        if (!entry.supports(c, hosts)) continue;
        for (int root = 0; root < (HasRoot(c) ? hosts.ranks() : 1); ++root) {
          const plan::Footprint found = chooser.FootprintOf(entry.algorithm, c, root);
          const plan::Footprint right = plan::MeasureFootprint(algo::BuildAll(entry.algorithm, c, hosts, root));
          ASSERT_EQ(found, right) << entry.name << ' ' << tutti::Name(c) << ' ' << Name(hosts) << ", root " << root;
          // What choices are made by: whether links hold the messages does not depend on the root.
          const plan::Footprint& typical = chooser.CostOf(entry.algorithm, c).footprint;
          EXPECT_EQ(typical.link_slots, right.link_slots);
          EXPECT_EQ(typical.blocks_per_piece, right.blocks_per_piece);
          differ += right != typical ? 1 : 0;
        }
      }
    }
  }
  EXPECT_GT(differ, 0) << "if root 0 spoke for all there would be no need of FootprintOf";
}

}  // namespace
}  // namespace tutti::tune
