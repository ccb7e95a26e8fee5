// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
//
// Four ranks on two hosts with GPUs: ranks 0 and 1 on one, 2 and 3 on the other. An operation of theirs goes in parts: of each host, and of
// each rail, which are ranks 0 and 2, and 1 and 3.
#include "diag/whole.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "diag/sentence.h"
#include "diag/test_looks.h"
#include "diag/verdict.h"

namespace tutti::diag {
namespace {

constexpr int kOwnCalls = 3;  // that a part has made when its whole has made ten

struct Hosts : Job {
  Hosts() : Job(4) {
    communicator().name = "";
    for (const auto& members : {std::vector{0, 1}, {2, 3}, {0, 2}, {1, 3}}) AddPart(members);
    for (RankLook& r : communicator().seen) r.finished_is_done = false;
  }
  void AddPart(const std::vector<int>& members) {
    const int part = Add(2);
    CommunicatorLook& c = communicator(part);
    c.name = "GPU memory of ";
    c.whole = communicator().id;
    for (int i = 0; i < 2; ++i) {
      RankLook& r = c.seen[static_cast<std::size_t>(i)];
      r.process = r.rank_of_whole = members[static_cast<std::size_t>(i)];
      r.thread = 500 + r.process;
      r.called = r.finished = r.sequence = r.finished_sequence = kOwnCalls;
      r.history = {{.first = 1, .last = kOwnCalls, .call = AllReduceOf(500)}};
    }
  }
  // The program has called its next all_reduce, which is in its stream.
  void CallNext(int r, int c = 0) {
    RankLook& rank = this->rank(r, c);
    ++rank.called, ++rank.finished, ++rank.sequence, ++rank.finished_sequence;
    rank.history.front().last = rank.sequence;
  }
  // In a part, a rank of which is meant by its number there.
  void WaitInPart(int part, int r, int peer) { Wait(r, peer, 12, part); }
};
constexpr int kFirstHost = 1, kSecondHost = 2, kFirstRail = 3, kSecondRail = 4;

// Rank 3 holds up rank 2 of its host, and its rail; rank 0 waits for rank 2.
Hosts HeldUpByRank3() {
  Hosts job;
  for (const int r : {0, 1, 2}) job.CallNext(r);
  job.WaitInPart(kSecondHost, 0, 1);
  job.WaitInPart(kSecondRail, 0, 1);
  job.WaitInPart(kFirstRail, 0, 1);
  return job;
}

const Verdict& Only(const std::vector<Verdict>& verdicts) {
  EXPECT_EQ(verdicts.size(), 1u);
  for (const Verdict& v : verdicts) EXPECT_EQ(v.culprits.size(), 1u) << Sentence(v);
  return verdicts.front();
}

TEST(Whole, IsToldOfARankThatHasNotCalled) {
  const Hosts job = HeldUpByRank3();
  const std::vector<Verdict> verdicts = job.Judged();
  const Verdict& v = Only(verdicts);
  EXPECT_EQ(v.kind, Kind::kLateHost);
  const std::string text = Sentence(v);
  EXPECT_TRUE(
      text.starts_with("rank 3 (host a, pid 103) has not called all_reduce(count 1024, float32, sum), operation 11 of "
                       "communicator 0xc0"))
      << text;
  EXPECT_NE(text.find("ranks 0-2 have waited for 12.0 s"), std::string::npos) << text;
  EXPECT_EQ(text.find("GPU memory"), std::string::npos) << text;
}

// It has called as the others have, and its stream has not come to it.
TEST(Whole, IsToldOfAStreamThatIsLate) {
  Hosts job = HeldUpByRank3();
  job.CallNext(3);
  const std::vector<Verdict> verdicts = job.Judged();
  const Verdict& v = Only(verdicts);
  EXPECT_EQ(v.kind, Kind::kGpuLate);
  const std::string text = Sentence(v);
  EXPECT_TRUE(
      text.starts_with("rank 3 (host a, pid 103) has called all_reduce(count 1024, float32, sum), operation 11 of "
                       "communicator 0xc0, and its GPU still runs earlier work"))
      << text;
}

// Between hosts sends go through a part of all ranks, as bytes.
TEST(Whole, IsToldOfASendThatIsNotCalled) {
  Hosts job;
  job.CallNext(0);  // a collective that is in its stream says nothing of sends
  job.CallNext(3);
  job.AddPart({0, 3});
  const int part = kSecondRail + 1;
  job.WaitInTransfer(0, Collective::kRecv, 1, 1, 12, part);
  job.rank(0, part).finished_sequence = kOwnCalls;
  job.Transferred(0, Collective::kRecv, 3, 1);
  const std::vector<Verdict> verdicts = job.Judged();
  const Verdict& v = Only(verdicts);
  EXPECT_EQ(v.kind, Kind::kLateHost);
  EXPECT_TRUE(
      Sentence(v).starts_with("rank 3 (host a, pid 103) has not called send(count 8, float32, to rank 0), number 1 of"))
      << Sentence(v);
  job.Transferred(3, Collective::kSend, 0, 1);
  EXPECT_EQ(Only(job.Judged()).kind, Kind::kGpuLate);
}

// Who is seen in the part alone keeps the part's name.
TEST(Whole, IsNotMadeUpWhereItIsNotKnown) {
  Hosts job = HeldUpByRank3();
  for (RankLook& r : job.communicator(kSecondRail).seen) r.rank_of_whole = -1;
  for (RankLook& r : job.communicator(kSecondHost).seen) r.wait = {}, r.called = r.finished;
  for (RankLook& r : job.communicator(kFirstRail).seen) r.wait = {}, r.called = r.finished;
  const std::vector<Verdict> verdicts = job.Judged();
  const std::string text = Sentence(Only(verdicts));
  EXPECT_NE(text.find("communicator GPU memory of "), std::string::npos) << text;
}

// What a rank has written down of its wait counts, also where it has called more since.
TEST(Whole, IsToldOfTheCallThatWaits) {
  Hosts job = HeldUpByRank3();
  for (const int r : {0, 1, 2}) job.CallNext(r);
  for (const int part : {kSecondHost, kFirstRail, kSecondRail}) {
    job.rank(0, part).for_whole = {.number = 11, .sequence = 11, .call = AllReduceOf(7)};
  }
  const std::string owes =
      "rank 3 (host a, pid 103) has not called all_reduce(count 7, float32, sum), operation 11 of ";
  EXPECT_TRUE(Sentence(Only(job.Judged())).starts_with(owes)) << Sentence(Only(job.Judged()));
  job.CallNext(3);
  EXPECT_EQ(Only(job.Judged()).kind, Kind::kGpuLate);
  EXPECT_NE(Sentence(Only(job.Judged())).find("operation 11 of"), std::string::npos);
}

TEST(Whole, IsToldOfTheSendThatWaits) {
  Hosts job;
  job.AddPart({0, 3});
  const int part = kSecondRail + 1;
  job.WaitInPart(part, 0, 1);
  job.rank(0, part).for_whole = {.number = 11, .sequence = 4, .call = CallTo(Collective::kRecv, 3, 100)};
  job.Transferred(3, Collective::kSend, 0, 3);
  EXPECT_TRUE(
      Sentence(Only(job.Judged()))
          .starts_with("rank 3 (host a, pid 103) has not called send(count 100, float32, to rank 0), number 4 of"))
      << Sentence(Only(job.Judged()));
  job.Transferred(3, Collective::kSend, 0, 4);
  EXPECT_EQ(Only(job.Judged()).kind, Kind::kGpuLate);
}

// Replays are not counted, so what has been called says nothing.
TEST(Whole, IsToldOfAGraph) {
  Hosts job = HeldUpByRank3();
  job.CallNext(3);
  for (const int part : {kSecondHost, kFirstRail, kSecondRail}) job.rank(0, part).for_whole = {.in_graph = true};
  const std::vector<Verdict> verdicts = job.Judged();
  EXPECT_TRUE(
      Sentence(Only(verdicts))
          .starts_with("rank 3 (host a, pid 103) has not come to an operation of a CUDA graph that others wait in"))
      << Sentence(Only(verdicts));
}

// Two parts accuse the same rank, and know different things of it.
TEST(Whole, IsToldOnceOfEachRank) {
  Hosts job = HeldUpByRank3();
  for (const int r : {0, 1, 2, 3}) job.rank(r).gpu = r % 2;
  job.rank(1, kSecondHost).gpu = 1;
  const std::vector<Verdict> verdicts = job.Judged();
  EXPECT_TRUE(Sentence(Only(verdicts)).starts_with("rank 3 (host a, pid 103, GPU 1) has not called"))
      << Sentence(Only(verdicts));
}

// A kernel waits for a rank of its host, which waits for another host in the same operation.
TEST(Whole, IsFollowedFromPartToPart) {
  Hosts job;
  for (RankLook& r : job.communicator(kFirstHost).seen) r.finished_is_done = false;
  for (CommunicatorLook& c : job.now.communicators) {
    for (RankLook& r : c.seen) r.gpu_bus_id = "0000:3b:00.0";
  }
  for (const int r : {0, 1, 2}) job.CallNext(r);
  job.WaitInPart(kFirstHost, 0, 1);  // rank 0 for rank 1
  job.rank(0, kFirstHost).wait.on_gpu = true;
  job.CallNext(1, kFirstHost);
  job.WaitInPart(kSecondRail, 0, 1);  // rank 1 for rank 3
  const std::vector<Verdict> verdicts = job.Judged();
  EXPECT_TRUE(Sentence(Only(verdicts)).starts_with("rank 3 (host a, pid 103) has not called"))
      << Sentence(Only(verdicts));
  EXPECT_NE(Sentence(Only(verdicts)).find("ranks 0 and 1 have waited"), std::string::npos) << Sentence(Only(verdicts));
}

// Two communicators of one rank on each of two hosts, which have put their calls into their streams in different orders.
TEST(Whole, IsToldOfADeadlock) {
  Job job(2);
  (void)job.Add(2);
  for (const int whole : {0, 1}) {
    const int part = job.Add(2);
    job.communicator(part).whole = job.communicator(whole).id;
    for (RankLook& r : job.communicator(part).seen) r.rank_of_whole = r.rank;
  }
  for (CommunicatorLook& c : job.now.communicators) {
    for (RankLook& r : c.seen) r.gpu_bus_id = r.rank == 0 ? "0000:3b:00.0" : "0000:5d:00.0";
  }
  for (const int r : {0, 1}) {
    const int part = 2 + r;
    job.Wait(r, 1 - r, 12, part);
    job.rank(r, part).for_whole = {.number = 11, .sequence = 11, .call = AllReduceOf(7)};
  }
  const std::vector<Verdict> verdicts = job.Judged();
  ASSERT_EQ(verdicts.size(), 1u);
  EXPECT_EQ(verdicts.front().kind, Kind::kDeadlock);
  const std::string text = Sentence(verdicts.front());
  EXPECT_NE(
      text.find("the GPU of rank 0 (host a, pid 100) is in all_reduce(count 7, float32, sum), operation 11 of "
                "communicator dp and has not begun all_reduce(count 7, float32, sum), operation 11 of communicator tp"),
      std::string::npos)
      << text;
}

// Parts of one communicator whose ranks wait for each other in a circle have no order of communicators to blame.
TEST(Whole, IsNotADeadlockOfItself) {
  Hosts job;
  for (CommunicatorLook& c : job.now.communicators) {
    for (RankLook& r : c.seen) r.gpu_bus_id = "0000:3b:00.0";
  }
  for (const int r : {0, 1, 2, 3}) job.CallNext(r);
  job.WaitInPart(kFirstRail, 0, 1);   // rank 0 for rank 2
  job.WaitInPart(kSecondHost, 0, 1);  // rank 2 for rank 3
  job.WaitInPart(kSecondRail, 1, 0);  // rank 3 for rank 1
  job.WaitInPart(kFirstHost, 1, 0);   // rank 1 for rank 0
  for (const Verdict& v : job.Judged()) EXPECT_NE(v.kind, Kind::kDeadlock) << Sentence(v);
}

TEST(Whole, NumbersAllThatNamesARank) {
  Hosts job;
  CommunicatorLook& part = job.communicator(kSecondRail);
  RankLook& first = part.seen[0];
  first.wait.peer = 1;
  first.links = {{.peer = 1}};
  first.transfers = {{.peer = 1}};
  first.running.call = CallTo(Collective::kSend, 1);
  part.edges = {{.from = 0, .to = 1}};
  Look before = job.Before(), now = job.now;
  NumberAsWholes(before, now);
  for (const Look* look : {&before, &now}) {
    const CommunicatorLook& c = look->communicators[kSecondRail];
    const RankLook& r = *c.Find(1);
    EXPECT_EQ(r.wait.peer, 3);
    EXPECT_EQ(r.links.front().peer, 3);
    EXPECT_EQ(r.transfers.front().peer, 3);
    EXPECT_EQ(r.running.call, CallTo(Collective::kSend, 3));
    EXPECT_EQ(c.edges.front().from, 1);
    EXPECT_EQ(c.edges.front().to, 3);
    EXPECT_EQ(&WholeOf(*look, c), &look->communicators[0]);
  }
}

}  // namespace
}  // namespace tutti::diag
