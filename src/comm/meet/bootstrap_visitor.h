// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_COMM_MEET_BOOTSTRAP_VISITOR_H_
#define TUTTI_COMM_MEET_BOOTSTRAP_VISITOR_H_

// A rank that found another one gathering: shows that it belongs to the job, takes everybody's data from its parent in
// the tree and passes them on to its children. Part of bootstrap.h.

#include <span>
#include <string>
#include <vector>

#include "comm/meet/bootstrap_attendance.h"
#include "comm/meet/bootstrap_message.h"
#include "comm/meet/meeting.h"
#include "sys/net/unix_socket.h"

namespace tutti::comm {

// One connection to the gatherer, from the greeting to the outcome of the meeting.
class Visitor {
 public:
  // REQUIRES: `attendance` and `buffer`, of kMostMessageBytes, outlive this object.
  Visitor(const Attendance& attendance, sys::Fd control, std::vector<std::byte>& buffer)
      : attendance_(attendance), options_(*attendance.options), control_(std::move(control)), buffer_(buffer) {}

  // kInProgress: was not let in, and may try again; the sentence says why.
  Status Run(const OnMember& on_member);
  // Whether it failed because the gatherer went without a word before all had come: those who come later do not know.
  bool gatherer_lost() const { return gatherer_lost_; }
  // Instead of Run: lets the gatherer, and through it all who come to it, know why the meeting has failed. kInProgress: it
  // was not heard.
  Status Tell(const Status& fault);

 private:
  Status Introduce();
  Status Enter();
  Status Attend(const OnMember& on_member);

  // The next message: of the gatherer, or of the parent in the tree. kRemote and kTimeout are about the gatherer.
  Result<sys::Received> Receive();
  Status Handle(std::span<const std::byte> message, std::vector<sys::Fd> fds, const OnMember& on_member);
  Status TakeMissing(std::span<const std::byte> message);
  Status TakePlace(std::span<const std::byte> message, std::vector<sys::Fd> fds);
  Status TakeMembers(std::span<const std::byte> message, std::vector<sys::Fd> fds, const OnMember& on_member);
  Status PassOn(std::span<const std::byte> message, std::span<const sys::Fd> fds);
  // Waits until `child` takes something; an error, in verdict_ too, where the meeting ends before.
  Status WaitForRoom(const sys::Fd& child);
  // Waits until the gatherer or `other` has something to say, or `writable` takes something. kRemote where the gatherer
  // has died, kTimeout after the deadline; their texts are for GathererLost and GivenUpOn to make sentences of. What this
  // rank says when it gives up where it shall.
  Status Wait(const sys::Fd& other, const sys::Fd& writable);

  // Calls MeetOptions::look where it is time.
  Status Look(std::int64_t now_ns);
  // Whether a wait has ended because this rank gives up: its program wants it, or it sees that a rank is dead. All other
  // errors of a wait blame nobody.
  static bool GaveUp(const Status& status) { return status.peer() >= 0; }
  Status GivenUpOn(const Status& why) const;
  Status GathererLost(const Status& why);
  Status Refuse(const Status& status);

  std::span<const std::byte> Text(const sys::Received& received) const {
    return std::span(buffer_).first(received.bytes);
  }
  std::string Self() const;
  std::string Host() const;
  // The gatherer, as far as this process can look for it.
  sys::ProcessId HostProcess() const;

  const Attendance& attendance_;
  const MeetOptions& options_;
  sys::Fd control_;  // to the gatherer
  sys::Fd parent_;   // where Members come from; closed before the place in the tree is known
  std::vector<sys::Fd> children_;
  std::vector<std::byte>& buffer_;
  sys::Nonce own_nonce_{};
  Welcome host_;
  int taken_ = 0;
  std::int64_t looked_ns_ = 0;  // when MeetOptions::look was called last; 0: never
  bool let_in_ = false;         // the gatherer has taken this rank in
  bool placed_ = false;         // in the tree, so all have come
  bool gatherer_lost_ = false;
  Status verdict_;  // how the meeting ended, where that was heard while passing members on
};

}  // namespace tutti::comm

#endif  // TUTTI_COMM_MEET_BOOTSTRAP_VISITOR_H_
