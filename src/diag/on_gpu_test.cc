// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
//
// Verdicts on ranks whose calls lie in streams of a GPU.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "diag/sentence.h"
#include "diag/test_looks.h"

namespace tutti::diag {
namespace {

// A job whose ranks have a GPU each.
class GpuJob : public Job {
 public:
  explicit GpuJob(int ranks) : Job(ranks) { PutOnGpus(0); }
  int AddOnGpus(int ranks) {
    const int c = Add(ranks);
    PutOnGpus(c);
    return c;
  }
  void PutOnGpus(int c) {
    for (RankLook& r : communicator(c).seen) {
      r.gpu = r.rank;
      r.gpu_bus_id = "0000:0" + std::to_string(r.rank) + ":00.0";
      r.finished_is_done = false;
      r.started = r.started_sequence = 10;
    }
  }
  // The call is in its stream, and counts as ended so.
  void Enqueue(int r, int c = 0) {
    Call(r, c);
    RankLook& rank = this->rank(r, c);
    rank.finished = rank.called;
    rank.finished_sequence = rank.sequence;
    rank.running = {};
  }
  void Begin(int r, int c = 0) {
    Enqueue(r, c);
    rank(r, c).started = rank(r, c).started_sequence = 11;
  }
  void WaitOnGpu(int r, int peer, double seconds, int c = 0) {
    Wait(r, peer, seconds, c);
    rank(r, c).started = rank(r, c).started_sequence = 11;
    rank(r, c).wait.on_gpu = true;
    rank(r, c).wait.inside = false;
  }
  void WaitOnGpusFor(int awaited, double seconds, int c = 0) {
    for (int r = 0; r < communicator(c).ranks; ++r) {
      if (r != awaited) WaitOnGpu(r, awaited, seconds, c);
    }
  }
  Verdict TheOnly(const std::vector<Verdict>& verdicts) {
    EXPECT_EQ(verdicts.size(), 1u);
    return verdicts.empty() ? Verdict() : verdicts[0];
  }
};

std::vector<int> RanksOf(const Verdict& v) {
  std::vector<int> ranks;
  for (const Place& p : v.culprits) ranks.push_back(p.rank);
  return ranks;
}

TEST(OnGpu, NamesARankThatHasNotCalled) {
  GpuJob job(4);
  job.WaitOnGpusFor(2, 11);
  const Verdict v = job.TheOnly(job.Judged());
  EXPECT_EQ(v.kind, Kind::kLateHost);
  EXPECT_EQ(RanksOf(v), std::vector{2});
  EXPECT_EQ(v.severity, Severity::kWarn);
  EXPECT_NE(Sentence(v).find("has not called all_reduce(count 1024, float32, sum), operation 11"), std::string::npos)
      << Sentence(v);
}

// Links are written down by threads that wait on them: those of a rank whose kernels wait are as old as its last such wait.
TEST(OnGpu, DoesNotTakeOldCountersForLies) {
  GpuJob job(4);
  job.WaitOnGpusFor(2, 11);
  job.LinkOf(1, 0).received[0] = 4;
  job.LinkOf(0, 1).sent[0] = 0;
  EXPECT_EQ(job.TheOnly(job.Judged()).kind, Kind::kLateHost);
}

TEST(OnGpu, TellsGpusThatHaveNotBegunFromHungOnes) {
  GpuJob job(4);
  job.WaitOnGpusFor(2, 5);
  job.Enqueue(2);
  Verdict v = job.TheOnly(job.Judged());
  EXPECT_EQ(v.kind, Kind::kGpuLate);
  EXPECT_EQ(RanksOf(v), std::vector{2});
  EXPECT_NE(
      Sentence(v).find("rank 2 (host a, pid 102, GPU 2) has called all_reduce(count 1024, float32, sum), operation 11"),
      std::string::npos)
      << Sentence(v);
  job.Begin(2);
  v = job.TheOnly(job.Judged());
  EXPECT_EQ(v.kind, Kind::kGpuHung);
  EXPECT_EQ(RanksOf(v), std::vector{2});
  EXPECT_EQ(v.severity, Severity::kWarn);
  EXPECT_NE(Sentence(v).find("the GPU of rank 2 (host a, pid 102, GPU 2) makes no progress in all_reduce(count 1024"),
            std::string::npos)
      << Sentence(v);
}

TEST(OnGpu, SaysThatItIsNotKnownWhatAGpuDoes) {
  GpuJob job(4);
  job.WaitOnGpusFor(2, 12);
  job.Enqueue(2);
  job.rank(2).started.reset();
  const Verdict v = job.TheOnly(job.Judged());
  EXPECT_EQ(v.kind, Kind::kUnknown);
  EXPECT_NE(Sentence(v).find("rank 2, which has called, and the driver does not say what its GPU does"),
            std::string::npos)
      << Sentence(v);
}

// Ranks that wait for several others say one of them, which may be each other.
TEST(OnGpu, FindsWhoHasNotBegunBehindRanksThatWaitForEachOther) {
  GpuJob job(3);
  job.WaitOnGpu(0, 1, 5);
  job.WaitOnGpu(1, 0, 5);
  job.Enqueue(2);
  const Verdict v = job.TheOnly(job.Judged());
  EXPECT_EQ(v.kind, Kind::kGpuLate);
  EXPECT_EQ(RanksOf(v), std::vector{2});
  EXPECT_EQ(v.direct.size() + v.indirect.size(), 2u);
  job.Begin(2);
  EXPECT_EQ(job.TheOnly(job.Judged()).kind, Kind::kUnknown);
  job.rank(2).started.reset();
  EXPECT_EQ(job.TheOnly(job.Judged()).kind, Kind::kUnknown);
}

TEST(OnGpu, FindsADeadlockBehindRanksThatWaitForEachOther) {
  GpuJob job(3);
  const int other = job.AddOnGpus(3);
  job.WaitOnGpu(0, 1, 5);
  job.WaitOnGpu(1, 0, 5);
  job.Enqueue(2);
  job.WaitOnGpu(2, 1, 5, other);
  for (const int r : {0, 1}) job.Enqueue(r, other);
  const Verdict v = job.TheOnly(job.Judged());
  EXPECT_EQ(v.kind, Kind::kDeadlock);
  EXPECT_NE(Sentence(v).find("the GPU of rank 2 (host a, pid 102, GPU 2) is in all_reduce(count 1024, float32, sum), "
                             "operation 11 of communicator tp and has not begun all_reduce(count 1024, float32, sum), "
                             "operation 11 of communicator dp"),
            std::string::npos)
      << Sentence(v);
}

// A GPU waits in two communicators and has not begun a call in a third: what comes before in that one's stream is what holds it up.
TEST(OnGpu, GoesOnInTheSameStream) {
  for (const bool same_as_first : {true, false}) {
    GpuJob job(5);
    const int first = 0, second = job.AddOnGpus(5), third = job.AddOnGpus(3);
    job.WaitOnGpusFor(2, 5, third);
    job.Enqueue(2, third);
    job.WaitOnGpu(2, 3, 5, first);
    job.WaitOnGpu(2, 4, 5, second);
    job.rank(2, first).stream = 0x7f10;
    job.rank(2, second).stream = 0x7f20;
    job.rank(2, third).stream = same_as_first ? 0x7f10 : 0x7f20;
    const std::vector<Verdict> verdicts = job.Judged();
    EXPECT_EQ(verdicts.size(), 2u);
    for (const Verdict& v : verdicts) {
      EXPECT_EQ(v.kind, Kind::kLateHost) << Sentence(v);
      const bool is_it = RanksOf(v) == std::vector{same_as_first ? 3 : 4};
      EXPECT_EQ(v.indirect.size(), is_it ? 2u : 0u) << Sentence(v);
    }
  }
}

// Half of the ranks call two communicators in one order, half in the other.
TEST(OnGpu, FindsADeadlockOfTwoHalves) {
  GpuJob job(4);
  const int other = job.AddOnGpus(4);
  for (const int r : {0, 1}) {
    job.WaitOnGpu(r, 1 - r, 5);
    job.Enqueue(r, other);
  }
  for (const int r : {2, 3}) {
    job.WaitOnGpu(r, 5 - r, 5, other);
    job.Enqueue(r);
  }
  const std::vector<Verdict> verdicts = job.Judged();
  ASSERT_FALSE(verdicts.empty());
  for (const Verdict& v : verdicts) {
    EXPECT_EQ(v.kind, Kind::kDeadlock) << Sentence(v);
    ASSERT_EQ(v.culprits.size(), 2u);
    EXPECT_NE(v.culprits[0].communicator, v.culprits[1].communicator) << Sentence(v);
  }
}

// A half of the ranks waits for the others, and these for nobody but each other: what holds them up is not known.
TEST(OnGpu, DoesNotMakeADeadlockOfACircle) {
  GpuJob job(4);
  const int other = job.AddOnGpus(2);
  for (int i = 0; i < 2; ++i) {
    RankLook& rank = job.rank(i, other);
    rank.process = 2 + i;
    rank.gpu_bus_id = job.rank(2 + i).gpu_bus_id;
    job.WaitOnGpu(i, 1 - i, 5, other);
    job.WaitOnGpu(i, 1 - i, 5);
    job.Enqueue(2 + i);
  }
  for (const Verdict& v : job.Judged()) EXPECT_EQ(v.kind, Kind::kUnknown) << Sentence(v);
}

// A rank that waits for another one that waits is not to blame.
TEST(OnGpu, GoesOnToWhomTheAwaitedWaitFor) {
  GpuJob job(4);
  job.WaitOnRing(5, {2});
  for (const int r : {0, 1, 3}) job.WaitOnGpu(r, (r + 3) % 4, 5);
  job.Begin(2);
  const Verdict v = job.TheOnly(job.Judged());
  EXPECT_EQ(v.kind, Kind::kGpuHung);
  EXPECT_EQ(RanksOf(v), std::vector{2});
  EXPECT_EQ(v.direct.size() + v.indirect.size(), 3u);
}

// The program goes on to fill the stream; or the GPU goes on.
TEST(OnGpu, AGrowingStreamIsNoProgressAndABegunCallIs) {
  GpuJob job(3);
  job.WaitOnGpusFor(2, 5);
  job.Begin(2);
  const auto grow = [](Look& before) {
    for (RankLook& rank : before.communicators[0].seen) --rank.called;
  };
  for (int r = 0; r < 3; ++r) {
    job.rank(r).called += 7;
    job.rank(r).sequence += 7;
  }
  job.rank(2).finished = job.rank(2).called;
  EXPECT_EQ(job.TheOnly(job.Judged(grow)).kind, Kind::kGpuHung);
  EXPECT_TRUE(job.Judged([](Look& before) { before.communicators[0].seen[2].started = 10; }).empty())
      << "it has begun one";
  EXPECT_TRUE(job.Judged([](Look& before) {
                   for (RankLook& rank : before.communicators[0].seen) rank.wait.since_ns -= kSecond;
                 })
                  .empty())
      << "their waits are new ones";
}

// What counted as ended once it was in the stream does so no more when its kernel is seen to wait.
TEST(OnGpu, AWaitTakesBackThatItsCallHasEnded) {
  GpuJob job(3);
  job.WaitOnGpusFor(2, 5);
  job.Begin(2);
  const auto before = [](Look& look) {
    for (RankLook& rank : look.communicators[0].seen) rank.finished = 11;
  };
  EXPECT_EQ(job.TheOnly(job.Judged(before)).kind, Kind::kGpuHung);
}

TEST(OnGpu, FindsCommunicatorsInDifferentOrders) {
  GpuJob job(2);
  const int other = job.AddOnGpus(2);
  job.WaitOnGpu(0, 1, 5);
  job.WaitOnGpu(1, 0, 5, other);
  for (const bool called : {false, true}) {
    if (called) {
      job.Enqueue(1);
      job.Enqueue(0, other);
    }
    const Verdict v = job.TheOnly(job.Judged());
    EXPECT_EQ(v.kind, Kind::kDeadlock);
    EXPECT_EQ(v.severity, Severity::kWarn);
    EXPECT_NE(
        Sentence(v).find(
            "the GPU of rank 0 (host a, pid 100, GPU 0) is in all_reduce(count 1024, float32, sum), operation 11 of "
            "communicator dp and has not begun all_reduce(count 1024, float32, sum), operation 11 of communicator tp"),
        std::string::npos)
        << Sentence(v);
  }
}

TEST(OnGpu, AnOperationOfAGraphHasNoNumber) {
  GpuJob job(3);
  for (const int r : {0, 1}) {
    job.rank(r).wait = {.kind = trace::WaitKind::kData,
                        .peer = 2,
                        .since_ns = Job::kNow - 12 * kSecond,
                        .looked_ns = Job::kNow,
                        .on_gpu = true};
  }
  const Verdict v = job.TheOnly(job.Judged());
  EXPECT_EQ(v.kind, Kind::kLateHost);
  EXPECT_EQ(RanksOf(v), std::vector{2});
  EXPECT_NE(Sentence(v).find(
                "rank 2 (host a, pid 102, GPU 2) has not come to an operation of a CUDA graph that others wait in"),
            std::string::npos)
      << Sentence(v);
}

TEST(OnGpu, SendsAndReceives) {
  GpuJob job(3);
  job.WaitInTransfer(0, Collective::kRecv, 2, 4, 11);
  job.rank(0).wait.on_gpu = true;
  job.rank(0).started = 11;
  job.Transferred(2, Collective::kSend, 0, 3);
  EXPECT_EQ(job.TheOnly(job.Judged()).kind, Kind::kLateHost);
  job.Transferred(2, Collective::kSend, 0, 4);
  job.rank(2).transfers[0].started_sends = 3;
  Verdict v = job.TheOnly(job.Judged());
  EXPECT_EQ(v.kind, Kind::kGpuLate);
  EXPECT_NE(Sentence(v).find("has called send(count 8, float32, to rank 0), number 4"), std::string::npos)
      << Sentence(v);
  job.rank(2).transfers[0].started_sends = 4;
  v = job.TheOnly(job.Judged());
  EXPECT_EQ(v.kind, Kind::kGpuHung);
  EXPECT_EQ(RanksOf(v), std::vector{2});
}

}  // namespace
}  // namespace tutti::diag
