// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "comm/meet/bootstrap_visitor.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "sys/net/auth.h"
#include "sys/os/clock.h"

namespace tutti::comm {
namespace {

constexpr std::int64_t kAgreeNs = sys::kNsPerSecond;
constexpr int kRanksPerLook = 32;

}  // namespace

std::string Visitor::Self() const { return fmt::format("rank {} (pid {})", options_.rank, attendance_.process.pid); }

std::string Visitor::Host() const { return fmt::format("rank {} (pid {})", host_.rank, host_.process.pid); }

sys::ProcessId Visitor::HostProcess() const { return attendance_.Known(host_.process, host_.process_namespace); }

Status Visitor::Run(const OnMember& on_member) {
  Status status = Introduce();
  if (status.ok()) status = Enter();
  if (status.ok()) status = Attend(on_member);
  return status;
}

Status Visitor::Tell(const Status& fault) {
  TUTTI_RETURN_IF_ERROR(Introduce());
  TUTTI_RETURN_IF_ERROR(Enter());
  const Result<std::size_t> sent = sys::SendMessage(control_, Encode(fault));
  return sent.ok() ? Status::Ok() : Status(Code::kInProgress, sent.status().message());
}

Status Visitor::Wait(const sys::Fd& other, const sys::Fd& writable) {
  const std::int64_t now_ns = sys::NowNs();
  if (now_ns >= attendance_.deadline_ns) return Status(Code::kTimeout, "late");
  if (attendance_.Cancelled()) return attendance_.Cancellation();
  sys::Watched watched[] = {
      {.fd = control_.get()},
      {.fd = other.get()},
      {.fd = writable.get(), .what = sys::Watched::For::kReadingAndWriting},
  };
  const Result<int> ready = sys::WaitAny(watched, std::min(attendance_.deadline_ns, attendance_.NextLookNs(now_ns)));
  if (!ready.ok()) return ready.status();
  if (*ready == 0 && sys::ProbeProcess(HostProcess()) == sys::Liveness::kDead) {
    return Status(Code::kRemote, "dead");
  }
  return *ready == 0 ? Look(now_ns) : Status::Ok();
}

Status Visitor::Look(std::int64_t now_ns) {
  // The gatherer looks too, if it can. All ranks together spend about the same time whether they are few or many.
  const std::int64_t period_ns = kProbeNs * (1 + options_.ranks / kRanksPerLook);
  if (!let_in_ || placed_ || options_.look == nullptr || now_ns - looked_ns_ < period_ns) return Status::Ok();
  looked_ns_ = now_ns;
  return options_.look();
}

Result<sys::Received> Visitor::Receive() {
  while (true) {
    Result<sys::Received> received = sys::ReceiveMessage(control_, buffer_);
    if (received.ok() || received.status().code() != Code::kInProgress) return received;
    if (parent_.valid()) {
      received = sys::ReceiveMessage(parent_, buffer_);
      if (received.ok()) return received;
      // A parent that is gone had a connection to the gatherer too, which will say what happened.
      if (received.status().code() == Code::kRemote) {
        parent_.Close();
      } else if (received.status().code() != Code::kInProgress) {
        return received;
      }
    }
    TUTTI_RETURN_IF_ERROR(Wait(parent_, sys::Fd()));
  }
}

Status Visitor::Introduce() {
  const Result<sys::PeerCredentials> host = sys::Credentials(control_);
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
  const Result<std::size_t> sent = sys::SendMessage(control_, Encode(Greeting{.nonce = *nonce}));
  if (!sent.ok()) return Status(Code::kInProgress, sent.status().message());
  return Status::Ok();
}

Status Visitor::Enter() {
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
      sys::SendMessage(control_, Encode(hello, attendance_.id.secret, own_nonce_, challenge->nonce), fds);
  if (!sent.ok() && sent.status().code() != Code::kSystem) return Status(Code::kInProgress, sent.status().message());
  if (!sent.ok()) return sent.status();
  received = Receive();
  if (!received.ok()) return GivenUpOn(received.status());
  Status failure;
  if (ParseFailure(Text(*received), failure).ok()) return failure;
  const Result<Welcome> welcome = ParseWelcome(Text(*received));
  if (!welcome.ok()) return welcome.status();
  host_ = *welcome;
  let_in_ = true;
  if (options_.report != nullptr) options_.report->gatherer = host_.rank;
  return Status::Ok();
}

// Why no answer came before this rank was let in.
Status Visitor::GivenUpOn(const Status& why) const {
  if (GaveUp(why)) return why;
  if (why.code() == Code::kRemote) return Status(Code::kInProgress, "the rank that gathers the others closed the door");
  if (why.code() != Code::kTimeout) return why;
  return Status(Code::kTimeout, fmt::format("process {}, which gathers the ranks, did not answer {}. Likely it is "
                                            "stopped or starved of CPU time",
                                            host_.process.pid, Self()));
}

// Why nothing comes from the gatherer any more.
Status Visitor::GathererLost(const Status& why) {
  if (why.code() == Code::kTimeout) {
    return Status(
        Code::kTimeout,
        fmt::format("{}, which gathers the ranks, fell silent. Likely it is stopped or starved of CPU time", Host()),
        host_.rank);
  }
  gatherer_lost_ = !placed_;
  return Status(Code::kRemote,
                fmt::format("{}, which gathered the ranks, {} before they had met. Its own output should say why",
                            Host(), DiedOrLeft(HostProcess())),
                host_.rank);
}

Status Visitor::Attend(const OnMember& on_member) {
  while (true) {
    Result<sys::Received> received = Receive();
    const Code code = received.status().code();
    if (GaveUp(received.status())) return Refuse(received.status());
    if (code == Code::kRemote || code == Code::kTimeout) return GathererLost(received.status());
    if (!received.ok()) return Refuse(received.status());
    if (received->fds_lost) return Refuse(sys::DescriptorsLost());
    const std::span<const std::byte> message = Text(*received);
    Status failure;
    if (ParseFailure(message, failure).ok()) return failure;
    if (ParseBare(message, MessageKind::kComplete).ok() && taken_ == options_.ranks) return Status::Ok();
    const Status handled = Handle(message, std::move(received->fds), on_member);
    if (!verdict_.ok()) return verdict_;
    if (!handled.ok()) return Refuse(handled);
  }
}

Status Visitor::Handle(std::span<const std::byte> message, std::vector<sys::Fd> fds, const OnMember& on_member) {
  const Result<MessageKind> kind = KindOf(message);
  if (kind.ok() && *kind == MessageKind::kPlace && !parent_.valid()) return TakePlace(message, std::move(fds));
  if (kind.ok() && *kind == MessageKind::kMissing && !placed_) return TakeMissing(message);
  TUTTI_RETURN_IF_ERROR(TakeMembers(message, std::move(fds), on_member));
  if (taken_ < options_.ranks) return Status::Ok();
  const Result<std::size_t> sent = sys::SendMessage(control_, EncodeBare(MessageKind::kReady));
  if (!sent.ok() && sent.status().code() != Code::kRemote) return sent.status();
  return Status::Ok();
}

Status Visitor::TakeMissing(std::span<const std::byte> message) {
  const Result<Missing> missing = ParseMissing(message);
  if (!missing.ok()) return missing.status();
  if (options_.missing != nullptr) options_.missing(*missing);
  return Status::Ok();
}

Status Visitor::TakePlace(std::span<const std::byte> message, std::vector<sys::Fd> fds) {
  const Result<Place> place = ParsePlace(message);
  if (!place.ok()) return place.status();
  if (fds.size() != 1 + place->children) {
    return Status(Code::kInternal,
                  fmt::format("{} sent {} sockets for a place with {} children", Host(), fds.size(), place->children));
  }
  placed_ = true;
  parent_ = std::move(fds.front());
  for (std::size_t i = 1; i < fds.size(); ++i) children_.push_back(std::move(fds[i]));
  return Status::Ok();
}

Status Visitor::TakeMembers(std::span<const std::byte> message, std::vector<sys::Fd> fds, const OnMember& on_member) {
  const Result<Members> members = ParseMembers(message);
  if (!members.ok()) return members.status();
  const std::size_t announced = std::ranges::count(members->members, 1u, &Introduction::has_shared);
  const std::size_t count = members->members.size();
  if (members->first != taken_ || count > static_cast<std::size_t>(options_.ranks - taken_) ||
      announced != fds.size()) {
    return Status(Code::kInternal,
                  fmt::format("ranks {} to {} came with {} descriptors, expected were rank {} and {} descriptors",
                              members->first, members->first + count, fds.size(), taken_, announced));
  }
  TUTTI_RETURN_IF_ERROR(PassOn(message, fds));
  std::size_t next_fd = 0;
  for (const Introduction& member : members->members) {
    sys::Fd shared = member.has_shared != 0 ? std::move(fds[next_fd++]) : sys::Fd();
    const Status taken = on_member(taken_, attendance_.MakeMember(member, std::move(shared)));
    if (!taken.ok()) return Untaken(taken, taken_);
    ++taken_;
  }
  return Status::Ok();
}

Status Visitor::PassOn(std::span<const std::byte> message, std::span<const sys::Fd> fds) {
  std::vector<int> numbers;
  for (const sys::Fd& fd : fds) numbers.push_back(fd.get());
  for (sys::Fd& child : children_) {
    for (int attempt = 0; child.valid(); ++attempt) {
      const Result<std::size_t> sent = sys::SendMessage(child, message, numbers);
      if (sent.ok()) break;
      if (sent.status().code() == Code::kRemote) {
        child.Close();  // the gatherer sees it too, and will tell
      } else if (sent.status().code() == Code::kInProgress) {
        if (attempt > 0) sys::SleepNs(kRetryNs);
        TUTTI_RETURN_IF_ERROR(WaitForRoom(child));
      } else {
        return sent.status();
      }
    }
  }
  return Status::Ok();
}

Status Visitor::WaitForRoom(const sys::Fd& child) {
  Status waited = Wait(sys::Fd(), child);
  if (waited.ok()) {
    std::array<std::byte, 2 * kMostSentenceBytes> text;
    const Result<sys::Received> received = sys::ReceiveMessage(control_, text);
    if (received.ok() && ParseFailure(std::span(text).first(received->bytes), verdict_).ok()) return verdict_;
    if (received.status().code() == Code::kInProgress) return Status::Ok();
    waited = Status(Code::kRemote, "left");
  }
  verdict_ = GaveUp(waited) ? Refuse(waited) : GathererLost(waited);
  return verdict_;
}

// Lets the others know that this rank gives up. What all of them will say: another may have given up before.
Status Visitor::Refuse(const Status& status) {
  const Status own = Blame(status, options_.rank, Self());
  (void)sys::SendMessage(control_, Encode(own)).ok();  // where it fails, the gatherer has failed before
  const std::int64_t until_ns = std::min(attendance_.deadline_ns, sys::NowNs() + kAgreeNs);
  while (true) {
    const Result<sys::Received> received = sys::ReceiveMessage(control_, buffer_);
    Status agreed;
    if (received.ok() && ParseFailure(Text(*received), agreed).ok()) return agreed;
    if (received.ok()) continue;
    if (received.status().code() != Code::kInProgress || !sys::WaitReadable(control_, until_ns).ok()) return own;
  }
}

}  // namespace tutti::comm
