// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "diag/sentence.h"
#include "diag/test_looks.h"
#include "tests/support/verdicts.h"

namespace tutti::diag {
namespace {

using tests::Has;

// Ranks on hosts of their own, each of which sends to all others by a card that carries 100 MB/s.
class Network {
 public:
  explicit Network(int ranks) : job_(ranks), ranks_(ranks) {
    job_.Spread();
    job_.WaitOnRing(0.1);
    for (int from = 0; from < ranks; ++from) {
      for (int to = 0; to < ranks; ++to) {
        if (from != to) Carries(from, to, 100);
      }
    }
  }
  void Carries(int from, int to, double mb_per_s) {
    LinkLook& link = job_.LinkOf(from, to);
    link.pace_bytes_per_s = static_cast<std::uint64_t>(mb_per_s * 1e6);
    link.usual_bytes_per_s = 100'000'000;
  }
  // It has always been so fast.
  void HasCarried(int from, int to, double mb_per_s) {
    LinkLook& link = job_.LinkOf(from, to);
    link.pace_bytes_per_s = link.usual_bytes_per_s = static_cast<std::uint64_t>(mb_per_s * 1e6);
    std::vector<FlowLook>& flows = job_.rank(from).flows;
    auto flow = std::ranges::find(flows, to, &FlowLook::peer);
    if (flow == flows.end()) flow = flows.insert(flows.end(), {.peer = to, .posted = 1, .completed = 1});
    flow->carries_bytes_per_s = link.usual_bytes_per_s;
  }
  // What is told, as pairs of sender and receiver.
  std::vector<std::pair<int, int>> SlowLinks() const {
    std::vector<std::pair<int, int>> links;
    for (const Verdict& v : job_.Judged()) {
      if (v.kind != Kind::kLinkSlow) continue;
      for (const LinkPlace& l : v.links) links.emplace_back(l.from.rank, l.to.rank);
    }
    return links;
  }
  int ranks() const { return ranks_; }
  Job& job() { return job_; }

