// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
// That far_report_fuzz begins with reports of today's form: from others it gets nowhere. TUTTI_WRITE_SEEDS=1 writes them anew.
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "watch/far_report.h"
#include "watch/joint_look.h"

namespace tutti::watch {
namespace {

// Small, so that a fuzzer soon comes to every byte: rank 0 waits for rank 1, which is stopped.
diag::Look Waiting() {
  diag::Look look{.taken_ns = 9'000'000};
  look.processes.push_back({.pid = 11, .name = "a", .state = diag::ProcessState::kSleeping});
  look.processes.push_back({.pid = 11, .state = diag::ProcessState::kStopped});
  diag::CommunicatorLook c{.id = 18, .name = "a", .ranks = 3, .window = {4, 4, 4}};
  for (int rank = 0; rank < 2; ++rank) {
    diag::RankLook r{.rank = rank, .process = rank, .state = diag::RankState::kReady, .called = 1, .finished = 0};
    r.running = {.number = 1, .sequence = 1, .call = {.word = 0x30, .count = 1}, .protocol = 2};
    r.links.push_back({.peer = 1 - rank, .sent = {2, 0, 0}, .received = {1, 0, 0}, .credit = {1, 0, 0}});
    if (rank == 0)
      r.wait = {.kind = trace::WaitKind::kData, .peer = 1, .number = 1, .since_ns = 1, .looked_ns = 2, .inside = true};
    c.seen.push_back(r);
  }
  look.communicators.push_back(c);
  return look;
}

void ExpectSeed(const std::string& name, const std::vector<std::byte>& message) {
  const std::string path = std::string(TUTTI_FAR_REPORT_SEEDS) + "/" + name;
  const std::string wanted(reinterpret_cast<const char*>(message.data()), message.size());
  if (std::getenv("TUTTI_WRITE_SEEDS") != nullptr) std::ofstream(path, std::ios::binary) << wanted;
  std::ifstream file(path, std::ios::binary);
  const std::string there(std::istreambuf_iterator<char>(file), {});
  EXPECT_TRUE(there == wanted) << path << " is of another form than reports are; TUTTI_WRITE_SEEDS=1 writes it anew";
}

TEST(FarReportSeeds, AreOfTodaysForm) {
  const std::vector<std::byte> question = Encode(Question{.number = 2, .communicators = {18}});
  const std::vector<std::byte> report = Encode(Report{.number = 1, .look = Waiting()});
  JointLook told{.machine = 77, .look = Waiting()};
  told.look.hosts = {{.name = "w"}, {.name = "n", .silent_ns = 2}};
  told.look.processes[0].host = "w";
  told.look.processes[1].host = "n";
  const std::vector<std::byte> joint = Encode(told);
  EXPECT_TRUE(ParseQuestion(question).ok());
  EXPECT_TRUE(ParseReport(report).ok());
  EXPECT_TRUE(ParseJointLook(joint).ok());
  ExpectSeed("question", question);
  ExpectSeed("report", report);
  ExpectSeed("joint", joint);
}

}  // namespace
}  // namespace tutti::watch
