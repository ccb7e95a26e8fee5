// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_TESTS_SUPPORT_MEETING_H_
#define TUTTI_TESTS_SUPPORT_MEETING_H_

// For tests of the bootstrap: ranks that meet as threads or processes, and hands to play strangers with.

#include <gtest/gtest.h>

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "comm/meet/bootstrap.h"
#include "comm/meet/bootstrap_message.h"
#include "sys/os/fd.h"
#include "tutti/communicator.h"

namespace tutti::tests {

inline constexpr std::int64_t kPatientMs = 60'000;  // for meetings that must succeed, however slow the machine
inline constexpr std::size_t kPage = 4096;

std::vector<std::byte> PayloadOf(int rank, std::size_t bytes);
std::size_t SizeOfFile(const sys::Fd& fd);

// Meets as `rank` with the payload and the descriptor that CheckMember expects of it.
Status MeetAs(const UniqueId& id, int rank, int ranks, std::int64_t timeout_ms, const comm::OnMember& on_member,
              comm::MeetReport* report = nullptr);
// The same, and checks that the members come in order and hold what MeetAs gave them.
Status MeetAndCheck(const UniqueId& id, int rank, int ranks, std::int64_t timeout_ms,
                    comm::MeetReport* report = nullptr);

enum class Kind : std::uint8_t { kThreads, kProcesses };
// Runs body(rank) for each rank of the list, on a thread or in a forked process of its own; what they return, in the
// order of the list. A process that is killed returns kInternal.
std::vector<Status> OnThreads(const std::vector<int>& ranks, const std::function<Status(int)>& body);
std::vector<Status> OnProcesses(const std::vector<int>& ranks, const std::function<Status(int)>& body);
std::vector<Status> OnRanks(Kind kind, const std::vector<int>& ranks, const std::function<Status(int)>& body);

// 0, 1, ..., ranks - 1
std::vector<int> UpTo(int ranks);

void ExpectAllOk(const std::vector<Status>& outcomes);
// That all have this code and one sentence, with all of the words in it.
void ExpectAllSay(const std::vector<Status>& outcomes, Code code, const std::vector<std::string>& words);

// The time in so many milliseconds, on sys::NowNs().
std::int64_t In(std::int64_t ms);

// Connects to the meeting of `id` as soon as somebody gathers.
sys::Fd Approach(const UniqueId& id);
// The next message on a socket; nothing where the other side has closed.
std::optional<comm::Message> NextMessage(const sys::Fd& socket);
// Proves to belong to the job of `id`, and says `hello`. The answer. `said`: the messages that were sent.
std::optional<comm::Message> SayHello(const sys::Fd& socket, const UniqueId& id, const comm::Hello& hello,
                                      std::vector<comm::Message>* said = nullptr);

// Fails the test that leaves descriptors behind.
class MeetingTest : public testing::Test {
 protected:
  void TearDown() override;
  const UniqueId id_ = *CreateUniqueId();

 private:
  const int before_ = sys::CountOpenFds();
};

}  // namespace tutti::tests

#endif  // TUTTI_TESTS_SUPPORT_MEETING_H_
