// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_COMM_BOOTSTRAP_GATHERER_H_
#define TUTTI_COMM_BOOTSTRAP_GATHERER_H_

// The rank that came first: listens, authenticates, gathers, and sends everything to everyone. Part of
// bootstrap.h.

#include <cstdint>
#include <string>
#include <vector>

#include "comm/bootstrap.h"
#include "comm/bootstrap_message.h"
#include "comm/unique_id.h"
#include "sys/unix_socket.h"

namespace tutti::comm {

// What one call of Meet knows from its start.
struct Attendance {
  const MeetOptions* options = nullptr;
  IdParts id;
  sys::ProcessId process;
  std::uint64_t process_namespace = 0;
  std::int64_t begin_ns = 0;
  std::int64_t deadline_ns = 0;

  Introduction Introduce() const;
  // What to hand to OnMember for another's, or its own, introduction.
  Member MakeMember(const Introduction& introduction, sys::Fd shared) const;
};

// "3, 5-7 and 9", of ascending ranks; cut off after a dozen.
std::string RankList(const std::vector<int>& ranks);
// Why a member's connection ended: it "died" or "left", as the process table shows.
const char* DiedOrLeft(sys::ProcessId process);

// An error of OnMember as a meeting tells it: as it is where it blames a rank, else with the rank it is about.
Status Untaken(const Status& status, int rank);
// A status as all ranks are to read it: as it is where it blames a rank, else with the rank in trouble as its subject.
Status Blame(const Status& status, int rank, const std::string& who);

class Gatherer {
 public:
  // REQUIRES: `attendance` outlives this object.
  explicit Gatherer(const Attendance& attendance);

  // The whole meeting, from an open listener to the outcome.
  Status Run(sys::Fd listener, const OnMember& on_member);

 private:
  enum class Stage : std::uint8_t { kGreeting, kHello, kJoined, kReady };  // what is expected of it, or has come
  struct Visitor {
    sys::Fd socket;
    Stage stage = Stage::kGreeting;
    std::int64_t accepted_ns = 0;
    sys::PeerCredentials credentials;
    sys::Nonce its_nonce{}, own_nonce{};
    int rank = -1;
    std::size_t sent = 0;  // of messages_
    bool blocked = false;  // its socket took no more
    bool gone = false;     // to be forgotten
  };
  struct Seat {
    bool taken = false;
    Introduction introduction;
    std::vector<std::byte> payload;
    sys::Fd shared;
  };
  struct Outgoing {
    Message bytes;
    std::vector<int> fds;
  };

  bool Joined(const Visitor& visitor) const { return visitor.stage >= Stage::kJoined; }
  // "rank 3 (pid 17)"
  std::string Describe(int rank) const;

  Status SeatSelf();
  Status Gather();
  Status Distribute(const OnMember& on_member);
  Status TakeMembers(const OnMember& on_member);
  // Tells all who have joined, and for a while those who still come, why the meeting failed. Returns `fault`.
  Status Fail(Status fault);

  // Waits until something happens, at most until `until_ns`, and handles it. Faults end up in fault_.
  void Turn(std::int64_t until_ns);
  void AcceptAll();
  void Serve(Visitor& visitor);
  void Handle(Visitor& visitor, sys::Received& received);
  void HandleGreeting(Visitor& visitor, std::span<const std::byte> message);
  void HandleHello(Visitor& visitor, std::span<const std::byte> message, sys::Received& received);
  void HandleJoined(Visitor& visitor, std::span<const std::byte> message);
  void Lost(Visitor& visitor);
  void DropStranger(Visitor& visitor);
  void DropLateStrangers();
  Status Judge(const Hello& hello, const Visitor& visitor, const sys::Received& received) const;
  void TakeSeat(Visitor& visitor, const Hello& hello, std::vector<sys::Fd>& fds);

  void ComposeMessages();
  // Sends what the sockets take. Whether it sent anything.
  bool SendPending();
  int FdsPerMessage() const;
  std::vector<int> MissingRanks() const;
  std::vector<int> UnreadyRanks() const;
  Status Late(const std::vector<int>& culprits, const std::string& what, const std::string& why) const;

  const Attendance& attendance_;
  const MeetOptions& options_;
  sys::Fd listener_;
  std::vector<Visitor> visitors_;
  std::vector<Seat> seats_;
  std::vector<bool> heard_;  // ranks that have come, in whatever way
  int heard_count_ = 0;
  int seats_taken_ = 0;
  std::vector<Outgoing> messages_;
  std::vector<std::byte> buffer_;
  std::int64_t deadline_ns_;
  Status fault_;
  bool failing_ = false;
  int strangers_ = 0;
};

}  // namespace tutti::comm

#endif  // TUTTI_COMM_BOOTSTRAP_GATHERER_H_
