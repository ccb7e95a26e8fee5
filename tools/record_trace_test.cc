// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
// Traces of jobs whose black boxes were written by hand.
#include "tools/record_trace.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "tools/record_rows.h"
#include "tools/record_spans.h"
#include "tools/record_test_jobs.h"

namespace tutti::tools {
namespace {

using Value = nlohmann::ordered_json;
constexpr std::int64_t kMs = HandMadeJob::kMs;

Value Trace(HandMadeJob& job, std::optional<std::int64_t> last_ns = std::nullopt,
            const std::vector<diag::Verdict>& verdicts = {}) {
  std::vector<RecordJob> jobs;
  jobs.push_back(job.Make(verdicts));
  return Value::parse(MakeTrace(jobs, last_ns));
}

std::vector<Value> Of(const Value& trace, const std::string& phase) {
  std::vector<Value> found;
  for (const Value& event : trace["traceEvents"]) {
    if (event["ph"] == phase) found.push_back(event);
  }
  return found;
}

// ms since the job's start.
double Ms(double us) { return us / 1000 - static_cast<double>(HandMadeJob::Start()) * 1e-6; }

std::string NameOfRow(const Value& trace, const Value& event) {
  for (const Value& head : Of(trace, "M")) {
    if (head["name"] == "thread_name" && head["pid"] == event["pid"] && head["tid"] == event["tid"])
      return head["args"]["name"];
  }
  return "";
}

TEST(Trace, HasSpansOfCallsWithTheirClocks) {
  HandMadeJob job(2);
  job.box(0).Time(job.box(0).Call(Collective::kAllReduce, 1 << 20, 1), 100, 104);
  job.box(1).Time(job.box(1).Call(Collective::kAllReduce, 1 << 20, 1), 102, 105);
  const Value trace = Trace(job);
  EXPECT_EQ(trace["displayTimeUnit"], "ns");
  EXPECT_EQ(trace["baseTimeNanoseconds"], HandMadeJob::kOffset);
  const std::vector<Value> spans = Of(trace, "X");
  ASSERT_EQ(spans.size(), 2u);
  EXPECT_EQ(spans[0]["name"], "all_reduce");
  EXPECT_EQ(spans[0]["pid"], 0);
  EXPECT_EQ(spans[1]["pid"], 1);
  EXPECT_NEAR(Ms(spans[1]["ts"]), 102, 1e-3);
  EXPECT_NEAR(spans[1]["dur"].get<double>(), 3000, 1e-3);
  EXPECT_EQ(spans[0]["args"]["call"], "all_reduce(count 1048576, float32, sum)");
  EXPECT_EQ(spans[0]["args"]["state"], "ended");
  EXPECT_FALSE(spans[0]["args"].contains("enqueued_at_most"));
  EXPECT_EQ(NameOfRow(trace, spans[0]), "dp");
  bool named = false;
  for (const Value& head : Of(trace, "M"))
    named |= head["name"] == "process_name" && head["args"]["name"] == "rank 1 (host a, pid 101, train)";
  EXPECT_TRUE(named);
}

// From the rank that came first to the one that came last.
TEST(Trace, LeadsArrowsThroughACollective) {
  HandMadeJob job(3);
  const std::int64_t begins[] = {102, 100, 101};
  for (int r = 0; r < 3; ++r) job.box(r).Time(job.box(r).Call(Collective::kAllReduce, 1 << 20, 1), begins[r], 110);
  job.box(0).Time(job.box(0).Call(Collective::kAllReduce, 1 << 20, 2, 0, false), 120, 0);  // alone in it
  const Value trace = Trace(job);
  ASSERT_EQ(Of(trace, "s").size(), 1u);
  ASSERT_EQ(Of(trace, "t").size(), 1u);
  ASSERT_EQ(Of(trace, "f").size(), 1u);
  const Value begin = Of(trace, "s")[0], middle = Of(trace, "t")[0], end = Of(trace, "f")[0];
  EXPECT_EQ(begin["pid"], 1);
  EXPECT_EQ(middle["pid"], 2);
  EXPECT_EQ(end["pid"], 0);
  EXPECT_EQ(begin["id"], end["id"]);
  EXPECT_EQ(begin["id"], middle["id"]);
  EXPECT_EQ(end["bp"], "e");
  EXPECT_NEAR(Ms(end["ts"]), 102, 1e-3);
}

TEST(Trace, LeadsAnArrowFromASendToItsReceive) {
  HandMadeJob job(2);
  job.box(0).Time(job.box(0).Call(Collective::kSend, 1 << 20, 1, 1), 103, 106);
  job.box(1).Time(job.box(1).Call(Collective::kRecv, 1 << 20, 1, 0), 101, 107);
  job.box(1).Time(job.box(1).Call(Collective::kSend, 1 << 20, 1, 0), 108, 109);  // the other way, without its receive
  const Value trace = Trace(job);
  ASSERT_EQ(Of(trace, "s").size(), 1u);
  ASSERT_EQ(Of(trace, "f").size(), 1u);
  EXPECT_EQ(Of(trace, "s")[0]["pid"], 0);
  EXPECT_EQ(Of(trace, "f")[0]["pid"], 1);
  EXPECT_NEAR(Ms(Of(trace, "f")[0]["ts"]), 103, 1e-2);
  EXPECT_GT(Of(trace, "f")[0]["ts"], Of(trace, "s")[0]["ts"]);  // not before the send
}

// Alike and without a clock: one span, which says so, between the clocks before and after.
TEST(Trace, InventsNoTimes) {
  HandMadeJob job(2);
  HandMadeJob::Box& box = job.box(0);
  box.Time(box.Call(Collective::kAllReduce, 1 << 20, 1), 100, 104);
  for (std::uint64_t n = 2; n <= 7; ++n) box.Call(Collective::kAllReduce, 8, n);
  for (std::uint64_t n = 8; n <= 9; ++n) box.Call(Collective::kBroadcast, 8, n);
  box.Time(box.Call(Collective::kAllReduce, 1 << 20, 10), 120, 124);
  const std::vector<Value> spans = Of(Trace(job), "X");
  ASSERT_EQ(spans.size(), 4u);
  EXPECT_EQ(spans[1]["name"], "6 x all_reduce, no clock");
  EXPECT_EQ(spans[1]["cat"], "call without a clock");
  EXPECT_EQ(spans[1]["args"]["calls"], 6);
  EXPECT_NEAR(Ms(spans[1]["args"]["enqueued_at_least_us"]), 100, 1e-3);
  EXPECT_NEAR(Ms(spans[1]["args"]["enqueued_at_most_us"]), 120, 1e-3);
  EXPECT_NEAR(Ms(spans[1]["ts"]), 104, 1e-3);
  EXPECT_NEAR(spans[1]["dur"].get<double>(), 12'000, 1e-3);
  EXPECT_EQ(spans[2]["name"], "2 x broadcast, no clock");
  EXPECT_NEAR(Ms(spans[2]["ts"]), 116, 1e-3);
  EXPECT_NEAR(spans[2]["dur"].get<double>(), 4'000, 1e-3);
  EXPECT_TRUE(spans[2]["args"].contains("end"));
}

TEST(Trace, ShowsACallThatRunsAndWhatItWaitsFor) {
  HandMadeJob job(2);
  HandMadeJob::Box& box = job.box(0);
  const std::uint64_t number = box.Call(Collective::kAllReduce, 8, 1, 0, false);
  box.recorder.Wait(number, 1, trace::WaitKind::kData, 0, HandMadeJob::Start() + 200 * kMs,
                    HandMadeJob::Start() + 900 * kMs);
  const Value trace = Trace(job);
  const std::vector<Value> spans = Of(trace, "X");
  ASSERT_EQ(spans.size(), 2u);
  EXPECT_EQ(spans[0]["args"]["state"], "running");
  EXPECT_EQ(spans[0]["args"]["enqueued_at_most"], true);
  EXPECT_NEAR(Ms(spans[0]["ts"]), 200, 1e-3);
  EXPECT_GT(spans[0]["dur"].get<double>(), 9e6);  // until now
  EXPECT_EQ(spans[1]["name"], "waits for data: rank 1 of dp");
  EXPECT_EQ(spans[1]["cat"], "wait");
  EXPECT_EQ(NameOfRow(trace, spans[1]), "waits for data");
  EXPECT_NE(spans[0]["tid"], spans[1]["tid"]);
  EXPECT_NEAR(Ms(spans[1]["ts"]), 200, 1e-3);
}

TEST(Trace, HasVerdictsAsInstants) {
  HandMadeJob job(2);
  job.box(0).Call(Collective::kAllReduce, 8, 1);
  diag::Verdict verdict{.kind = diag::Kind::kStopped, .severity = diag::Severity::kWarn, .held_ns = 1'500 * kMs};
  verdict.culprits.push_back({.communicator = 0xc0, .communicator_name = "dp", .rank = 1, .host = "a", .pid = 101});
  diag::Verdict quiet = verdict;
  quiet.severity = diag::Severity::kQuiet;
  const std::vector<Value> instants = Of(Trace(job, std::nullopt, {verdict, quiet}), "i");
  ASSERT_EQ(instants.size(), 1u);
  EXPECT_EQ(instants[0]["name"], "WARN: stopped");
  EXPECT_EQ(instants[0]["pid"], 1);
  EXPECT_EQ(instants[0]["s"], "p");
  EXPECT_EQ(instants[0]["args"]["waited_s"], 1.5);
  EXPECT_NE(instants[0]["args"]["sentence"].get<std::string>().find("rank 1 (host a, pid 101) is stopped"),
            std::string::npos);
}

TEST(Trace, GoesBackOnlySoFar) {
  HandMadeJob job(2);
  HandMadeJob::Box& box = job.box(0);
  box.Time(box.Call(Collective::kAllReduce, 1 << 20, 1), 100, 104);
  box.Time(box.Call(Collective::kAllReduce, 1 << 20, 2), 9'000, 9'004);
  EXPECT_EQ(Of(Trace(job), "X").size(), 2u);
  EXPECT_EQ(Of(Trace(job, sys::NowNs() - HandMadeJob::Start() - 8'000 * kMs), "X").size(), 1u);
}

TEST(Trace, KeepsJobsApart) {
  HandMadeJob one(2), other(2, "tp");
  one.box(0).Call(Collective::kAllReduce, 8, 1);
  other.box(1).Call(Collective::kAllReduce, 8, 1);
  std::vector<RecordJob> jobs;
  jobs.push_back(one.Make());
  jobs.push_back(other.Make());
  const std::vector<Value> spans = Of(Value::parse(MakeTrace(jobs, std::nullopt)), "X");
  ASSERT_EQ(spans.size(), 2u);
  EXPECT_EQ(spans[0]["pid"], 0);
  EXPECT_EQ(spans[1]["pid"], 1'000'001);
}

// Where older calls are forgotten, those before the first clock could lie anywhere.
TEST(Spans, BeginAtAClockWhereCallsAreForgotten) {
  HandMadeJob job(2);
  HandMadeJob::Box& box = job.box(0);
  for (std::uint64_t n = 1; n <= trace::kRecords + 100; ++n) {
    const std::uint64_t number = box.Call(Collective::kAllReduce, n, n);
    if (number == 1000) box.Time(number, 500, 501);
  }
  const RecordJob made = job.Make();
  const RecordMember& member = made.communicators[0].members[0];
  const std::vector<CallSpan> spans = MakeSpans(*member.box, member.taken_ns);
  ASSERT_FALSE(spans.empty());
  EXPECT_EQ(spans[0].first.record.number, 1000u);
  EXPECT_EQ(spans[0].begin, CallSpan::Begin::kExact);
  EXPECT_EQ(spans.size(), trace::kRecords + 100 - 999);
  for (std::size_t i = 1; i < spans.size(); ++i) {
    EXPECT_GE(spans[i].from_ns, spans[i - 1].from_ns);
    EXPECT_GT(spans[i].to_ns, spans[i].from_ns);
    EXPECT_GE(spans[i].from_ns, spans[i].first.at_least_ns);
  }
}

// A call that waits for its turn in a queue is on a row of its own until it has begun.
TEST(Trace, ShowsCallsThatAreQueued) {
  HandMadeJob job(2);
  HandMadeJob::Box& box = job.box(0);
  const std::int64_t start = HandMadeJob::Start();
  box.recorder.TimeEnqueued(box.Call(Collective::kAllReduce, 1 << 20, 1), start + 100 * kMs, start + 100 * kMs);
  box.recorder.TimeFinished(1, start + 104 * kMs);
  box.recorder.TimeEnqueued(box.Call(Collective::kAllReduce, 1 << 20, 2), start + 101 * kMs, 0);
  box.recorder.TimeStarted(2, start + 104 * kMs);
  box.recorder.TimeFinished(2, start + 108 * kMs);
  box.recorder.TimeEnqueued(box.Call(Collective::kAllReduce, 1 << 20, 3, 0, false), start + 103 * kMs, 0);
  box.recorder.TimeStarted(3, start + 108 * kMs);
  box.recorder.TimeEnqueued(box.Call(Collective::kAllReduce, 1 << 20, 4, 0, false), start + 105 * kMs, 0);
  box.Call(Collective::kBroadcast, 8, 5, 0, false);
  const Value trace = Trace(job);
  const std::vector<Value> spans = Of(trace, "X");
  ASSERT_EQ(spans.size(), 4u);
  EXPECT_NEAR(Ms(spans[1]["ts"]), 104, 1e-3);  // when it began
  EXPECT_NEAR(Ms(spans[1]["args"]["enqueued_us"]), 101, 1e-3);
  for (const std::size_t i : {0u, 1u, 2u}) EXPECT_EQ(NameOfRow(trace, spans[i]), "dp");
  EXPECT_EQ(NameOfRow(trace, spans[3]), "dp, queued");
  EXPECT_EQ(spans[3]["name"], "2 calls, all_reduce first");
  EXPECT_EQ(spans[3]["args"]["state"], "queued");
  EXPECT_NEAR(Ms(spans[3]["ts"]), 105, 1e-3);
}

// A group begins as one, and only its last call has that moment; its calls are beside each other.
TEST(Trace, ShowsAGroupAsOne) {
  HandMadeJob job(2);
  HandMadeJob::Box& box = job.box(0);
  const std::int64_t start = HandMadeJob::Start();
  box.recorder.TimeEnqueued(box.Call(Collective::kSend, 1 << 20, 1, 1), start + 100 * kMs, 0);
  box.recorder.TimeEnqueued(box.Call(Collective::kRecv, 1 << 20, 1, 1), start + 100 * kMs, 0);
  box.recorder.TimeStarted(2, start + 103 * kMs);
  for (const std::uint64_t n : {1u, 2u}) box.recorder.TimeFinished(n, start + 105 * kMs);
  const Value trace = Trace(job);
  const std::vector<Value> spans = Of(trace, "X");
  ASSERT_EQ(spans.size(), 2u);
  EXPECT_EQ(spans[0]["ts"], spans[1]["ts"]);
  EXPECT_NEAR(Ms(spans[0]["ts"]), 103, 1e-3);
  EXPECT_EQ(NameOfRow(trace, spans[0]), "dp");
  EXPECT_EQ(NameOfRow(trace, spans[1]), "dp (2)");
}

// It ended before the next one began.
TEST(Spans, EndAtTheNextClockWhereTheirEndIsNotKnown) {
  HandMadeJob job(2);
  HandMadeJob::Box& box = job.box(0);
  box.Time(box.Call(Collective::kAllReduce, 1 << 20, 1), 100, 0);
  box.Time(box.Call(Collective::kAllReduce, 1 << 20, 2), 120, 124);
  const RecordJob made = job.Make();
  const RecordMember& member = made.communicators[0].members[0];
  const std::vector<CallSpan> spans = MakeSpans(*member.box, member.taken_ns);
  ASSERT_EQ(spans.size(), 2u);
  EXPECT_FALSE(spans[0].ends);
  EXPECT_EQ(spans[0].to_ns, HandMadeJob::Start() + 120 * kMs);
}

TEST(Rows, HoldSpansBesideEachOther) {
  Rows rows("dp");
  EXPECT_EQ(rows.Place(0, 10), 0);
  EXPECT_EQ(rows.Place(0, 10), 1);
  EXPECT_EQ(rows.Place(10, 11), 0);
  EXPECT_EQ(rows.count(), 2);
  EXPECT_EQ(rows.NameOf(0), "dp");
  EXPECT_EQ(rows.NameOf(1), "dp (2)");
}

}  // namespace
}  // namespace tutti::tools
