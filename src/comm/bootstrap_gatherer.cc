// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "comm/bootstrap_gatherer.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>

#include "sys/auth.h"
#include "sys/clock.h"

namespace tutti::comm {
namespace {

constexpr std::int64_t kStrangerNs = sys::kNsPerSecond;
constexpr std::int64_t kLingerNs = 500 * sys::kNsPerMs;  // for ranks that come after a fault
constexpr std::int64_t kFarewellNs = 300 * sys::kNsPerMs;
constexpr std::int64_t kLargestMarginNs = 100 * sys::kNsPerMs;
constexpr int kSpareVisitors = 64;
constexpr int kAcceptsPerTurn = 64;
constexpr int kFdsInFlightPerProcess = 2048;

// When to give up, so that a rank which has `left_ns` from `now_ns` on still hears why.
std::int64_t EarlyEnoughNs(std::int64_t now_ns, std::int64_t left_ns) {
  return now_ns + left_ns - std::min(kLargestMarginNs, left_ns / 10);
}

}  // namespace

Introduction Attendance::Introduce() const {
  return {.process = process,
          .process_namespace = process_namespace,
          .uid = sys::UserId(),
          .has_shared = options->shared != nullptr ? 1u : 0u,
          .payload = options->payload};
}

Member Attendance::MakeMember(const Introduction& introduction, sys::Fd shared) const {
  const bool known = introduction.process_namespace == process_namespace;
  return {.process = known ? introduction.process : sys::ProcessId{},
          .uid = introduction.uid,
          .payload = {introduction.payload.begin(), introduction.payload.end()},
          .shared = std::move(shared)};
}

std::string RankList(const std::vector<int>& ranks) {
  constexpr std::size_t kMostRanges = 12;
  std::vector<std::string> ranges;
  for (std::size_t i = 0; i < ranks.size();) {
    std::size_t end = i + 1;
    while (end < ranks.size() && ranks[end] == ranks[end - 1] + 1) ++end;
    if (ranges.size() == kMostRanges) {
      ranges.push_back(fmt::format("{} more", ranks.size() - i));
      break;
    }
    if (end - i <= 2) end = i + 1;
    ranges.push_back(end - i == 1 ? fmt::format("{}", ranks[i]) : fmt::format("{}-{}", ranks[i], ranks[end - 1]));
    i = end;
  }
  std::string text;
  for (std::size_t i = 0; i < ranges.size(); ++i) {
    text += (i == 0 ? "" : i + 1 == ranges.size() ? " and " : ", ") + ranges[i];
  }
  return text;
}

const char* DiedOrLeft(sys::ProcessId process) {
  // A process that is being killed closes its sockets shortly before the kernel shows it as dead.
  for (int i = 0; i < 20; ++i) {
    if (sys::ProbeProcess(process) == sys::Liveness::kDead) return "died";
    sys::SleepNs(sys::kNsPerMs);
  }
  return "left";
}

Status Untaken(const Status& status, int rank) {
  if (status.peer() >= 0) return status;
  return Status(status.code(), fmt::format("could not take what rank {} sent: {}", rank, status.message()));
}

Status Blame(const Status& status, int rank, const std::string& who) {
  if (status.peer() >= 0) return status;
  return Status(status.code(), fmt::format("{} {}", who, status.message()), rank);
}

Gatherer::Gatherer(const Attendance& attendance)
    : attendance_(attendance),
      options_(*attendance.options),
      seats_(options_.ranks),
      heard_(options_.ranks),
      buffer_(kMostMessageBytes),
      deadline_ns_(EarlyEnoughNs(attendance.begin_ns, attendance.deadline_ns - attendance.begin_ns)) {}

Status Gatherer::Run(sys::Fd listener, const OnMember& on_member) {
  listener_ = std::move(listener);
  Status status = SeatSelf();
  if (status.ok()) status = Gather();
  if (status.ok()) status = Distribute(on_member);
  if (!status.ok()) status = Fail(std::move(status));
  if (options_.report != nullptr) {
    options_.report->gatherer = options_.rank;
    options_.report->strangers = strangers_;
  }
  return status;
}

Status Gatherer::SeatSelf() {
  Seat& seat = seats_[options_.rank];
  seat.taken = heard_[options_.rank] = true;
  seats_taken_ = heard_count_ = 1;
  seat.introduction = attendance_.Introduce();
  if (options_.shared == nullptr) return Status::Ok();
  Result<sys::Fd> copy = options_.shared->Duplicate();
  if (!copy.ok()) {
    return Status(copy.status().code(), fmt::format("{} {}", Describe(options_.rank), copy.status().message()),
                  options_.rank);
  }
  seat.shared = std::move(*copy);
  return Status::Ok();
}

std::string Gatherer::Describe(int rank) const {
  return fmt::format("rank {} (pid {})", rank, seats_[rank].introduction.process.pid);
}

Status Gatherer::Gather() {
  while (seats_taken_ < options_.ranks) {
    Turn(deadline_ns_);
    if (!fault_.ok()) return fault_;
    if (seats_taken_ < options_.ranks && sys::NowNs() >= deadline_ns_) {
      const std::vector<int> missing = MissingRanks();
      return Late(missing, fmt::format("{} of {} ranks have come, all but", seats_taken_, options_.ranks),
                  "Likely causes: not started, too slow, another id, another host or network name space; or a job "
                  "with this id has met already");
    }
  }
  return Status::Ok();
}

Status Gatherer::Late(const std::vector<int>& culprits, const std::string& what, const std::string& why) const {
  return Status(
      Code::kTimeout,
      fmt::format("the ranks did not meet within {} ms: {} {} {}. {}. See the output of {}, or raise "
                  "TUTTI_INIT_TIMEOUT_MS",
                  (sys::NowNs() - attendance_.begin_ns) / sys::kNsPerMs, what, culprits.size() == 1 ? "rank" : "ranks",
                  RankList(culprits), why, culprits.size() == 1 ? "that rank" : "those ranks"),
      culprits.empty() ? -1 : culprits.front());
}

std::vector<int> Gatherer::MissingRanks() const {
  std::vector<int> missing;
  for (int rank = 0; rank < options_.ranks; ++rank) {
    if (!seats_[rank].taken) missing.push_back(rank);
  }
  return missing;
}

std::vector<int> Gatherer::UnreadyRanks() const {
  std::vector<int> unready;
  for (const Visitor& visitor : visitors_) {
    if (visitor.stage == Stage::kJoined) unready.push_back(visitor.rank);
  }
  std::ranges::sort(unready);
  return unready;
}

void Gatherer::Turn(std::int64_t until_ns) {
  const bool accepting = listener_.valid() && visitors_.size() < 2u * options_.ranks + kSpareVisitors;
  std::vector<sys::Watched> watched;
  watched.push_back({.fd = accepting ? listener_.get() : -1});
  for (const Visitor& visitor : visitors_) {
    using enum sys::Watched::For;
    watched.push_back({.fd = visitor.socket.get(), .what = visitor.blocked ? kReadingAndWriting : kReading});
    if (!Joined(visitor)) until_ns = std::min(until_ns, visitor.accepted_ns + kStrangerNs);
  }
  const Result<int> ready = sys::WaitAny(watched, until_ns);
  if (!ready.ok() && fault_.ok()) fault_ = ready.status();
  for (std::size_t i = 0; i < visitors_.size(); ++i) {
    if (watched[i + 1].readable) Serve(visitors_[i]);
  }
  DropLateStrangers();
  std::erase_if(visitors_, [](const Visitor& visitor) { return visitor.gone; });
  if (watched[0].readable) AcceptAll();
}

void Gatherer::AcceptAll() {
  for (int i = 0; i < kAcceptsPerTurn; ++i) {
    Result<sys::Fd> socket = sys::Accept(listener_);
    if (!socket.ok()) {
      if (socket.status().code() != Code::kInProgress && fault_.ok()) {
        fault_ = Status(socket.status().code(),
                        fmt::format("{} {}", Describe(options_.rank), socket.status().message()), options_.rank);
      }
      if (socket.status().code() != Code::kInProgress) sys::SleepNs(sys::kNsPerMs);  // poll would return at once
      return;
    }
    Visitor visitor;
    visitor.socket = std::move(*socket);
    visitor.accepted_ns = sys::NowNs();
    const Result<sys::PeerCredentials> credentials = sys::Credentials(visitor.socket);
    if (credentials.ok()) visitor.credentials = *credentials;
    const bool foreign = !credentials.ok() || credentials->uid != sys::UserId();
    if (foreign && attendance_.id.kind == IdKind::kDerived) {
      ++strangers_;
      continue;
    }
    visitors_.push_back(std::move(visitor));
    Serve(visitors_.back());  // its Greeting is often there already
  }
}

void Gatherer::Serve(Visitor& visitor) {
  while (!visitor.gone) {
    Result<sys::Received> received = sys::ReceiveMessage(visitor.socket, buffer_);
    if (received.ok()) {
      Handle(visitor, *received);
    } else if (received.status().code() == Code::kInProgress) {
      return;
    } else {
      Lost(visitor);
    }
  }
}

void Gatherer::Handle(Visitor& visitor, sys::Received& received) {
  const std::span<const std::byte> message = std::span(buffer_).first(received.bytes);
  switch (visitor.stage) {
    case Stage::kGreeting:
      return HandleGreeting(visitor, message);
    case Stage::kHello:
      return HandleHello(visitor, message, received);
    case Stage::kJoined:
    case Stage::kReady:
      return HandleJoined(visitor, message);
  }
}

void Gatherer::DropStranger(Visitor& visitor) {
  ++strangers_;
  visitor.gone = true;
}

void Gatherer::DropLateStrangers() {
  const std::int64_t now_ns = sys::NowNs();
  for (Visitor& visitor : visitors_) {
    if (!visitor.gone && !Joined(visitor) && now_ns - visitor.accepted_ns >= kStrangerNs) DropStranger(visitor);
  }
}

void Gatherer::Lost(Visitor& visitor) {
  visitor.gone = true;
  if (!Joined(visitor)) return DropStranger(visitor);
  if (failing_ || !fault_.ok()) return;
  const sys::ProcessId process = attendance_.MakeMember(seats_[visitor.rank].introduction, sys::Fd()).process;
  fault_ = Status(Code::kRemote,
                  fmt::format("{} {} before the ranks had met. Its own output should say why", Describe(visitor.rank),
                              DiedOrLeft(process)),
                  visitor.rank);
}

void Gatherer::HandleGreeting(Visitor& visitor, std::span<const std::byte> message) {
  const Result<Greeting> greeting = ParseGreeting(message);
  const Result<sys::Nonce> nonce = sys::FreshNonce();
  if (!greeting.ok() || !nonce.ok()) return DropStranger(visitor);
  visitor.its_nonce = greeting->nonce;
  visitor.own_nonce = *nonce;
  const Challenge challenge{.nonce = *nonce, .mac = ChallengeMac(attendance_.id.secret, greeting->nonce, *nonce)};
  if (!sys::SendMessage(visitor.socket, Encode(challenge)).ok()) return DropStranger(visitor);
  visitor.stage = Stage::kHello;
}

void Gatherer::HandleHello(Visitor& visitor, std::span<const std::byte> message, sys::Received& received) {
  const Result<Hello> hello = ParseHello(message, attendance_.id.secret, visitor.its_nonce, visitor.own_nonce);
  if (!hello.ok()) return DropStranger(visitor);
  visitor.stage = Stage::kJoined;
  if (hello->rank >= 0 && hello->rank < options_.ranks && !heard_[hello->rank]) {
    heard_[hello->rank] = true;
    ++heard_count_;
  }
  if (failing_) {
    (void)sys::SendMessage(visitor.socket, Encode(fault_)).ok();
    visitor.gone = true;
    return;
  }
  const Status judgement = Judge(*hello, visitor, received);
  if (judgement.ok()) return TakeSeat(visitor, *hello, received.fds);
  if (fault_.ok()) fault_ = judgement;
}

Status Gatherer::Judge(const Hello& hello, const Visitor& visitor, const sys::Received& received) const {
  const std::string self = Describe(options_.rank);
  const std::string it = fmt::format("rank {} (pid {})", hello.rank, visitor.credentials.pid);
  if (hello.version != kBootstrapVersion) {
    return Status(Code::kInvalidUsage,
                  fmt::format("{} speaks version {} of the bootstrap protocol, {} version {}: they run different "
                              "versions of Tutti; install the same one for all ranks",
                              it, hello.version, self, kBootstrapVersion),
                  hello.rank);
  }
  if (hello.ranks != options_.ranks) {
    return Status(Code::kInvalidUsage,
                  fmt::format("{} was told that the job has {} ranks, {} that it has {}: give all ranks the same "
                              "number, and each job an id of its own",
                              it, hello.ranks, self, options_.ranks),
                  hello.rank);
  }
  if (hello.rank < 0 || hello.rank >= options_.ranks) {
    return Status(Code::kInvalidUsage,
                  fmt::format("process {} says that it is rank {} of {}: ranks go from 0 to {}",
                              visitor.credentials.pid, hello.rank, options_.ranks, options_.ranks - 1),
                  hello.rank);
  }
  if (seats_[hello.rank].taken) {
    return Status(
        Code::kInvalidUsage,
        fmt::format("two ranks of {} say that they are rank {}: process {} and process {}. Likely two jobs "
                    "share one id, or one rank was started twice; give each job an id of its own",
                    options_.ranks, hello.rank, seats_[hello.rank].introduction.process.pid, visitor.credentials.pid),
        hello.rank);
  }
  if (received.fds_lost) {
    const Status lost = sys::DescriptorsLost();
    return Status(lost.code(), fmt::format("{} {}", self, lost.message()), options_.rank);
  }
  if (hello.self.has_shared != received.fds.size()) {
    return Status(
        Code::kInternal,
        fmt::format("{} announced {} file descriptors and sent {}", it, hello.self.has_shared, received.fds.size()),
        hello.rank);
  }
  return Status::Ok();
}

void Gatherer::TakeSeat(Visitor& visitor, const Hello& hello, std::vector<sys::Fd>& fds) {
  visitor.rank = hello.rank;
  Seat& seat = seats_[hello.rank];
  seat.taken = true;
  ++seats_taken_;
  seat.introduction = hello.self;
  seat.introduction.uid = visitor.credentials.uid;
  seat.payload.assign(hello.self.payload.begin(), hello.self.payload.end());
  seat.introduction.payload = seat.payload;
  if (!fds.empty()) seat.shared = std::move(fds.front());
  const std::int64_t left_ns = std::clamp<std::int64_t>(hello.left_ms, 0, 1'000'000'000) * sys::kNsPerMs;
  deadline_ns_ = std::min(deadline_ns_, EarlyEnoughNs(sys::NowNs(), left_ns));
  const Welcome welcome{
      .rank = options_.rank, .process = attendance_.process, .process_namespace = attendance_.process_namespace};
  const Result<std::size_t> sent = sys::SendMessage(visitor.socket, Encode(welcome));
  if (!sent.ok()) Lost(visitor);
}

void Gatherer::HandleJoined(Visitor& visitor, std::span<const std::byte> message) {
  const bool expects_ready = visitor.stage == Stage::kJoined && !messages_.empty();
  if (expects_ready && ParseBare(message, MessageKind::kReady).ok()) {
    visitor.stage = Stage::kReady;
    return;
  }
  Status failure;
  if (ParseFailure(message, failure).ok()) {
    if (fault_.ok()) fault_ = failure;
    return;
  }
  if (fault_.ok()) {
    fault_ = Status(Code::kInternal,
                    fmt::format("{} sent {} bytes that make no sense here", Describe(visitor.rank), message.size()),
                    visitor.rank);
  }
}

int Gatherer::FdsPerMessage() const {
  std::map<std::pair<std::uint64_t, std::int32_t>, int> ranks_of_process;
  int most = 1;
  for (const Seat& seat : seats_) {
    const Introduction& member = seat.introduction;
    most = std::max(most, ++ranks_of_process[{member.process_namespace, member.process.pid}]);
  }
  return std::clamp(kFdsInFlightPerProcess / most, 4, sys::kMostFdsPerMessage);
}

void Gatherer::ComposeMessages() {
  const std::size_t most_fds = FdsPerMessage();
  constexpr std::size_t kMembersHeaderBytes = 16;
  Members members;
  std::vector<int> fds;
  std::size_t bytes = kMembersHeaderBytes;
  const auto flush = [&](int next) {
    messages_.push_back({.bytes = Encode(members), .fds = std::move(fds)});
    members = {.first = next};
    fds.clear();
    bytes = kMembersHeaderBytes;
  };
  for (int rank = 0; rank < options_.ranks; ++rank) {
    const Seat& seat = seats_[rank];
    const std::size_t added = EncodedBytes(seat.introduction);
    if (bytes + added > kMostMessageBytes || fds.size() + seat.shared.valid() > most_fds) flush(rank);
    members.members.push_back(seat.introduction);
    if (seat.shared.valid()) fds.push_back(seat.shared.get());
    bytes += added;
  }
  flush(options_.ranks);
}

bool Gatherer::SendPending() {
  bool progress = false;
  for (Visitor& visitor : visitors_) {
    visitor.blocked = false;
    while (visitor.sent < messages_.size() && !visitor.gone && !visitor.blocked) {
      const Outgoing& next = messages_[visitor.sent];
      const Result<std::size_t> sent = sys::SendMessage(visitor.socket, next.bytes, next.fds);
      if (sent.ok()) {
        ++visitor.sent;
        progress = true;
      } else if (sent.status().code() == Code::kInProgress) {
        visitor.blocked = true;
      } else {
        Lost(visitor);
      }
    }
  }
  return progress;
}

Status Gatherer::Distribute(const OnMember& on_member) {
  listener_.Close();
  for (Visitor& visitor : visitors_) {
    if (!Joined(visitor)) DropStranger(visitor);
  }
  std::erase_if(visitors_, [](const Visitor& visitor) { return visitor.gone; });
  ComposeMessages();
  bool taken = false;
  while (true) {
    const bool progress = SendPending();
    const bool all_sent =
        std::ranges::all_of(visitors_, [this](const Visitor& visitor) { return visitor.sent == messages_.size(); });
    if (fault_.ok() && all_sent && !taken) {
      TUTTI_RETURN_IF_ERROR(TakeMembers(on_member));
      taken = true;
    }
    if (!fault_.ok()) return fault_;
    const std::vector<int> unready = UnreadyRanks();
    if (taken && unready.empty()) break;
    if (sys::NowNs() >= deadline_ns_) {
      return Late(unready, fmt::format("all {} have come, but the data of the others was not taken by", options_.ranks),
                  "Likely cause: stopped, or starved of CPU time");
    }
    // A socket can be writable and yet take nothing, where too many descriptors are under way.
    if (!progress && !all_sent) sys::SleepNs(100'000);
    Turn(deadline_ns_);
    if (!fault_.ok()) return fault_;
  }
  for (const Visitor& visitor : visitors_) {
    (void)sys::SendMessage(visitor.socket, EncodeBare(MessageKind::kComplete)).ok();
  }
  visitors_.clear();
  return Status::Ok();
}

Status Gatherer::TakeMembers(const OnMember& on_member) {
  for (int rank = 0; rank < options_.ranks; ++rank) {
    Seat& seat = seats_[rank];
    const Status taken = on_member(rank, attendance_.MakeMember(seat.introduction, std::move(seat.shared)));
    if (!taken.ok()) return Blame(Untaken(taken, rank), options_.rank, Describe(options_.rank));
  }
  return Status::Ok();
}

Status Gatherer::Fail(Status fault) {
  fault_ = std::move(fault);
  failing_ = true;
  const Message message = Encode(fault_);
  const std::int64_t farewell_ns = std::min(sys::NowNs() + kFarewellNs, attendance_.deadline_ns);
  for (Visitor& visitor : visitors_) {
    if (!Joined(visitor)) continue;
    while (true) {
      const Result<std::size_t> sent = sys::SendMessage(visitor.socket, message);
      if (sent.ok() || sent.status().code() != Code::kInProgress) break;
      if (!sys::WaitWritable(visitor.socket, farewell_ns).ok()) break;
    }
    visitor.gone = true;
  }
  std::erase_if(visitors_, [](const Visitor& visitor) { return visitor.gone; });
  const std::int64_t until_ns = std::min(sys::NowNs() + kLingerNs, deadline_ns_);
  while (listener_.valid() && heard_count_ < options_.ranks && sys::NowNs() < until_ns) Turn(until_ns);
  return fault_;
}

}  // namespace tutti::comm
