// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "transport/net/courier.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "base/bytes.h"
#include "base/log.h"
#include "sys/net/tcp_connect.h"
#include "sys/os/clock.h"
#include "transport/net/cut_links.h"
#include "transport/net/join_flow.h"

namespace tutti::transport::net {
namespace {

constexpr std::uint32_t kTurnsPerRound = 4;  // turns for the peer that is waited for, from one for all to the next
constexpr std::uint32_t kIdleTurns = 64;     // turns without news after which all credit is told
constexpr std::int64_t kKnockNs = 100 * sys::kNsPerMs;
constexpr std::int64_t kCallBackNs = 20 * sys::kNsPerMs;  // that the higher rank leaves to the lower to call
// That a host may be silent; and that a rank which leaves, and has nothing to send but that word, calls another one in vain.
constexpr std::int64_t kGiveUpNs = 9 * sys::kNsPerSecond;
// For how long a host has been silent where the system has given up a connection with it: the shorter of both limits.
constexpr std::int64_t kTimedOutNs = 6 * sys::kNsPerSecond;
static_assert(kFlowPatience.idle_s + kFlowPatience.interval_s * kFlowPatience.probes == 6 &&
              kFlowPatience.unacknowledged_ms == 6'000);
constexpr std::int64_t kAloneNs = sys::kNsPerMs;       // after which the port's thread takes over
constexpr std::int64_t kActiveNs = sys::kNsPerSecond;  // for which it expects that more comes
// What comes for a rank that is away lies with the system at most so long: where that is full, connections are given up.
constexpr std::int64_t kTakeNs = sys::kNsPerSecond;
constexpr std::int64_t kFlushNapNs = 50'000;
constexpr std::int64_t kAskNs = 50'000;  // that a rank sleeps where nothing wakes it up
constexpr int kMostFutile = 5;
constexpr int kSmallSegmentBytes = 1200;  // of a packet's data: fits networks with tunnels of tunnels, and all of IPv6

}  // namespace

struct Courier::Peer {
  Peer(const CourierOptions& o, const RemotePeer& who, FlowCount flows, std::byte* memory)
      : rank(who, flows, o.rings, o.outgoing[static_cast<std::size_t>(who.rank)],
             o.incoming[static_cast<std::size_t>(who.rank)], o.pool, memory) {}

