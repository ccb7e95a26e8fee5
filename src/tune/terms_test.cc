// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "tune/terms.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tune/at_size.h"

namespace tutti::tune {
namespace {

constexpr std::size_t kSizes[] = {1, 8, 4096, 100'003, std::size_t{1} << 20, std::size_t{1} << 26};

std::vector<Collective> AllCollectives() {
  std::vector<Collective> all;
  for (int c = 0; c < kCollectives; ++c) {
    if (static_cast<Collective>(c) != Collective::kSendRecv) all.push_back(static_cast<Collective>(c));
  }
  return all;
}

GpuChooser OnGpus(int ranks) {
  const GpuTable& table =
      FindGpuTable({}, {.gpu = "NVIDIA H200", .compute_capability = 90, .multiprocessors = 132, .ranks = ranks});
  return *GpuChooser::Create(
      {.ranks = ranks, .max_channels = 124, .max_simple_channels = 24, .direct = true, .machine = table.machine});
}

Chooser InHostMemory(const algo::Hosts& hosts, int cpus = 64) {
  return *Chooser::Create(
      {.ranks = hosts.ranks(),
       .hosts = hosts,
       .cpus = cpus,
       .can_refer = true,
       .max_channels = hosts.count() > 1 ? 1 : 2,
       .chunk_bytes = [](const plan::Footprint&, proto::Protocol protocol, bool, int) -> std::size_t {
         return protocol == proto::Protocol::kSimple ? 131072 : 4096;
       },
       .transfer_chunk_bytes = [](proto::Protocol, bool) -> std::size_t { return 65536; }});
}

TEST(Terms, HaveNamesAndASum) {
  Terms terms;
  terms[Term::kHops] = 2;
  terms[Term::kFolds] = 3;
  EXPECT_EQ(terms.Sum(), 5);
  EXPECT_EQ(terms.Largest(), Term::kFolds);
  terms += terms;
  EXPECT_EQ(terms[Term::kHops], 4);
  EXPECT_EQ(Name(Term::kStart), "start");
  EXPECT_EQ(Name(Term::kNetwork), "network");
  EXPECT_EQ(Terms().Largest(), Term::kStart);
}

TEST(Terms, OfGpusAddUpToThePrediction) {
  for (const int ranks : {2, 3, 4, 8, 20}) {
    GpuChooser chooser = OnGpus(ranks);
    for (const Collective collective : AllCollectives()) {
      for (const std::size_t bytes : kSizes) {
        for (const Outputs outputs : {Outputs::kAnywhere, Outputs::kInWindows}) {
          const std::vector<GpuChoice> ways = chooser.Candidates(collective, bytes, outputs);
          const std::vector<GpuWayTerms> parts = TermsOf(chooser, collective, bytes, outputs);
          ASSERT_EQ(parts.size(), ways.size());
          for (std::size_t i = 0; i < ways.size(); ++i) {
            EXPECT_EQ(ToString(parts[i].way), ToString(ways[i]));
            EXPECT_NEAR(parts[i].terms.Sum(), ways[i].predicted_us, 1e-6 * ways[i].predicted_us)
                << ToString(ways[i]) << ' ' << bytes;
            EXPECT_EQ(parts[i].terms[Term::kNetwork], 0);
            EXPECT_EQ(parts[i].terms[Term::kMessages], 0);
            if (!Reduces(collective) && collective != Collective::kBarrier && !ways[i].copies) {
              EXPECT_NEAR(parts[i].terms[Term::kFolds], 0, 1e-9) << ToString(ways[i]);
            }
          }
        }
      }
    }
  }
}

TEST(Terms, OfGpusGrowWithWhatTheyAreOf) {
  GpuChooser chooser = OnGpus(4);
  const std::vector<GpuWayTerms> small = TermsOf(chooser, Collective::kAllReduce, 8);
  const std::vector<GpuWayTerms> large = TermsOf(chooser, Collective::kAllReduce, std::size_t{256} << 20);
  EXPECT_LT(small.front().terms[Term::kLinks], 0.1);
  EXPECT_GT(small.front().terms[Term::kHops], small.front().terms[Term::kLinks]);
  EXPECT_EQ(large.front().terms.Largest(), Term::kLinks);
  EXPECT_FALSE(large.front().by_channels) << "as many channels as there are fill a link";
  // One channel of LL is far from a link's rate.
  EXPECT_TRUE(TermsOf(chooser, Collective::kAllReduce, 2048).front().by_channels);
}

TEST(Terms, OfTransfersOfGpus) {
  const GpuMachine& machine = ShippedGpuTable("generic").machine;
  for (const std::size_t bytes : kSizes) {
    const Terms terms = TermsOfTransfer(machine, bytes);
    EXPECT_NEAR(terms.Sum(), PredictTransferUs(machine, bytes), 1e-6);
    EXPECT_NEAR(terms[Term::kStart], machine.start_us, 1e-6);
  }
}

TEST(Terms, OfHostMemoryAddUpToThePrediction) {
  const algo::Hosts two = algo::Hosts::OfSizes(std::vector<int>{2, 2});
  for (const algo::Hosts& hosts : {algo::Hosts(2), algo::Hosts(5), two, algo::Hosts::OfSizes(std::vector<int>{3, 1})}) {
    for (const int cpus : {64, 1}) {
      Chooser chooser = InHostMemory(hosts, cpus);
      for (const Collective collective : AllCollectives()) {
        for (const std::size_t bytes : kSizes) {
          for (const Choice& way : chooser.Candidates(collective, bytes)) {
            const Terms terms = TermsOf(chooser, way, collective, bytes);
            EXPECT_EQ(chooser.PredictUs(way, collective, bytes), way.predicted_us);
            EXPECT_NEAR(terms.Sum(), way.predicted_us, 1e-6 * way.predicted_us) << ToString(way);
            for (const double part : terms.us) EXPECT_GE(part, -1e-9) << ToString(way);
            if (hosts.count() == 1) {
              EXPECT_EQ(terms[Term::kNetwork], 0) << ToString(way);
            }
          }
        }
      }
    }
  }
}

TEST(Terms, OfHostMemoryAreThoseOfTheirConstants) {
  Chooser chooser = InHostMemory(algo::Hosts::OfSizes(std::vector<int>{1, 1}));
  const Choice way = *chooser.Choose(Collective::kAllReduce, std::size_t{16} << 20);
  const Terms before = TermsOf(chooser, way, Collective::kAllReduce, std::size_t{16} << 20);
  EXPECT_EQ(before.Largest(), Term::kNetwork);
  Machine slower;
  slower.network.send_us_per_kib *= 2;
  slower.network.receive_us_per_kib *= 2;
  chooser.GoBy(slower);
  const Terms after = TermsOf(chooser, way, Collective::kAllReduce, std::size_t{16} << 20);
  EXPECT_NEAR(after[Term::kNetwork], 2 * before[Term::kNetwork], 0.01 * after[Term::kNetwork]);
  EXPECT_NEAR(after[Term::kFolds], before[Term::kFolds], 1e-6 + 0.01 * before[Term::kFolds]);
}

// A send to another host takes the network's time, which choosing does not look at.
TEST(Terms, TransfersBetweenHostsHaveTheNetworks) {
  Chooser one = InHostMemory(2), two = InHostMemory(algo::Hosts::OfSizes(std::vector<int>{1, 1}));
  for (const std::size_t bytes : kSizes) {
    const Choice way = two.ChooseTransfer(bytes);
    const Terms terms = TermsOf(two, way, Collective::kSendRecv, bytes);
    EXPECT_NEAR(terms.Sum(), two.PredictUs(way, Collective::kSendRecv, bytes), 1e-6 * terms.Sum());
    EXPECT_GT(terms.Sum(), way.predicted_us);
    EXPECT_GT(terms[Term::kNetwork], 0);
    const Choice here = one.ChooseTransfer(bytes);
    EXPECT_EQ(one.PredictUs(here, Collective::kSendRecv, bytes), here.predicted_us);
  }
}

TEST(AtSize, IsTheSameWay) {
  GpuChooser chooser = OnGpus(4);
  const GpuChoice way = chooser.Candidates(Collective::kAllReduce, 1 << 20).front();
  const GpuChoice larger = AtSize(chooser, way, Collective::kAllReduce, (1 << 20) + 200'000);
  EXPECT_EQ(larger.algorithm, way.algorithm);
  EXPECT_EQ(larger.protocol, way.protocol);
  EXPECT_EQ(larger.direct, way.direct);
  EXPECT_GT(larger.predicted_us, way.predicted_us);
  GpuChoice none = way;
  none.copies = true;
  EXPECT_EQ(AtSize(chooser, none, Collective::kAllReduce, 1 << 20).predicted_us, way.predicted_us) << "there is none";
}

}  // namespace
}  // namespace tutti::tune
