// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "comm/meet/bootstrap.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <utility>

#include "comm/identity/unique_id.h"
#include "comm/meet/bootstrap_gatherer.h"
#include "comm/meet/bootstrap_message.h"
#include "comm/meet/bootstrap_note.h"
#include "comm/meet/bootstrap_visitor.h"
#include "sys/net/auth.h"
#include "sys/net/unix_socket.h"
#include "sys/os/clock.h"

namespace tutti::comm {

std::string internal::SocketName(const IdParts& id, std::string_view host) {
  const std::string_view purpose = "tutti bootstrap socket, handshake 1";
  const sys::Mac mac = host.empty() ? sys::ComputeMac(id.secret, {sys::Bytes(purpose), id.name})
                                    : sys::ComputeMac(id.secret, {sys::Bytes(purpose), id.name, sys::Bytes(host)});
  std::string name = "tutti-";
  for (std::size_t i = 0; i < 16; ++i) name += fmt::format("{:02x}", std::to_integer<unsigned>(mac[i]));
  return name;
}

namespace {

constexpr std::int64_t kShortestPauseNs = 50'000;
constexpr std::int64_t kLongestPauseNs = 10 * sys::kNsPerMs;
constexpr std::int64_t kTellNs =
    sys::kNsPerSecond;  // how long a rank that may not take part, or knows of a death, tries to say so

enum class Role { kVisitOrGather, kVisit };

// The gatherer has died, which only those know who had come to it. Whoever gathers next is told, and tells the others; where
// nobody does, this rank stands in the door for a while.
Status Spread(const Attendance& attendance, const std::string& name, const Status& fault,
              std::vector<std::byte>& buffer) {
  Attendance briefly = attendance;  // whoever holds the name may not answer
  briefly.deadline_ns = std::min(attendance.deadline_ns, sys::NowNs() + kTellNs);
  while (sys::NowNs() < briefly.deadline_ns) {
    Result<sys::Fd> listener = sys::Listen(sys::SocketKind::kPacket, name);
    if (listener.ok()) return Gatherer(briefly, "").Tell(std::move(*listener), fault);
    Result<sys::Fd> socket = sys::TryConnect(sys::SocketKind::kPacket, name);
    if (socket.ok() && Visitor(briefly, std::move(*socket), buffer).Tell(fault).code() != Code::kInProgress) break;
    sys::SleepNs(sys::kNsPerMs);
  }
  return fault;
}

// Visits whoever gathers; becomes the gatherer where nobody does and the role allows it.
Status Join(const Attendance& attendance, Role role, const OnMember& on_member) {
  const std::string name = internal::SocketName(attendance.id, attendance.options->host);
  std::vector<std::byte> buffer(kMostMessageBytes);
  Status reason;  // why the last visit led nowhere
  for (std::int64_t pause_ns = kShortestPauseNs; sys::NowNs() < attendance.deadline_ns;) {
    if (attendance.Cancelled()) return attendance.Cancellation();
    Result<sys::Fd> socket = sys::TryConnect(sys::SocketKind::kPacket, name);
    if (socket.ok()) {
      if (attendance.options->report != nullptr) ++attendance.options->report->attempts;
      Visitor visitor(attendance, std::move(*socket), buffer);
      const Status visit = visitor.Run(on_member);
      if (visitor.gatherer_lost()) return Spread(attendance, name, visit, buffer);
      // What earlier visits met says more than that the last one had no time left; a host that let this rank in is named.
      if (visit.code() == Code::kTimeout && visit.peer() < 0 && !reason.ok()) break;
      if (visit.code() != Code::kInProgress) return visit;
      reason = visit;
    } else if (socket.status().code() != Code::kInProgress) {
      return socket.status();
    } else if (role == Role::kVisitOrGather) {
      Result<sys::Fd> listener = sys::Listen(sys::SocketKind::kPacket, name);
      if (listener.ok()) {
        TUTTI_RETURN_IF_ERROR(TakeNote(attendance));
        return Gatherer(attendance, reason.message()).Run(std::move(*listener), on_member);
      }
      if (listener.status().code() != Code::kInvalidUsage) return listener.status();
    }
    sys::SleepNs(std::min(pause_ns, attendance.deadline_ns - sys::NowNs()));
    pause_ns = std::min(pause_ns * 2, kLongestPauseNs);
  }
  return Status(Code::kTimeout,
                fmt::format("rank {} of {} could not join the others within {} ms: {}", attendance.options->rank,
                            attendance.options->ranks, (attendance.deadline_ns - attendance.begin_ns) / sys::kNsPerMs,
                            reason.ok() ? "nobody gathers the ranks" : reason.message()));
}

Status Check(const MeetOptions& options) {
  if (options.ranks < 1 || options.ranks > kMostRanks) {
    return Status(Code::kInvalidArgument,
                  fmt::format("a job of {} ranks was asked for; 1 to {} are possible", options.ranks, kMostRanks));
  }
  if (options.timeout_ms < 1) {
    return Status(Code::kInvalidArgument,
                  fmt::format("the ranks were given {} ms to meet; at least 1 is needed", options.timeout_ms));
  }
  if (options.payload.size() > kMostPayloadBytes) {
    return Status(Code::kInvalidArgument, fmt::format("rank {}'s payload has {} bytes; at most {} are possible",
                                                      options.rank, options.payload.size(), kMostPayloadBytes));
  }
  if (options.shared != nullptr && !options.shared->valid()) {
    return Status(Code::kInvalidArgument, fmt::format("rank {} shares a descriptor that is closed", options.rank));
  }
  return Status::Ok();
}

// A rank out of range cannot take part, but the others can be told why they wait in vain.
Status TellOutOfRange(Attendance attendance) {
  const MeetOptions& options = *attendance.options;
  attendance.deadline_ns = std::min(attendance.deadline_ns, attendance.begin_ns + kTellNs);
  const Status told =
      Join(attendance, Role::kVisit, [](int, Member&&) { return Status(Code::kInternal, "not a member"); });
  if (told.code() == Code::kInvalidUsage) return told;
  return Status(Code::kInvalidUsage,
                fmt::format("process {} says that it is rank {} of {}: ranks go from 0 to {}", attendance.process.pid,
                            options.rank, options.ranks, options.ranks - 1),
                options.rank);
}

Status MeetAlone(const Attendance& attendance, const OnMember& on_member) {
  sys::Fd copy;
  if (attendance.options->shared != nullptr) {
    Result<sys::Fd> duplicate = attendance.options->shared->Duplicate();
    if (!duplicate.ok()) return duplicate.status();
    copy = std::move(*duplicate);
  }
  if (attendance.options->report != nullptr) attendance.options->report->gatherer = 0;
  return on_member(0, attendance.MakeMember(attendance.Introduce(), std::move(copy)));
}

}  // namespace

Status Meet(const MeetOptions& options, const OnMember& on_member) {
  if (options.report != nullptr) *options.report = {};
  TUTTI_RETURN_IF_ERROR(Check(options));
  Result<IdParts> id = ReadId(options.id);
  if (!id.ok()) return id.status();
  const std::int64_t begin_ns = sys::NowNs();
  const std::int64_t timeout_ms = std::min<std::int64_t>(options.timeout_ms, 1'000'000'000);
  const Attendance attendance{.options = &options,
                              .id = *id,
                              .process = sys::Self(),
                              .process_namespace = sys::ProcessNamespace(),
                              .begin_ns = begin_ns,
                              .deadline_ns = begin_ns + timeout_ms * sys::kNsPerMs,
                              .note_until_ns = begin_ns + timeout_ms * sys::kNsPerMs};
  if (options.rank < 0 || options.rank >= options.ranks) return TellOutOfRange(attendance);
  if (options.ranks == 1) return MeetAlone(attendance, on_member);
  return Join(attendance, Role::kVisitOrGather, on_member);
}

Result<std::vector<Member>> Meet(const MeetOptions& options) {
  std::vector<Member> members;
  const Status met = Meet(options, [&members](int, Member&& member) {
    members.push_back(std::move(member));
    return Status::Ok();
  });
  if (!met.ok()) return met;
  return members;
}

}  // namespace tutti::comm
