// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "comm/bootstrap.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <utility>

#include "comm/bootstrap_gatherer.h"
#include "comm/bootstrap_message.h"
#include "comm/unique_id.h"
#include "sys/auth.h"
#include "sys/clock.h"
#include "sys/unix_socket.h"

namespace tutti::comm {

std::string internal::SocketName(const IdParts& id) {
  const std::string_view purpose = "tutti bootstrap socket, handshake 1";
  const sys::Mac mac = sys::ComputeMac(id.secret, {std::as_bytes(std::span(purpose)), id.name});
  std::string name = "tutti-";
  for (std::size_t i = 0; i < 16; ++i) name += fmt::format("{:02x}", std::to_integer<unsigned>(mac[i]));
  return name;
}

namespace {

constexpr std::int64_t kShortestPauseNs = 50'000;
constexpr std::int64_t kLongestPauseNs = 10 * sys::kNsPerMs;
constexpr std::int64_t kAgreeNs = sys::kNsPerSecond;
constexpr std::int64_t kTellNs = sys::kNsPerSecond;  // how long a rank that may not take part tries to say so

// One connection to the gatherer, from the greeting to the outcome of the meeting.
class Visit {
 public:
  Visit(const Attendance& attendance, sys::Fd socket, std::vector<std::byte>& buffer)
      : attendance_(attendance), options_(*attendance.options), socket_(std::move(socket)), buffer_(buffer) {}

  // kInProgress: was not let in, and may try again; the sentence says why.
  Status Run(const OnMember& on_member) {
    Status status = Introduce();
    if (status.ok()) status = Enter();
    if (status.ok()) status = Attend(on_member);
    return status;
  }

 private:
  Status Introduce();
  Status Enter();
  Status Attend(const OnMember& on_member);
  Status TakeMembers(std::span<const std::byte> message, std::vector<sys::Fd> fds, const OnMember& on_member);
  Result<sys::Received> Receive();
  Status GivenUpOn(const Status& why) const;
  Status Refuse(const Status& status);

  std::span<const std::byte> Text(const sys::Received& received) const {
    return std::span(buffer_).first(received.bytes);
  }
  std::string Self() const { return fmt::format("rank {} (pid {})", options_.rank, attendance_.process.pid); }
  std::string Host() const { return fmt::format("rank {} (pid {})", host_.rank, host_.process.pid); }

