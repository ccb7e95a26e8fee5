// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
// The table of edges, row by row, and that a table with two rows mixed up judges otherwise.
#include "diag/edges.h"

#include <gtest/gtest.h>

#include "diag/sentence.h"
#include "diag/test_looks.h"

namespace tutti::diag {
namespace {

TEST(Edges, EachRowSaysItsOwn) {
  using enum SenderIs;
  const auto find = [](SenderIs sender, ReceiverIs receiver) { return Find(kEdgeTable, sender, receiver); };
  EXPECT_EQ(find(kFull, kShort), EdgeFinding::kLink);
  EXPECT_EQ(find(kFull, kBusy), EdgeFinding::kReceiver);
  EXPECT_EQ(find(kIdle, kStarved), EdgeFinding::kSender);
  EXPECT_EQ(find(kWaitsElsewhere, kStarved), EdgeFinding::kUpstream);
  EXPECT_EQ(find(kOutstanding, kShort), EdgeFinding::kNetwork);
  EXPECT_EQ(find(kOutstanding, kStarved), EdgeFinding::kNothing);
  EXPECT_EQ(find(kWaitsElsewhere, kShort), EdgeFinding::kLink);
  EXPECT_EQ(find(kIdle, kShort), EdgeFinding::kLink);
  EXPECT_EQ(find(kDone, kShort), EdgeFinding::kLink);
  EXPECT_EQ(find(kDone, kStarved), EdgeFinding::kLink);
  EXPECT_EQ(find(kFull, kStarved), EdgeFinding::kWayBack);
  EXPECT_EQ(find(kFull, kReceiverIsDone), EdgeFinding::kWayBack);
  EXPECT_EQ(find(kFull, ReceiverIs::kWaitsElsewhere), EdgeFinding::kDownstream);
  EXPECT_EQ(find(kIdle, kBusy), EdgeFinding::kNothing);
}

TEST(Edges, EndsAreWhatTheirCountersSay) {
  Job job(3);
  job.Wait(0, 1, 3, 0, trace::WaitKind::kRoom);
  job.Wait(1, 0, 3);
  job.Edge(0, 1, 500, 400, 390);
  Edge edge{.sender = &job.rank(0),
            .receiver = &job.rank(1),
            .sender_is = EndIs::kWaiting,
            .receiver_is = EndIs::kWaiting,
            .window = job.communicator().window};
  EXPECT_EQ(SenderOf(edge), SenderIs::kFull);
  EXPECT_EQ(ReceiverOf(edge), kShort);
  EXPECT_EQ(InFlight(edge), 100u);
  job.Edge(0, 1, 400, 400, 390);  // it says that it waits for room, and has some
  EXPECT_EQ(SenderOf(edge), SenderIs::kWaitsElsewhere);
  EXPECT_EQ(ReceiverOf(edge), kStarved);
  job.Wait(1, 2, 3);
  EXPECT_EQ(ReceiverOf(edge), ReceiverIs::kWaitsElsewhere);
  edge.sender_is = EndIs::kInside;
  edge.receiver_is = EndIs::kInside;
  EXPECT_EQ(SenderOf(edge), SenderIs::kIdle);
  EXPECT_EQ(ReceiverOf(edge), kBusy);
  // Only what does not move for longer than a word takes that it has come, is this edge's own and waited for, and waits for nobody but
  // the network.
  job.Wait(1, 0, 3);
  edge.receiver_is = EndIs::kWaiting;
  const FlowLook stuck{.peer = 1, .card = "eth0", .posted = 3, .completed = 2, .stuck_ns = kSecond};
  job.Edge(0, 1, 500, 499, 490);
  job.rank(0).flows = {stuck};
  EXPECT_EQ(SenderOf(edge), SenderIs::kOutstanding);
  job.Edge(0, 1, 500, 500, 490);
  EXPECT_EQ(SenderOf(edge), SenderIs::kIdle);
  job.Edge(0, 1, 500, 499, 490);
  for (FlowLook& flow : job.rank(0).flows = {stuck, stuck, stuck, stuck}) flow.posted = 2;
  EXPECT_EQ(SenderOf(edge), SenderIs::kIdle);
  job.rank(0).flows = {stuck};
  job.rank(0).flows[0].stuck_ns = 300 * kMs;
  EXPECT_EQ(SenderOf(edge), SenderIs::kIdle);
  job.rank(0).flows[0] = stuck;
  job.rank(0).flows[0].peer_is_full = true;
  EXPECT_EQ(SenderOf(edge), SenderIs::kIdle);
  job.rank(0).flows = {{.peer = 2, .posted = 3, .stuck_ns = kSecond}, {.peer = 1, .posted = 9, .completed = 9}, stuck};
  EXPECT_EQ(SenderOf(edge), SenderIs::kOutstanding);
  job.Wait(1, 2, 3);
  EXPECT_EQ(SenderOf(edge), SenderIs::kIdle);
  edge.sender_is = EndIs::kDone;
  EXPECT_EQ(SenderOf(edge), SenderIs::kDone);
}

// Both send more than the link holds, and over one way neither data come nor the word that data have come.
TEST(Edges, TwoThatWaitForRoomToEachOther) {
  Job job(3);
  job.Spread();
  job.Wait(0, 1, 5, 0, trace::WaitKind::kRoom);
  job.Wait(1, 0, 5, 0, trace::WaitKind::kRoom);
  job.Wait(2, 1, 5);
  job.Edge(0, 1, 456, 328, 328);
  job.Edge(1, 0, 392, 392, 264);
  std::vector<Verdict> verdicts = job.Judged();
  ASSERT_EQ(verdicts.size(), 1u);
  EXPECT_EQ(verdicts[0].kind, Kind::kLinkStalled);
  ASSERT_EQ(verdicts[0].links.size(), 1u);
  EXPECT_EQ(verdicts[0].links[0].from.rank, 0);
  EXPECT_EQ(verdicts[0].links[0].to.rank, 1);
  // What the cards say of both ways does not hide it.
  Job told = job;
  told.rank(0).flows = {{.peer = 1, .posted = 70, .completed = 60, .stuck_ns = 3 * kSecond}};
  told.rank(1).flows = {{.peer = 0, .posted = 70, .completed = 60, .stuck_ns = 3 * kSecond}};
  verdicts = told.Judged();
  ASSERT_EQ(verdicts.size(), 1u);
  EXPECT_EQ(verdicts[0].kind, Kind::kLinkStalled);
  EXPECT_EQ(verdicts[0].links.at(0).from.rank, 0);
  // Nothing proves which way it is, or they share memory.
  job.Edge(1, 0, 392, 300, 264);
  verdicts = job.Judged();
  ASSERT_EQ(verdicts.size(), 1u);
  EXPECT_EQ(verdicts[0].kind, Kind::kUnknown);
  job.Edge(1, 0, 392, 392, 264);
  for (int r = 0; r < 3; ++r) job.rank(r).island = 0;
  verdicts = job.Judged();
  ASSERT_EQ(verdicts.size(), 1u);
  EXPECT_EQ(verdicts[0].kind, Kind::kUnknown);
}

// Any two rows whose findings are exchanged are noticed by one of these jobs: the same evidence then leads elsewhere.
TEST(Edges, ExchangedRowsAreNoticed) {
  std::vector<Job> jobs;
  const auto job = [&](auto&& change) {
    Job j(4);
    j.Spread();
    for (int r = 0; r < 4; ++r) {
      j.Edge(r, (r + 1) % 4, 500, 500, 490);
      j.rank(r).gpu = r;
    }
    change(j);
    jobs.push_back(j);
  };
  using trace::WaitKind;
  static const FlowLook kStuck{.peer = 1, .card = "eth0", .posted = 2, .completed = 1, .stuck_ns = kSecond};
  job([](Job& j) { j.Wait(0, 1, 5, 0, WaitKind::kRoom), j.Wait(1, 0, 5), j.Edge(0, 1, 500, 400, 380); });
  job([](Job& j) { j.Wait(0, 1, 5, 0, WaitKind::kRoom), j.Call(1), j.Edge(0, 1, 500, 400, 380); });
  job([](Job& j) { j.Wait(1, 0, 5), j.Call(0); });
  job([](Job& j) { j.Wait(2, 1, 5), j.Wait(1, 0, 5), j.Call(0); });
  job([](Job& j) { j.Wait(1, 0, 5), j.Wait(0, 3, 5), j.Edge(0, 1, 500, 499, 490); });
  job([](Job& j) { j.Wait(1, 0, 5), j.Call(0), j.Edge(0, 1, 500, 499, 490); });
  job([](Job& j) { j.Wait(1, 0, 5), j.rank(0).finished_sequence = 11, j.Edge(0, 1, 500, 499, 490); });
  job([](Job& j) { j.Wait(0, 1, 5, 0, WaitKind::kRoom), j.Wait(1, 0, 5), j.Edge(0, 1, 500, 500, 380); });
  job([](Job& j) { j.Wait(0, 1, 5, 0, WaitKind::kRoom), j.Wait(1, 2, 5), j.Call(2), j.Edge(0, 1, 500, 400, 380); });
  job([](Job& j) { j.Wait(1, 0, 5), j.Call(0), j.Edge(0, 1, 500, 499, 490), j.rank(0).flows.push_back(kStuck); });
  const auto told = [](const Job& j, const Rules& rules) {
    std::string all;
    for (const Verdict& v : j.Judged({}, rules)) {
      all += std::string(Name(v.kind)) + What(v) + "\n";
    }
    return all;
  };
  for (int one = 0; one < kEdgeRows; ++one) {
    for (int other = 0; other < one; ++other) {
      Rules rules;
      if (rules.edges[one].finding == rules.edges[other].finding) continue;
      std::swap(rules.edges[one].finding, rules.edges[other].finding);
      int differ = 0;
      for (const Job& j : jobs) differ += told(j, rules) != told(j, {});
      EXPECT_GT(differ, 0) << "rows " << one << " and " << other;
    }
  }
}

}  // namespace
}  // namespace tutti::diag
