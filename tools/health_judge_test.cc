// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
//
// Rounds, data, and who is blamed: on jobs of numbers, where nothing depends on this machine.
#include "tools/health_judge.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <set>
#include <utility>
#include <vector>

#include "tools/health_measure.h"
#include "tools/health_pattern.h"
#include "tools/health_rounds.h"

namespace tutti::tools {
namespace {

using doctor::Severity;

// So many hosts of so many ranks.
std::vector<int> Hosts(int hosts, int each) {
  std::vector<int> host_of;
  for (int i = 0; i < hosts * each; ++i) host_of.push_back(i / each);
  return host_of;
}

TEST(HealthRounds, EveryPartnerIsMutualAndNew) {
  for (const std::vector<int>& host_of :
       {Hosts(1, 2), Hosts(1, 3), Hosts(1, 4), Hosts(1, 5), Hosts(1, 8), Hosts(1, 64), Hosts(2, 1), Hosts(2, 2),
        Hosts(2, 4), Hosts(3, 1), Hosts(3, 2), Hosts(5, 3), Hosts(64, 8), std::vector<int>{0, 0, 0, 1, 2, 2}}) {
    const auto ranks = host_of.size();
    const std::vector<Pairing> pairings = PairingsFor(host_of);
    EXPECT_LE(pairings.size(), 7u);
    std::set<std::pair<int, int>> met;
    std::vector<int> partners(ranks, 0);
    for (const Pairing& pairing : pairings) {
      ASSERT_EQ(pairing.partner.size(), ranks);
      for (std::size_t rank = 0; rank < ranks; ++rank) {
        const int other = pairing.partner[rank];
        if (other < 0) continue;
        ASSERT_NE(other, static_cast<int>(rank));
        EXPECT_EQ(pairing.partner[static_cast<std::size_t>(other)], static_cast<int>(rank));
        EXPECT_TRUE(met.emplace(static_cast<int>(rank), other).second)
            << pairing.name << ": " << rank << " and " << other;
        ++partners[rank];
      }
    }
    // Several partners each, where there are so many others.
    for (std::size_t rank = 0; rank < ranks; ++rank) {
      EXPECT_GE(partners[rank],
                std::min<int>(static_cast<int>(ranks) - 1, host_of == std::vector<int>{0, 0, 0, 1, 2, 2} ? 1 : 2))
          << rank;
    }
  }
  EXPECT_TRUE(PairingsFor({}).empty());
  EXPECT_TRUE(PairingsFor({0}).empty());
}

TEST(HealthRounds, Rings) {
  for (const int ranks : {2, 3, 4, 5, 8, 12, 512}) {
    const std::vector<std::vector<int>> rings = RingsFor(ranks);
    EXPECT_EQ(rings.size(), ranks == 2 ? 1u : 2u);
    std::set<std::pair<int, int>> links;
    for (const std::vector<int>& ring : rings) {
      EXPECT_EQ(std::set<int>(ring.begin(), ring.end()).size(), static_cast<std::size_t>(ranks));
      for (std::size_t i = 0; i < ring.size(); ++i)
        EXPECT_TRUE(links.emplace(ring[i], ring[(i + 1) % ring.size()]).second);
    }
  }
  EXPECT_TRUE(RingsFor(1).empty());
}

TEST(HealthPattern, FindsEveryChangedWord) {
  std::vector<std::uint64_t> words(1000);
  FillPattern(words, 7);
  EXPECT_EQ(CheckPattern(words, 7).wrong_words, 0u);
  EXPECT_EQ(CheckPattern(words, 8).wrong_words, 1000u);
  words[999] ^= 1;
  words[17] ^= 0x8000;
  const PatternCheck check = CheckPattern(words, 7);
  EXPECT_EQ(check.wrong_words, 2u);
  EXPECT_EQ(check.first, 17u);
  EXPECT_EQ(check.flipped, 0x8000u);
}

// A job of numbers: all transfers of its rounds at 10 GB/s, as is expected, but those that `change` changes.
struct Job {
  HealthShape shape;
  std::vector<Transfer> transfers;
};
Job MakeJob(int hosts, int each, const std::function<void(Transfer&)>& change, std::int32_t small = 0) {
  Job job;
  job.shape.host_of = Hosts(hosts, each);
  for (int host = 0; host < hosts; ++host) job.shape.host_names.push_back(fmt::format("node{}", host));
  for (int rank = 0; rank < hosts * each; ++rank) job.shape.rank_names.push_back(fmt::format("rank {}", rank));
  const auto add = [&](int from, int to, int round) {
    Transfer transfer{.from = from,
                      .to = to,
                      .round = round,
                      .small = small,
                      .bytes = small != 0 ? 4096u : 8000000u,
                      .us = small != 0 ? 5.0 : 800,
                      .expected_us = small != 0 ? 5.0 : 800,
                      .expected_error = 0.2};
    change(transfer);
    job.transfers.push_back(transfer);
  };
  int round = 0;
  for (const Pairing& pairing : PairingsFor(job.shape.host_of)) {
    for (std::size_t to = 0; to < pairing.partner.size(); ++to) {
      if (pairing.partner[to] >= 0) add(pairing.partner[to], static_cast<int>(to), round);
    }
    ++round;
  }
  for (const std::vector<int>& ring : RingsFor(hosts * each)) {
    for (std::size_t i = 0; i < ring.size(); ++i) add(ring[i], ring[(i + 1) % ring.size()], round);
    ++round;
  }
  return job;
}

doctor::Findings Judge(const Job& job) { return JudgeTransfers(job.transfers, job.shape, Thresholds(), "host memory"); }

// That there is one finding, of this severity, which begins so.
void ExpectOne(const Job& job, Severity severity, const std::string& what) {
  const doctor::Findings findings = Judge(job);
  std::string all;
  for (const doctor::Finding& finding : findings) all += doctor::LineOf(finding) + "\n";
  ASSERT_EQ(findings.size(), 1u) << all;
  EXPECT_EQ(doctor::Name(findings[0].severity), doctor::Name(severity)) << all;
  EXPECT_TRUE(findings[0].what.starts_with(what)) << all;
  EXPECT_NE(findings[0].evidence, "");
}

const std::vector<std::pair<int, int>> kShapes = {{1, 3}, {1, 4}, {1, 8}, {1, 64}, {2, 2},
                                                  {2, 4}, {3, 2}, {4, 8}, {16, 8}, {8, 1}};

TEST(HealthJudge, Healthy) {
  for (const auto& [hosts, each] : kShapes) {
    ExpectOne(MakeJob(hosts, each, [](Transfer&) {}), Severity::kOk, "all ranks move host memory as fast as expected");
    // Within the likely error of the prediction, and of each other.
    ExpectOne(MakeJob(hosts, each, [](Transfer& one) { one.us *= 1 + 0.1 * (one.from % 5); }), Severity::kOk,
              "all ranks");
  }
}

TEST(HealthJudge, ASlowRank) {
  for (const auto& shape : kShapes) {
    const int hosts = shape.first, each = shape.second;
    for (const int rank : {0, 1, hosts * each - 1}) {
      const auto slow = [&](double factor) {
        return MakeJob(hosts, each, [&, factor](Transfer& one) {
          if (one.from == rank || one.to == rank) one.us *= factor;
        });
      };
      ExpectOne(slow(4), Severity::kWarn, fmt::format("rank {} moves host memory slowly", rank));
      ExpectOne(slow(40), Severity::kCritical, fmt::format("rank {} moves host memory slowly", rank));
    }
  }
}

// A cable that is bad in one direction, a card that only receives slowly.
TEST(HealthJudge, OneDirection) {
  for (const auto& [hosts, each] : kShapes) {
    const int rank = hosts * each - 1;
    ExpectOne(MakeJob(hosts, each, [&](Transfer& one) { one.us *= one.from == rank ? 4 : 1; }), Severity::kWarn,
              fmt::format("rank {} sends host memory slowly", rank));
    ExpectOne(MakeJob(hosts, each, [&](Transfer& one) { one.us *= one.to == rank ? 4 : 1; }), Severity::kWarn,
              fmt::format("rank {} receives host memory slowly", rank));
  }
  const Job host = MakeJob(8, 4, [](Transfer& one) {
    if (one.from / 4 == 2 && one.to / 4 != 2) one.us *= 4;
  });
  ExpectOne(host, Severity::kWarn, "host node2 sends host memory slowly");
}

TEST(HealthJudge, ASlowLink) {
  for (const auto& [hosts, each] : kShapes) {
    const Pairing first = PairingsFor(Hosts(hosts, each)).front();
    const auto a = static_cast<int>(std::ranges::find_if(first.partner, [](int other) { return other >= 0; }) -
                                    first.partner.begin());
    const int b = first.partner[static_cast<std::size_t>(a)];
    const Job job = MakeJob(hosts, each, [&](Transfer& one) {
      if (std::minmax(one.from, one.to) == std::minmax(a, b)) one.us *= 10;
    });
    ExpectOne(job, Severity::kCritical,
              fmt::format("the link between rank {} and rank {} moves", std::min(a, b), std::max(a, b)));
  }
  // Of two ranks there is but one.
  ExpectOne(MakeJob(1, 2, [](Transfer& one) { one.us *= 10; }), Severity::kCritical,
            "the link between rank 0 and rank 1");
}

TEST(HealthJudge, ASlowHostAndASlowNetwork) {
  for (const auto& [hosts, each] : {std::pair(4, 2), std::pair(8, 4), std::pair(16, 8)}) {
    const Job job = MakeJob(hosts, each, [&, ranks = each](Transfer& one) {
      const bool in = one.from / ranks == 2, out = one.to / ranks == 2;
      if (in != out) one.us *= 4;
    });
    ExpectOne(job, Severity::kWarn, "host node2 moves host memory slowly");
  }
  const Job pair = MakeJob(2, 4, [](Transfer& one) {
    if (one.from / 4 != one.to / 4) one.us *= 4;
  });
  ExpectOne(pair, Severity::kWarn, "the network between hosts node0 and node1");
}

TEST(HealthJudge, TwoAtOnce) {
  const Job job = MakeJob(1, 16, [](Transfer& one) {
    if (one.from == 3 || one.to == 3 || one.from == 9 || one.to == 9) one.us *= 4;
  });
  const doctor::Findings findings = Judge(job);
  ASSERT_EQ(findings.size(), 2u);
  std::set<std::string> blamed = {findings[0].what.substr(0, 6), findings[1].what.substr(0, 6)};
  EXPECT_EQ(blamed, (std::set<std::string>{"rank 3", "rank 9"}));
}

// Everything is slow: the model or the machine. Somebody who is slow even so is named beside it.
TEST(HealthJudge, AllAreSlow) {
  ExpectOne(MakeJob(1, 8, [](Transfer& one) { one.us *= 4; }), Severity::kWarn,
            "transfers of host memory are slow, and it is not known who");
  const doctor::Findings findings =
      Judge(MakeJob(1, 8, [](Transfer& one) { one.us *= one.from == 5 || one.to == 5 ? 40 : 4; }));
  ASSERT_EQ(findings.size(), 2u);
  EXPECT_TRUE(findings[1].what.starts_with("rank 5 moves host memory slowly")) << findings[1].what;
}

// Without an expectation the others are the measure; of a few nothing can be said.
TEST(HealthJudge, NothingIsExpected) {
  const auto job = [](int ranks) {
    return MakeJob(1, ranks, [](Transfer& one) {
      one.expected_us = 0;
      if (one.from == 1 || one.to == 1) one.us *= 8;
    });
  };
  ExpectOne(job(8), Severity::kCritical, "rank 1 moves");
  ExpectOne(job(2), Severity::kOk, "all ranks");
}

// A pause of the system is no fault; one that lasts is.
TEST(HealthJudge, SmallMessages) {
  const auto job = [](double us) {
    return MakeJob(
        1, 8,
        [us](Transfer& one) {
          if (one.from == 6 || one.to == 6) one.us = us;
        },
        1);
  };
  ExpectOne(job(150), Severity::kOk, "all ranks");
  ExpectOne(job(900), Severity::kCritical, "rank 6 moves");
}

// Who is named for large messages explains that small ones are slow, too.
TEST(HealthJudge, SmallMessagesOfASlowRank) {
  const auto slow = [](Transfer& one) { one.us *= one.from == 6 ? 1000 : 1; };
  Job job = MakeJob(1, 8, slow);
  const Job small = MakeJob(
      1, 8, [](Transfer& one) { one.us *= one.from == 6 && one.to % 2 == 0 ? 1000 : 1; }, 1);
  job.transfers.insert(job.transfers.end(), small.transfers.begin(), small.transfers.end());
  ExpectOne(job, Severity::kCritical, "rank 6 sends host memory slowly");
  EXPECT_EQ(SpeedText(8000000, 800), "10.00 GB/s");
  EXPECT_EQ(SpeedText(8000000, 800000), "10.00 MB/s");
}

TEST(HealthJudge, ChangedData) {
  const auto wrong = [](Transfer& one) {
    one.wrong_words = 3;
    one.first_wrong = 77;
    one.flipped = 0x10;
  };
  const Job rank = MakeJob(2, 4, [&](Transfer& one) {
    if (one.from == 5 || one.to == 5) wrong(one);
  });
  ExpectOne(rank, Severity::kCritical, "rank 5 changes data of host memory that it moves");
  EXPECT_NE(Judge(rank)[0].evidence.find("word 77 of 8000000 bytes differs by 0x10"), std::string::npos)
      << Judge(rank)[0].evidence;
  const Job link = MakeJob(1, 8, [&](Transfer& one) {
    if (std::minmax(one.from, one.to) == std::minmax(0, 1)) wrong(one);
  });
  ExpectOne(link, Severity::kCritical, "the link between rank 0 and rank 1 changes data");
}

TEST(HealthInjected, Texts) {
  const std::optional<Injected> rank = ParseInjected("slow-rank:2:50"), link = ParseInjected("corrupt-link:1-3");
  ASSERT_TRUE(rank && link);
  EXPECT_EQ(rank->delay_ms, 50);
  EXPECT_TRUE(rank->Hits(2, 0) && rank->Hits(0, 2));
  EXPECT_FALSE(rank->Hits(0, 1));
  EXPECT_TRUE(link->corrupts && link->Hits(3, 1));
  EXPECT_FALSE(link->Hits(3, 2));
  EXPECT_FALSE(Injected().Hits(0, 1));
  for (const char* text : {"", "slow", "slow-rank", "slow-rank:x:5", "slow-link:1:5", "slow-link:1-2", "quick-rank:1:5",
                           "corrupt-link:1-"}) {
    EXPECT_FALSE(ParseInjected(text)) << text;
  }
}

}  // namespace
}  // namespace tutti::tools
