// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_COMM_MEET_BOOTSTRAP_GATHERER_H_
#define TUTTI_COMM_MEET_BOOTSTRAP_GATHERER_H_

// The rank that came first: listens, authenticates, gathers, gives each rank its place in a tree, and sends everything
// down that tree. Part of bootstrap.h.
//
//   position 0: the gatherer        position p + 1: the next higher rank of this host, after the highest the lowest
//        /        \                 The children of position p are 2 p + 1 and 2 p + 2.
//       1          2
//     /   \      /   \              Connected by pairs of sockets that the gatherer makes and hands out, so nobody else
//    3     4    5     6             has to listen.

#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "comm/meet/bootstrap_attendance.h"
#include "comm/meet/bootstrap_message.h"
#include "comm/meet/meeting.h"
#include "comm/meet/rendezvous.h"
#include "sys/net/unix_socket.h"

namespace tutti::comm {

class Gatherer {
 public:
  // earlier: why this rank could not join somebody else before it became the gatherer; empty where it did not try.
  // REQUIRES: `attendance` outlives this object.
  Gatherer(const Attendance& attendance, std::string earlier);

  // The whole meeting, from an open listener to the outcome.
  Status Run(sys::Fd listener, const OnMember& on_member);
  // Instead of Run: the meeting has failed, and whoever comes within a second hears why. Returns `fault`.
  Status Tell(sys::Fd listener, const Status& fault);

 private:
  enum class Stage : std::uint8_t { kGreeting, kHello, kJoined, kReady };  // what is expected of it, or has come
  // A connection.
  struct Caller {
    sys::Fd socket;
    Stage stage = Stage::kGreeting;
    std::int64_t accepted_ns = 0;
    sys::PeerCredentials credentials;
    sys::Nonce its_nonce{}, own_nonce{};
    int rank = -1;
    int told_missing = 0;  // missing_.version that it was told
    bool gone = false;     // to be forgotten
  };
  struct Seat {
    bool taken = false;
    Introduction introduction;
    std::vector<std::byte> payload;
    sys::Fd shared;
    std::string host;
  };
  bool Joined(const Caller& caller) const { return caller.stage >= Stage::kJoined; }
  // "rank 3 (pid 17)"
  std::string Describe(int rank) const;

  int RankAt(int position) const { return locals_[static_cast<std::size_t>(position)]; }
  // How many the tree has.
  int Positions() const { return static_cast<int>(locals_.size()); }

  Status SeatSelf();
  Status Gather();
  Status Distribute(const OnMember& on_member);
  Status TakeMembers(const OnMember& on_member);
  // Tells all who have joined, and for a while those who still come, why the meeting failed. Returns `fault`.
  Status Fail(Status fault, std::int64_t linger_ns);

  // Waits until something happens, at most until `until_ns`, and handles it; `writable`: or until it takes something.
  // Faults end up in fault_.
  void Turn(std::int64_t until_ns, const sys::Fd* writable = nullptr);
  void AcceptAll();
  void Serve(Caller& caller);
  void Handle(Caller& caller, sys::Received& received);
  void HandleGreeting(Caller& caller, std::span<const std::byte> message);
  void HandleHello(Caller& caller, std::span<const std::byte> message, sys::Received& received);
  void HandleJoined(Caller& caller, std::span<const std::byte> message);
  void Lost(Caller& caller);
  void DropStranger(Caller& caller);
  // False where there is none.
  bool DropOldestStranger();
  void DropLateStrangers();
  Status Judge(const Hello& hello, const Caller& caller, const sys::Received& received) const;
  void TakeSeat(Caller& caller, const Hello& hello, std::vector<sys::Fd>& fds);

  // Makes the links of the tree.
  Status GivePlaces();
  Status SendMembers();

  // Ranks of other hosts (bootstrap_hosts.cc).
  // When this rank looks for other hosts: the ranks of one may all come soon.
  std::int64_t HostsWantedNs() const;
  void LookForHosts();
  void ReportSeat(int rank);
  void HearOfHosts();
  void SeatRemote();
  // This host's ranks in the order of the tree, this one first; and the name of each member's host.
  void Settle();
  // Waits until all hosts have everything.
  Status AwaitHosts();
  Status HostsLate() const;
  void SayWhoIsMissing();
  // Tells all who have come which ranks have not.
  void TellWhoIsMissing();
  // Sends all of it, however long that takes; an error where the meeting fails before. A receiver that is gone counts as
  // served: what that means for the meeting is found out elsewhere.
  Status SendPatiently(const sys::Fd& socket, const Message& message, std::span<const int> fds);
  int FdsPerMessage() const;

  // Faults that are found out with time.
  void LookForTheDead();
  Status Disagreement() const;
  std::string WhyMissing() const;
  std::vector<int> MissingRanks() const;
  std::vector<int> UnreadyRanks() const;
  std::vector<int> StoppedRanks() const;
  Status NotTaken() const;
  Status Late(const std::vector<int>& culprits, const std::string& what, const std::string& why) const;

  const Attendance& attendance_;
  const MeetOptions& options_;
  const std::string earlier_;
  sys::Fd listener_;
  std::vector<Caller> callers_;
  std::vector<Seat> seats_;
  std::vector<bool> heard_;  // ranks that have come, in whatever way
  int heard_count_ = 0;
  int seats_taken_ = 0;
  std::map<int, std::vector<int>> claims_;  // number of ranks -> the ranks that were given that number
  std::int64_t disagreed_ns_ = 0;           // when claims_ first had two entries; 0: never
  std::vector<int> locals_;                 // ranks of this host, by position in the tree
  std::unique_ptr<Rendezvous> hosts_;       // null: other hosts have not been looked for
  bool no_hosts_ = false;                   // they can not be
  bool all_hosts_have_all_ = false;
  // Ranks that have not come, as those were told last who have.
  struct {
    bool is_logged = false;
    Missing told;
    int version = 0;  // 0: nobody was told
  } missing_;
  std::vector<sys::Fd> children_;  // of this rank in the tree
  std::vector<std::byte> buffer_;
  std::int64_t deadline_ns_;
  Status fault_;
  bool distributing_ = false;
  bool failing_ = false;
  bool wanted_ = false;  // the fault is that a rank gives up; it may come again
  int strangers_ = 0;
  std::int64_t probed_ns_ = 0;
};

}  // namespace tutti::comm

#endif  // TUTTI_COMM_MEET_BOOTSTRAP_GATHERER_H_
