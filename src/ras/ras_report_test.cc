// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
// What RAS clients read of a look: JSON that a strict parser takes, with the keys and values that Ray and SGLang judge by, and text.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>

#include "ras/events.h"
#include "ras/json.h"
#include "ras/report.h"
#include "ras/text.h"

namespace tutti::ras {
namespace {

using nlohmann::json;

constexpr std::uint64_t kId = 0xabcdef;

// A job of ranks in processes of their own, each of which has called ten all_reduces.
Observation JobOf(int ranks) {
  Observation job;
  job.look.taken_unix_ns = 1'790'000'000'000'000'000;
  diag::CommunicatorLook c{.id = kId, .name = "dp", .ranks = ranks};
  for (int rank = 0; rank < ranks; ++rank) {
    job.look.processes.push_back({.host = "node7", .pid = 4100 + rank, .state = diag::ProcessState::kRunning});
    diag::RankLook look{.rank = rank, .process = rank, .state = diag::RankState::kReady, .called = 12, .finished = 11};
    look.calls[static_cast<std::size_t>(Collective::kAllReduce)] = 10;
    look.calls[static_cast<std::size_t>(Collective::kSend)] = 2 + static_cast<std::uint64_t>(rank);
    c.seen.push_back(look);
  }
  job.look.communicators.push_back(c);
  return job;
}

diag::CommunicatorLook& FirstOf(Observation& job) { return job.look.communicators[0]; }

json JsonOf(const Observation& job) { return json::parse(ToJson(MakeReport(job))); }

std::string TextOf(const Observation& job, Detail detail = Detail::kPlain) { return ToText(MakeReport(job), detail); }

bool Has(const std::string& text, std::string_view part) { return text.find(part) != std::string::npos; }

TEST(RasReport, AHealthyJobHasEqualCountsAndNoErrors) {
  const json all = JsonOf(JobOf(4));
  EXPECT_EQ(all["communicators_count"], 1);
  EXPECT_EQ(all["timestamp"].get<std::string>().size(), std::string("2026-11-26 14:10:58").size());
  EXPECT_TRUE(all["ras"]["collection_time_sec"].is_number());
  const json& c = all["communicators"][0];
  EXPECT_EQ(c["hash"], "0xabcdef");
  EXPECT_EQ(c["size"], 4);
  EXPECT_EQ(c["ranks_count"], 4);
  EXPECT_EQ(c["missing_ranks_count"], 0);
  EXPECT_EQ(c["missing_ranks"], json::array());
  for (int rank = 0; rank < 4; ++rank) {
    const json& r = c["ranks"][static_cast<std::size_t>(rank)];
    EXPECT_EQ(r["rank"], rank);
    EXPECT_EQ(r["host"], "node7");
    EXPECT_EQ(r["pid"], 4100 + rank);
    EXPECT_EQ(r["cuda_dev"], -1);
    EXPECT_EQ(r["status"], json({{"init_state", 0},
                                 {"async_error", 0},
                                 {"finalize_called", false},
                                 {"destroy_flag", false},
                                 {"abort_flag", false}}));
    // Nothing else: clients take every count that differs for a hang.
    EXPECT_EQ(r["collective_counts"],
              json({{"AllReduce", 10}, {"AllGather", 0}, {"Broadcast", 0}, {"Reduce", 0}, {"ReduceScatter", 0}}));
    EXPECT_EQ(r["tutti"]["calls"], 12);
  }
  const std::string text = TextOf(JobOf(4));
  EXPECT_TRUE(Has(text, "NCCL version ")) << text;
  EXPECT_TRUE(Has(text, "      1          4            0          4        0\n")) << text;
  EXPECT_TRUE(Has(text, "    0         1         1         4         4         4   RUNNING      OK\n")) << text;
  EXPECT_TRUE(text.ends_with("\nErrors\n======\n\nWarnings\n========\n\n")) << text;
}

TEST(RasReport, AJobWithoutCommunicatorsIsOneToo) {
  EXPECT_EQ(JsonOf({})["communicators"], json::array());
  EXPECT_TRUE(Has(TextOf({}), "No communicator data collected!"));
}

TEST(RasReport, ARankThatIsBehindIsAMismatch) {
  Observation job = JobOf(4);
  FirstOf(job).seen[2].calls[static_cast<std::size_t>(Collective::kAllReduce)] = 9;
  const json all = JsonOf(job);
  EXPECT_EQ(all["communicators"][0]["ranks"][2]["collective_counts"]["AllReduce"], 9);
  const std::string text = TextOf(job);
  EXPECT_TRUE(Has(text, "RUNNING  MISMATCH\n")) << text;
  EXPECT_TRUE(Has(text,
                  "  Communicator ranks have different AllReduce operation counts\n"
                  "  3 ranks have launched up to operation 10\n"
                  "  Rank 2 has launched up to operation 9 -- managed by process 4102 on node node7\n"))
      << text;
}

TEST(RasReport, RanksThatReachEachOtherHaveEqualCounts) {
  const auto calls = [](Observation& job, std::size_t rank) -> std::uint64_t& {
    return FirstOf(job).seen[rank].calls[static_cast<std::size_t>(Collective::kAllReduce)];
  };
  Observation earlier = JobOf(3), now = JobOf(3);
  calls(earlier, 1) = 12;
  calls(now, 0) = 12;
  calls(now, 1) = 13;
  calls(now, 2) = 17;
  Report moved = MakeReport(now);
  EXPECT_TRUE(CountsDiffer(moved));
  AlignCounts(MakeReport(earlier), moved);
  EXPECT_FALSE(CountsDiffer(moved));
  EXPECT_EQ(moved.communicators[0].ranks[2].counts.back(), 12u);
  EXPECT_EQ(moved.communicators[0].errors, 0u);
  // One that has not come so far stays behind, and all others where they are.
  calls(now, 0) = 11;
  Report stuck = MakeReport(now);
  AlignCounts(MakeReport(earlier), stuck);
  EXPECT_EQ(stuck.communicators[0].ranks[0].counts.back(), 11u);
  EXPECT_EQ(stuck.communicators[0].ranks[2].counts.back(), 17u);
  EXPECT_EQ(stuck.communicators[0].errors, kMismatch);
}

// nccl#1911: of 32 ranks 2 are ahead, so these are the ones that are listed; the verbose text lists fewer than half.
TEST(RasReport, OnlyOutliersAreListed) {
  Observation job = JobOf(32);
  for (int rank = 0; rank < 12; ++rank)
    FirstOf(job).seen[static_cast<std::size_t>(rank)].calls[static_cast<std::size_t>(Collective::kReduce)] = 1;
  EXPECT_TRUE(Has(TextOf(job), "  12 ranks have launched up to operation 1\n"));
  EXPECT_FALSE(Has(TextOf(job), "  Rank 3 -- "));
  EXPECT_TRUE(Has(TextOf(job, Detail::kVerbose), "  Rank 3 -- managed by process 4103 on node node7\n"));
  EXPECT_FALSE(Has(TextOf(job, Detail::kVerbose), "  Rank 20 -- "));
}

TEST(RasReport, AStoppedRankIsListedWithItsCounts) {
  Observation job = JobOf(3);
  job.look.processes[1].state = diag::ProcessState::kStopped;
  const json all = JsonOf(job);
  EXPECT_EQ(all["communicators"][0]["ranks_count"], 3);
  EXPECT_EQ(all["communicators"][0]["ranks"][1]["tutti"]["process_state"], "stopped");
}

TEST(RasReport, ADeadRankIsMissingAndConsideredDead) {
  Observation job = JobOf(3);
  job.look.processes[1].state = diag::ProcessState::kGone;
  const json c = JsonOf(job)["communicators"][0];
  EXPECT_EQ(c["ranks_count"], 2);
  EXPECT_EQ(c["missing_ranks_count"], 1);
  EXPECT_EQ(c["missing_ranks"][0]["rank"], 1);
  EXPECT_EQ(c["missing_ranks"][0]["pid"], 4101);
  EXPECT_EQ(c["missing_ranks"][0]["status"], json({{"unresponsive", true}, {"considered_dead", true}}));
  const std::string text = TextOf(job);
  EXPECT_TRUE(Has(text, "RUNNING  INCOMPLETE\n")) << text;
  EXPECT_TRUE(Has(text, "DEAD\n  1 job process is considered dead\n  Process 4101 on node node7 managing no GPU\n"))
      << text;
  EXPECT_TRUE(Has(text, "  Rank 1 -- managed by process 4101 on node node7\n")) << text;
}

TEST(RasReport, OfRanksOnOtherHostsNothingBadIsSaid) {
  Observation job = JobOf(2);
  FirstOf(job).ranks = 4;
  const json c = JsonOf(job)["communicators"][0];
  EXPECT_EQ(c["missing_ranks_count"], 0);
  EXPECT_EQ(c["tutti"]["unseen_ranks_count"], 2);
  EXPECT_EQ(c["tutti"]["errors"], "OK");
  EXPECT_TRUE(Has(TextOf(job), "2 ranks are on other hosts, of which nothing is told here"));
}

TEST(RasReport, WhoHasNotComeIsMissingWhileTheCommunicatorIsMade) {
  Observation job = JobOf(2);
  FirstOf(job).ranks = 3;
  for (diag::RankLook& rank : FirstOf(job).seen) rank.state = diag::RankState::kStarting;
  const json c = JsonOf(job)["communicators"][0];
  EXPECT_EQ(c["ranks"][0]["status"]["init_state"], 7);
  EXPECT_EQ(c["missing_ranks"][0]["rank"], 2);
  EXPECT_EQ(c["missing_ranks"][0]["host"], "unknown");
  EXPECT_EQ(c["missing_ranks"][0]["status"], json({{"unresponsive", false}, {"considered_dead", false}}));
  EXPECT_TRUE(Has(TextOf(job), "INIT  INCOMPLETE")) << TextOf(job);
}

TEST(RasReport, WhoHasLeftIsNoDeadRank) {
  Observation job = JobOf(3);
  FirstOf(job).seen[2].state = diag::RankState::kLeft;
  const json c = JsonOf(job)["communicators"][0];
  EXPECT_EQ(c["missing_ranks"][0]["status"], json({{"unresponsive", false}, {"considered_dead", false}}));
  EXPECT_TRUE(Has(TextOf(job), "Rank 2 has status NOCOMM")) << TextOf(job);
}

TEST(RasReport, ABrokenCommunicatorIsAborted) {
  Observation job = JobOf(2);
  for (diag::RankLook& rank : FirstOf(job).seen) rank.state = diag::RankState::kFailed;
  FirstOf(job).seen[0].failure_code = Code::kRemote;
  FirstOf(job).seen[0].failure = "rank 1 said \"no\"";
  FirstOf(job).seen[1].failure_code = Code::kUnsupported;
  const json c = JsonOf(job)["communicators"][0];
  EXPECT_EQ(c["ranks"][0]["status"]["async_error"], 6);
  EXPECT_EQ(c["ranks"][0]["status"]["abort_flag"], true);
  EXPECT_EQ(c["ranks"][0]["tutti"]["error"], "rank 1 said \"no\"");
  EXPECT_EQ(c["ranks"][1]["status"]["async_error"], 5);
  const std::string text = TextOf(job);
  EXPECT_TRUE(Has(text, "ABORT   ERROR\n")) << text;
  EXPECT_TRUE(Has(text, "  Rank 0 says: rank 1 said \"no\"\n")) << text;
}

TEST(RasReport, TheVerdictStandsUnderErrors) {
  Observation job = JobOf(4);
  job.findings.push_back(
      {.communicator = kId, .kind = "stopped", .sentence = "rank 3 is stopped", .about = "3", .exclude = {3}});
  job.findings.push_back({.communicator = 5, .kind = "late host", .sentence = "of another communicator"});
  const json c = JsonOf(job)["communicators"][0];
  EXPECT_EQ(c["tutti"]["verdicts"],
            json::array({{{"kind", "stopped"}, {"sentence", "rank 3 is stopped"}, {"exclude", {3}}}}));
  const std::string text = TextOf(job);
  EXPECT_TRUE(Has(text, "RUNNING  VERDICT\n")) << text;
  EXPECT_TRUE(Has(text, "Errors\n======\n\n#0-0 (0000000000abcdef) dp VERDICT: stopped\n  rank 3 is stopped\n"))
      << text;
}

TEST(RasReport, AnyBytesMakeValidJson) {
  Observation job = JobOf(2);
  job.look.processes[0].host = "a\"b\\c\n\x01\xff\xc3";
  FirstOf(job).name = "\xe2\x82\xac \xe2\x82";
  job.findings.push_back({.communicator = kId, .kind = "late host", .sentence = "writes /tmp/\t\xf0\x28\x8c\x28\n"});
  const json c = JsonOf(job)["communicators"][0];
  EXPECT_TRUE(c["ranks"][0]["host"].get<std::string>().starts_with("a\"b\\c\n\x01"));
  EXPECT_TRUE(c["tutti"]["name"].get<std::string>().starts_with("\xe2\x82\xac "));
}

TEST(RasReport, PagesThatHoldAnythingDoNoHarm) {
  Observation job = JobOf(3);
  FirstOf(job).seen[1].process = 77;
  FirstOf(job).seen[2].rank = 900;
  FirstOf(job).seen.push_back({.rank = -4});
  const json c = JsonOf(job)["communicators"][0];
  EXPECT_EQ(c["ranks_count"], 2);
  EXPECT_EQ(c["ranks"][1]["pid"], -1);
}

TEST(RasReport, CommunicatorsThatLookAlikeAreOneGroup) {
  Observation job = JobOf(2);
  for (std::uint64_t id = 1; id <= 3; ++id) {
    diag::CommunicatorLook more = FirstOf(job);
    more.id = id;
    job.look.communicators.push_back(more);
  }
  job.look.communicators[2].seen[0].calls[static_cast<std::size_t>(Collective::kBroadcast)] = 4;
  const std::string text = TextOf(job);
  EXPECT_TRUE(Has(text,
                  "    0         1         1         2         2         2   RUNNING  MISMATCH\n"
                  "    1         3         1         2         2         6   RUNNING      OK\n"))
      << text;
  EXPECT_TRUE(Has(text, "#0-0 (0000000000000002) MISMATCH\n")) << text;
}

std::vector<std::string> NamesOf(const std::vector<Event>& events) {
  std::vector<std::string> names;
  for (const Event& event : events) names.push_back(event.name);
  return names;
}

TEST(RasEvents, SayHowReportsDiffer) {
  using Names = std::vector<std::string>;
  const Report three = MakeReport(JobOf(3)), four = MakeReport(JobOf(4));
  EXPECT_EQ(NamesOf(EventsBetween(three, three)), Names{});
  EXPECT_EQ(NamesOf(EventsBetween(three, four)), Names{"PEER_NEW"});
  EXPECT_EQ(NamesOf(EventsBetween(four, three)), Names{"PEER_DEAD"});
  Observation job = JobOf(3);
  job.look.processes[1].state = diag::ProcessState::kStopped;
  job.findings.push_back({.communicator = kId, .kind = "stopped", .sentence = "stopped for 1 s", .about = "1"});
  const Report stopped = MakeReport(job);
  job.findings[0].sentence = "stopped for 2 s";
  EXPECT_EQ(NamesOf(EventsBetween(stopped, MakeReport(job))), Names{}) << "it is told once";
  EXPECT_EQ(NamesOf(EventsBetween(three, stopped)), (Names{"PEER_UNRESPONSIVE", "VERDICT"}));
  EXPECT_EQ(NamesOf(EventsBetween(stopped, three)), (Names{"PEER_RECOVERED", "VERDICT_CLEARED"}));
  job.look.processes[1].state = diag::ProcessState::kZombie;
  const std::vector<Event> died = EventsBetween(stopped, MakeReport(job));
  ASSERT_EQ(NamesOf(died), Names{"PEER_DEAD"});
  EXPECT_TRUE(ToText(died[0]).ends_with("] PEER_DEAD: Process 4101 on node node7 managing no GPU\n"))
      << ToText(died[0]);
  const json event = json::parse(ToJson(died[0]));
  EXPECT_EQ(event["group"], "LIFECYCLE");
  EXPECT_EQ(event["event"], "PEER_DEAD");
  EXPECT_EQ(event["peer"]["pid"], 4101);
}

}  // namespace
}  // namespace tutti::ras