  RemoteRank rank;
  int next_flow = 0;  // to be tried where there is none
  int futile = 0;     // times that a network plugin could not listen for it
  bool active = false;
  bool wants_told = false;  // the connector knows which are missing
  bool told_of_segments = false;
  std::int64_t missed_ns = 0;  // since when it is wanted and there is no flow; 0: not
  std::int64_t silent_ns = 0;  // since when nothing of its host has answered; 0: not
  std::atomic<bool> is_gone{false};
  std::string gone;  // why
};

Courier::Courier(CourierOptions options, std::shared_ptr<Port> port)
    : options_(std::move(options)), port_(std::move(port)), seats_(static_cast<std::size_t>(options_.ranks)) {
  for (const RemotePeer& who : options_.peers) seats_[static_cast<std::size_t>(who.rank)].who = &who;
}

Result<std::shared_ptr<Courier>> Courier::Create(CourierOptions options, std::shared_ptr<Port> port) {
  std::shared_ptr<Courier> made(new Courier(std::move(options), std::move(port)));
  const CourierOptions& o = made->options_;
  Result<sys::PrivatePages> memory = sys::PrivatePages::Make(CutLinks::MemoryBytes(o.rings) * o.peers.size());
  if (!memory.ok()) return memory.status();
  made->memory_ = std::move(*memory);
  Courier* const self = made.get();
  made->connector_ = std::make_unique<Connector>(Connector::Options{
      .terms = [self](int rank, int flow) { return self->TermsOf(rank, flow); },
      .made = [self](MadeFlow flow) { self->Made(std::move(flow)); },
      .wanted =
          [self](int rank, int flow) {
            const Peer& peer = *self->Find(rank);
            return !peer.rank.IsConnected(flow) && !peer.is_gone && peer.rank.state() == RankState::kReady;
          },
      .connected = [self](int rank, int flow) { return self->Find(rank)->rank.IsConnected(flow); },
      .bytes_per_s = [self](int rank) { return self->Find(rank)->rank.BytesPerSecond(); }});
  TUTTI_RETURN_IF_ERROR(made->port_->Add(made->TermsOf(o.rank, 0), made.get()));
  return made;
}

Result<std::shared_ptr<RemoteLinks>> OpenCourier(CourierOptions options, std::shared_ptr<Port> port) {
  Result<std::shared_ptr<Courier>> made = Courier::Create(std::move(options), std::move(port));
  if (!made.ok()) return made.status();
  return std::shared_ptr<RemoteLinks>(std::move(*made));
}

Courier::~Courier() {
  port_->Remove(TermsOf(options_.rank, 0).id);
  connector_.reset();
  movers_.reset();
}

// What a caller of `rank` and that rank prove to each other; the caller says who it is, and for which flow it calls.
sys::HelloTerms Courier::TermsOf(int rank, int flow) const {
  ByteWriter number;
  number.Number(static_cast<std::int32_t>(rank));
  const std::vector<std::byte> to = number.Take();
  const sys::Mac name = sys::ComputeMac(options_.secret, {sys::Bytes("tutti wire"), to});
  ByteWriter from;
  from.Number(static_cast<std::int32_t>(options_.rank));
  from.Number(static_cast<std::int32_t>(flow));
  sys::HelloTerms terms{.secret = sys::ComputeMac(options_.secret, {sys::Bytes("tutti wire key"), to}),
                        .version = {.number = kWireVersion, .name = options_.version},
                        .payload = from.Take()};
  std::copy_n(name.begin(), terms.id.size(), terms.id.begin());
  return terms;
}

FlowCount Courier::FlowsWith(const RemotePeer& who) const {
  if (options_.network != nullptr) return FlowCount();
  return FlowsOf(options_.cards, who.cards, std::min(options_.flows_per_card, who.flows_per_card));
}

Courier::Peer& Courier::PeerOf(int rank) {
  if (Peer* const known = Find(rank)) return *known;
  const RemotePeer& who = WhoIs(rank);
  const std::size_t place = static_cast<std::size_t>(&who - options_.peers.data());
  peers_.push_back(std::make_unique<Peer>(options_, who, FlowsWith(who),
                                          memory_.data() + place * CutLinks::MemoryBytes(options_.rings)));
  seats_[static_cast<std::size_t>(rank)].peer.store(peers_.back().get(), std::memory_order_release);
  return *peers_.back();
}

void Courier::Open(int peer) {
  std::lock_guard lock(mutex_);
  PeerOf(peer);
}

void Courier::Called(sys::ProvenConnection&& call) {
  if (std::optional<MadeFlow> made = FlowOfCall(std::move(call))) Made(std::move(*made));
}

void Courier::Made(MadeFlow made) {
  const bool known = IsServed(made.rank) && made.flow >= 0 && made.flow < FlowsWith(WhoIs(made.rank)).all;
  if (!known) return;
  std::lock_guard lock(made_mutex_);
  made_.push_back(std::move(made));
  any_made_.store(true, std::memory_order_release);
}

void Courier::TakeConnections() {
  if (!any_made_.load(std::memory_order_acquire)) return;
  std::vector<MadeFlow> made;
  {
    std::lock_guard lock(made_mutex_);
    made.swap(made_);
    any_made_.store(false, std::memory_order_relaxed);
  }
  for (MadeFlow& flow : made) Take(std::move(flow));
}

void Courier::Take(MadeFlow made) {
  Peer& peer = PeerOf(made.rank);
  const bool called = made.side == RemoteRank::Side::kCalled;
  // Of two connections made at once that of the lower rank stays; but not one that the other side knows to be broken.
  const bool other_stays = called ? made.rank > options_.rank : made.rank < options_.rank;
  if (other_stays && peer.rank.IsConnected(made.flow)) Exchange(peer, Credits::kDue);
  if (other_stays && peer.rank.IsConnected(made.flow)) return;
  const int number = made.flow;
  if (const Status joined = JoinFlow(options_, peer.rank, std::move(made)); !joined.ok()) {
    TUTTI_INFO(log::kNet, "rank {} : {}", options_.rank, joined.message());
    if (++peer.futile == kMostFutile) GiveUp(peer, fmt::format("cannot be reached: {}", joined.message()));
    return;
  }
  TellOfSmallSegments(peer, number);
  if (peer.rank.Unfinished(Credits::kDue)) unsent_.store(true, std::memory_order_relaxed);
  peer.missed_ns = peer.silent_ns = 0;
  peer.wants_told = false;
  if (told_) peer.rank.Tell(own_);
  Activate(peer);
  if (std::ranges::find(connected_, &peer) == connected_.end()) connected_.push_back(&peer);
}

// After a connection on which nothing arrived, smaller packets: what the network says of its packets may be wrong.
Route Courier::RouteTo(const Peer& peer, int flow) const {
  Route route = RouteOf(flow, options_.cards, peer.rank.who().cards, options_.cross);
  if (peer.rank.has_timed_out()) route.segment_bytes = kSmallSegmentBytes;
  return route;
}

std::vector<FlowPace> Courier::Paces() const {
  std::vector<FlowPace> paces;
  for (int rank = 0; rank < options_.ranks; ++rank) {
    Peer* const peer = IsServed(rank) ? Find(rank) : nullptr;
    for (int flow = 0; peer != nullptr && flow < peer->rank.flows(); ++flow) {
      FlowPace pace = peer->rank.PaceOf(flow);
      if (pace.busy_ns == 0 && pace.traffic.busy_ns == 0 && pace.posted == 0) continue;
      pace.card = CardOf(options_, peer->rank.who(), flow);
      paces.push_back(std::move(pace));
    }
  }
  return paces;
}

void Courier::TellOfSmallSegments(Peer& peer, int flow) {
  if (!peer.rank.has_timed_out() || std::exchange(peer.told_of_segments, true) || options_.cards.empty()) return;
  const RemotePeer& who = peer.rank.who();
  TUTTI_WARN(
      "nothing arrived any more over a connection with rank {} on host {}, which answers now: large packets may get "
      "lost on the way. It goes on with packets of at most {} bytes; compare the MTU of {} on both hosts with that of "
      "the network",
      who.rank, who.host, kSmallSegmentBytes,
      options_.cards[static_cast<std::size_t>(flow) % options_.cards.size()].name);
}

Courier::Credits Courier::Which(Credits credits) const {
  return idle_turns_ > kIdleTurns || leaving_ ? Credits::kAll : credits;
}

// Takes what has come from a peer and sends what there is for it, and sees to it that all of its flows are there.
bool Courier::Exchange(Peer& peer, Credits credits) {
  const bool moved = peer.rank.ExchangeAll(Which(credits));
  const int connected = peer.rank.connected();
  if (connected == 0) std::erase(connected_, &peer);
  if (connected == peer.rank.flows()) {
    peer.wants_told = false;
  } else if (connected > 0 && !peer.wants_told && peer.rank.WantsMoreFlows()) {
    peer.wants_told = true;
    for (int flow = 0; flow < peer.rank.flows(); ++flow) {
      if (peer.rank.IsConnected(flow)) continue;
      connector_->Want(peer.rank.who(), RouteTo(peer, flow), flow,
                       peer.rank.who().rank < options_.rank ? kCallBackNs : 0);
    }
  }
  LetMoversHelp(peer.rank);
  return moved;
}

bool Courier::Wanted(const Peer& peer, int waits_for) const {
  return peer.rank.connected() == 0 && !peer.is_gone.load(std::memory_order_relaxed) &&
         peer.rank.state() == RankState::kReady &&
         (peer.rank.who().rank == waits_for || peer.rank.HasUnsent() || (leaving_ && peer.rank.Owes(Credits::kAll)));
}

// Calls a peer with which there is no flow, by one card after the other; or looks what has become of it.
void Courier::Connect(Peer& peer) {
  const RemotePeer& who = peer.rank.who();
  const std::int64_t now_ns = sys::NowNs();
  if (peer.missed_ns == 0) peer.missed_ns = now_ns;
  if (who.rank < options_.rank && now_ns - peer.missed_ns < kCallBackNs) return;
  const int flow = peer.next_flow;
  Result<MadeFlow> made = MakeFlow(who, RouteTo(peer, flow), flow, TermsOf(who.rank, flow));
  if (made.ok()) return Take(std::move(*made));
  peer.next_flow = (flow + 1) % peer.rank.flows();
  AskWhatBecameOf(peer, made.status());
}

void Courier::GiveUp(Peer& peer, std::string why) {
  peer.gone = std::move(why);
  peer.is_gone.store(true, std::memory_order_release);
}

void Courier::AskWhatBecameOf(Peer& peer, const Status& why) {
  const std::int64_t now_ns = sys::NowNs();
  const RemotePeer& who = peer.rank.who();
  if (why.code() == Code::kInvalidUsage && peer.rank.first_flows() == 1) {
    return GiveUp(peer, fmt::format("cannot be reached: {}", why.message()));
  }
  const sys::Reply reply = sys::Knock(EndpointsOf(who.cards), now_ns + kKnockNs);
  if (reply == sys::Reply::kRefused) {
    return GiveUp(peer, "died: its process is gone, as nothing listens on its port any more");
  }
  if (reply == sys::Reply::kAccepted) {
    peer.silent_ns = 0;
    return;
  }
  if (peer.silent_ns == 0) {
    const bool timed_out = peer.rank.why_lost().code() == Code::kTimeout;
    peer.silent_ns = timed_out ? now_ns - kTimedOutNs : now_ns;
  }
  if (now_ns - peer.silent_ns < kGiveUpNs) return;
  GiveUp(peer, fmt::format("cannot be reached: host {} has not answered for {} s. {}", who.host,
                           (now_ns - peer.silent_ns) / sys::kNsPerSecond, why.message()));
}

void Courier::Note(bool moved) {
  idle_turns_ = moved ? 0 : idle_turns_ + 1;
  last_turn_ns_.store(sys::NowNs(), std::memory_order_relaxed);
}

void Courier::Activate(Peer& peer) {
  if (!std::exchange(peer.active, true)) active_.push_back(&peer);
}

void Courier::LookWhatIsLeft() {
  const auto any = [&](auto&& is) {
    return std::ranges::any_of(active_, [&](const Peer* peer) { return is(peer->rank); });
  };
  unsent_.store(any([](const RemoteRank& rank) { return rank.Unfinished(Credits::kAll); }), std::memory_order_relaxed);
  unconsumed_.store(any([](const RemoteRank& rank) { return rank.HasUnconsumed(); }), std::memory_order_relaxed);
}

void Courier::Written(int rank) {
  std::lock_guard lock(mutex_);
  Peer& peer = PeerOf(rank);
  Activate(peer);
  peer.rank.NoteWritten();
  if (peer.missed_ns == 0 && Wanted(peer, -1)) Connect(peer);
  peer.rank.Send(Which(Credits::kDue));
  LetMoversHelp(peer.rank);
  if (peer.rank.Unfinished(Credits::kDue)) unsent_.store(true, std::memory_order_relaxed);
}

void Courier::Await(int rank, const Awaited& message) { Find(rank)->rank.Await(message); }

bool Courier::Turn(int waits_for) {
  std::lock_guard lock(mutex_);
  TakeConnections();
  Peer* const wanted = waits_for < 0 ? nullptr : Find(waits_for);
  const Credits credits = waits_for < 0 ? Credits::kAll : Credits::kDue;
  bool moved = waits_for >= 0 && TakeNewsOfMovers();
  moved = (wanted != nullptr && wanted->rank.connected() > 0 && Exchange(*wanted, credits)) || moved;
  if (wanted == nullptr || ++turns_ % kTurnsPerRound == 0) {
    for (std::size_t i = connected_.size(); i-- > 0;) {  // from the end: a peer may leave the list
      if (connected_[i] != wanted) moved = Exchange(*connected_[i], credits) || moved;
    }
  }
  if (wanted != nullptr && Wanted(*wanted, waits_for)) Connect(*wanted);
  const bool left = unsent_.load(std::memory_order_relaxed) || unconsumed_.load(std::memory_order_relaxed);
  if (wanted == nullptr || (left && idle_turns_ % kIdleTurns == 0)) {
    for (Peer* peer : active_) {
      if (Wanted(*peer, -1)) Connect(*peer);
    }
    LookWhatIsLeft();
  }
  if (moved || left || waits_for >= 0) Note(moved);
  return moved;
}

Courier::Left Courier::Tend() {
  const bool unsent = any_made_.load(std::memory_order_acquire) || unsent_.load(std::memory_order_relaxed);
  const std::int64_t now_ns = sys::NowNs();
  const std::int64_t alone_ns = now_ns - last_turn_ns_.load(std::memory_order_relaxed);
  const Left left = unsent ? Left::kUnsent : alone_ns < kActiveNs ? Left::kActive : Left::kNothing;
  const bool takes = std::min(alone_ns, now_ns - took_ns_) >= kTakeNs;
  if (!unsent && !unconsumed_.load(std::memory_order_relaxed) && !takes) return left;
  if (alone_ns < kAloneNs) return left;
  took_ns_ = now_ns;
  {
    std::unique_lock lock(mutex_, std::try_to_lock);
    if (!lock.owns_lock()) return left;
  }
  Turn(-1);
  return unsent_.load(std::memory_order_relaxed) ? Left::kUnsent : Left::kActive;
}

void Courier::Sleep(std::int64_t timeout_ns) {
  watched_.clear();
  {
    std::lock_guard lock(mutex_);
    for (Peer* peer : connected_) peer->rank.AddWatched(watched_);
    if (options_.network != nullptr && !connected_.empty()) timeout_ns = std::min(timeout_ns, kAskNs);
  }
  WaitForNews(timeout_ns);
}

void Courier::Rest() {
  std::lock_guard lock(mutex_);
  if (!connected_.empty()) unconsumed_.store(true, std::memory_order_relaxed);
  for (Peer* peer : connected_) {
    if (!peer->rank.Owes(Credits::kAll)) continue;
    // What nobody waits for goes with the next data, or a little later.
    if (peer->rank.Owes(Credits::kDue)) peer->rank.Send(Credits::kDue);
    unsent_.store(true, std::memory_order_relaxed);
  }
}

RankState Courier::StateOf(int rank) const {
  const Peer* const peer = Find(rank);
  return peer == nullptr ? RankState::kReady : peer->rank.state();
}

PeerState Courier::Describe(int rank) const {
  const Peer* const peer = Find(rank);
  return peer == nullptr ? PeerState{} : peer->rank.said();
}

std::string Courier::WhyGone(int rank) const {
  const Peer* const peer = Find(rank);
  return peer != nullptr && peer->is_gone.load(std::memory_order_acquire) ? peer->gone : std::string();
}

std::string Courier::PidOf(int rank) const {
  const RemotePeer& who = WhoIs(rank);
  return fmt::format("{} on host {}", who.pid, who.host);
}

void Courier::Tell(const PeerState& own) {
  std::lock_guard lock(mutex_);
  if (told_ && own_.state >= own.state) return;
  told_ = true;
  own_ = own;
  // What is under way may lie in buffers that are about to be freed, so it must not be finished.
  if (own.state == RankState::kFailed) {
    for (const auto& peer : peers_) peer->rank.Stop();
  }
  for (Peer* peer : active_) {
    peer->rank.Tell(own_);
    peer->rank.Send(Credits::kDue);
  }
}

void Courier::Flush(std::int64_t timeout_ns) {
  const std::int64_t until_ns = sys::NowNs() + timeout_ns;
  {
    std::lock_guard lock(mutex_);
    leaving_ = true;
  }
  // A peer whose connection has ended is called, since it waits for the word that its data were consumed.
  const auto is_kept_waiting = [](Peer* peer) {
    if (peer->is_gone || peer->rank.state() != RankState::kReady) return false;
    if (peer->rank.Unacknowledged()) return true;
    const bool calls_in_vain = peer->missed_ns > 0 && sys::NowNs() - peer->missed_ns > kGiveUpNs;
    return !calls_in_vain && peer->rank.Owes(Credits::kAll);
  };
  const auto done = [&] {
    std::lock_guard lock(mutex_);
    return std::ranges::none_of(active_, is_kept_waiting);
  };
  while (!done() && sys::NowNs() < until_ns) {
    if (!Turn(-1)) sys::SleepNs(kFlushNapNs);
  }
}

}  // namespace tutti::transport::net
