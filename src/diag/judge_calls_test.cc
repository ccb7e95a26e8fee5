// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
// As judge_test.cc, of calls that do not match, and of calls that wait for each other.
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

TEST(JudgeCalls, QuotesCallsThatDoNotMatch) {
  Job job(3);
  job.WaitOnRing(0.1);
  job.rank(1).history = {{.first = 11, .last = 11, .call = AllReduceOf(7)},
                         {.first = 1, .last = 10, .call = AllReduceOf(1024)}};
  std::vector<Verdict> verdicts = job.Judged();
  const Verdict& v = One(verdicts, Kind::kMismatch, {1});
  EXPECT_EQ(v.severity, Severity::kWarn);
  EXPECT_TRUE(
      Has(Sentence(v),
          "rank 1 (host a, pid 101) called all_reduce(count 7, float32, sum), operation 11 of communicator dp where "
          "rank 0 (host a, pid 100) called all_reduce(count 1024, float32, sum)"))
      << Sentence(v);
  // The ranks have found it themselves, where the books do not show it.
  Job told(2);
  for (const int r : {0, 1}) {
    told.rank(r).state = RankState::kFailed;
    told.rank(r).failure_code = Code::kInvalidUsage;
    told.rank(r).failure = "the calls of the ranks do not match: rank 1 called send ...";
    told.rank(r).blamed = 1;
  }
  verdicts = told.Judged();
  One(verdicts, Kind::kMismatch, {1});
}

// Ranks 0 and 1 call dp first, ranks 2 and 3 tp.
Job OppositeOrders() {
  Job job(4);
  const int tp = job.Add(4);
  job.Wait(0, 3, 1);
  job.Wait(1, 0, 1);
  job.Wait(2, 1, 1, tp);
  job.Wait(3, 2, 1, tp);
  return job;
}

TEST(JudgeCalls, ProvesADeadlock) {
  Job job = OppositeOrders();
  const std::vector<Verdict> verdicts = job.Judged();
  ASSERT_EQ(verdicts.size(), 1u);
  const Verdict& v = verdicts[0];
  EXPECT_EQ(v.kind, Kind::kDeadlock) << Sentence(v);
  EXPECT_EQ(v.confidence, Confidence::kProven);
  EXPECT_EQ(v.severity, Severity::kWarn);
  ASSERT_EQ(v.culprits.size(), 2u);
  EXPECT_NE(v.culprits[0].communicator, v.culprits[1].communicator);
  EXPECT_TRUE(
      Has(Sentence(v),
          "deadlock: rank 3 (host a, pid 103) is in all_reduce(count 1024, float32, sum), operation 11 of communicator "
          "tp and has not called all_reduce(count 1024, float32, sum), operation 11 of communicator dp; rank 1 (host "
          "a, pid 101) is in all_reduce(count 1024, float32, sum), operation 11 of communicator dp and has not called"))
      << Sentence(v);
}

// Where another thread may yet make the call, or the wait is the library's own, nobody is blocked for good.
TEST(JudgeCalls, CallsItLateWhereSomebodyMayStillCall) {
  Job threads = OppositeOrders();
  for (int r = 0; r < 4; ++r) threads.rank(r, 1).thread += 1000;
  for (const int r : {2, 3}) threads.rank(r, 1).wait.thread += 1000;
  for (const Verdict& v : threads.Judged()) EXPECT_EQ(v.kind, Kind::kLateHost) << Sentence(v);
  Job polls = OppositeOrders();
  for (const int r : {2, 3}) polls.rank(r, 1).wait.inside = false;
  for (const Verdict& v : polls.Judged()) EXPECT_EQ(v.kind, Kind::kLateHost) << Sentence(v);
}

// Late in one communicator because of a wait in another one is not late.
TEST(JudgeCalls, FollowsAProcessIntoAnotherCommunicator) {
  Job job(4);
  const int tp = job.Add(4);
  job.Wait(0, 1, 3);
  job.Wait(1, 2, 3, tp);
  const Verdict v = One(job.Judged(), Kind::kLateHost, {2});
  EXPECT_EQ(v.culprits[0].communicator, 0xc1u);
  EXPECT_EQ(RanksOf(v.direct), (std::vector{1}));
  EXPECT_EQ(RanksOf(v.indirect), (std::vector{0}));
}

TEST(JudgeCalls, ProvesADeadlockOfSends) {
  Job job(2);
  job.WaitInTransfer(0, Collective::kSend, 1, 4, 1);
  job.WaitInTransfer(1, Collective::kSend, 0, 4, 1);
  job.Transferred(0, Collective::kRecv, 1, 3);
  job.Transferred(1, Collective::kRecv, 0, 3);
  const std::vector<Verdict> verdicts = job.Judged();
  ASSERT_EQ(verdicts.size(), 1u);
  EXPECT_EQ(verdicts[0].kind, Kind::kDeadlock) << Sentence(verdicts[0]);
  EXPECT_EQ(verdicts[0].severity, Severity::kWarn);
  EXPECT_GE(verdicts[0].held_ns, kSecond);
  EXPECT_TRUE(Has(Sentence(verdicts[0]), "has not called recv(count 8, float32, from rank")) << Sentence(verdicts[0]);
}

}  // namespace
}  // namespace tutti::diag
