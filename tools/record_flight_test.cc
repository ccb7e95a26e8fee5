// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
// Flight records of jobs whose black boxes were written by hand.
#include "tools/record_flight.h"

#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

#include "tools/record_pickle.h"
#include "tools/record_test_jobs.h"
#include "tools/record_test_pickle.h"

namespace tutti::tools {
namespace {

using Value = PickleReader::Value;

// The dumps by rank, as who reads the pickles gets them.
std::map<int, Value> Dumps(const FlightRecord& record) {
  std::map<int, Value> dumps;
  for (const int rank : record.ranks()) {
    const Json content = record.DumpOf(rank);
    dumps[rank] = PickleReader::Read(Pickle(content));
    EXPECT_EQ(dumps[rank], Value::parse(content.Dump(1)));
  }
  return dumps;
}
std::map<int, Value> Dumps(HandMadeJob& job) {
  const RecordJob made = job.Make();
  return Dumps(FlightRecord(made));
}

// What an entry is, in short: "nccl:all_reduce 3 completed".
std::vector<std::string> Short(const Value& dump) {
  std::vector<std::string> all;
  for (const Value& e : dump["entries"]) {
    all.push_back(e["profiling_name"].get<std::string>() + " " + std::to_string(e["collective_seq_id"].get<int>()) +
                  " " + e["state"].get<std::string>());
  }
  return all;
}
using Lines = std::vector<std::string>;

TEST(FlightRecord, HasWhatItsReaderAsksFor) {
  HandMadeJob job(2);
  for (int r = 0; r < 2; ++r) {
    job.box(r).Time(job.box(r).Call(Collective::kAllReduce, 1 << 20, 1), 100, 104);
    job.box(r).Call(Collective::kAllGather, 8, 2);
  }
  const std::map<int, Value> dumps = Dumps(job);
  ASSERT_EQ(dumps.size(), 2u);
  const Value& dump = dumps.at(1);
  EXPECT_EQ(dump["version"], "2.10");
  EXPECT_EQ(dump["pg_config"], Value::parse(R"({"00000000000000c0":
      {"name": "00000000000000c0", "desc": "dp", "ranks": "[0, 1]"}})"));
  EXPECT_EQ(dump["pg_status"], Value::parse(R"({"0": {"last_enqueued_collective": 2, "last_started_collective": 2,
      "last_completed_collective": 2}})"));
  ASSERT_EQ(dump["entries"].size(), 2u);
  const Value& first = dump["entries"][0];
  const std::int64_t start = HandMadeJob::Start() + HandMadeJob::kOffset;
  EXPECT_EQ(first["record_id"], 0);
  EXPECT_EQ(first["pg_id"], 0);
  EXPECT_EQ(first["process_group"], Value::parse(R"(["00000000000000c0", "dp"])"));
  EXPECT_EQ(first["collective_seq_id"], 1);
  EXPECT_EQ(first["p2p_seq_id"], 0);
  EXPECT_EQ(first["profiling_name"], "nccl:all_reduce");
  EXPECT_EQ(first["time_created_ns"], start + 100 * HandMadeJob::kMs);
  EXPECT_EQ(first["time_created_at_most"], false);
  EXPECT_EQ(first["time_discovered_completed_ns"], start + 104 * HandMadeJob::kMs);
  EXPECT_EQ(first["duration_ms"], 4.0);
  EXPECT_EQ(first["input_sizes"], Value::parse("[[1048576]]"));
  EXPECT_EQ(first["output_dtypes"], Value::parse(R"(["Float"])"));
  EXPECT_EQ(first["state"], "completed");
  EXPECT_EQ(first["retired"], true);
  EXPECT_EQ(first["is_p2p"], false);
  EXPECT_EQ(first["frames"], Value::array());
  // Of the second no clock was read.
  const Value& second = dump["entries"][1];
  EXPECT_EQ(second["record_id"], 1);
  EXPECT_EQ(second["profiling_name"], "nccl:_all_gather_base");
  EXPECT_EQ(second["input_sizes"], Value::parse("[[8]]"));
  EXPECT_EQ(second["output_sizes"], Value::parse("[[16]]"));
  EXPECT_EQ(second["time_created_at_most"], true);
  EXPECT_GE(second["time_created_ns"], start + 104 * HandMadeJob::kMs);
  EXPECT_EQ(second["time_discovered_started_ns"], nullptr);
  EXPECT_EQ(second["duration_ms"], nullptr);
}

TEST(FlightRecord, SaysHowFarCallsAre) {
  HandMadeJob job(3);
  for (int r = 0; r < 3; ++r) job.box(r).Call(Collective::kAllReduce, 4, 1);
  job.box(0).Call(Collective::kBroadcast, 4, 2, 1, false);
  job.box(0).Call(Collective::kBarrier, 0, 3, 0, false);
  job.box(1).Call(Collective::kBroadcast, 4, 2, 1);
  const std::map<int, Value> dumps = Dumps(job);
  EXPECT_EQ(Short(dumps.at(0)),
            (Lines{"nccl:all_reduce 1 completed", "nccl:broadcast 2 started", "nccl:barrier 3 scheduled"}));
  EXPECT_EQ(Short(dumps.at(1)), (Lines{"nccl:all_reduce 1 completed", "nccl:broadcast 2 completed"}));
  EXPECT_EQ(Short(dumps.at(2)), (Lines{"nccl:all_reduce 1 completed"}));
  EXPECT_EQ(dumps.at(0)["pg_status"]["0"]["last_enqueued_collective"], 3);
  EXPECT_EQ(dumps.at(0)["pg_status"]["0"]["last_started_collective"], 2);
  EXPECT_EQ(dumps.at(0)["pg_status"]["0"]["last_completed_collective"], 1);
}

// A GPU's call counts as ended when it is in its stream; more is not known of it.
TEST(FlightRecord, SaysOfAGpusCallThatItIsScheduled) {
  HandMadeJob job(2);
  for (int r = 0; r < 2; ++r) {
    const std::uint64_t number = job.box(r).recorder.Add(
        trace::PackCall({.kind = Collective::kAllReduce, .type = DataType::kBfloat16}), 9, 1, trace::How{}.Pack());
    job.box(r).recorder.Finish(number);
  }
  const Value dump = Dumps(job).at(0);
  EXPECT_EQ(Short(dump), Lines{"nccl:all_reduce 1 scheduled"});
  EXPECT_EQ(dump["entries"][0]["retired"], false);
  EXPECT_EQ(dump["entries"][0]["input_dtypes"][0], "BFloat16");
}

// A group for each direction, in which both ranks number alike. Ranks in names are those in the group.
TEST(FlightRecord, HasAGroupForSendsFromARankToAnother) {
  HandMadeJob job(3);
  job.box(2).Call(Collective::kSend, 5, 1, 1);
  job.box(2).Call(Collective::kSend, 6, 2, 1);
  job.box(1).Call(Collective::kRecv, 5, 1, 2);
  job.box(1).Call(Collective::kSend, 7, 1, 2, false);
  job.box(0).Call(Collective::kSend, 3, 1, 0);
  const std::map<int, Value> dumps = Dumps(job);
  EXPECT_EQ(Short(dumps.at(2)), (Lines{"nccl:send 1->0 1 completed", "nccl:send 1->0 2 completed"}));
  EXPECT_EQ(Short(dumps.at(1)), (Lines{"nccl:recv 0<-1 1 completed", "nccl:send 0->1 1 started"}));
  EXPECT_EQ(Short(dumps.at(0)), Lines{"nccl:send 0->0 1 completed"});
  const Value& receive = dumps.at(1)["entries"][0];
  EXPECT_EQ(receive["process_group"], Value::parse(R"(["00000000000000c0 2to1", "dp rank 2 to rank 1"])"));
  EXPECT_EQ(receive["process_group"], dumps.at(2)["entries"][0]["process_group"]);
  EXPECT_EQ(receive["pg_id"], dumps.at(2)["entries"][0]["pg_id"]);
  EXPECT_EQ(receive["is_p2p"], true);
  EXPECT_EQ(receive["p2p_seq_id"], 1);
  EXPECT_EQ(dumps.at(1)["pg_config"]["00000000000000c0 2to1"]["ranks"], "[1, 2]");
  EXPECT_EQ(dumps.at(0)["pg_config"]["00000000000000c0 0to0 sends"]["ranks"], "[0]");
}

// Sizes as the operation's comment has them; a buffer that a rank does not use has no elements.
TEST(FlightRecord, KnowsTheBuffersOfEachCollective) {
  HandMadeJob job(2);
  std::uint64_t sequence = 0;
  for (const Collective kind : {Collective::kReduceScatter, Collective::kReduce, Collective::kGather,
                                Collective::kScatter, Collective::kAllToAll, Collective::kBarrier}) {
    ++sequence;
    for (int r = 0; r < 2; ++r) job.box(r).Call(kind, kind == Collective::kBarrier ? 0 : 5, sequence);
  }
  const std::map<int, Value> dumps = Dumps(job);
  const auto sizes = [&](int rank, const char* which) {
    std::string all;
    for (const Value& e : dumps.at(rank)["entries"]) all += e[which].dump() + " ";
    return all;
  };
  EXPECT_EQ(sizes(0, "input_sizes"), "[[10]] [[5]] [[5]] [[10]] [[10]] [] ");
  EXPECT_EQ(sizes(0, "output_sizes"), "[[5]] [[5]] [[10]] [[5]] [[10]] [] ");
  EXPECT_EQ(sizes(1, "input_sizes"), "[[10]] [[5]] [[5]] [[0]] [[10]] [] ");
  EXPECT_EQ(sizes(1, "output_sizes"), "[[5]] [[5]] [[0]] [[5]] [[10]] [] ");
}

// What one rank has forgotten is left out on the others too, and all begin to count where they can be compared.
TEST(FlightRecord, BeginsWhereAllRanksRemember) {
  HandMadeJob job(2);
  const std::uint64_t calls = trace::kRecords + 10;
  for (std::uint64_t n = 1; n <= calls; ++n) {
    job.box(0).Call(Collective::kAllReduce, n, n);
    if (n <= calls - 4) job.box(1).Call(Collective::kAllReduce, n, n);
  }
  const std::map<int, Value> dumps = Dumps(job);
  ASSERT_EQ(dumps.at(0)["entries"].size(), trace::kRecords);
  EXPECT_EQ(dumps.at(0)["entries"][0]["collective_seq_id"], 11);
  EXPECT_EQ(dumps.at(1)["entries"][0]["collective_seq_id"], 11);
  EXPECT_EQ(dumps.at(0)["entries"][0]["record_id"], dumps.at(1)["entries"][0]["record_id"]);
  EXPECT_EQ(dumps.at(1)["entries"].size(), trace::kRecords - 4);
}

// Ranks at full speed are copied one after the other: that the later have called more says nothing.
TEST(FlightRecord, EndsWhereAllRanksAreIfTheyAllGoOn) {
  HandMadeJob job(2);
  for (std::uint64_t n = 1; n <= 5; ++n) job.box(0).Call(Collective::kAllReduce, n, n);
  for (std::uint64_t n = 1; n <= 9; ++n) job.box(1).Call(Collective::kAllReduce, n, n, 0, n < 9);
  job.box(0).moved = job.box(1).moved = true;
  std::map<int, Value> dumps = Dumps(job);
  EXPECT_EQ(Short(dumps.at(0)), Short(dumps.at(1)));
  EXPECT_EQ(dumps.at(1)["entries"].size(), 5u);
  // One that stands still may be the reason.
  job.box(0).moved = false;
  dumps = Dumps(job);
  EXPECT_EQ(dumps.at(1)["entries"].size(), 9u);
}

// Copies that have no call in common are told from a rank that stands still, and from ranks that have called nothing.
TEST(FlightRecord, SaysThatCopiesWereTakenTooFarApart) {
  HandMadeJob job(2);
  job.box(0).Call(Collective::kAllReduce, 1, 1);
  for (std::uint64_t n = 1; n <= trace::kRecords + 2; ++n) job.box(1).Call(Collective::kAllReduce, n, n);
  job.box(1).moved = true;
  RecordJob made = job.Make();
  EXPECT_FALSE(FlightRecord(made).apart());
  job.box(0).moved = true;
  made = job.Make();
  const FlightRecord apart(made);
  EXPECT_TRUE(apart.apart());
  ASSERT_EQ(apart.notes().size(), 1u);
  EXPECT_NE(apart.notes()[0].find("no collective of communicator dp"), std::string::npos) << apart.notes()[0];
  for (const auto& [rank, dump] : Dumps(apart)) EXPECT_TRUE(dump["entries"].empty()) << rank;
}

// Ranks of all groups are those of the largest communicator.
TEST(FlightRecord, NumbersRanksAsTheLargestCommunicatorDoes) {
  HandMadeJob job(4);
  const int tp = job.Add("tp", {3, 1});
  for (int r = 0; r < 4; ++r) job.box(r).Call(Collective::kAllReduce, 4, 1);
  for (int r = 0; r < 2; ++r) job.box(r, tp).Call(Collective::kReduceScatter, 4, 1);
  const std::map<int, Value> dumps = Dumps(job);
  ASSERT_EQ(dumps.size(), 4u);
  EXPECT_EQ(dumps.at(0)["entries"].size(), 1u);
  EXPECT_EQ(dumps.at(3)["entries"].size(), 2u);
  EXPECT_EQ(dumps.at(3)["pg_config"]["00000000000000c1"]["ranks"], "[3, 1]");
  EXPECT_EQ(dumps.at(3)["pg_config"], dumps.at(1)["pg_config"]);
  EXPECT_FALSE(dumps.at(0)["pg_config"].contains("00000000000000c1"));
}

// Where a process has two ranks of the largest one, its thread tells which is meant.
TEST(FlightRecord, TellsRanksOfAProcessByTheirThreads) {
  HandMadeJob job(2);
  job.box(0).Call(Collective::kAllReduce, 4, 1);
  const int tp = job.Add("tp", {0, 1});
  job.box(0, tp).Call(Collective::kAllReduce, 4, 1);
  job.Look();
  for (diag::CommunicatorLook& c : job.now.communicators) {
    for (diag::RankLook& rank : c.seen) rank.process = 0;  // its thread is its own still
  }
  job.now.processes.resize(1);
  job.jobs = FindJobs(job.before, job.now, {});
  const auto make = [&] { return MakeRecordJob(job.before, job.now, job.jobs.front(), job.copies); };
  const RecordJob by_thread = make();
  const FlightRecord told(by_thread);
  EXPECT_TRUE(told.notes().empty());
  EXPECT_EQ(Dumps(told).at(0)["entries"].size(), 2u);
  for (diag::CommunicatorLook& c : job.now.communicators) {
    for (diag::RankLook& rank : c.seen) rank.thread = 7;
  }
  const RecordJob of_one_thread = make();
  const FlightRecord untold(of_one_thread);
  EXPECT_EQ(untold.notes(),
            Lines{"communicator tp is not in the flight record: which rank of the job its rank 0 is cannot be told"});
  EXPECT_EQ(Dumps(untold).at(0)["entries"].size(), 1u);
}

TEST(FlightRecord, LeavesOutWhatWouldMislead) {
  HandMadeJob job(3);
  const int tp = job.Add("tp", {0, 1}), pp = job.Add("pp", {1, 2});
  for (int r = 0; r < 3; ++r) job.box(r).Call(Collective::kAllReduce, 4, 1);
  job.box(2).hidden = true;  // of the largest one the numbers are known all the same
  job.box(0, tp).hidden = true;
  job.box(0, pp).recorder.Switch(false);
  const RecordJob made = job.Make();
  const FlightRecord record(made);
  EXPECT_EQ(record.notes(),
            (Lines{"communicator tp is not in the flight record: of its 2 ranks 1 are seen here",
                   "communicator pp is not in the flight record: its rank 0 does not write its calls down "
                   "(TUTTI_BLACK_BOX=0)"}));
  const std::map<int, Value> dumps = Dumps(record);
  ASSERT_EQ(dumps.size(), 2u);
  EXPECT_EQ(dumps.at(0)["pg_config"]["00000000000000c0"]["ranks"], "[0, 1, 2]");
}

}  // namespace
}  // namespace tutti::tools
