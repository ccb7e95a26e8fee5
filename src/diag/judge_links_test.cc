// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
// As judge_test.cc, of hosts that are gone and of the links between hosts.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "diag/sentence.h"
#include "diag/test_looks.h"
#include "tests/support/verdicts.h"

namespace tutti::diag {
namespace {

using tests::Has;
using tests::One;
using tests::RanksOf;
using trace::WaitKind;

TEST(JudgeLinks, NamesAHostThatIsGone) {
  Job job(4);
  job.WaitOnRing(9.5, {2, 3});
  job.now.hosts.push_back({.name = "b", .silent_ns = 9500 * kMs});
  job.process(2).host = job.process(3).host = "b";
  job.rank(2).island = job.rank(3).island = 1;
  const std::vector<Verdict> verdicts = job.Judged();
  EXPECT_EQ(One(verdicts, Kind::kHostGone, {2, 3}).severity, Severity::kWarn);
  EXPECT_TRUE(Has(Sentence(verdicts[0]), "host b with ranks 2 and 3")) << Sentence(verdicts[0]);
  Job one(2);
  one.Wait(0, 1, 9.5);
  one.now.hosts.push_back({.name = "b", .silent_ns = 9500 * kMs});
  one.process(1).host = "b";
  one.rank(1).island = 1;
  EXPECT_EQ(What(One(one.Judged(), Kind::kHostGone, {1})), "host b with rank 1 (pid 101) does not answer");
}

// A cable at a tenth of its speed is so full of data that answers are late. Data that arrive are answer enough.
TEST(JudgeLinks, AHostThatTakesDataIsNotGone) {
  Job job(3);
  job.Wait(0, 2, 9.5);
  job.now.hosts.push_back({.name = "b", .silent_ns = 9500 * kMs});
  job.process(1).host = job.process(2).host = "b";
  job.rank(1).island = job.rank(2).island = 1;
  EXPECT_EQ(job.Judged().size(), 1u);
  job.LinkOf(0, 1).arrived_bytes_per_s = 300'000;
  EXPECT_EQ(job.Judged().size(), 0u);
  job.LinkOf(0, 1).arrived_bytes_per_s = 0;
  job.LinkOf(2, 1).arrived_bytes_per_s = 300'000;  // within the host
  EXPECT_EQ(job.Judged().size(), 1u);
  // The same of one process, whose host answers.
  Job one(3);
  one.Wait(0, 2, 9.5);
  one.process(1).host = one.process(2).host = "b";
  one.rank(1).island = one.rank(2).island = 1;
  one.process(2).state = ProcessState::kSilent;
  EXPECT_EQ(RanksOf(One(one.Judged(), Kind::kStopped, {2}).direct), std::vector{0});
  one.LinkOf(0, 1).arrived_bytes_per_s = 300'000;  // to another process
  EXPECT_EQ(one.Judged().size(), 1u);
  one.LinkOf(0, 2).arrived_bytes_per_s = 300'000;
  EXPECT_EQ(one.Judged().size(), 0u);
}

TEST(JudgeLinks, NamesALinkThatStalls) {
  Job job(4);
  job.Spread();
  job.WaitOnRing(4.5);
  job.Wait(1, 2, 4.5, 0, WaitKind::kRoom);
  for (int r = 0; r < 4; ++r) job.Edge(r, (r + 1) % 4, 500, 500, 490);
  job.Edge(1, 2, 500, 400, 380);
  std::vector<Verdict> verdicts = job.Judged();
  const Verdict& v = One(verdicts, Kind::kLinkStalled, {});
  ASSERT_EQ(v.links.size(), 1u);
  EXPECT_EQ(v.links[0].from.rank, 1);
  EXPECT_EQ(v.links[0].to.rank, 2);
  EXPECT_EQ(v.severity, Severity::kWarn);
  EXPECT_TRUE(
      Has(Sentence(v),
          "nothing moves on the link from rank 1 (host node1, pid 101) to rank 2 (host node2, pid 102), channel 0: "
          "sent 500, received 400, known to be consumed 380; rank 1 waits for room, rank 2 waits for data"))
      << Sentence(v);
  // A short message that is lost leaves the sender free to wait elsewhere.
  job.Wait(1, 0, 4.5);
  job.Edge(1, 2, 500, 498, 490);
  One(job.Judged(), Kind::kLinkStalled, {});
}

// Nor that of ends that get no time on a core: what they have written down is old.
TEST(JudgeLinks, BlamesNoLinkWhoseEndsDoNotLookAround) {
  Job job(4);
  job.Spread();
  job.WaitOnRing(4.5);
  for (int r = 0; r < 4; ++r) job.Edge(r, (r + 1) % 4, 500, 500, 490);
  job.Edge(1, 2, 500, 498, 490);
  One(job.Judged(), Kind::kLinkStalled, {});
  for (const int asleep : {1, 2}) {
    Job stale = job;
    stale.rank(asleep).wait.looked_ns = Job::kNow - 1300 * kMs;
    const std::vector<Verdict> verdicts = stale.Judged();
    EXPECT_TRUE(Has(Sentence(One(verdicts, Kind::kUnknown, {})),
                    fmt::format("rank {} waits, and has not come to look around for 1.3 s", asleep)))
        << Sentence(verdicts[0]);
    stale.process(asleep).queue_ns = 5 * kSecond;
    One(stale.Judged([&](Look& before) {
      before.processes[static_cast<std::size_t>(asleep)].queue_ns = 5 * kSecond - 195 * kMs;
    }),
        Kind::kStarved, {asleep});
  }
  // And its counters contradict nothing.
  Job behind = job;
  behind.Edge(1, 2, 500, 502, 490);
  EXPECT_TRUE(Has(Sentence(behind.Judged()[0]), "implausible: ")) << Sentence(behind.Judged()[0]);
  const auto did_not_look = [](Look& before) { before.communicators[0].seen[1].wait.looked_ns += 200 * kMs; };
  EXPECT_FALSE(Has(Sentence(behind.Judged(did_not_look)[0]), "implausible: "))
      << Sentence(behind.Judged(did_not_look)[0]);
}

TEST(JudgeLinks, NamesTheWayBackAndTheCard) {
  Job job(3);
  job.Spread();
  job.WaitOnRing(5);
  job.Wait(0, 1, 5, 0, WaitKind::kRoom);
  job.Edge(0, 1, 500, 500, 380);
  job.Edge(1, 2, 300, 300, 300);
  std::vector<Verdict> verdicts = job.Judged();
  One(verdicts, Kind::kLinkStalled, {});
  EXPECT_TRUE(Has(Sentence(verdicts[0]), "the way back does not tell the sender")) << Sentence(verdicts[0]);
  // What the card does not get rid of.
  Job card(2);
  card.Spread();
  card.Wait(1, 0, 5);
  card.Wait(0, 1, 5);
  card.Edge(0, 1, 500, 499, 499);
  card.rank(0).flows = {{.peer = 1, .card = "mlx5_1", .posted = 70, .completed = 69, .stuck_ns = 3 * kSecond}};
  card.rank(1).flows = {{.peer = 0, .card = "mlx5_0", .posted = 7, .completed = 7}};
  verdicts = card.Judged();
  One(verdicts, Kind::kLinkStalled, {});
  const std::string sentence = Sentence(verdicts[0]);
  EXPECT_TRUE(Has(sentence, "by card mlx5_1")) << sentence;
  EXPECT_TRUE(Has(sentence, "by card mlx5_0")) << sentence;
  EXPECT_TRUE(Has(sentence, "of 70 bytes handed to card mlx5_1 69 have arrived, none for 3.0 s")) << sentence;
  // Where the other process takes no more, and where all has come, the sentence says so.
  card.rank(0).flows[0].peer_is_full = true;
  EXPECT_TRUE(Has(Sentence(card.Judged().at(0)), "none for 3.0 s, since the process there takes no more"));
  card.rank(0).flows[0].completed = 70;
  EXPECT_TRUE(Has(Sentence(card.Judged().at(0)), "all 70 bytes handed to card mlx5_1 have arrived"));
}

// Ranks that wait for each other in a circle, and nothing of an operation is known to be missing: a word that a link carries besides is.
TEST(JudgeLinks, FindsALinkOnACircle) {
  for (const bool one_operation : {true, false}) {
    Job job(3);
    job.Spread();
    job.WaitOnRing(5);
    for (int r = 0; r < 3; ++r) job.Edge(r, (r + 1) % 3, 500, 500, 490);
    if (!one_operation) {
      job.rank(1).called = job.rank(1).sequence = job.rank(1).wait.number = job.rank(1).running.number =
          job.rank(1).running.sequence = 12;
      job.rank(1).finished = job.rank(1).finished_sequence = 11;
      job.rank(1).history.front().last = 12;
    }
    One(job.Judged(), Kind::kUnknown, {});
    job.rank(1).flows = {{.peer = 2, .card = "eth0", .posted = 70, .completed = 60, .stuck_ns = 3 * kSecond}};
    const std::vector<Verdict> verdicts = job.Judged();
    const Verdict& v = One(verdicts, Kind::kLinkStalled, {});
    ASSERT_EQ(v.links.size(), 1u);
    EXPECT_EQ(v.links[0].from.rank, 1);
    EXPECT_EQ(v.links[0].to.rank, 2);
    EXPECT_TRUE(Has(Sentence(v), "of 70 bytes handed to card eth0 60 have arrived, none for 3.0 s")) << Sentence(v);
  }
}

// Nothing is on its way where both ends share memory.
TEST(JudgeLinks, AccusesNoLinkWithinAHost) {
  Job job(2);
  job.Wait(0, 1, 5);
  job.Wait(1, 0, 5);
  job.Edge(0, 1, 10, 9, 9);
  const std::vector<Verdict> verdicts = job.Judged();
  One(verdicts, Kind::kUnknown, {});
  EXPECT_TRUE(Has(Sentence(verdicts[0]), "though they share memory")) << Sentence(verdicts[0]);
}

// Rooms that are waited for lead down to who does not read.
TEST(JudgeLinks, FollowsWaitsForRoom) {
  Job job(4);
  job.Wait(0, 1, 3, 0, WaitKind::kRoom);
  job.Wait(1, 2, 3, 0, WaitKind::kRoom);
  job.Edge(0, 1, 200, 100, 100);
  job.Edge(1, 2, 200, 90, 90);
  const Verdict v = One(job.Judged(), Kind::kLateHost, {2});
  EXPECT_EQ(RanksOf(v.direct), (std::vector{1}));
  EXPECT_EQ(RanksOf(v.indirect), (std::vector{0}));
}

// Ranks on a ring of fast links, those of `slow` senders full and short of data for 0.15 of the last 0.2 s, in which 700 units of 32
// bytes got through.
std::vector<Verdict> OverLinks(const std::vector<int>& slow, double past) {
  Job job(4);
  job.Spread();
  for (int r = 0; r < 4; ++r) {
    const int next = (r + 1) % 4;
    job.communicator().edges.push_back({.from = r, .to = next, .rated_bytes_per_s = 40e6, .past_bytes_per_s = past});
    job.Edge(r, next, 1000, 1000, 990);
    job.Wait(r, (r + 3) % 4, 0.01);
  }
  for (const int r : slow) {
    job.Edge(r, r + 1, 1000, 900, 880);
    job.Wait(r, r + 1, 0.01, 0, WaitKind::kRoom);
    job.LinkOf(r, r + 1).room_wait_ns = kSecond;
    job.LinkOf(r + 1, r).data_wait_ns = kSecond;
  }
  return job.Judged([&](Look& before) {
    for (RankLook& rank : before.communicators[0].seen) {
      rank.wait.since_ns -= 60 * kMs;
      for (LinkLook& link : rank.links) {
        for (auto* count : {&link.sent, &link.received, &link.credit})
          (*count)[0] -= std::min<std::uint64_t>(700, (*count)[0]);
        for (auto* ns : {&link.room_wait_ns, &link.data_wait_ns}) *ns -= *ns > 0 ? 150 * kMs : 0;
      }
    }
  });
}

// A link at a three-hundredth of its speed; where it never was faster, nobody is at fault.
TEST(JudgeLinks, NamesASlowLink) {
  const std::vector<Verdict> verdicts = OverLinks({1}, 0);
  const Verdict& v = One(verdicts, Kind::kLinkSlow, {});
  ASSERT_EQ(v.links.size(), 1u);
  EXPECT_EQ(v.links[0].from.rank, 1);
  EXPECT_NEAR(v.bytes_per_s, 700 * 32 / 0.2, 1);
  EXPECT_TRUE(Has(Sentence(v), "data move slowly on the link from rank 1")) << Sentence(v);
  EXPECT_TRUE(OverLinks({1}, 150e3).empty());
  EXPECT_EQ(OverLinks({1}, 300e3).size(), 1u);
}

// Stalled links of one card are one cause.
TEST(JudgeLinks, NamesWhatLinksHaveInCommon) {
  Job job(6);
  job.Spread();
  for (const int peer : {1, 2, 3}) {
    job.Wait(peer, 0, 5);
    job.Edge(0, peer, 10, 9, 9);
    job.communicator().edges.push_back({.from = 0, .to = peer, .nic_from = "mlx5_2", .nic_to = "mlx5_0"});
  }
  job.Wait(0, 4, 5);
  job.Wait(4, 0, 5);
  job.Edge(4, 0, 10, 10, 10);
  job.Edge(0, 4, 10, 9, 9);
  job.communicator().edges.push_back({.from = 0, .to = 4, .nic_from = "mlx5_2", .nic_to = "mlx5_1"});
  const std::vector<Verdict> verdicts = job.Judged();
  const Verdict& v = One(verdicts, Kind::kLinkStalled, {});
  EXPECT_EQ(v.links.size(), 4u);
  EXPECT_EQ(v.common, "card mlx5_2 of host node0");
  EXPECT_TRUE(Has(Sentence(v), "nothing moves on 4 links of card mlx5_2 of host node0")) << Sentence(v);
}

}  // namespace
}  // namespace tutti::diag
