// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
// Each kind of verdict from evidence written by hand: who is named, who is innocent, how loud, and when nothing is said.
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

TEST(Judge, SaysNothingWhereNobodyWaits) {
  Job job(4);
  EXPECT_TRUE(job.Judged().empty());
  job.process(2).state = ProcessState::kStopped;  // whose business it is
  EXPECT_TRUE(job.Judged().empty());
  for (int r = 0; r < 4; ++r) job.Call(r);
  EXPECT_TRUE(job.Judged().empty());
}

TEST(Judge, SaysNothingWhereItGoesOn) {
  Job job(4);
  job.WaitOnRing(5, {2});
  const auto moved = [](Look& before) {
    for (RankLook& rank : before.communicators[0].seen) rank.wait.since_ns -= 50 * kMs;
  };
  EXPECT_TRUE(job.Judged(moved).empty());
  // The others wait for one that does something.
  const auto called = [](Look& before) {
    before.communicators[0].seen[2].called = before.communicators[0].seen[2].finished = 9;
  };
  EXPECT_TRUE(job.Judged(called).empty());
}

TEST(Judge, NamesALateHost) {
  Job job(4);
  job.WaitOnRing(2.1, {2});
  job.process(2).threads = {{.id = 102, .state = ProcessState::kSleeping, .system_call = "clock_nanosleep"}};
  const std::vector<Verdict> verdicts = job.Judged();
  const Verdict& v = One(verdicts, Kind::kLateHost, {2});
  EXPECT_EQ(v.severity, Severity::kInfo);
  EXPECT_EQ(RanksOf(v.direct), (std::vector{3}));
  EXPECT_EQ(RanksOf(v.indirect), (std::vector{0, 1}));
  EXPECT_EQ(
      Sentence(v),
      "rank 2 (host a, pid 102) has not called all_reduce(count 1024, float32, sum), operation 11 of communicator dp; "
      "its "
      "main thread is in clock_nanosleep(); ranks 0, 1 and 3 have waited for 2.1 s, since 02:16:37 UTC. See what that "
      "process does: gdb -p 102, py-spy dump --pid 102");
}

// INFO after 1.5 s; WARN after 10 s, or three times the longest wait so far.
TEST(Judge, GrowsLouder) {
  const auto severity = [](double seconds, double longest_s) {
    Job job(4);
    job.rank(3).wait.longest_ns = static_cast<std::int64_t>(longest_s * 1e9);
    job.WaitOnRing(seconds, {2});
    return job.Judged().at(0).severity;
  };
  EXPECT_EQ(severity(1, 0), Severity::kQuiet);
  EXPECT_EQ(severity(1.6, 0), Severity::kInfo);
  EXPECT_EQ(severity(9.9, 0), Severity::kInfo);
  EXPECT_EQ(severity(10.1, 0), Severity::kWarn);
  EXPECT_EQ(severity(10.1, 3.3), Severity::kWarn);
  EXPECT_EQ(severity(14, 5), Severity::kInfo);
  EXPECT_EQ(severity(15.1, 5), Severity::kWarn);
}

// A rank that computes for 5 s is named at INFO, and no more.
TEST(Judge, DoesNotWarnOfAPause) {
  Job job(4);
  job.WaitOnRing(5, {1});
  job.process(1).state = ProcessState::kRunning;
  job.process(1).threads = {{.id = 101, .state = ProcessState::kRunning}};
  const std::vector<Verdict> verdicts = job.Judged();
  EXPECT_EQ(One(verdicts, Kind::kLateHost, {1}).severity, Severity::kInfo);
  EXPECT_TRUE(Has(Sentence(verdicts[0]), "its main thread runs, outside Tutti's waits")) << Sentence(verdicts[0]);
}

TEST(Judge, WaitsForWhatTheHostExplains) {
  Job job(4);
  job.WaitOnRing(300, {0});
  job.process(0).threads = {{.id = 100, .state = ProcessState::kSleeping, .system_call = "futex"},
                            {.id = 110,
                             .name = "saver",
                             .state = ProcessState::kUninterruptible,
                             .system_call = "write",
                             .object = "/ckpt/17.pt"}};
  std::vector<Verdict> verdicts = job.Judged();
  EXPECT_EQ(One(verdicts, Kind::kLateHost, {0}).severity, Severity::kInfo);
  EXPECT_TRUE(Has(Sentence(verdicts[0]), "thread 110 (saver) is in write() on /ckpt/17.pt: it writes /ckpt/17.pt"))
      << Sentence(verdicts[0]);
  job.process(0).threads[1].object = "/dev/null";
  EXPECT_EQ(job.Judged().at(0).severity, Severity::kWarn);
  job.process(0).children = {"sh", "ptxas"};
  EXPECT_EQ(job.Judged().at(0).severity, Severity::kInfo);
}

