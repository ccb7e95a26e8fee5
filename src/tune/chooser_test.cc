// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "tune/chooser.h"

#include <gtest/gtest.h>

#include <cmath>

#include "tune/model.h"
#include "tune/table.h"

namespace tutti::tune {
namespace {

ChooserOptions Options(int ranks, std::string algo = "", std::string proto = "") {
  return {.ranks = ranks,
          .cpus = 64,
          .algo_filter = std::move(algo),
          .proto_filter = std::move(proto),
          .can_refer = true,
          .max_channels = 2,
          .chunk_bytes = [](const plan::Footprint&, proto::Protocol protocol, bool, int) -> std::size_t {
            return protocol == proto::Protocol::kSimple ? 131072 : 4096;
          },
          .transfer_chunk_bytes = [](proto::Protocol, bool) -> std::size_t { return 65536; }};
}

TEST(Machine, TextRoundTrip) {
  Machine m;
  m.ll.hop_us = 0.123;
  m.switch_us = 4.5;
  m.network.receive_us_per_kib = 0.75;
  const std::string text = m.ToText();
  const Result<std::vector<TableText>> tables = SplitTables(text);
  ASSERT_TRUE(tables.ok());
  ASSERT_EQ(tables->size(), 1u);
  const Result<Machine> back = Machine::Parse(tables->front());
  ASSERT_TRUE(back.ok());
  EXPECT_DOUBLE_EQ(back->ll.hop_us, 0.123);
  EXPECT_DOUBLE_EQ(back->switch_us, 4.5);
  EXPECT_DOUBLE_EQ(back->network.receive_us_per_kib, 0.75);
  EXPECT_EQ(back->ToText(), m.ToText());
}

// As files are that were stored before there were constants of the network.
TEST(Machine, TheNetworkMayBeMissing) {
  Machine m;
  m.switch_us = 4.5;
  m.network.hop_us = 77;
  std::string text = m.ToText();
  const std::size_t network = text.find("network_");
  ASSERT_NE(network, std::string::npos);
  text.resize(network);
  ASSERT_EQ(text.find("network_"), std::string::npos);
  const Result<std::vector<TableText>> tables = SplitTables(text);
  ASSERT_TRUE(tables.ok());
  const Result<Machine> back = Machine::Parse(tables->front());
  ASSERT_TRUE(back.ok()) << back.status().message();
  EXPECT_DOUBLE_EQ(back->switch_us, 4.5);
  EXPECT_DOUBLE_EQ(back->network.hop_us, Machine().network.hop_us);
  EXPECT_FALSE(Machine::Parse(SplitTables(text.substr(0, text.find("switch_us")))->front()).ok());
}

TEST(Chooser, EveryCollectiveAndSizeHasAChoiceThatGrowsWithSize) {
  for (const int ranks : {1, 2, 3, 4, 7, 8, 16, 64}) {
    Result<Chooser> chooser = Chooser::Create(Options(ranks));
    ASSERT_TRUE(chooser.ok());
    for (int c = 0; c < kCollectives; ++c) {
      if (static_cast<Collective>(c) == Collective::kSendRecv) continue;
      double before = 0;
      for (std::size_t bytes = 1; bytes <= std::size_t{1} << 30; bytes *= 2) {
        const Result<Choice> choice = chooser->Choose(static_cast<Collective>(c), bytes);
        ASSERT_TRUE(choice.ok()) << choice.status().message();
        EXPECT_TRUE(std::isfinite(choice->predicted_us));
        EXPECT_GE(choice->predicted_us, before * 0.999) << Name(static_cast<Collective>(c)) << " " << bytes;
        before = choice->predicted_us;
      }
    }
  }
}

// Left alone, a reduction is always a fold in rank order.
TEST(Chooser, AutomaticReductionsKeepRankOrder) {
  for (const int ranks : {2, 5, 16, 64}) {
    Result<Chooser> chooser = Chooser::Create(Options(ranks));
    for (const Collective c : {Collective::kAllReduce, Collective::kReduceScatter, Collective::kReduce}) {
      for (std::size_t bytes = 1; bytes <= std::size_t{1} << 30; bytes *= 4) {
        for (const Choice& choice : chooser->Candidates(c, bytes)) {
          EXPECT_TRUE(algo::Get(choice.algorithm).rank_ordered(c, ranks)) << ToString(choice);
        }
      }
    }
  }
}

TEST(Chooser, SmallIsDirectAndFlaggedLargeIsBandwidthOptimal) {
  Result<Chooser> chooser = Chooser::Create(Options(8));
  EXPECT_EQ(ToString(*chooser->Choose(Collective::kAllReduce, 8)), "one_shot LL");
  const Choice large = *chooser->Choose(Collective::kAllReduce, std::size_t{64} << 20);
  EXPECT_EQ(large.algorithm, algo::Algorithm::kTwoShot);
  EXPECT_EQ(large.protocol, proto::Protocol::kSimple);
}

TEST(Chooser, FiltersForceAlgorithmProtocolAndChannels) {
  ChooserOptions options = Options(8, "allreduce:ring;broadcast:^one_shot,pairwise", "LL128");
  options.min_channels = 2;
  Result<Chooser> chooser = Chooser::Create(options);
  ASSERT_TRUE(chooser.ok());
  EXPECT_EQ(ToString(*chooser->Choose(Collective::kAllReduce, 1 << 20)), "ring LL128, 2 channels");
  for (const Choice& c : chooser->Candidates(Collective::kBroadcast, 1 << 20)) {
    EXPECT_NE(c.algorithm, algo::Algorithm::kOneShot);
    EXPECT_EQ(c.protocol, proto::Protocol::kLl128);
  }
}

// A wish for all collectives does not break one that no named algorithm can do; a binding part does.
TEST(Chooser, WishesAndBindingParts) {
  Result<Chooser> wish = Chooser::Create(Options(4, "pat"));
  EXPECT_EQ(wish->Choose(Collective::kAllGather, 1000)->algorithm, algo::Algorithm::kPat);
  EXPECT_TRUE(wish->Choose(Collective::kBroadcast, 1000).ok());
  Result<Chooser> bound = Chooser::Create(Options(4, "broadcast:pat"));
  const Result<Choice> none = bound->Choose(Collective::kBroadcast, 1000);
  ASSERT_FALSE(none.ok());
  EXPECT_NE(none.status().message().find("leave nothing that can do broadcast"), std::string::npos);
}

TEST(Chooser, NamesOfNcclAreKnown) {
  for (const char* names : {"RING", "Tree", "ring,tree,PAT", "allreduce:tree;broadcast:ring"}) {
    const Result<Chooser> chooser = Chooser::Create(Options(4, names));
    ASSERT_TRUE(chooser.ok()) << names;
    EXPECT_TRUE(chooser->ignored_algorithms().empty()) << names;
  }
}

// What NCCL does in switches is ignored: a list of nothing else leaves the choice as if it were not there.
TEST(Chooser, NamesOfSwitchesAreIgnored) {
  Result<Chooser> unset = Chooser::Create(Options(4, ""));
  const std::string usual = ToString(*unset->Choose(Collective::kAllReduce, 1000));
  for (const char* names : {"NVLS", "nvlstree", "COLLNET", "CollNetDirect,COLLNET_CHAIN", "COLLNET*", "^NVLS",
                            "^NVLSTREE,COLLNETDIRECT", "allreduce:NVLS", "allreduce:^nvls;broadcast:NVLS"}) {
    Result<Chooser> chooser = Chooser::Create(Options(4, names));
    ASSERT_TRUE(chooser.ok()) << names << ": " << chooser.status().message();
    const Result<Choice> choice = chooser->Choose(Collective::kAllReduce, 1000);
    ASSERT_TRUE(choice.ok()) << names << ": " << choice.status().message();
    EXPECT_EQ(ToString(*choice), usual) << names;
    EXPECT_TRUE(chooser->Choose(Collective::kBroadcast, 1000).ok()) << names;
    EXPECT_FALSE(chooser->ignored_algorithms().empty()) << names;
  }
  Result<Chooser> both = Chooser::Create(Options(4, "allreduce:NVLSTREE,ring,NVLS,NVLS"));
  ASSERT_TRUE(both.ok());
  EXPECT_EQ(both->Choose(Collective::kAllReduce, 1000)->algorithm, algo::Algorithm::kRing);
  EXPECT_EQ(both->ignored_algorithms(), (std::vector<std::string>{"NVLSTREE", "NVLS"}));
}

// Constants as measured between two threads of a core of an EPYC, and between cores of a Xeon: what one line of each takes there is
// measured, too (Ll128InExchange).
TEST(Chooser, TheShortestSendsGoByLlBetweenCores) {
  for (const bool between_cores : {false, true}) {
    ChooserOptions options = Options(2);
    Machine& machine = options.machine;
    machine.ll.hop_us = between_cores ? 0.297 : 0.1;
    machine.ll.message_us = between_cores ? 0.067 : 0.046;
    machine.ll128.hop_us = between_cores ? 0.341 : 0.115;
    machine.ll128.message_us = between_cores ? 0.076 : 0.052;
    machine.simple.hop_us = between_cores ? 0.386 : 0.13;
    machine.simple.message_us = between_cores ? 0.107 : 0.073;
    const Result<Chooser> chooser = Chooser::Create(std::move(options));
    ASSERT_TRUE(chooser.ok());
    const auto protocol = [&](std::size_t bytes) { return chooser->ChooseTransfer(bytes).protocol; };
    EXPECT_EQ(protocol(8), between_cores ? proto::Protocol::kLl : proto::Protocol::kLl128);
    EXPECT_EQ(protocol(16), protocol(8));
    EXPECT_EQ(protocol(32), proto::Protocol::kLl128);
    EXPECT_EQ(protocol(128), proto::Protocol::kLl128);
    EXPECT_EQ(protocol(1024), proto::Protocol::kSimple);
  }
}

}  // namespace
}  // namespace tutti::tune
