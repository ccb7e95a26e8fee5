// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "transport/net/courier.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/bytes.h"
#include "base/log.h"
#include "sys/net/tcp_connect.h"
#include "sys/net/unix_socket.h"
#include "sys/os/clock.h"
#include "transport/net/cut_links.h"
#include "transport/net/frame.h"
#include "transport/net/wire.h"

namespace tutti::transport::net {
namespace {

using Credits = CutLinks::Credits;

constexpr std::uint32_t kTurnsPerRound = 4;  // turns for the peer that is waited for, from one for all to the next
constexpr std::uint32_t kIdleTurns = 64;     // turns without news after which all credit is told
constexpr std::int64_t kTryNs = 100 * sys::kNsPerMs;        // that a caller waits for an answer, at a time
constexpr std::int64_t kCallBackNs = 20 * sys::kNsPerMs;    // that the higher rank leaves to the lower to call
constexpr std::int64_t kGiveUpNs = 10 * sys::kNsPerSecond;  // that a host may be silent
constexpr std::int64_t kAloneNs = sys::kNsPerMs;            // after which the port's thread takes over
constexpr std::int64_t kFlushNapNs = 50'000;
// A broken connection is found out in less than a host may be silent.
constexpr sys::TcpPatience kPatience{.idle_s = 3, .interval_s = 1, .probes = 4, .unacknowledged_ms = 8'000};

}  // namespace

struct Courier::Peer final : FrameSink {
  Peer(Courier& courier, const RemotePeer& who, Outgoing& outgoing, Incoming& incoming, std::byte* memory)
      : courier(courier),
        who(who),
        links(0, courier.options_.rings, outgoing, incoming, courier.options_.pool, memory) {}

  Result<std::byte*> Begin(const FrameHeader& header) override;
  Status End(const FrameHeader& header, std::span<const std::byte> payload) override;
  Status TakeState(const FrameHeader& header, std::span<const std::byte> payload);
  // Whether there is something to be sent that others may wait for.
  bool Unfinished() const {
    if (links.HasUnsent()) return true;
    return wire != nullptr && (wire->busy() || owes_state || links.Owes(CutLinks::Credits::kRest));
  }