// It computes, or sleeps, at the moment of each look.
TEST(Judge, WaitsForWhoWritesBetweenTheLooks) {
  Job job(4);
  job.WaitOnRing(300, {0});
  const auto judged = [&](std::int64_t before, std::int64_t now) {
    job.process(0).written_bytes = now;
    return job.Judged([&](Look& earlier) { earlier.processes[0].written_bytes = before; });
  };
  constexpr std::int64_t kEnough = 200'000;  // 1 MB/s: the looks are 0.2 s apart
  const std::vector<Verdict> verdicts = judged(1000, 1001 + kEnough);
  EXPECT_EQ(One(verdicts, Kind::kLateHost, {0}).severity, Severity::kInfo);
  EXPECT_TRUE(Has(Sentence(verdicts[0]), ": it writes files, more than 1 MB/s;")) << Sentence(verdicts[0]);
  EXPECT_EQ(judged(1000, 1000 + kEnough).at(0).severity, Severity::kWarn);
  EXPECT_EQ(judged(-1, 1'000'000'000).at(0).severity, Severity::kWarn);
  EXPECT_EQ(judged(1'000'000'000, -1).at(0).severity, Severity::kWarn);
}

// The majority is late: the one that waits is innocent all the same.
TEST(Judge, IsNotDeceivedByMajorities) {
  Job job(5);
  job.Wait(3, 2, 4);
  One(job.Judged(), Kind::kLateHost, {2});
  // Two of them are waited for, for the same call.
  job.Wait(0, 4, 4);
  const std::vector<Verdict> verdicts = job.Judged();
  const Verdict& v = One(verdicts, Kind::kLateHost, {4, 2});
  EXPECT_EQ(RanksOf(v.direct), (std::vector{0, 3}));
  EXPECT_TRUE(Has(Sentence(v), "ranks 2 and 4 have not called")) << Sentence(v);
}

// A leaf of a broadcast that is late holds up nobody.
TEST(Judge, BlamesWhoIsWaitedForRatherThanWhoIsBehind) {
  Job job(4);
  job.Call(0);
  job.rank(0).gpu = 0;
  job.Wait(1, 0, 6);
  const std::vector<Verdict> verdicts = job.Judged();
  One(verdicts, Kind::kGpuHung, {0});
}

TEST(Judge, KnowsACallThatNobodyDrives) {
  Job job(2);
  job.Call(0);
  job.Wait(1, 0, 3);
  const std::vector<Verdict> verdicts = job.Judged();
  EXPECT_TRUE(One(verdicts, Kind::kLateHost, {0}).called);
  EXPECT_TRUE(Has(Sentence(verdicts[0]), "and does not go on with it")) << Sentence(verdicts[0]);
}

TEST(Judge, NamesAStarvedProcess) {
  Job job(3);
  job.WaitOnRing(3, {1});
  job.process(1).throttled_ns = job.process(1).group_run_ns = 5 * kSecond;
  const auto lost = [](std::int64_t lost_ms, std::int64_t had_ms, std::int64_t waited_ms = 0) {
    return [=](Look& before) {
      before.processes[1].throttled_ns -= lost_ms * kMs;
      before.processes[1].group_run_ns -= had_ms * kMs;
      if (before.processes[1].queue_ns >= 0) before.processes[1].queue_ns -= waited_ms * kMs;
    };
  };
  std::vector<Verdict> verdicts = job.Judged(lost(180, 20));
  One(verdicts, Kind::kStarved, {1});
  EXPECT_TRUE(Has(Sentence(verdicts[0]),
                  "its control group was kept off the cores for 90 % of the time that it wanted, in the last 0.2 s"))
      << Sentence(verdicts[0]);
  EXPECT_EQ(job.Judged(lost(20, 2)).at(0).kind, Kind::kLateHost);
  // Time of all cores together: of 64 that lack a hundredth each, nobody starves. Of 8 that lack two thirds, everybody.
  EXPECT_EQ(job.Judged(lost(128, 12'672)).at(0).kind, Kind::kLateHost);
  verdicts = job.Judged(lost(1066, 534));
  One(verdicts, Kind::kStarved, {1});
  EXPECT_TRUE(Has(Sentence(verdicts[0]), "kept off the cores for 67 % of")) << Sentence(verdicts[0]);
  // Where it is not known what the group had, its main thread tells.
  job.process(1).group_run_ns = -1;
  job.process(1).queue_ns = kSecond;
  verdicts = job.Judged(lost(1066, 0, 140));
  One(verdicts, Kind::kStarved, {1});
  EXPECT_TRUE(Has(Sentence(verdicts[0]), "kept off the cores for 70 % of")) << Sentence(verdicts[0]);
  EXPECT_EQ(job.Judged(lost(1066, 0, 20)).at(0).kind, Kind::kLateHost);
  job.process(1).queue_ns = kSecond;
  One(job.Judged([](Look& before) { before.processes[1].queue_ns -= 195 * kMs; }), Kind::kStarved, {1});
  One(job.Judged([](Look& before) { before.processes[1].queue_ns -= 100 * kMs; }), Kind::kLateHost, {1});
}

TEST(Judge, NamesAStoppedProcess) {
  Job job(4);
  job.WaitOnRing(1.2);  // it was stopped while it waited
  job.process(3).state = ProcessState::kStopped;
  job.rank(3).wait.looked_ns = Job::kNow - 1100 * kMs;
  std::vector<Verdict> verdicts = job.Judged();
  const Verdict& v = One(verdicts, Kind::kStopped, {3});
  EXPECT_EQ(v.severity, Severity::kWarn);
  EXPECT_EQ(Sentence(v),
            "rank 3 (host a, pid 103) is stopped; ranks 0-2 have waited for 1.2 s, since 02:16:38 UTC. Continue it "
            "with kill -CONT "
            "103, or end it");
  job.process(3).state = ProcessState::kFrozen;
  verdicts = job.Judged();
  EXPECT_TRUE(Has(Sentence(verdicts[0]), "is frozen")) << Sentence(verdicts[0]);
  // Only now: it may have been a moment.
  EXPECT_NE(job.Judged([](Look& before) { before.processes[3].state = ProcessState::kRunning; }).at(0).kind,
            Kind::kStopped);
}

TEST(Judge, LetsADebuggerBe) {
  Job job(2);
  job.Wait(0, 1, 3000);
  job.process(1).state = ProcessState::kTraced;
  EXPECT_EQ(One(job.Judged(), Kind::kTraced, {1}).severity, Severity::kInfo);
}

TEST(Judge, NamesADeadProcess) {
  Job job(4);
  job.WaitOnRing(0.3, {1});
  job.process(1).state = ProcessState::kZombie;
  job.process(1).end = 9;
  std::vector<Verdict> verdicts = job.Judged();
  EXPECT_EQ(One(verdicts, Kind::kDead, {1}).severity, Severity::kWarn);
  EXPECT_TRUE(Has(Sentence(verdicts[0]),
                  "rank 1 (host a, pid 101) is gone: its process was ended by signal 9; ranks 0, 2 and 3"))
      << Sentence(verdicts[0]);
  // The others have been told, each in its own words.
  Job told(4);
  for (const int r : {0, 2, 3}) {
    told.rank(r).state = RankState::kFailed;
    told.rank(r).failure_code = Code::kRemote;
    told.rank(r).failure = r == 0 ? "rank 1 (pid 101) died" : "rank 0 reports that rank 1 is the cause";
    told.rank(r).blamed = r == 0 ? 1 : 0;
  }
  told.process(1).state = ProcessState::kGone;
  verdicts = told.Judged();
  EXPECT_EQ(RanksOf(One(verdicts, Kind::kDead, {1}).direct), (std::vector{0, 2, 3}));
  EXPECT_TRUE(Has(Sentence(verdicts[0]), "ranks 0, 2 and 3 have been told")) << Sentence(verdicts[0]);
}

// Rank 1 waits for pages. It names rank 0, which has consumed all; what was sent to rank 2 has not arrived.
TEST(Judge, PagesAreWithAPeerThatHasNotConsumedThem) {
  Job job(3);
  job.Spread();
  job.Wait(0, 1, 5);
  job.Wait(1, 0, 5, 0, trace::WaitKind::kPages);
  job.Wait(2, 1, 5);
  job.Edge(1, 0, 373, 373, 373);
  job.Edge(1, 2, 500, 400, 380);
  const std::vector<Verdict> verdicts = job.Judged();
  ASSERT_EQ(verdicts.size(), 1u);
  EXPECT_EQ(verdicts[0].kind, Kind::kLinkStalled);
  ASSERT_EQ(verdicts[0].links.size(), 1u);
  EXPECT_EQ(verdicts[0].links[0].from.rank, 1);
  EXPECT_EQ(verdicts[0].links[0].to.rank, 2);
  // What was sent to it has arrived, and it does not say so.
  job.Edge(1, 2, 500, 500, 380);
  const std::vector<Verdict> back = job.Judged();
  ASSERT_EQ(back.size(), 1u);
  EXPECT_EQ(back[0].links.at(0).to.rank, 2);
  EXPECT_NE(Sentence(back[0]).find("the way back"), std::string::npos) << Sentence(back[0]);
}

TEST(Judge, TellsGpusThatAreLateFromHungOnes) {
  Job job(4);
  job.WaitOnRing(5, {2});
  job.Call(2);
  job.rank(2).gpu = 6;
  job.rank(2).started = 10;
  std::vector<Verdict> verdicts = job.Judged();
  One(verdicts, Kind::kGpuLate, {2});
  EXPECT_TRUE(Has(Sentence(verdicts[0]), "rank 2 (host a, pid 102, GPU 6) has called all_reduce"))
      << Sentence(verdicts[0]);
  job.rank(2).started = 11;
  verdicts = job.Judged();
  EXPECT_EQ(One(verdicts, Kind::kGpuHung, {2}).severity, Severity::kWarn);
}

TEST(Judge, TellsALateSenderFromALostMessage) {
  Job late(2);
  late.WaitInTransfer(1, Collective::kRecv, 0, 4, 3);
  late.Transferred(0, Collective::kSend, 1, 3);
  std::vector<Verdict> verdicts = late.Judged();
  One(verdicts, Kind::kLateHost, {0});
  EXPECT_TRUE(Has(Sentence(verdicts[0]), "has not called send(count 8, float32, to rank 1), number 4"))
      << Sentence(verdicts[0]);
  Job lost = late;
  lost.Spread();
  lost.Transferred(0, Collective::kSend, 1, 4);
  verdicts = lost.Judged();
  EXPECT_EQ(One(verdicts, Kind::kLinkStalled, {}).confidence, Confidence::kLikely);
}

TEST(Judge, NamesWhoHasNotCome) {
  Job job(4);
  for (RankLook& rank : job.communicator().seen) {
    rank = {.rank = rank.rank,
            .process = rank.process,
            .state = RankState::kStarting,
            .created_ns = Job::kNow - 11 * kSecond};
  }
  std::erase_if(job.communicator().seen, [](const RankLook& r) { return r.rank == 1 || r.rank == 3; });
  std::vector<Verdict> verdicts = job.Judged();
  const Verdict& v = One(verdicts, Kind::kInitIncomplete, {});
  EXPECT_EQ(v.missing, (std::vector{1, 3}));
  EXPECT_EQ(v.severity, Severity::kWarn);
  EXPECT_TRUE(
      Has(Sentence(v),
          "communicator dp waits for ranks 1 and 3 of 4, which cannot be seen on this host; ranks 0 and 2 have waited "
          "for 11.0 s"))
      << Sentence(v);
  Job mute = job;
  mute.communicator().silent_place = "10.0.0.1:500 of the process that made the id";
  verdicts = mute.Judged();
  EXPECT_TRUE(Has(
      Sentence(One(verdicts, Kind::kInitIncomplete, {})),
      "where the hosts of communicator dp meet, 10.0.0.1:500 of the process that made the id, nobody answers, so it is "
      "not known here whether ranks 1 and 3 of 4 have come; ranks 0 and 2 have waited for 11.0 s"))
      << Sentence(verdicts[0]);
  job.process(2).state = ProcessState::kStopped;
  One(job.Judged(), Kind::kStopped, {2});
}

TEST(Judge, HandsOnWhyACommunicatorWasEnded) {
  Job job(2);
  job.rank(0).state = RankState::kFailed;
  job.rank(0).failure_code = Code::kRemote;
  job.rank(0).failure = "rank 1 aborted: had enough";
  job.rank(0).blamed = 1;
  const std::vector<Verdict> verdicts = job.Judged();
  One(verdicts, Kind::kBroken, {1});
  EXPECT_TRUE(Has(Sentence(verdicts[0]), "communicator dp was ended by an error: rank 1 aborted: had enough"))
      << Sentence(verdicts[0]);
}

// Who ends after an error that names somebody else is no cause of it.
TEST(Judge, LetsThoseBeWhoEndAfterAnError) {
  Job job(3);
  job.rank(0).state = RankState::kFailed;
  job.rank(0).failure_code = Code::kRemote;
  job.rank(0).failure = "rank 1 aborted: had enough";
  job.rank(0).blamed = 1;
  job.process(2).state = ProcessState::kGone;
  One(job.Judged(), Kind::kBroken, {1});
  job.rank(0).blamed = -1;
  One(job.Judged(), Kind::kDead, {2});
}

// A rank is not late where so many transfers came after its last collective that nothing tells how many it has called.
TEST(Judge, DoesNotBlameWhoMayHaveCalled) {
  Job job(3);
  job.WaitOnRing(20, {1});
  RankLook& rank = job.rank(1);
  One(job.Judged(), Kind::kLateHost, {1});
  rank.sequence = rank.finished_sequence = 0;
  rank.history.clear();
  rank.knows_collectives = false;
  for (const Verdict& v : job.Judged()) EXPECT_EQ(v.kind, Kind::kUnknown) << Sentence(v);
}

TEST(Judge, SaysWhatItDoesNotKnow) {
  Job job(3);
  job.Wait(0, 2, 12);
  std::erase_if(job.communicator().seen, [](const RankLook& r) { return r.rank == 2; });
  std::vector<Verdict> verdicts = job.Judged();
  EXPECT_EQ(One(verdicts, Kind::kUnknown, {}).severity, Severity::kWarn);
  EXPECT_TRUE(Has(Sentence(verdicts[0]), "rank 0 waits for rank 2, of which nothing can be seen"))
      << Sentence(verdicts[0]);
  // The waits of one operation on a ring are a circle: who has got least far is told, and not accused.
  Job ring(4);
  ring.WaitOnRing(12);
  for (int r = 0; r < 4; ++r) {
    ring.Edge(r, (r + 1) % 4, 40, 40, 40);
    ring.rank(r).progress = r == 2 ? 3 : 9;
  }
  verdicts = ring.Judged();
  One(verdicts, Kind::kUnknown, {});
  EXPECT_TRUE(Has(Sentence(verdicts[0]), "rank 2 has got least far in it: 3 units")) << Sentence(verdicts[0]);
}

// Evidence that cannot be accuses nobody.
TEST(Judge, CallsLiesImplausible) {
  struct Lie {
    std::function<void(Job&)> tell;
    const char* said;
    std::function<void(Look&)> before = {};
  };
  const Lie lies[] = {
      {[](Job& j) { j.LinkOf(0, 3).received[0] = 700; }, "rank 0 has received 700 units of rank 3, which has sent 500"},
      {[](Job& j) { j.LinkOf(0, 1).credit[0] = 501; }, "rank 0 has sent 500 units to rank 1, which has consumed 501"},
      {[](Job& j) { j.LinkOf(3, 0).credit[0] = 0; }, "and the link holds 128"},
      {[](Job& j) { j.rank(1).finished = 99; }, "rank 1 has finished call 99 and called 11"},
      {[](Job& j) { j.rank(0).wait.number = 50; }, "rank 0 waits in call 50 and called 11"},
      {[](Job& j) { j.rank(0).wait.peer = 0; }, "rank 0 waits for itself"},
      {[](Job& j) { j.rank(0).wait.looked_ns = Job::kNow + kSecond; }, "a moment that is to come"},
      {[](Job& j) { j.rank(2).finished_sequence = 14; }, "and rank 2 has called 10 collectives"},
      {[](Job& j) { (void)j; }, "had called 12 and finished 10",
       [](Look& b) { b.communicators[0].seen[1].called = 12; }},
      {[](Job& j) { (void)j; }, "have gone back", [](Look& b) { b.communicators[0].seen[1].links[0].sent[0] += 7; }},
      {[](Job& j) {
         j.process(3).state = ProcessState::kStopped;
         j.rank(3).wait.looked_ns = Job::kNow;
       },
       "rank 3 looks around, and its process is stopped"},
  };
  for (const Lie& lie : lies) {
    Job job(4);
    job.WaitOnRing(3, {2});
    for (int r = 0; r < 4; ++r) job.Edge(r, (r + 1) % 4, 500, 500, 490);
    lie.tell(job);
    if (std::string(lie.said).find("has called 10") != std::string::npos) {
      job.rank(2).history.insert(job.rank(2).history.begin(), {.first = 11, .last = 14, .call = AllReduceOf(1024)});
      job.rank(1).sequence = 10;
    }
    const std::vector<Verdict> verdicts = job.Judged(lie.before);
    ASSERT_EQ(verdicts.size(), 1u) << lie.said;
    EXPECT_EQ(verdicts[0].kind, Kind::kUnknown) << Sentence(verdicts[0]);
    EXPECT_TRUE(verdicts[0].culprits.empty()) << Sentence(verdicts[0]);
    EXPECT_TRUE(Has(Sentence(verdicts[0]), "implausible: ")) << lie.said << " / " << Sentence(verdicts[0]);
  }
}

TEST(Judge, TellsTwoCausesApart) {
  Job job(6);
  job.WaitOnRing(2.5, {1, 4});
  job.process(4).state = ProcessState::kStopped;
  const std::vector<Verdict> verdicts = job.Judged();
  ASSERT_EQ(verdicts.size(), 2u);
  EXPECT_EQ(verdicts[0].kind, Kind::kStopped);  // the louder first
  EXPECT_EQ(RanksOf(verdicts[0].culprits), (std::vector{4}));
  EXPECT_EQ(verdicts[1].kind, Kind::kLateHost);
  EXPECT_EQ(RanksOf(verdicts[1].culprits), (std::vector{1}));
  EXPECT_EQ(RanksOf(verdicts[1].direct), (std::vector{2}));
  EXPECT_EQ(RanksOf(verdicts[1].indirect), (std::vector{3}));
}

// One that has just been let go is neither stopped any more nor late yet.
TEST(Judge, GivesTimeToWhoWasHeld) {
  Job job(4);
  job.WaitOnRing(30, {2});
  for (const ProcessState held : {ProcessState::kStopped, ProcessState::kFrozen, ProcessState::kTraced}) {
    const auto was_held = [&](Look& before) { before.processes[2].state = held; };
    EXPECT_TRUE(job.Judged(was_held).empty());
  }
  One(job.Judged(), Kind::kLateHost, {2});
}

// Rank 1 says that its thread waits in a communicator of which nothing is seen: it is not called late.
TEST(Judge, DoesNotAccuseWhoWaitsOutOfSight) {
  Job job(3);
  job.WaitOnRing(3, {1});
  job.rank(1).elsewhere = {.communicator = 0xf00, .thread = job.rank(1).thread};
  std::vector<Verdict> verdicts = job.Judged();
  One(verdicts, Kind::kUnknown, {});
  EXPECT_TRUE(Has(Sentence(verdicts[0]), "rank 1 waits in communicator 0xf00, of which nothing can be seen from here"))
      << Sentence(verdicts[0]);
  job.rank(1).elsewhere.thread = 9;  // another one than makes its calls here
  verdicts = job.Judged();
  One(verdicts, Kind::kLateHost, {1});
  job.rank(1).elsewhere = {.communicator = job.communicator().id, .thread = job.rank(1).thread};  // which is seen
  verdicts = job.Judged();
  One(verdicts, Kind::kLateHost, {1});
}

TEST(Judge, NamesOneOfAThousand) {
  Job job(1024);
  job.WaitOnRing(3, {247});
  for (int r = 0; r < 1024; ++r) job.Edge(r, (r + 1) % 1024, 500, 500, 490);
  const std::vector<Verdict> verdicts = job.Judged();
  One(verdicts, Kind::kLateHost, {247});
  EXPECT_TRUE(Has(Sentence(verdicts[0]), "ranks 0-246 and 248-1023 have waited")) << Sentence(verdicts[0]);
}

}  // namespace
}  // namespace tutti::diag