 private:
  Job job_;
  int ranks_;
};

using Links = std::vector<std::pair<int, int>>;

TEST(SlowLinks, AreThoseThatCarryLessThanHalfOfWhatIsUsual) {
  Network network(4);
  EXPECT_EQ(network.SlowLinks(), Links{});
  network.Carries(1, 2, 60);
  EXPECT_EQ(network.SlowLinks(), Links{});
  network.Carries(1, 2, 40);
  EXPECT_EQ(network.SlowLinks(), (Links{{1, 2}}));
}

// Words that data have arrived wait behind the data of the slow card of rank 1.
TEST(SlowLinks, DoNotIncludeThoseWhoseWayBackIsSlow) {
  for (const int ranks : {2, 3, 5}) {
    Network network(ranks);
    Links expected;
    for (int other = 0; other < ranks; ++other) {
      if (other == 1) continue;
      network.Carries(1, other, 10 + other);
      network.Carries(other, 1, 20 + other);
      expected.emplace_back(1, other);
    }
    EXPECT_EQ(network.SlowLinks(), expected) << ranks;
  }
  // Nor what a slow way to rank 1 does to what that sends.
  Network network(3);
  for (const int other : {0, 2}) {
    network.Carries(other, 1, 10 + other);
    network.Carries(1, other, 30 + other);
  }
  EXPECT_EQ(network.SlowLinks(), (Links{{0, 1}, {2, 1}}));
}

// All that leaves two hosts of three, and what their words take back.
TEST(SlowLinks, AreNotToldOfWhereAllAreSlow) {
  Network network(3);
  for (int from = 0; from < 3; ++from) {
    for (int to = 0; to < 3; ++to) {
      if (from != to) network.Carries(from, to, 10 + from);
    }
  }
  EXPECT_EQ(network.SlowLinks(), Links{});
}

TEST(SlowLinks, OfTwoPlacesAreToldOfBoth) {
  Network network(6);
  network.Carries(0, 1, 10);
  network.Carries(3, 4, 10);
  EXPECT_EQ(network.SlowLinks(), (Links{{0, 1}, {3, 4}}));
}

// Links that have been as they are from the beginning are compared with what leaves other hosts, where that is three or more.
TEST(SlowLinks, AreFoundBesideOthersWhereTheyWereNeverFaster) {
  const auto network_of = [](int ranks, double mb_per_s) {
    Network network(ranks);
    for (int from = 0; from < ranks; ++from) {
      for (const int to : {(from + 1) % ranks, (from + 2) % ranks}) network.HasCarried(from, to, 100);
    }
    network.HasCarried(1, 2, mb_per_s);
    return network;
  };
  Network network = network_of(4, 20);
  EXPECT_EQ(network.SlowLinks(), (Links{{1, 2}}));
  const std::vector<Verdict> verdicts = network.job().Judged();
  const auto slow = std::ranges::find(verdicts, Kind::kLinkSlow, &Verdict::kind);
  ASSERT_NE(slow, verdicts.end());
  EXPECT_TRUE(Has(Sentence(*slow), "20.0 of 100.0 MB/s that links of other hosts carry, and it was never faster"))
      << Sentence(*slow);
  EXPECT_EQ(network_of(4, 30).SlowLinks(), Links{}) << "networks need not be alike everywhere";
  EXPECT_EQ(network_of(2, 20).SlowLinks(), Links{}) << "there is one other";
  // It carries little at the moment, and has carried more; or is not what is waited for.
  network.job().rank(1).flows[0].carries_bytes_per_s = 60'000'000;
  EXPECT_EQ(network.SlowLinks(), Links{});
  network = network_of(4, 20);
  network.job().LinkOf(1, 2).pace_bytes_per_s = 0;
  EXPECT_EQ(network.SlowLinks(), Links{});
  // Where the others have had little to send, what that shows is the least that they carry: an eighth of it is slow, if it waits in the card.
  network = network_of(4, 12);
  for (int r = 0; r < 4; ++r) {
    for (FlowLook& flow : network.job().rank(r).flows) {
      if (r != 1) flow.carries_little_bytes_per_s = std::exchange(flow.carries_bytes_per_s, 0);
    }
  }
  EXPECT_EQ(network.SlowLinks(), Links{});
  network.job().LinkOf(1, 2).queued_percent = 80;
  EXPECT_EQ(network.SlowLinks(), (Links{{1, 2}}));
  network.HasCarried(1, 2, 13);
  EXPECT_EQ(network.SlowLinks(), Links{});
  // All that leaves its host is one cause, whatever the others do.
  network = network_of(4, 20);
  network.HasCarried(1, 3, 22);
  EXPECT_EQ(network.SlowLinks(), (Links{{1, 2}, {1, 3}}));
}

// A message takes longer than two looks are apart, and none has come in between: some of it has.
TEST(SlowLinks, AreNotStalled) {
  Network network(3);
  Job& job = network.job();
  job.WaitOnRing(4.5);
  job.Wait(1, 2, 4.5, 0, trace::WaitKind::kRoom);
  for (int r = 0; r < 3; ++r) job.Edge(r, (r + 1) % 3, 500, 500, 490);
  job.Edge(1, 2, 500, 400, 380);
  network.Carries(1, 2, 0);
  ASSERT_EQ(job.Judged().size(), 1u);
  EXPECT_EQ(job.Judged()[0].kind, Kind::kLinkStalled) << Sentence(job.Judged()[0]);
  job.LinkOf(1, 2).arrived_bytes_per_s = 400;  // a connection's own words
  EXPECT_EQ(job.Judged().size(), 1u);
  job.LinkOf(1, 2).arrived_bytes_per_s = 700'000;
  for (const Verdict& v : job.Judged()) ADD_FAILURE() << Sentence(v);
  // Nor where something else that leaves the same host moves, and slowly.
  job.LinkOf(1, 2).arrived_bytes_per_s = 0;
  job.LinkOf(1, 0).arrived_bytes_per_s = 3'000'000;
  EXPECT_EQ(job.Judged().size(), 1u);
  EXPECT_EQ(job.Judged()[0].kind, Kind::kLinkStalled);
  network.Carries(1, 0, 3);
  EXPECT_EQ(network.SlowLinks(), (Links{{1, 0}}));
  EXPECT_EQ(job.Judged().size(), 1u);
  network.Carries(1, 0, 100);
  network.Carries(1, 2, 0.7);
  job.LinkOf(1, 2).arrived_bytes_per_s = 700'000;
  EXPECT_EQ(network.SlowLinks(), (Links{{1, 2}}));
}

// The answer of the receiver's host is newer than that of the sender's, over a slow network: that contradicts nothing.
TEST(SlowLinks, DoNotMakeWhatHostsSayImplausible) {
  Job job(3);
  job.Spread();
  job.WaitOnRing(4.5);
  for (int r = 0; r < 3; ++r) job.Edge(r, (r + 1) % 3, 500, 500, 490);
  job.LinkOf(1, 0).received[0] = 501;
  const auto implausible = [&](std::uint64_t received_before) {
    const auto before = [&](Look& look) {
      for (LinkLook& link : look.communicators[0].seen[1].links) {
        if (link.peer == 0) link.received[0] = received_before;
      }
    };
    const std::vector<Verdict> verdicts = job.Judged(before);
    return !verdicts.empty() && Sentence(verdicts[0]).find("implausible: ") != std::string::npos;
  };
  EXPECT_FALSE(implausible(500));
  EXPECT_TRUE(implausible(501));
}

}  // namespace
}  // namespace tutti::diag