  const Attendance& attendance_;
  const MeetOptions& options_;
  sys::Fd socket_;
  std::vector<std::byte>& buffer_;
  sys::Nonce own_nonce_{};
  Welcome host_;
  int taken_ = 0;
};

Result<sys::Received> Visit::Receive() {
  while (true) {
    Result<sys::Received> received = sys::ReceiveMessage(socket_, buffer_);
    if (received.ok() || received.status().code() != Code::kInProgress) return received;
    TUTTI_RETURN_IF_ERROR(sys::WaitReadable(socket_, attendance_.deadline_ns));
  }
}

Status Visit::Introduce() {
  const Result<sys::PeerCredentials> host = sys::Credentials(socket_);
  if (!host.ok()) return host.status();
  host_.process.pid = host->pid;
  if (attendance_.id.kind == IdKind::kDerived && host->uid != sys::UserId()) {
    return Status(Code::kInProgress, fmt::format("a process of another user (pid {}, uid {}) holds the job's socket "
                                                 "name, and the launcher gave the job no secret",
                                                 host->pid, host->uid));
  }
  const Result<sys::Nonce> nonce = sys::FreshNonce();
  if (!nonce.ok()) return nonce.status();
  own_nonce_ = *nonce;
  const Result<std::size_t> sent = sys::SendMessage(socket_, Encode(Greeting{.nonce = *nonce}));
  if (!sent.ok()) return Status(Code::kInProgress, sent.status().message());
  return Status::Ok();
}

Status Visit::Enter() {
  Result<sys::Received> received = Receive();
  if (!received.ok()) return GivenUpOn(received.status());
  const Result<Challenge> challenge = ParseChallenge(Text(*received));
  if (!challenge.ok() ||
      !sys::SameMac(challenge->mac, ChallengeMac(attendance_.id.secret, own_nonce_, challenge->nonce))) {
    return Status(Code::kInProgress, fmt::format("process {} holds the job's socket name and does not know the job's "
                                                 "secret",
                                                 host_.process.pid));
  }
  const Hello hello{.rank = options_.rank,
                    .ranks = options_.ranks,
                    .left_ms = std::max<std::int64_t>(attendance_.deadline_ns - sys::NowNs(), 0) / sys::kNsPerMs,
                    .self = attendance_.Introduce()};
  std::vector<int> fds;
  if (options_.shared != nullptr) fds.push_back(options_.shared->get());
  const Result<std::size_t> sent =
      sys::SendMessage(socket_, Encode(hello, attendance_.id.secret, own_nonce_, challenge->nonce), fds);
  if (!sent.ok() && sent.status().code() != Code::kSystem) return Status(Code::kInProgress, sent.status().message());
  if (!sent.ok()) return sent.status();
  received = Receive();
  if (!received.ok()) return GivenUpOn(received.status());
  Status failure;
  if (ParseFailure(Text(*received), failure).ok()) return failure;
  const Result<Welcome> welcome = ParseWelcome(Text(*received));
  if (!welcome.ok()) return welcome.status();
  host_ = *welcome;
  if (options_.report != nullptr) options_.report->gatherer = host_.rank;
  return Status::Ok();
}

// Why no answer came before this rank was let in.
Status Visit::GivenUpOn(const Status& why) const {
  if (why.code() == Code::kRemote) return Status(Code::kInProgress, "the rank that gathers the others closed the door");
  if (why.code() != Code::kTimeout) return why;
  return Status(Code::kTimeout, fmt::format("process {}, which gathers the ranks, did not answer {}. Likely it is "
                                            "stopped or starved of CPU time",
                                            host_.process.pid, Self()));
}

Status Visit::Attend(const OnMember& on_member) {
  while (true) {
    Result<sys::Received> received = Receive();
    if (!received.ok() && received.status().code() == Code::kRemote) {
      const bool same = host_.process_namespace == attendance_.process_namespace;
      return Status(Code::kRemote,
                    fmt::format("{}, which gathered the ranks, {} before they had met. Its own output should say why",
                                Host(), DiedOrLeft(same ? host_.process : sys::ProcessId{})),
                    host_.rank);
    }
    if (!received.ok() && received.status().code() == Code::kTimeout) {
      return Status(
          Code::kTimeout,
          fmt::format("{}, which gathers the ranks, fell silent. Likely it is stopped or starved of CPU time", Host()),
          host_.rank);
    }
    if (!received.ok()) return Refuse(received.status());
    if (received->fds_lost) return Refuse(sys::DescriptorsLost());
    const std::span<const std::byte> message = Text(*received);
    Status failure;
    if (ParseFailure(message, failure).ok()) return failure;
    if (ParseBare(message, MessageKind::kComplete).ok() && taken_ == options_.ranks) return Status::Ok();
    const Status taken = TakeMembers(message, std::move(received->fds), on_member);
    if (!taken.ok()) return Refuse(taken);
    if (taken_ < options_.ranks) continue;
    const Result<std::size_t> sent = sys::SendMessage(socket_, EncodeBare(MessageKind::kReady));
    if (!sent.ok() && sent.status().code() != Code::kRemote) return sent.status();
  }
}

Status Visit::TakeMembers(std::span<const std::byte> message, std::vector<sys::Fd> fds, const OnMember& on_member) {
  const Result<Members> members = ParseMembers(message);
  if (!members.ok()) return members.status();
  const std::size_t announced = std::ranges::count(members->members, 1u, &Introduction::has_shared);
  const std::size_t count = members->members.size();
  if (members->first != taken_ || count > static_cast<std::size_t>(options_.ranks - taken_) ||
      announced != fds.size()) {
    return Status(Code::kInternal,
                  fmt::format("{} sent ranks {} to {} with {} descriptors, expected were rank {} and "
                              "{} descriptors",
                              Host(), members->first, members->first + count, fds.size(), taken_, announced));
  }
  std::size_t next_fd = 0;
  for (const Introduction& member : members->members) {
    sys::Fd shared = member.has_shared != 0 ? std::move(fds[next_fd++]) : sys::Fd();
    const Status taken = on_member(taken_, attendance_.MakeMember(member, std::move(shared)));
    if (!taken.ok()) return Untaken(taken, taken_);
    ++taken_;
  }
  return Status::Ok();
}

// Lets the others know that this rank gives up. What all of them will say: another may have given up before.
Status Visit::Refuse(const Status& status) {
  const Status own = Blame(status, options_.rank, Self());
  (void)sys::SendMessage(socket_, Encode(own)).ok();  // where it fails, the gatherer has failed before
  const std::int64_t until_ns = std::min(attendance_.deadline_ns, sys::NowNs() + kAgreeNs);
  while (true) {
    const Result<sys::Received> received = sys::ReceiveMessage(socket_, buffer_);
    Status agreed;
    if (received.ok() && ParseFailure(Text(*received), agreed).ok()) return agreed;
    if (received.ok()) continue;
    if (received.status().code() != Code::kInProgress || !sys::WaitReadable(socket_, until_ns).ok()) return own;
  }
}

enum class Role { kVisitOrGather, kVisit };

// Visits whoever gathers; becomes the gatherer where nobody does and the role allows it.
Status Join(const Attendance& attendance, Role role, const OnMember& on_member) {
  const std::string name = internal::SocketName(attendance.id);
  std::vector<std::byte> buffer(kMostMessageBytes);
  Status reason(Code::kInProgress, "nobody gathers the ranks");
  for (std::int64_t pause_ns = kShortestPauseNs; sys::NowNs() < attendance.deadline_ns;) {
    Result<sys::Fd> socket = sys::TryConnect(sys::SocketKind::kPacket, name);
    if (socket.ok()) {
      if (attendance.options->report != nullptr) ++attendance.options->report->attempts;
      reason = Visit(attendance, std::move(*socket), buffer).Run(on_member);
      if (reason.code() != Code::kInProgress) return reason;
    } else if (socket.status().code() != Code::kInProgress) {
      return socket.status();
    } else if (role == Role::kVisitOrGather) {
      Result<sys::Fd> listener = sys::Listen(sys::SocketKind::kPacket, name);
      if (listener.ok()) return Gatherer(attendance).Run(std::move(*listener), on_member);
      if (listener.status().code() != Code::kInvalidUsage) return listener.status();
    }
    sys::SleepNs(std::min(pause_ns, attendance.deadline_ns - sys::NowNs()));
    pause_ns = std::min(pause_ns * 2, kLongestPauseNs);
  }
  return Status(Code::kTimeout,
                fmt::format("rank {} of {} could not join the others within {} ms: {}", attendance.options->rank,
                            attendance.options->ranks, (attendance.deadline_ns - attendance.begin_ns) / sys::kNsPerMs,
                            reason.message()));
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
                              .deadline_ns = begin_ns + timeout_ms * sys::kNsPerMs};
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
