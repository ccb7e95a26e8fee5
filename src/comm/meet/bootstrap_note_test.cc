// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
// Ranks that come to a meeting long after it has failed: who tells them, and who is not to be told.
#include "comm/meet/bootstrap_note.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "comm/identity/unique_id.h"
#include "comm/meet/bootstrap.h"
#include "sys/os/clock.h"
#include "tests/support/meeting.h"

namespace tutti::comm {
namespace {

using namespace tests;

constexpr int kRanks = 4;
constexpr std::int64_t kSoonNs = 5 * sys::kNsPerSecond;

class BootstrapNoteTest : public MeetingTest {
 protected:
  void SetUp() override {
    if (access("/dev/shm", W_OK) != 0) GTEST_SKIP() << "no place for notes: /dev/shm";
  }
  ~BootstrapNoteTest() override {
    for (const UniqueId& id : {id_, derived_}) std::filesystem::remove(internal::NotePath(*ReadId(id)));
  }

  static bool IsThere(const UniqueId& id) { return std::filesystem::exists(internal::NotePath(*ReadId(id))); }

  // Rank 2 is killed while it waits with rank 0 for the others; it gathers, or visits rank 0. Returns what rank 0 is told,
  // when nobody stands in the door any more.
  enum class Victim : std::uint8_t { kGathers, kVisits };
  static Status Fail(const UniqueId& id, Victim victim) {
    const auto second = [&id] { sys::Fd(Approach(id)); };  // waits until somebody gathers
    const pid_t child = fork();
    if (child == 0) {
      if (victim == Victim::kVisits) second();
      _exit(MeetAndCheck(id, 2, kRanks, kPatientMs).ok() ? 0 : 1);
    }
    if (victim == Victim::kGathers) second();
    std::thread killer([&] {
      sys::SleepNs(700 * sys::kNsPerMs);
      kill(child, SIGKILL);
    });
    const Status told = MeetAndCheck(id, 0, kRanks, kPatientMs);
    killer.join();
    waitpid(child, nullptr, 0);
    EXPECT_EQ(told.code(), Code::kRemote) << told.ToString();
    EXPECT_EQ(told.peer(), 2);
    return told;
  }

  const UniqueId derived_ = DeriveId({std::as_bytes(std::span(id_.bytes))});
};

TEST_F(BootstrapNoteTest, WhoComesLateIsToldAtOnceWhoIsGone) {
  for (const Victim victim : {Victim::kGathers, Victim::kVisits}) {
    for (const UniqueId& id : {id_, derived_}) {
      const Status told = Fail(id, victim);
      sys::SleepNs(1500 * sys::kNsPerMs);
      const std::int64_t begin_ns = sys::NowNs();
      const std::vector<Status> late =
          OnThreads({1, 3}, [&](int rank) { return MeetAndCheck(id, rank, kRanks, kPatientMs); });
      EXPECT_LT(sys::NowNs() - begin_ns, kSoonNs);
      ExpectAllSay(late, Code::kRemote, {told.message()});
      for (const Status& s : late) EXPECT_EQ(s.peer(), 2);
      EXPECT_FALSE(IsThere(id)) << "all have heard";
    }
  }
}

TEST_F(BootstrapNoteTest, WhoHasHeardMayTryAgain) {
  (void)Fail(id_, Victim::kGathers);
  EXPECT_TRUE(IsThere(id_));
  EXPECT_EQ(MeetAndCheck(id_, 1, kRanks, kPatientMs).code(), Code::kRemote);
  EXPECT_TRUE(IsThere(id_)) << "rank 3 has not heard";
  // Rank 3 has not come to the first meeting and comes to the second one; whoever gathers it knows that it is another one.
  ExpectAllOk(OnThreads(UpTo(kRanks), [&](int rank) {
    if (rank == 3) sys::Fd(Approach(id_));
    return MeetAndCheck(id_, rank, kRanks, kPatientMs);
  }));
  EXPECT_FALSE(IsThere(id_));
}

TEST_F(BootstrapNoteTest, IsNotForAJobThatIsStartedAgainWithTheSameVariables) {
  (void)Fail(derived_, Victim::kGathers);
  EXPECT_TRUE(IsThere(derived_));
  sys::SleepNs(50 * sys::kNsPerMs);
  ExpectAllOk(OnProcesses({3, 2, 1, 0}, [&](int rank) {
    if (rank != 3) sys::Fd(Approach(derived_));  // the rank that has not heard gathers
    return MeetAndCheck(derived_, rank, kRanks, kPatientMs);
  }));
  EXPECT_FALSE(IsThere(derived_));
}

TEST_F(BootstrapNoteTest, IsNotForAnotherNumberOfRanks) {
  (void)Fail(id_, Victim::kGathers);
  ExpectAllOk(OnThreads({1, 0, 2}, [&](int rank) { return MeetAndCheck(id_, rank, kRanks - 1, kPatientMs); }));
}

TEST_F(BootstrapNoteTest, IsNotForThoseWhoComeAfterTheDeadline) {
  const MeetOptions options{.id = id_, .rank = 1, .ranks = 2};
  Attendance attendance{.options = &options, .id = *ReadId(id_), .process = sys::Self()};
  const Status fault(Code::kRemote, "rank 0 has gone", 0);
  for (const bool late : {false, true}) {
    attendance.note_until_ns = sys::NowNs() + (late ? 0 : kSoonNs);
    LeaveNote(attendance, fault, {false, false});
    EXPECT_TRUE(IsThere(id_));
    EXPECT_EQ(TakeNote(attendance).ok(), late);
    EXPECT_FALSE(IsThere(id_));
  }
}

// Only who knows the job's secret can write a note, and half a note is none.
TEST_F(BootstrapNoteTest, IsNotBelievedWithoutItsCode) {
  const MeetOptions options{.id = id_, .rank = 1, .ranks = 2};
  const Attendance attendance{
      .options = &options, .id = *ReadId(id_), .process = sys::Self(), .note_until_ns = sys::NowNs() + kSoonNs};
  const std::string path = internal::NotePath(attendance.id);
  LeaveNote(attendance, Status(Code::kRemote, "rank 0 has gone", 0), {false, false});
  std::stringstream content;
  content << std::ifstream(path).rdbuf();
  const std::string good = content.str();
  const auto with = [&](const std::string& text) {
    std::ofstream(path) << text;
    return TakeNote(attendance);
  };
  for (std::size_t i = 0; i < good.size(); i += 7) {
    std::string changed = good;
    changed[i] = static_cast<char>(changed[i] ^ 1);
    EXPECT_TRUE(with(changed).ok()) << i;
    EXPECT_TRUE(with(good.substr(0, i)).ok()) << i;
  }
  EXPECT_EQ(with(good).message(), "rank 0 has gone");
}

}  // namespace
}  // namespace tutti::comm
