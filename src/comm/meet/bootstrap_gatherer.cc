// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "comm/meet/bootstrap_gatherer.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "comm/meet/bootstrap_note.h"
#include "sys/net/auth.h"
#include "sys/os/clock.h"

namespace tutti::comm {
namespace {

constexpr std::int64_t kStrangerNs = sys::kNsPerSecond;
constexpr std::int64_t kLingerNs = 500 * sys::kNsPerMs;  // for ranks that come after a fault
constexpr std::int64_t kTellNs = sys::kNsPerSecond;      // for those that come after the death of who gathered
constexpr std::int64_t kFarewellNs = 300 * sys::kNsPerMs;
constexpr std::int64_t kLargestMarginNs = 100 * sys::kNsPerMs;
constexpr std::int64_t kDisagreementNs = 100 * sys::kNsPerMs;  // from the first other number of ranks to the verdict
constexpr int kMostStrangers = 256;                            // beyond one for each rank that is still to come
constexpr int kAcceptsPerTurn = 256;
constexpr int kFdsInFlightPerProcess = 2048;

// When to give up, so that a rank which has `left_ns` from `now_ns` on still hears why.
std::int64_t EarlyEnoughNs(std::int64_t now_ns, std::int64_t left_ns) {
  return now_ns + left_ns - std::min(kLargestMarginNs, left_ns / 10);
}

}  // namespace

Gatherer::Gatherer(const Attendance& attendance, std::string earlier)
    : attendance_(attendance),
      options_(*attendance.options),
      earlier_(std::move(earlier)),
      seats_(options_.ranks),
      heard_(options_.ranks),
      buffer_(kMostMessageBytes),
      deadline_ns_(EarlyEnoughNs(attendance.begin_ns, attendance.deadline_ns - attendance.begin_ns)) {}

Status Gatherer::Run(sys::Fd listener, const OnMember& on_member) {
  listener_ = std::move(listener);
  Status status = SeatSelf();
  if (status.ok()) status = Gather();
  if (status.ok()) status = Distribute(on_member);
  if (!status.ok()) status = Fail(std::move(status), kLingerNs);
  if (options_.report != nullptr) {
    options_.report->gatherer = options_.rank;
    options_.report->strangers = strangers_;
  }
  return status;
}

Status Gatherer::Tell(sys::Fd listener, const Status& fault) {
  listener_ = std::move(listener);
  heard_[options_.rank] = true;
  heard_count_ = 1;
  return Fail(fault, kTellNs);
}

Status Gatherer::SeatSelf() {
  Seat& seat = seats_[options_.rank];
  seat.taken = heard_[options_.rank] = true;
  seats_taken_ = heard_count_ = 1;
  claims_[options_.ranks] = {options_.rank};
  seat.introduction = attendance_.Introduce();
  if (options_.shared == nullptr) return Status::Ok();
  Result<sys::Fd> copy = options_.shared->Duplicate();
  if (!copy.ok()) return Blame(copy.status(), options_.rank, Describe(options_.rank));
  seat.shared = std::move(*copy);
  return Status::Ok();
}

std::string Gatherer::Describe(int rank) const {
  return fmt::format("rank {} (pid {})", rank, seats_[rank].introduction.process.pid);
}

Status Gatherer::Gather() {
  while (seats_taken_ < options_.ranks || disagreed_ns_ != 0) {
    const std::int64_t verdict_ns = disagreed_ns_ != 0 ? disagreed_ns_ + kDisagreementNs : deadline_ns_;
    Turn(std::min({verdict_ns, deadline_ns_, HostsWantedNs()}));
    if (!fault_.ok()) return fault_;
    LookForHosts();
    SayWhoIsMissing();
    TellWhoIsMissing();
    if (disagreed_ns_ != 0 && sys::NowNs() >= verdict_ns) return Disagreement();
    if (seats_taken_ < options_.ranks && sys::NowNs() >= deadline_ns_) {
      const std::vector<int> missing = MissingRanks();
      if (missing.empty()) return HostsLate();
      const std::size_t come = static_cast<std::size_t>(options_.ranks) - missing.size();
      return Late(missing, fmt::format("{} of {} ranks have come, all but", come, options_.ranks), WhyMissing());
    }
  }
  return Status::Ok();
}

void Gatherer::Turn(std::int64_t until_ns, const sys::Fd* writable) {
  using enum sys::Watched::For;
  std::vector<sys::Watched> watched;
  watched.push_back({.fd = listener_.get()});
  watched.push_back({.fd = writable == nullptr ? -1 : writable->get(), .what = kReadingAndWriting});
  watched.push_back({.fd = hosts_ == nullptr ? -1 : hosts_->fd().get()});
  for (const Caller& caller : callers_) {
    watched.push_back({.fd = caller.socket.get()});
    if (!Joined(caller)) until_ns = std::min(until_ns, caller.accepted_ns + kStrangerNs);
  }
  const Result<int> ready = sys::WaitAny(watched, std::min(until_ns, attendance_.NextLookNs(sys::NowNs())));
  if (!ready.ok() && fault_.ok()) fault_ = ready.status();
  if (attendance_.Cancelled() && fault_.ok()) {
    fault_ = attendance_.Cancellation();
    wanted_ = true;
  }
  for (std::size_t i = 0; i < callers_.size(); ++i) {
    if (watched[i + 3].readable) Serve(callers_[i]);
  }
  if (watched[2].readable) HearOfHosts();
  DropLateStrangers();
  LookForTheDead();
  std::erase_if(callers_, [](const Caller& caller) { return caller.gone; });
  if (watched[0].readable) AcceptAll();
}

void Gatherer::LookForTheDead() {
  const std::int64_t now_ns = sys::NowNs();
  if (failing_ || now_ns - probed_ns_ < kProbeNs) return;
  probed_ns_ = now_ns;
  for (Caller& caller : callers_) {
    if (caller.rank < 0 || caller.gone) continue;
    const Introduction& member = seats_[caller.rank].introduction;
    const sys::ProcessId process = attendance_.Known(member.process, member.process_namespace);
    if (process == attendance_.process) continue;
    if (sys::ProbeProcess(process) == sys::Liveness::kDead) Lost(caller);
  }
  if (!distributing_ && fault_.ok() && options_.look != nullptr) fault_ = options_.look();
}

void Gatherer::AcceptAll() {
  for (int i = 0; i < kAcceptsPerTurn; ++i) {
    Result<sys::Fd> socket = sys::Accept(listener_);
    if (!socket.ok()) {
      if (socket.status().code() == Code::kInProgress) return;
      if (DropOldestStranger()) continue;  // likely out of descriptors: now there is one
      if (fault_.ok()) fault_ = Blame(socket.status(), options_.rank, Describe(options_.rank));
      return sys::SleepNs(sys::kNsPerMs);  // poll would return at once
    }
    Caller caller;
    caller.socket = std::move(*socket);
    caller.accepted_ns = sys::NowNs();
    const Result<sys::PeerCredentials> credentials = sys::Credentials(caller.socket);
    if (credentials.ok()) caller.credentials = *credentials;
    const bool foreign = !credentials.ok() || credentials->uid != sys::UserId();
    if (foreign && attendance_.id.kind == IdKind::kDerived) {
      ++strangers_;
      continue;
    }
    const auto unknown = std::ranges::count_if(callers_, [this](const Caller& c) { return !c.gone && !Joined(c); });
    if (unknown >= kMostStrangers + options_.ranks) DropOldestStranger();
    callers_.push_back(std::move(caller));
    Serve(callers_.back());  // its Greeting is often there already
  }
}

bool Gatherer::DropOldestStranger() {
  const auto oldest = [this](Stage stage) {
    return std::ranges::find_if(callers_, [stage](const Caller& c) { return !c.gone && c.stage == stage; });
  };
  auto found = oldest(Stage::kGreeting);
  if (found == callers_.end()) found = oldest(Stage::kHello);
  if (found == callers_.end()) return false;
  DropStranger(*found);
  return true;
}

void Gatherer::Serve(Caller& caller) {
  while (!caller.gone) {
    Result<sys::Received> received = sys::ReceiveMessage(caller.socket, buffer_);
    if (received.ok()) {
      Handle(caller, *received);
    } else if (received.status().code() == Code::kInProgress) {
      return;
    } else {
      Lost(caller);
    }
  }
}

void Gatherer::Handle(Caller& caller, sys::Received& received) {
  const std::span<const std::byte> message = std::span(buffer_).first(received.bytes);
  switch (caller.stage) {
    case Stage::kGreeting:
      return HandleGreeting(caller, message);
    case Stage::kHello:
      return HandleHello(caller, message, received);
    case Stage::kJoined:
    case Stage::kReady:
      return HandleJoined(caller, message);
  }
}

void Gatherer::DropStranger(Caller& caller) {
  ++strangers_;
  caller.gone = true;
  caller.socket.Close();
}

void Gatherer::DropLateStrangers() {
  const std::int64_t now_ns = sys::NowNs();
  for (Caller& caller : callers_) {
    if (!caller.gone && !Joined(caller) && now_ns - caller.accepted_ns >= kStrangerNs) DropStranger(caller);
  }
}

void Gatherer::Lost(Caller& caller) {
  caller.gone = true;
  if (!Joined(caller)) return DropStranger(caller);
  if (failing_ || !fault_.ok() || caller.rank < 0) return;
  const Introduction& member = seats_[caller.rank].introduction;
  const sys::ProcessId process = attendance_.Known(member.process, member.process_namespace);
  fault_ = Status(Code::kRemote,
                  fmt::format("{} {} before the ranks had met. Its own output should say why", Describe(caller.rank),
                              DiedOrLeft(process)),
                  caller.rank);
}

void Gatherer::HandleGreeting(Caller& caller, std::span<const std::byte> message) {
  const Result<Greeting> greeting = ParseGreeting(message);
  const Result<sys::Nonce> nonce = sys::FreshNonce();
  if (!greeting.ok() || !nonce.ok()) return DropStranger(caller);
  caller.its_nonce = greeting->nonce;
  caller.own_nonce = *nonce;
  const Challenge challenge{.nonce = *nonce, .mac = ChallengeMac(attendance_.id.secret, greeting->nonce, *nonce)};
  if (!sys::SendMessage(caller.socket, Encode(challenge)).ok()) return DropStranger(caller);
  caller.stage = Stage::kHello;
}

void Gatherer::HandleHello(Caller& caller, std::span<const std::byte> message, sys::Received& received) {
  const Result<Hello> hello = ParseHello(message, attendance_.id.secret, caller.its_nonce, caller.own_nonce);
  if (!hello.ok()) return DropStranger(caller);
  caller.stage = Stage::kJoined;
  if (hello->rank >= 0 && hello->rank < options_.ranks && !heard_[hello->rank]) {
    heard_[hello->rank] = true;
    ++heard_count_;
  }
  if (failing_) {
    (void)sys::SendMessage(caller.socket, Encode(fault_)).ok();
    caller.gone = true;
    return;
  }
  const Status judgement = Judge(*hello, caller, received);
  if (!judgement.ok() && fault_.ok()) fault_ = judgement;
  if (!judgement.ok()) return;
  claims_[hello->ranks].push_back(hello->rank);
  if (hello->ranks == options_.ranks) return TakeSeat(caller, *hello, received.fds);
  if (disagreed_ns_ == 0) disagreed_ns_ = sys::NowNs();
}

Status Gatherer::Judge(const Hello& hello, const Caller& caller, const sys::Received& received) const {
  const std::string self = Describe(options_.rank);
  const std::string it = fmt::format("rank {} (pid {})", hello.rank, caller.credentials.pid);
  if (hello.version != kBootstrapVersion) {
    return Status(Code::kInvalidUsage,
                  fmt::format("{} speaks version {} of the bootstrap protocol, {} version {}: they run different "
                              "versions of Tutti; install the same one for all ranks",
                              it, hello.version, self, kBootstrapVersion),
                  hello.rank);
  }
  if (hello.ranks != options_.ranks) return Status::Ok();  // what else is wrong with it will show: see Disagreement
  if (hello.rank < 0 || hello.rank >= options_.ranks) {
    return Status(Code::kInvalidUsage,
                  fmt::format("process {} says that it is rank {} of {}: ranks go from 0 to {}", caller.credentials.pid,
                              hello.rank, options_.ranks, options_.ranks - 1),
                  hello.rank);
  }
  if (seats_[hello.rank].taken) {
    return Status(
        Code::kInvalidUsage,
        fmt::format("two ranks of {} say that they are rank {}: process {} and process {}. Likely two jobs "
                    "share one id, or one rank was started twice; give each job an id of its own",
                    options_.ranks, hello.rank, seats_[hello.rank].introduction.process.pid, caller.credentials.pid),
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

void Gatherer::TakeSeat(Caller& caller, const Hello& hello, std::vector<sys::Fd>& fds) {
  caller.rank = hello.rank;
  Seat& seat = seats_[hello.rank];
  seat.taken = true;
  ++seats_taken_;
  seat.introduction = hello.self;
  seat.introduction.uid = caller.credentials.uid;
  seat.payload.assign(hello.self.payload.begin(), hello.self.payload.end());
  seat.introduction.payload = seat.payload;
  if (!fds.empty()) seat.shared = std::move(fds.front());
  ReportSeat(hello.rank);
  const std::int64_t left_ns = std::clamp<std::int64_t>(hello.left_ms, 0, 1'000'000'000) * sys::kNsPerMs;
  deadline_ns_ = std::min(deadline_ns_, EarlyEnoughNs(sys::NowNs(), left_ns));
  const Welcome welcome{
      .rank = options_.rank, .process = attendance_.process, .process_namespace = attendance_.process_namespace};
  const Result<std::size_t> sent = sys::SendMessage(caller.socket, Encode(welcome));
  if (!sent.ok()) Lost(caller);
}

void Gatherer::HandleJoined(Caller& caller, std::span<const std::byte> message) {
  const bool expects_ready = caller.stage == Stage::kJoined && distributing_;
  if (expects_ready && ParseBare(message, MessageKind::kReady).ok()) {
    caller.stage = Stage::kReady;
    return;
  }
  Status failure;
  if (ParseFailure(message, failure).ok()) {
    if (fault_.ok()) {
      fault_ = failure;
      wanted_ = failure.peer() == caller.rank;
    }
    return;
  }
  if (fault_.ok()) {
    fault_ = Status(Code::kInternal,
                    fmt::format("{} sent {} bytes that make no sense here", Describe(caller.rank), message.size()),
                    caller.rank);
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

Status Gatherer::SendPatiently(const sys::Fd& socket, const Message& message, std::span<const int> fds) {
  for (int attempt = 0;; ++attempt) {
    const Result<std::size_t> sent = sys::SendMessage(socket, message, fds);
    if (sent.ok() || sent.status().code() == Code::kRemote) return Status::Ok();
    if (sent.status().code() != Code::kInProgress) return Blame(sent.status(), options_.rank, Describe(options_.rank));
    if (attempt > 0) sys::SleepNs(kRetryNs);
    Turn(deadline_ns_, &socket);
    if (!fault_.ok()) return fault_;
    if (sys::NowNs() >= deadline_ns_) return NotTaken();
  }
}

// From the root down, branch by branch, so that few of the sockets are open here at a time.
Status Gatherer::GivePlaces() {
  struct Open {
    int position;
    sys::Fd parent;
  };
  std::vector<const sys::Fd*> control(options_.ranks);
  for (const Caller& caller : callers_) control[caller.rank] = &caller.socket;
  std::vector<Open> open;
  open.push_back({.position = 0});
  while (!open.empty()) {
    const Open place = std::move(open.back());
    open.pop_back();
    std::vector<sys::Fd> children;
    for (std::uint32_t i = 1; i <= kMostChildren; ++i) {
      const int position = place.position * static_cast<int>(kMostChildren) + static_cast<int>(i);
      if (position >= Positions()) break;
      Result<sys::SocketPair> link = sys::MakeSocketPair(sys::SocketKind::kPacket);
      if (!link.ok()) return Blame(link.status(), options_.rank, Describe(options_.rank));
      children.push_back(std::move(link->a));
      open.push_back({.position = position, .parent = std::move(link->b)});
    }
    if (place.position == 0) {
      children_ = std::move(children);
      continue;
    }
    std::vector<int> fds = {place.parent.get()};
    for (const sys::Fd& child : children) fds.push_back(child.get());
    const Message message = Encode(Place{.children = static_cast<std::uint32_t>(children.size())});
    TUTTI_RETURN_IF_ERROR(SendPatiently(*control[RankAt(place.position)], message, fds));
  }
  return Status::Ok();
}

Status Gatherer::SendMembers() {
  const std::size_t most_fds = FdsPerMessage();
  constexpr std::size_t kMembersHeaderBytes = 16;
  for (int next = 0; next < options_.ranks;) {
    Members members{.first = next};
    std::vector<int> fds;
    std::size_t bytes = kMembersHeaderBytes;
    for (; next < options_.ranks; ++next) {
      const Seat& seat = seats_[next];
      bytes += EncodedBytes(seat.introduction);
      if (bytes > kMostMessageBytes || fds.size() + seat.shared.valid() > most_fds) break;
      members.members.push_back(seat.introduction);
      if (seat.shared.valid()) fds.push_back(seat.shared.get());
    }
    const Message message = Encode(members);
    for (const sys::Fd& child : children_) TUTTI_RETURN_IF_ERROR(SendPatiently(child, message, fds));
  }
  return Status::Ok();
}

Status Gatherer::Distribute(const OnMember& on_member) {
  Turn(sys::NowNs());  // a second rank of one number may be knocking
  if (!fault_.ok()) return fault_;
  if (disagreed_ns_ != 0) return Disagreement();
  listener_.Close();
  for (Caller& caller : callers_) {
    if (!Joined(caller)) DropStranger(caller);
  }
  std::erase_if(callers_, [](const Caller& caller) { return caller.gone; });
  distributing_ = true;
  Settle();
  TUTTI_RETURN_IF_ERROR(GivePlaces());
  TUTTI_RETURN_IF_ERROR(SendMembers());
  TUTTI_RETURN_IF_ERROR(TakeMembers(on_member));
  while (!UnreadyRanks().empty()) {
    Turn(deadline_ns_);
    if (!fault_.ok()) return fault_;
    if (sys::NowNs() >= deadline_ns_) return NotTaken();
  }
  TUTTI_RETURN_IF_ERROR(AwaitHosts());
  for (const Caller& caller : callers_) {
    (void)sys::SendMessage(caller.socket, EncodeBare(MessageKind::kComplete)).ok();
  }
  callers_.clear();
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

Status Gatherer::Fail(Status fault, std::int64_t linger_ns) {
  fault_ = std::move(fault);
  failing_ = true;
  if (hosts_ != nullptr) hosts_->Fail(fault_);
  const Message message = Encode(fault_);
  const std::int64_t farewell_ns = std::min(sys::NowNs() + kFarewellNs, attendance_.deadline_ns);
  for (Caller& caller : callers_) {
    if (!Joined(caller)) continue;
    while (true) {
      const Result<std::size_t> sent = sys::SendMessage(caller.socket, message);
      if (sent.ok() || sent.status().code() != Code::kInProgress) break;
      if (!sys::WaitWritable(caller.socket, farewell_ns).ok()) break;
    }
    caller.gone = true;
  }
  std::erase_if(callers_, [](const Caller& caller) { return caller.gone; });
  const std::int64_t until_ns = std::min(sys::NowNs() + linger_ns, deadline_ns_);
  while (listener_.valid() && heard_count_ < options_.ranks && sys::NowNs() < until_ns) Turn(until_ns);
  const bool is_gone = fault_.code() == Code::kRemote && !wanted_;
  if (is_gone && listener_.valid() && heard_count_ < options_.ranks) LeaveNote(attendance_, fault_, heard_);
  return fault_;
}

}  // namespace tutti::comm
