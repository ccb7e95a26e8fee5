// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "tune/gpu_model.h"

#include <gtest/gtest.h>

#include <map>
#include <set>

namespace tutti::tune {
namespace {

using algo::Algorithm;
using proto::Protocol;

GpuMachine H200(int ranks) {
  return FindGpuTable({}, {.gpu = "NVIDIA H200", .compute_capability = 90, .multiprocessors = 132, .ranks = ranks})
      .machine;
}

GpuChooser Make(int ranks, const std::string& algo = "", const std::string& proto = "") {
  Result<GpuChooser> chooser = GpuChooser::Create(
      {.ranks = ranks, .max_channels = 128, .machine = H200(ranks), .algo_filter = algo, .proto_filter = proto});
  EXPECT_TRUE(chooser.ok()) << chooser.status().ToString();
  return std::move(*chooser);
}

TEST(GpuModel, SmallAllReducesGoDirectlyWithLl) {
  for (int ranks : {2, 4, 8}) {
    GpuChooser chooser = Make(ranks);
    const GpuChoice best = chooser.Candidates(Collective::kAllReduce, 8).front();
    EXPECT_EQ(best.algorithm, Algorithm::kOneShot) << ranks;
    EXPECT_EQ(best.protocol, Protocol::kLl) << ranks;
    EXPECT_EQ(best.channels, 1) << ranks;
  }
}

TEST(GpuModel, LargeAllReducesSendFewBytes) {
  GpuChooser chooser = Make(4);
  const GpuChoice best = chooser.Candidates(Collective::kAllReduce, std::size_t{256} << 20).front();
  EXPECT_EQ(best.algorithm, Algorithm::kTwoShot);
  EXPECT_NE(best.protocol, Protocol::kLl);
  EXPECT_EQ(best.channels, 128);
}

// Among more ranks than a kernel can name there is a way for each collective, over few links or as sends and receives.
TEST(GpuModel, ManyRanksHaveAWayForEverything) {
  for (int ranks = 17; ranks <= 72; ++ranks) {
    GpuChooserOptions options{.ranks = ranks, .max_channels = 15, .direct = true, .most_peers = 15, .rounds = 3};
    options.machine = H200(ranks);
    Result<GpuChooser> made = GpuChooser::Create(options);
    ASSERT_TRUE(made.ok());
    for (int c = 0; c < kCollectives; ++c) {
      const auto collective = static_cast<Collective>(c);
      if (collective == Collective::kSendRecv) continue;
      const bool moves_only = collective == Collective::kAllToAll || collective == Collective::kGather ||
                              collective == Collective::kScatter;
      for (const std::size_t bytes : {std::size_t{8}, std::size_t{1} << 20, std::size_t{1} << 30}) {
        const std::vector<GpuChoice> choices = made->Candidates(collective, bytes);
        ASSERT_FALSE(choices.empty()) << Name(collective) << " among " << ranks;
        for (const GpuChoice& choice : choices) {
          const bool few_links = algo::Get(choice.algorithm).few_links(collective);
          EXPECT_NE(choice.direct, few_links) << Name(collective) << " by " << ToString(choice);
          EXPECT_TRUE(choice.direct || !moves_only);
          EXPECT_GT(choice.predicted_us, 0);
        }
      }
    }
  }
}

// Each round of sends and receives is a launch, which a tree does without.
TEST(GpuModel, RoundsCostLaunches) {
  const auto direct_us = [](int rounds) {
    GpuChooserOptions options{.ranks = 32, .max_channels = 15, .direct = true, .most_peers = 15, .rounds = rounds};
    options.machine = H200(32);
    return GpuChooser::Create(options)->Candidates(Collective::kAllToAll, 8).front().predicted_us;
  };
  EXPECT_NEAR(direct_us(5) - direct_us(3), 2 * H200(32).start_us, 1e-9);
}

// What has not been measured is chosen where it is asked for.
TEST(GpuModel, SmallSendsAndReceivesComeLast) {
  constexpr std::size_t kSmall = 4096, kLarge = 32768;
  GpuChooserOptions options{.ranks = 4, .max_channels = 96, .direct = true, .machine = H200(4)};
  ASSERT_LT(kSmall, options.machine.transfer_least_bytes);
  const std::vector<GpuChoice> ways = GpuChooser::Create(options)->Candidates(Collective::kAllGather, kSmall);
  EXPECT_FALSE(ways.front().direct);
  EXPECT_TRUE(ways.back().direct);
  EXPECT_LT(ways.back().predicted_us, ways.front().predicted_us + 1) << "it is not chosen although it is not slow";
  EXPECT_TRUE(GpuChooser::Create(options)->Candidates(Collective::kAllGather, kLarge).front().direct);
  options.proto_filter = "Simple";
  EXPECT_TRUE(GpuChooser::Create(options)->Candidates(Collective::kAllGather, kSmall).front().direct);
}

// Of operations that go one way the longer of hops and data counts, and a part of the hops.
TEST(GpuModel, OneWayOperationsHideHopsOrData) {
  GpuChooserOptions options{
      .ranks = 2, .max_channels = 128, .machine = H200(2), .algo_filter = "one_shot", .proto_filter = "LL128"};
  const auto us = [&](Collective collective, std::size_t bytes, double share) {
    options.machine.one_way_share = share;
    return GpuChooser::Create(options)->Candidates(collective, bytes).front().predicted_us;
  };
  const double hop_us = options.machine.ways[static_cast<int>(Protocol::kLl128)].hop_us;
  constexpr std::size_t kLarge = std::size_t{64} << 20;
  EXPECT_NEAR(us(Collective::kBroadcast, kLarge, 1) - us(Collective::kBroadcast, kLarge, 0.25), 0.75 * hop_us, 1e-9);
  EXPECT_NEAR(us(Collective::kBroadcast, 8, 0.5), us(Collective::kBroadcast, 512, 0.5), 1e-9) << "the hop hides them";
  EXPECT_LT(us(Collective::kBroadcast, 8, 1), us(Collective::kBroadcast, 512, 1));
  for (const std::size_t bytes : {std::size_t{8}, kLarge}) {
    EXPECT_EQ(us(Collective::kAllGather, bytes, 1), us(Collective::kAllGather, bytes, 0))
        << "ranks wait for each other";
  }
}

TEST(GpuModel, MessagesCostTheirEnds) {
  GpuChooserOptions options{
      .ranks = 4, .max_channels = 96, .machine = H200(4), .algo_filter = "one_shot", .proto_filter = "LL"};
  const auto us = [&](Collective collective, double end_us) {
    options.machine.end_us = end_us;
    return GpuChooser::Create(options)->Candidates(collective, 8).front().predicted_us;
  };
  EXPECT_NEAR(us(Collective::kAllReduce, 1) - us(Collective::kAllReduce, 0), 6, 1e-9) << "3 sent, 3 taken";
  EXPECT_NEAR(us(Collective::kReduce, 1) - us(Collective::kReduce, 0), 3, 1e-9);
}

TEST(GpuModel, SmallTransfersAreLines) {
  const GpuMachine machine = H200(2);
  const std::size_t most = machine.cuts.lines_bytes;
  const double rest_us = machine.start_us + 2 * machine.end_us;
  EXPECT_NEAR(PredictTransferUs(machine, 0), rest_us + machine.lines_hop_us, 1e-9);
  EXPECT_GT(PredictTransferUs(machine, most + 1), PredictTransferUs(machine, most));
  EXPECT_NEAR(PredictTransferUs(machine, 1'000'000'000) - rest_us - machine.blocks_us - machine.direct.hop_us,
              1e6 / (machine.both_ways_share * machine.direct.link_gb_per_s), 1e-6);
}

TEST(GpuModel, LargeMovesAreSendsAndReceives) {
  Result<GpuChooser> made = GpuChooser::Create({.ranks = 4, .max_channels = 128, .direct = true, .machine = H200(4)});
  ASSERT_TRUE(made.ok());
  const auto best = [&](Collective c, std::size_t bytes) { return made->Candidates(c, bytes).front(); };
  for (const Collective c :
       {Collective::kAllGather, Collective::kAllToAll, Collective::kGather, Collective::kScatter}) {
    EXPECT_TRUE(best(c, std::size_t{64} << 20).direct) << Name(c);
    EXPECT_FALSE(best(c, 1024).direct) << Name(c);
  }
  EXPECT_EQ(ToString(best(Collective::kAllToAll, std::size_t{64} << 20)), "one_shot, direct");
  EXPECT_FALSE(best(Collective::kBarrier, 1).direct);
  EXPECT_FALSE(Make(4).Candidates(Collective::kAllGather, std::size_t{64} << 20).front().direct);
  // All of them among 4 ranks, from the drawings of docs/algorithms.md: Simple's where every rank sends what it has itself, and
  // where everything is folded or passed on once at most.
  const std::map<Collective, std::set<Algorithm>> ways = {
      {Collective::kAllReduce, {Algorithm::kTwoShot}},
      {Collective::kAllGather, {Algorithm::kOneShot, Algorithm::kPairwise}},
      {Collective::kReduceScatter, {Algorithm::kOneShot}},
      {Collective::kBroadcast,
       {Algorithm::kOneShot, Algorithm::kTwoShot, Algorithm::kRing, Algorithm::kTree, Algorithm::kDoubleTree}},
      {Collective::kReduce, {Algorithm::kOneShot, Algorithm::kTwoShot, Algorithm::kRing}},
      {Collective::kGather, {Algorithm::kOneShot, Algorithm::kPairwise}},
      {Collective::kScatter, {Algorithm::kOneShot, Algorithm::kPairwise}},
      {Collective::kAllToAll, {Algorithm::kOneShot, Algorithm::kPairwise}},
  };
  for (const auto& [collective, algorithms] : ways) {
    std::set<Algorithm> direct;
    for (const GpuChoice& choice : made->Candidates(collective, std::size_t{1} << 20)) {
      if (!choice.direct) continue;
      EXPECT_EQ(choice.protocol, Protocol::kSimple) << Name(collective);
      direct.insert(choice.algorithm);
    }
    EXPECT_EQ(direct, algorithms) << Name(collective);
  }
}

TEST(GpuModel, LargeReductionsAndBroadcastsAreRelays) {
  for (const int ranks : {2, 4, 8}) {
    Result<GpuChooser> made =
        GpuChooser::Create({.ranks = ranks, .max_channels = 128, .direct = true, .machine = H200(ranks)});
    ASSERT_TRUE(made.ok());
    const auto best = [&](Collective c, std::size_t bytes) { return made->Candidates(c, bytes).front(); };
    for (const Collective c :
         {Collective::kAllReduce, Collective::kReduceScatter, Collective::kReduce, Collective::kBroadcast}) {
      EXPECT_TRUE(best(c, std::size_t{256} << 20).direct) << Name(c) << " " << ranks;
      EXPECT_FALSE(best(c, 1024).direct) << Name(c) << " " << ranks;
    }
    // From and to a root along a chain, whose links each carry the data once.
    for (const Collective c : {Collective::kReduce, Collective::kBroadcast}) {
      EXPECT_EQ(best(c, std::size_t{512} << 20).algorithm, ranks == 2 ? Algorithm::kOneShot : Algorithm::kRing)
          << Name(c) << " " << ranks;
    }
    // A chain takes longer to fill.
    if (ranks > 2) {
      EXPECT_EQ(best(Collective::kBroadcast, std::size_t{16} << 20).algorithm, Algorithm::kTwoShot);
    }
  }
}

// Only the root has the result, so another order is no harm, and the ring lets ranks go on to the next operation sooner.
TEST(GpuModel, ReducesOfManyRanksGoAlongTheRing) {
  for (const int ranks : {3, 4, 8}) {
    Result<GpuChooser> made =
        GpuChooser::Create({.ranks = ranks, .max_channels = 128, .direct = true, .machine = H200(ranks)});
    ASSERT_TRUE(made.ok());
    EXPECT_EQ(made->Candidates(Collective::kReduce, 1024).front().algorithm, Algorithm::kOneShot) << ranks;
    const GpuChoice best = made->Candidates(Collective::kReduce, std::size_t{4} << 20).front();
    EXPECT_EQ(best.algorithm, Algorithm::kRing) << ranks;
    EXPECT_EQ(best.protocol, Protocol::kLl128) << ranks;
  }
}

TEST(GpuModel, LongReducesAlongTheRingDoWithFewerChannels) {
  const auto ring = [](int ranks, std::size_t bytes) {
    return Make(ranks, "ring", "LL128").Candidates(Collective::kReduce, bytes).front();
  };
  EXPECT_EQ(ToString(ring(4, std::size_t{16} << 20)), "ring LL128, 64 channels of 384 threads");
  EXPECT_EQ(ToString(ring(4, std::size_t{8} << 20)), "ring LL128, 128 channels of 512 threads");
  EXPECT_EQ(ToString(ring(3, std::size_t{16} << 20)), "ring LL128, 128 channels of 512 threads");
}

// What is asked for is the least of a class of sizes, up to a quarter larger.
TEST(GpuModel, BlocksOfLl128AreForTheLargestOfAClass) {
  constexpr int kUnit = 960, kWarp = 32;
  for (const int ranks : {2, 4}) {
    GpuChooser chooser = Make(ranks, "one_shot", "LL128");
    for (std::size_t bytes = 4096; bytes <= std::size_t{512} << 10; bytes += bytes / 4) {
      const GpuChoice best = chooser.Candidates(Collective::kAllReduce, bytes).front();
      const std::size_t largest = bytes + bytes / 4 - 1;
      const std::size_t units = (largest + kUnit - 1) / kUnit;
      EXPECT_GE(static_cast<std::size_t>(best.channels * best.threads / kWarp), units) << bytes;
    }
  }
}

TEST(GpuModel, MidSizedMovesOfSeveralPeersGoByLl128) {
  Result<GpuChooser> made = GpuChooser::Create({.ranks = 4, .max_channels = 96, .direct = true, .machine = H200(4)});
  ASSERT_TRUE(made.ok());
  for (const Collective c : {Collective::kAllGather, Collective::kAllToAll}) {
    EXPECT_TRUE(made->Candidates(c, std::size_t{64} << 10).front().direct) << Name(c);
    EXPECT_EQ(made->Candidates(c, std::size_t{512} << 10).front().protocol, Protocol::kLl128) << Name(c);
    EXPECT_TRUE(made->Candidates(c, std::size_t{2} << 20).front().direct) << Name(c);
  }
}

TEST(GpuModel, OtherReductionsAreInRankOrderUnlessAskedOtherwise) {
  for (const int ranks : {2, 4, 8}) {
    for (const bool filtered : {false, true}) {
      GpuChooser chooser = Make(ranks, filtered ? "reduce:one_shot,two_shot" : "");
      for (const Collective c : {Collective::kAllReduce, Collective::kReduceScatter, Collective::kReduce}) {
        if (c == Collective::kReduce && !filtered) continue;
        for (std::size_t bytes = 8; bytes <= std::size_t{1} << 30; bytes *= 16) {
          for (const GpuChoice& choice : chooser.Candidates(c, bytes)) {
            EXPECT_TRUE(algo::Get(choice.algorithm).rank_ordered(c, ranks)) << ToString(choice);
          }
        }
      }
    }
  }
}

// What copy engines would take for an operation, us; 0: they are none of the ways.
double ByCopiesUs(GpuChooser& chooser, Collective collective, std::size_t bytes) {
  for (const GpuChoice& choice : chooser.Candidates(collective, bytes, Outputs::kInWindows)) {
    if (choice.copies) return choice.predicted_us;
  }
  return 0;
}

TEST(GpuModel, CopyEnginesDoTheSecondShotOfTheLargestAllReduces) {
  for (const int ranks : {2, 4, 8}) {
    Result<GpuChooser> made =
        GpuChooser::Create({.ranks = ranks, .max_channels = 128, .direct = true, .machine = H200(ranks)});
    ASSERT_TRUE(made.ok());
    EXPECT_EQ(made->AlgorithmOfCopies(Collective::kAllReduce), Algorithm::kTwoShot);
    const auto gain = [&](std::size_t bytes) {
      return made->Candidates(Collective::kAllReduce, bytes).front().predicted_us /
             ByCopiesUs(*made, Collective::kAllReduce, bytes);
    };
    EXPECT_LT(gain(std::size_t{1} << 20), 1) << ranks;
    EXPECT_LT(gain(std::size_t{64} << 20), 1) << ranks;
    EXPECT_GT(gain(std::size_t{256} << 20), 1) << ranks;
    EXPECT_LT(gain(std::size_t{1} << 40), 1.12) << ranks;  // no more than the rates' ratio
  }
}

TEST(GpuModel, CopyEnginesAreAWayInWindowsUnlessKernelsAreAskedFor) {
  constexpr std::size_t kBytes = std::size_t{1} << 30;
  GpuChooser chooser = Make(4);
  for (const Collective c : {Collective::kAllGather, Collective::kAllToAll, Collective::kBroadcast}) {
    EXPECT_GT(ByCopiesUs(chooser, c, kBytes), 0) << Name(c);
    for (const GpuChoice& choice : chooser.Candidates(c, kBytes)) EXPECT_FALSE(choice.copies) << Name(c);
    for (GpuChooser other : {Make(4, "one_shot"), Make(4, "", "Simple")}) EXPECT_EQ(ByCopiesUs(other, c, kBytes), 0);
  }
  // Of which a rank can not tell where the others' outputs lie, or which fold at the end.
  for (const Collective c : {Collective::kGather, Collective::kScatter, Collective::kReduceScatter}) {
    EXPECT_EQ(ByCopiesUs(chooser, c, kBytes), 0) << Name(c);
  }
  EXPECT_TRUE(chooser.AlgorithmOfCopies(Collective::kGather).has_value());
  EXPECT_FALSE(chooser.AlgorithmOfCopies(Collective::kReduce).has_value());
  EXPECT_FALSE(chooser.AlgorithmOfCopies(Collective::kBarrier).has_value());
}

TEST(GpuModel, TimesGrowWithSize) {
  GpuChooser chooser = Make(4);
  for (Collective c : {Collective::kAllReduce, Collective::kAllGather, Collective::kAllToAll, Collective::kBroadcast}) {
    double before = 0;
    for (std::size_t bytes = 8; bytes <= std::size_t{1} << 30; bytes *= 2) {
      const double us = chooser.Candidates(c, bytes).front().predicted_us;
      EXPECT_GE(us, before) << Name(c) << " " << bytes;
      before = us;
    }
  }
}

TEST(GpuModel, KernelsLeaveMultiprocessorsFree) {
  const GpuMachine machine = H200(2);
  EXPECT_EQ(MostBlocks(machine, 132, 1), 128);
  EXPECT_EQ(MostBlocks(machine, 108, 1), 104);
  EXPECT_EQ(MostBlocks(machine, 132, 2), 64);
  EXPECT_EQ(MostBlocks(machine, 132, 16), 8);
  EXPECT_EQ(MostBlocks(machine, 6, 1), 3);
  EXPECT_EQ(MostBlocks(machine, 6, 4), 1);
  EXPECT_EQ(MostBlocks(machine, 1, 1), 1);
}

TEST(GpuModel, FiltersRule) {
  GpuChooser chooser = Make(4, "ring", "Simple");
  for (const GpuChoice& choice : chooser.Candidates(Collective::kAllReduce, 8)) {
    EXPECT_EQ(choice.algorithm, Algorithm::kRing);
    EXPECT_EQ(choice.protocol, Protocol::kSimple);
  }
  EXPECT_EQ(ToString(chooser.Candidates(Collective::kAllReduce, 8).front()), "ring Simple, 1 channel of 32 threads");
  EXPECT_FALSE(GpuChooser::Create({.algo_filter = "no_such"}).ok());
  EXPECT_FALSE(GpuChooser::Create({.proto_filter = "no_such"}).ok());
}

}  // namespace
}  // namespace tutti::tune