  Courier& courier;
  const RemotePeer who;
  CutLinks links;
  std::unique_ptr<Wire> wire;
  Side side = Side::kCaller;
  bool greeted = false;        // it has said where it is, on this wire
  bool owes_state = false;     // this rank's state was not told on this wire
  std::int64_t missed_ns = 0;  // since when it is wanted and there is no wire; 0: not
  std::int64_t silent_ns = 0;  // since when nothing of its host has answered; 0: not
  std::atomic<RankState> state{RankState::kReady};
  PeerState said;
  std::atomic<bool> is_gone{false};
  std::string gone;  // why
};

Result<std::byte*> Courier::Peer::Begin(const FrameHeader& header) {
  if (header.channel != 0) return Status(Code::kRemote, "a frame of a channel has come that there is not");
  return links.Begin(header);
}

Status Courier::Peer::End(const FrameHeader& header, std::span<const std::byte> payload) {
  if (header.kind == FrameKind::kState) return TakeState(header, payload);
  if (header.kind != FrameKind::kPositions) return links.End(header, payload);
  Positions theirs;
  if (payload.size() != sizeof(theirs)) return Status(Code::kRemote, "positions of another length have come");
  std::memcpy(&theirs, payload.data(), sizeof(theirs));
  TUTTI_RETURN_IF_ERROR(links.Resume(theirs));
  greeted = true;
  if (side == Side::kCalled) courier.Greet(*this);
  if (owes_state) courier.SendState(*this);
  return Status::Ok();
}

Status Courier::Peer::TakeState(const FrameHeader& header, std::span<const std::byte> payload) {
  const auto next = static_cast<RankState>(header.landing);
  if (next != RankState::kLeft && next != RankState::kFailed)
    return Status(Code::kRemote, "a state has come that is none");
  if (state.load(std::memory_order_relaxed) >= next) return Status::Ok();
  said = {.state = next,
          .code = static_cast<Code>(header.message),
          .culprit = static_cast<int>(header.at),
          .reason = std::string(reinterpret_cast<const char*>(payload.data()), payload.size()),
          .collectives = header.index,
          .mark = header.mark};
  state.store(next, std::memory_order_release);
  return Status::Ok();
}

Courier::Courier(CourierOptions options, std::shared_ptr<Port> port)
    : options_(std::move(options)), port_(std::move(port)) {}

Result<std::shared_ptr<Courier>> Courier::Create(CourierOptions options, std::shared_ptr<Port> port) {
  std::shared_ptr<Courier> made(new Courier(std::move(options), std::move(port)));
  const CourierOptions& o = made->options_;
  const std::size_t each = CutLinks::MemoryBytes(o.rings);
  Result<sys::PrivatePages> memory = sys::PrivatePages::Make(each * o.peers.size());
  if (!memory.ok()) return memory.status();
  made->memory_ = std::move(*memory);
  made->peers_.resize(static_cast<std::size_t>(o.ranks));
  std::byte* next = made->memory_.data();
  for (const RemotePeer& who : o.peers) {
    const auto rank = static_cast<std::size_t>(who.rank);
    made->peers_[rank] = std::make_unique<Peer>(*made, who, o.outgoing[rank], o.incoming[rank], next);
    next += each;
  }
  TUTTI_RETURN_IF_ERROR(made->port_->Add(made->TermsOf(o.rank), made.get()));
  return made;
}

Result<std::shared_ptr<RemoteLinks>> OpenCourier(CourierOptions options, std::shared_ptr<Port> port) {
  Result<std::shared_ptr<Courier>> made = Courier::Create(std::move(options), std::move(port));
  if (!made.ok()) return made.status();
  return std::shared_ptr<RemoteLinks>(std::move(*made));
}

Courier::~Courier() { port_->Remove(TermsOf(options_.rank).id); }

// What a caller of `rank` and that rank prove to each other; the caller says who it is.
sys::HelloTerms Courier::TermsOf(int rank) const {
  ByteWriter number;
  number.Number(static_cast<std::int32_t>(rank));
  const std::vector<std::byte> to = number.Take();
  const sys::Mac name = sys::ComputeMac(options_.secret, {sys::Bytes("tutti wire"), to});
  ByteWriter from;
  from.Number(static_cast<std::int32_t>(options_.rank));
  sys::HelloTerms terms{.secret = sys::ComputeMac(options_.secret, {sys::Bytes("tutti wire key"), to}),
                        .version = {.number = kWireVersion, .name = options_.version},
                        .payload = from.Take()};
  std::copy_n(name.begin(), terms.id.size(), terms.id.begin());
  return terms;
}

void Courier::Called(sys::ProvenConnection connection) {
  std::lock_guard lock(calls_mutex_);
  calls_.push_back(std::move(connection));
  called_.store(true, std::memory_order_release);
}

void Courier::TakeCalls() {
  if (!called_.load(std::memory_order_acquire)) return;
  std::vector<sys::ProvenConnection> calls;
  {
    std::lock_guard lock(calls_mutex_);
    calls.swap(calls_);
    called_.store(false, std::memory_order_relaxed);
  }
  for (sys::ProvenConnection& call : calls) {
    ByteReader in(call.outcome.payload);
    const auto from = in.Number<std::int32_t>();
    if (!in.good() || from < 0 || from >= options_.ranks || peers_[static_cast<std::size_t>(from)] == nullptr) continue;
    Peer& peer = PeerOf(from);
    // Of two connections made at once that of the lower rank stays; but not one that the other side knows to be broken.
    if (peer.wire != nullptr && from > options_.rank) Exchange(peer, Credits::kDue);
    if (peer.wire != nullptr && from > options_.rank) continue;
    Join(peer, call.connection.Release(), Side::kCalled);
  }
}

void Courier::Join(Peer& peer, sys::TcpConnection connection, Side side) {
  std::erase(connected_, &peer);
  peer.wire = std::make_unique<Wire>(std::move(connection));
  peer.side = side;
  peer.greeted = false;
  peer.owes_state = told_;
  peer.missed_ns = peer.silent_ns = 0;
  connected_.push_back(&peer);
  TUTTI_INFO(log::kNet, "rank {} : {} rank {} on host {} over TCP, {}", options_.rank,
             side == Side::kCaller ? "connected to" : "called by", peer.who.rank, peer.who.host,
             peer.wire->connection().Name());
  if (side == Side::kCaller) Greet(peer);
}

void Courier::Greet(Peer& peer) {
  const Positions have = peer.links.Have();
  const auto bytes = std::as_bytes(std::span(&have, 1));
  peer.wire->AddOwned({.kind = FrameKind::kPositions}, {bytes.begin(), bytes.end()});
  const Result<bool> sent = peer.wire->Send();
  // A wire that is broken is found out when it is read.
  (void)sent.ok();
}

void Courier::SendState(Peer& peer) {
  peer.owes_state = false;
  if (peer.wire == nullptr) return;
  if (!peer.greeted || !peer.wire->HasRoom()) {
    peer.owes_state = true;
    return;
  }
  const auto reason = std::as_bytes(std::span(own_.reason)).first(std::min(own_.reason.size(), kMostStagedBytes));
  peer.wire->AddOwned({.kind = FrameKind::kState,
                       .index = own_.collectives,
                       .mark = own_.mark,
                       .message = static_cast<std::uint32_t>(own_.code),
                       .at = static_cast<std::uint32_t>(own_.culprit),
                       .landing = static_cast<std::uint64_t>(own_.state)},
                      {reason.begin(), reason.end()});
  (void)peer.wire->Send().ok();
}

void Courier::Lose(Peer& peer, const Status& why) {
  TUTTI_INFO(log::kNet, "rank {} : the connection with rank {} on host {} has ended: {}", options_.rank, peer.who.rank,
             peer.who.host, why.message());
  std::erase(connected_, &peer);
  peer.wire.reset();
  peer.greeted = false;
}

// Sends what there is to be sent. Whether that was anything.
bool Courier::SendNews(Peer& peer, CutLinks::Credits credits) {
  if (peer.wire == nullptr || !peer.greeted) return false;
  bool any = false;
  while (true) {
    const bool failed = told_ && own_.state == RankState::kFailed;
    if (!failed) peer.links.Compose(*peer.wire, idle_turns_ > kIdleTurns || leaving_ ? Credits::kAll : credits);
    if (peer.owes_state) SendState(peer);
    if (!peer.wire->busy()) return any;
    const Result<bool> sent = peer.wire->Send();
    if (!sent.ok()) {
      // What the peer has said before it left is read first; that finds the end, too.
      return any;
    }
    any = any || *sent;
    if (!*sent || peer.wire->busy()) return any;
  }
}

// Takes what has come from a peer and sends what there is for it.
bool Courier::Exchange(Peer& peer, Credits credits) {
  if (peer.wire == nullptr) return false;
  const Result<bool> came = peer.wire->Receive(peer);
  if (!came.ok()) {
    Lose(peer, came.status());
    return false;
  }
  return SendNews(peer, credits) || *came;
}

bool Courier::Wanted(const Peer& peer, int waits_for) const {
  return peer.wire == nullptr && !peer.is_gone.load(std::memory_order_relaxed) &&
         peer.state.load(std::memory_order_relaxed) == RankState::kReady &&
         (peer.who.rank == waits_for || peer.links.HasUnsent());
}

// Calls a peer; or looks what has become of it.
void Courier::Connect(Peer& peer) {
  const std::int64_t now_ns = sys::NowNs();
  if (peer.missed_ns == 0) peer.missed_ns = now_ns;
  if (peer.who.rank < options_.rank && now_ns - peer.missed_ns < kCallBackNs) return;
  sys::HelloTerms terms = TermsOf(peer.who.rank);
  Result<sys::ProvenConnection> proven = sys::ConnectProven(
      peer.who.endpoints, terms,
      {.peer = fmt::format("rank {} on host {}", peer.who.rank, peer.who.host), .patience = kPatience},
      now_ns + kTryNs);
  if (!proven.ok()) return AskWhatBecameOf(peer, proven.status());
  Join(peer, proven->connection.Release(), Side::kCaller);
}

void Courier::AskWhatBecameOf(Peer& peer, const Status& why) {
  const std::int64_t now_ns = sys::NowNs();
  const auto give_up = [&](std::string text) {
    peer.gone = std::move(text);
    peer.is_gone.store(true, std::memory_order_release);
  };
  if (why.code() == Code::kInvalidUsage) return give_up(fmt::format("cannot be reached: {}", why.message()));
  const sys::Reply reply = sys::Knock(peer.who.endpoints, now_ns + kTryNs);
  if (reply == sys::Reply::kRefused) {
    return give_up("died: its process is gone, as nothing listens on its port any more");
  }
  if (reply == sys::Reply::kAccepted) {
    peer.silent_ns = 0;
    return;
  }
  if (peer.silent_ns == 0) peer.silent_ns = now_ns;
  if (now_ns - peer.silent_ns < kGiveUpNs) return;
  give_up(fmt::format("cannot be reached: host {} has not answered for {} s. {}", peer.who.host,
                      (now_ns - peer.silent_ns) / sys::kNsPerSecond, why.message()));
}

void Courier::Note(bool moved) {
  idle_turns_ = moved ? 0 : idle_turns_ + 1;
  last_turn_ns_.store(sys::NowNs(), std::memory_order_relaxed);
}

bool Courier::AnyUnsent() const {
  return std::ranges::any_of(peers_, [](const auto& peer) { return peer != nullptr && peer->Unfinished(); });
}

void Courier::Written(int rank) {
  std::lock_guard lock(mutex_);
  Peer& peer = PeerOf(rank);
  peer.links.NoteWritten();
  if (peer.wire == nullptr && Wanted(peer, -1) && peer.missed_ns == 0) Connect(peer);
  SendNews(peer, Credits::kDue);
  if (peer.Unfinished()) unsent_.store(true, std::memory_order_relaxed);
}

bool Courier::Turn(int waits_for) {
  std::lock_guard lock(mutex_);
  TakeCalls();
  Peer* const wanted = waits_for < 0 ? nullptr : peers_[static_cast<std::size_t>(waits_for)].get();
  const Credits credits = waits_for < 0 ? Credits::kRest : Credits::kDue;
  bool moved = wanted != nullptr && Exchange(*wanted, credits);
  if (wanted == nullptr || ++turns_ % kTurnsPerRound == 0) {
    for (std::size_t i = 0; i < connected_.size(); ++i) {
      if (connected_[i] != wanted) moved = Exchange(*connected_[i], credits) || moved;
    }
  }
  if (wanted != nullptr && Wanted(*wanted, waits_for)) Connect(*wanted);
  if (unsent_.load(std::memory_order_relaxed) && idle_turns_ % kIdleTurns == 0) {
    for (const auto& peer : peers_) {
      if (peer != nullptr && Wanted(*peer, -1)) Connect(*peer);
    }
    unsent_.store(AnyUnsent(), std::memory_order_relaxed);
  }
  Note(moved);
  return moved;
}

bool Courier::Tend() {
  if (!called_.load(std::memory_order_acquire) && !unsent_.load(std::memory_order_relaxed)) return false;
  if (sys::NowNs() - last_turn_ns_.load(std::memory_order_relaxed) < kAloneNs) return true;
  {
    std::unique_lock lock(mutex_, std::try_to_lock);
    if (!lock.owns_lock()) return true;
  }
  Turn(-1);
  return unsent_.load(std::memory_order_relaxed);
}

void Courier::Sleep(std::int64_t timeout_ns) {
  std::vector<sys::Watched> watched;
  {
    std::lock_guard lock(mutex_);
    for (const Peer* peer : connected_) {
      using enum sys::Watched::For;
      watched.push_back(
          {.fd = peer->wire->connection().socket().get(), .what = peer->wire->busy() ? kReadingAndWriting : kReading});
    }
  }
  if (watched.empty()) return sys::SleepNs(timeout_ns);
  (void)sys::WaitAny(watched, sys::NowNs() + timeout_ns).ok();
}

void Courier::Rest() {
  std::lock_guard lock(mutex_);
  for (std::size_t i = 0; i < connected_.size(); ++i) {
    Peer& peer = *connected_[i];
    if (!peer.links.Owes(Credits::kRest)) continue;
    SendNews(peer, Credits::kRest);
    if (peer.Unfinished()) unsent_.store(true, std::memory_order_relaxed);
  }
}

RankState Courier::StateOf(int peer) const { return PeerOf(peer).state.load(std::memory_order_acquire); }

PeerState Courier::Describe(int peer) const {
  std::lock_guard lock(mutex_);
  return PeerOf(peer).said;
}

std::string Courier::WhyGone(int rank) const {
  const Peer& peer = PeerOf(rank);
  return peer.is_gone.load(std::memory_order_acquire) ? peer.gone : std::string();
}

std::string Courier::PidOf(int rank) const {
  const Peer& peer = PeerOf(rank);
  return fmt::format("{} on host {}", peer.who.pid, peer.who.host);
}

void Courier::Tell(const PeerState& own) {
  std::lock_guard lock(mutex_);
  if (told_ && own_.state >= own.state) return;
  told_ = true;
  own_ = own;
  const std::vector<Peer*> all = connected_;
  for (Peer* peer : all) {
    // What is under way may lie in buffers that are about to be freed, so it must not be finished.
    if (own.state == RankState::kFailed && peer->wire->busy()) {
      Lose(*peer, Status(Code::kRemote, "this rank has failed"));
      continue;
    }
    SendState(*peer);
  }
}

void Courier::Flush(std::int64_t timeout_ns) {
  const std::int64_t until_ns = sys::NowNs() + timeout_ns;
  {
    std::lock_guard lock(mutex_);
    leaving_ = true;
  }
  const auto done = [&] {
    std::lock_guard lock(mutex_);
    for (const auto& peer : peers_) {
      if (peer == nullptr || peer->is_gone || peer->state.load(std::memory_order_relaxed) != RankState::kReady)
        continue;
      if (peer->Unfinished()) return false;
      if (peer->wire == nullptr) continue;
      if (peer->links.Owes(Credits::kAll) || peer->wire->connection().Unacknowledged() > 0) return false;
    }
    return true;
  };
  while (!done() && sys::NowNs() < until_ns) {
    if (!Turn(-1)) sys::SleepNs(kFlushNapNs);
  }
}

}  // namespace tutti::transport::net
