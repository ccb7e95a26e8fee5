// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "comm/meet/bootstrap.h"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <set>
#include <string>
#include <thread>

#include "comm/identity/unique_id.h"
#include "sys/os/clock.h"
#include "sys/os/memory.h"
#include "tests/support/meeting.h"

namespace tutti::comm {
namespace {

using namespace tests;

class BootstrapTest : public MeetingTest {};

TEST_F(BootstrapTest, ThreadsMeet) {
  for (const int ranks : {1, 2, 3, 8, 33}) {
    std::vector<MeetReport> reports(ranks);
    const std::vector<Status> outcomes =
        OnThreads(UpTo(ranks), [&](int rank) { return MeetAndCheck(id_, rank, ranks, kPatientMs, &reports[rank]); });
    for (const Status& outcome : outcomes) EXPECT_TRUE(outcome.ok()) << outcome.ToString();
    std::set<int> gatherers;
    for (const MeetReport& report : reports) gatherers.insert(report.gatherer);
    EXPECT_EQ(gatherers.size(), 1u);
  }
}

TEST_F(BootstrapTest, ReturnsMembersOfAnySize) {
  const std::size_t sizes[] = {0, 1, kMostPayloadBytes, 100, kMostPayloadBytes, kMostPayloadBytes};
  constexpr int kRanks = 6;
  const std::vector<Status> outcomes = OnThreads(UpTo(kRanks), [&](int rank) {
    const std::vector<std::byte> payload = PayloadOf(rank, sizes[rank]);
    const Result<sys::Fd> memory = sys::CreateSharedMemory("tutti-test", kPage);
    Result<std::vector<Member>> members = Meet({.id = id_,
                                                .rank = rank,
                                                .ranks = kRanks,
                                                .timeout_ms = kPatientMs,
                                                .payload = payload,
                                                .shared = rank % 2 == 0 ? &*memory : nullptr});
    if (!members.ok()) return members.status();
    EXPECT_EQ(members->size(), 6u);
    for (int r = 0; r < kRanks; ++r) {
      EXPECT_EQ((*members)[r].payload, PayloadOf(r, sizes[r]));
      EXPECT_EQ((*members)[r].shared.valid(), r % 2 == 0);
      EXPECT_EQ((*members)[r].process, sys::Self());
    }
    return Status::Ok();
  });
  for (const Status& outcome : outcomes) EXPECT_TRUE(outcome.ok()) << outcome.ToString();
}

TEST_F(BootstrapTest, ProcessesMeet) {
  constexpr int kRanks = 16;
  std::vector<pid_t> children;
  for (int rank = 0; rank < kRanks; ++rank) {
    const pid_t child = fork();
    if (child == 0) _exit(MeetAndCheck(id_, rank, kRanks, kPatientMs).ok() ? 0 : 1);
    children.push_back(child);
  }
  for (const pid_t child : children) {
    int status = -1;
    waitpid(child, &status, 0);
    EXPECT_EQ(status, 0);
  }
}

TEST_F(BootstrapTest, ProcessesAndThreadsMeet) {
  const pid_t child = fork();
  if (child == 0) {
    const std::vector<Status> outcomes =
        OnThreads({1, 3, 5}, [&](int rank) { return MeetAndCheck(id_, rank, 6, kPatientMs); });
    for (const Status& outcome : outcomes) {
      if (!outcome.ok()) _exit(1);
    }
    _exit(0);
  }
  const std::vector<Status> outcomes =
      OnThreads({0, 2, 4}, [&](int rank) { return MeetAndCheck(id_, rank, 6, kPatientMs); });
  for (const Status& outcome : outcomes) EXPECT_TRUE(outcome.ok()) << outcome.ToString();
  int status = -1;
  waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
}

TEST_F(BootstrapTest, ManyThreadsOfOneProcessMeet) {
  constexpr int kRanks = 256;
  const rlimit before = [] {
    rlimit limit;
    getrlimit(RLIMIT_NOFILE, &limit);
    return limit;
  }();
  const rlimit raised = {.rlim_cur = std::min<rlim_t>(before.rlim_max, 8192), .rlim_max = before.rlim_max};
  setrlimit(RLIMIT_NOFILE, &raised);
  const std::int64_t begin_ns = sys::NowNs();
  const std::vector<Status> outcomes = OnThreads(UpTo(kRanks), [&](int rank) {
    int members = 0;
    return MeetAs(id_, rank, kRanks, kPatientMs, [&members](int r, Member&& member) {
      const bool good = r == members++ && SizeOfFile(member.shared) == kPage + r;
      return good ? Status::Ok() : Status(Code::kInternal, "wrong member");
    });
  });
  RecordProperty("ms", static_cast<int>((sys::NowNs() - begin_ns) / sys::kNsPerMs));
  for (const Status& outcome : outcomes) EXPECT_TRUE(outcome.ok()) << outcome.ToString();
  setrlimit(RLIMIT_NOFILE, &before);
}

TEST_F(BootstrapTest, OneIdServesOneMeetingAfterTheOther) {
  const std::vector<Status> outcomes = OnThreads(UpTo(4), [&](int rank) {
    for (int i = 0; i < 50; ++i) TUTTI_RETURN_IF_ERROR(MeetAndCheck(id_, rank, 4, kPatientMs));
    return Status::Ok();
  });
  for (const Status& outcome : outcomes) EXPECT_TRUE(outcome.ok()) << outcome.ToString();
}

TEST_F(BootstrapTest, ManyMeetingsAtOnce) {
  constexpr int kMeetings = 50, kRanks = 4;
  std::vector<UniqueId> ids;
  for (int i = 0; i < kMeetings; ++i) ids.push_back(*CreateUniqueId());
  const std::vector<Status> outcomes = OnThreads(
      UpTo(kMeetings * kRanks), [&](int i) { return MeetAndCheck(ids[i / kRanks], i % kRanks, kRanks, kPatientMs); });
  for (const Status& outcome : outcomes) EXPECT_TRUE(outcome.ok()) << outcome.ToString();
}

TEST_F(BootstrapTest, DerivedIdsMeetToo) {
  const UniqueId id = DeriveId({std::as_bytes(std::span("launcher")), *sys::FreshNonce()});
  const std::vector<Status> outcomes =
      OnThreads(UpTo(3), [&](int rank) { return MeetAndCheck(id, rank, 3, kPatientMs); });
  for (const Status& outcome : outcomes) EXPECT_TRUE(outcome.ok()) << outcome.ToString();
}

TEST_F(BootstrapTest, BadArgumentsAreErrors) {
  EXPECT_EQ(MeetAndCheck(UniqueId{}, 0, 2, 100).code(), Code::kInvalidArgument);
  EXPECT_EQ(MeetAndCheck(id_, 0, 0, 100).code(), Code::kInvalidArgument);
  EXPECT_EQ(MeetAndCheck(id_, 0, 2, 0).code(), Code::kInvalidArgument);
  const std::vector<std::byte> much(kMostPayloadBytes + 1);
  EXPECT_EQ(Meet({.id = id_, .ranks = 2, .payload = much}).status().code(), Code::kInvalidArgument);
  const sys::Fd closed;
  EXPECT_EQ(Meet({.id = id_, .ranks = 2, .shared = &closed}).status().code(), Code::kInvalidArgument);
}

}  // namespace
}  // namespace tutti::comm
