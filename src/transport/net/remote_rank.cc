// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "transport/net/remote_rank.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <limits>
#include <utility>

#include "base/log.h"
#include "sys/os/clock.h"
#include "transport/net/flow.h"
#include "transport/net/frame.h"
#include "transport/net/wire.h"

namespace tutti::transport::net {
namespace {

// So long after much was under way all flows are looked at; else every so many times.
constexpr std::int64_t kBusyNs = sys::kNsPerMs / 5;
constexpr std::uint32_t kLooks = 16;

}  // namespace

// What one flow hands to the links.
struct RemoteRank::Sink final : FrameSink {
  Sink(RemoteRank& rank, Flow& flow) : rank(rank), flow(flow) {}

  Result<std::byte*> Begin(const FrameHeader& header) override {
    if (header.channel != 0) return Status(Code::kRemote, "a frame of a channel has come that there is not");
    Result<CutLinks::Target> target = [&] {
      std::lock_guard lock(rank.mutex_);
      return rank.links_.Begin(header, flow.number);
    }();
    if (!target.ok()) return target.status();
    if (target->kind != CutLinks::Target::Kind::kNowhere) return target->where;
    if (flow.nowhere.size() < header.bytes) flow.nowhere.resize(kMostMessageBytes);
    return flow.nowhere.empty() ? nullptr : flow.nowhere.data();
  }
  Status End(const FrameHeader& header, std::span<const std::byte> payload) override {
    std::lock_guard lock(rank.mutex_);
    return rank.TakeFrame(header, payload, flow.number);
  }

  RemoteRank& rank;
  Flow& flow;
};

RemoteRank::RemoteRank(RemotePeer who, FlowCount flows, const RingSizes& rings, Outgoing& outgoing, Incoming& incoming,
                       const std::byte* pool, std::byte* memory)
    : who_(std::move(who)), first_(flows.first), links_(0, rings, outgoing, incoming, pool, memory) {
  for (int number = 0; number < flows.all; ++number) {
    flows_.push_back(std::make_unique<Flow>());
    flows_.back()->number = number;
  }
}

RemoteRank::~RemoteRank() = default;

bool RemoteRank::IsConnected(int flow) const { return flows_[static_cast<std::size_t>(flow)]->connected; }

bool RemoteRank::IsBusy() const { return sys::NowNs() - busy_ns_.load(std::memory_order_relaxed) < kBusyNs; }

FlowPace RemoteRank::PaceOf(int flow) {
  Flow& of = *flows_[static_cast<std::size_t>(flow)];
  FlowPace pace{.peer = who_.rank,
                .flow = flow,
                .card = {},
                .busy_ns = of.all_busy_ns.load(std::memory_order_relaxed),
                .bytes = of.all_busy_bytes.load(std::memory_order_relaxed),
                .traffic = {}};
  std::lock_guard lock(of.mutex);
  if (of.wire == nullptr) return pace;
  pace.traffic = of.wire->Traffic().value_or(Traffic{});
  const std::uint64_t backlog = of.wire->Backlog();
  pace.posted = of.wire->Added();
  pace.completed = pace.posted - std::min<std::uint64_t>(backlog, pace.posted);
  pace.peer_is_full = backlog > 0 && of.wire->WaitsForRoom().value_or(false);
  return pace;
}

double RemoteRank::BytesPerSecond() const {
  double sum = 0;
  for (const auto& flow : flows_) {
    if (flow->connected.load(std::memory_order_relaxed)) sum += flow->bytes_per_s.load(std::memory_order_relaxed);
  }
  return sum;
}

// How many of the flows, from the first one on, the calling thread is to look at.
int RemoteRank::FlowsToServe() {
  if (flows() == first_) return first_;
  const std::span first = std::span(flows_).first(static_cast<std::size_t>(first_));
  const bool all_there =
      std::ranges::all_of(first, [](const auto& flow) { return flow->connected.load(std::memory_order_relaxed); });
  if (!all_there) return flows();
  if (movers_.load(std::memory_order_relaxed) > 0) return first_;
  const bool now_and_then = looks_.fetch_add(1, std::memory_order_relaxed) % kLooks == 0;
  return now_and_then || IsBusy() ? flows() : first_;
}

void RemoteRank::AddWatched(Flow& flow, std::vector<sys::Watched>& watched) {
  using enum sys::Watched::For;
  std::lock_guard lock(flow.mutex);
  if (flow.wire == nullptr || flow.wire->fd() < 0) return;
  watched.push_back({.fd = flow.wire->fd(), .what = flow.wire->busy() ? kReadingAndWriting : kReading});
}

void RemoteRank::AddWatched(std::vector<sys::Watched>& watched, int mover, int movers) {
  const int last = movers > 0 || movers_.load(std::memory_order_relaxed) == 0 ? flows() : first_;
  for (int flow = movers > 0 ? first_ + mover : 0; flow < last; flow += std::max(movers, 1)) {
    AddWatched(*flows_[static_cast<std::size_t>(flow)], watched);
  }
}

void RemoteRank::Join(int number, Side side, std::unique_ptr<Wire> wire, std::uint64_t name, bool small_packets) {
  Flow& flow = *flows_[static_cast<std::size_t>(number)];
  std::lock_guard lock(flow.mutex);
  if (flow.wire != nullptr) Lose(flow, Status(Code::kRemote, "another one came in its place"));
  flow.wire = std::move(wire);
  flow.name = name;
  flow.small_packets = small_packets || side == Side::kCalled;
  flow.backlog = 0;
  flow.backlog_then = 0;
  flow.busy_ns = flow.busy_bytes = 0;
  flow.bytes_per_s = 0;
  flow.rated_ns = 0;
  flow.arrived_then = 0;
  flow.looked_ns = 0;
  flow.well_ns = sys::NowNs();
  flow.arrived_ns = 0;
  flow.greets = side == Side::kCaller;
  flow.speaks = side == Side::kCaller;
  flow.busy = flow.wire->unfinished();
  flow.connected = true;
  connected_.fetch_add(1);
}

void RemoteRank::Lose(Flow& flow, const Status& why) {
  TUTTI_INFO(log::kNet, "flow {} with rank {} on host {} has ended: {}", flow.number, who_.rank, who_.host,
             why.message());
  // The system gives a connection up as well where the other process has read nothing for long.
  const bool timed_out = why.code() == Code::kTimeout && !flow.wire->WaitsForRoom().value_or(false);
  flow.wire.reset();
  flow.connected = false;
  flow.speaks = false;
  flow.busy = false;
  connected_.fetch_sub(1);
  std::lock_guard lock(mutex_);
  links_.Abandon(flow.number);
  links_.GoBack();
  undrained_ &= ~(std::uint32_t{1} << flow.number);
  if (undrained_ == 0 && said_.state != state()) state_.store(said_.state, std::memory_order_release);
  owes_state_ = told_;
  to_tell_.push_back({flow.number, flow.name, timed_out});
  why_lost_ = why;
  if (timed_out) has_timed_out_.store(true, std::memory_order_relaxed);
}

// The other side ends a connection when it hears that this one has, and says so: only then all is sent once more, so that
// nothing is taken for being under way there.
void RemoteRank::EndWhatThePeerHasLost() {
  std::vector<Lost> ended;
  {
    std::lock_guard lock(mutex_);
    if (to_end_.empty()) return;
    ended.swap(to_end_);
  }
  for (const Lost& lost : ended) {
    Flow& flow = *flows_[static_cast<std::size_t>(lost.flow)];
    std::lock_guard lock(flow.mutex);
    if (flow.wire == nullptr) continue;
    if (flow.name == lost.name) {
      Lose(flow, Status(Code::kRemote, "the peer has lost it"));
    } else if (lost.timed_out && !flow.small_packets) {
      Lose(flow, Status(Code::kTimeout, "to the peer nothing arrived over the one before"));
    }
  }
  std::lock_guard lock(mutex_);
  links_.GoBack();
}

void RemoteRank::NoteWritten() {
  std::lock_guard lock(mutex_);
  links_.NoteWritten();
}

void RemoteRank::Await(const Awaited& message) {
  std::lock_guard lock(mutex_);
  if (!stopped_) links_.Await(message);
}

void RemoteRank::Fill(Flow& flow, Credits credits, Caller caller) {
  Wire& wire = *flow.wire;
  const bool alone = IsAlone(flow);
  const bool leads = alone || Leads(flow);
  while (wire.HasRoom() && !to_tell_.empty()) {
    const Lost lost = to_tell_.back();
    to_tell_.pop_back();
    wire.Add({.kind = FrameKind::kLost,
              .index = lost.name,
              .at = static_cast<std::uint32_t>(lost.flow),
              .landing = lost.timed_out ? 1u : 0u},
             {});
  }
  // In a packet of its own, which is small: larger ones may get lost.
  if (wire.HasRoom() && flow.greets.exchange(false)) return links_.ComposeCredits(wire);
  if (!stopped_ && leads) links_.Compose(wire, credits);
  while (!stopped_ && wire.HasRoom()) {
    const std::size_t waiting = links_.DataWaiting();
    if (waiting == 0) break;
    const std::size_t under_way = waiting + flow.backlog.load(std::memory_order_relaxed);
    if (flows() > 1) NoteUnderWay(under_way);
    if (!MayTake(flow, under_way, alone, leads, caller)) break;
    const std::uint64_t before = wire.Added();
    if (!links_.ComposePiece(wire, MostOfPiece())) break;
    flow.backlog.fetch_add(wire.Added() - before, std::memory_order_relaxed);
    if (HelpsMovers(flow)) break;
  }
  if (owes_state_ && leads && wire.HasRoom() && (stopped_ || !links_.HasUnsent())) {
    owes_state_ = false;
    const auto reason = std::as_bytes(std::span(own_.reason)).first(std::min(own_.reason.size(), kMostStagedBytes));
    wire.AddOwned({.kind = FrameKind::kState,
                   .index = own_.collectives,
                   .mark = own_.mark,
                   .message = static_cast<std::uint32_t>(own_.code),
                   .at = static_cast<std::uint32_t>(own_.culprit),
                   .landing = static_cast<std::uint64_t>(own_.state)},
                  {reason.begin(), reason.end()});
  }
}

bool RemoteRank::SendOver(Flow& flow, Credits credits, Caller caller) {
  bool any = false;
  if (!flow.speaks.load(std::memory_order_relaxed)) return false;
  while (true) {
    if (flows() > 1) Rate(flow);
    {
      std::lock_guard lock(mutex_);
      Fill(flow, credits, caller);
    }
    flow.busy.store(flow.wire->unfinished(), std::memory_order_relaxed);
    if (!flow.wire->unfinished()) return any;
    const Result<bool> sent = flow.wire->Send();
    flow.busy.store(flow.wire->unfinished(), std::memory_order_relaxed);
    // Where that failed, what the peer has said before it left is read first; that finds the end, too.
    if (!sent.ok()) return any;
    any = any || *sent;
    if (!*sent || flow.wire->busy() || HelpsMovers(flow)) return any;
  }
}

bool RemoteRank::Exchange(int number, Credits credits) {
  Flow& flow = *flows_[static_cast<std::size_t>(number)];
  if (!flow.connected.load(std::memory_order_relaxed)) return false;
  bool moved = false;
  {
    std::unique_lock lock(flow.mutex, std::try_to_lock);
    if (!lock.owns_lock() || flow.wire == nullptr) return false;
    Sink sink(*this, flow);
    const Result<bool> came = flow.wire->Receive(sink);
    if (!came.ok()) {
      Lose(flow, came.status());
      return false;
    }
    if (*came) flow.speaks.store(true, std::memory_order_relaxed);
    flow.busy.store(flow.wire->unfinished(), std::memory_order_relaxed);
    if (!*came && flows() > 1) NoteDrained(number);
    moved = SendOver(flow, credits, Caller::kWaits) || *came;
    if (HasStalled(flow)) Lose(flow, Status(Code::kTimeout, "nothing arrives over it any more"));
  }
  EndWhatThePeerHasLost();
  return moved;
}

bool RemoteRank::ExchangeAll(Credits credits) {
  bool moved = false;
  const int served = FlowsToServe();
  for (int flow = 0; flow < served; ++flow) {
    if (!Exchange(flow, credits)) continue;
    moved = true;
    if (flow >= first_) busy_ns_.store(sys::NowNs(), std::memory_order_relaxed);
  }
  return moved;
}

bool RemoteRank::ExchangeBy(int mover, int movers) {
  bool moved = false;
  for (int flow = first_ + mover; flow < flows(); flow += movers) moved = Exchange(flow, Credits::kDue) || moved;
  if (moved) busy_ns_.store(sys::NowNs(), std::memory_order_relaxed);
  return moved;
}

bool RemoteRank::Send(Credits credits) {
  bool any = false;
  const int served = FlowsToServe();
  for (int number = 0; number < served; ++number) {
    Flow& flow = *flows_[static_cast<std::size_t>(number)];
    if (!flow.connected.load(std::memory_order_relaxed)) continue;
    std::unique_lock lock(flow.mutex, std::try_to_lock);
    if (lock.owns_lock() && flow.wire != nullptr) any = SendOver(flow, credits, Caller::kWrites) || any;
  }
  return any;
}

void RemoteRank::Stop() {
  TUTTI_INFO(log::kNet, "links with rank {} on host {} when this rank failed: {}", who_.rank, who_.host, Describe());
  {
    std::lock_guard lock(mutex_);
    stopped_ = true;
    links_.AwaitNothing();
  }
  for (const auto& flow : flows_) {
    std::lock_guard lock(flow->mutex);
    if (flow->wire == nullptr) continue;
    if (flow->wire->busy()) {
      Lose(*flow, Status(Code::kRemote, "this rank has failed"));
      continue;
    }
    std::lock_guard links_lock(mutex_);
    if (!links_.PutsAway(flow->number)) continue;
    links_.Abandon(flow->number);
    flow->nowhere.resize(kMostMessageBytes);
    flow->wire->Divert(flow->nowhere.data());
  }
}

void RemoteRank::Tell(const PeerState& own) {
  std::lock_guard lock(mutex_);
  own_ = own;
  told_ = owes_state_ = true;
}

Status RemoteRank::TakeFrame(const FrameHeader& header, std::span<const std::byte> payload, int flow) {
  if (header.kind == FrameKind::kState) return TakeState(header, payload, flow);
  if (header.kind != FrameKind::kLost) return links_.End(header, payload, flow);
  if (header.at >= flows_.size()) return Status(Code::kRemote, "a flow was lost that there is not");
  const bool timed_out = header.landing != 0;
  if (timed_out) has_timed_out_.store(true, std::memory_order_relaxed);
  to_end_.push_back({static_cast<int>(header.at), header.index, timed_out});
  return Status::Ok();
}

Status RemoteRank::TakeState(const FrameHeader& header, std::span<const std::byte> payload, int flow) {
  const auto next = static_cast<RankState>(header.landing);
  if (next != RankState::kLeft && next != RankState::kFailed)
    return Status(Code::kRemote, "a state has come that is none");
  if (said_.state >= next) return Status::Ok();
  said_ = {.state = next,
           .code = static_cast<Code>(header.message),
           .culprit = static_cast<int>(header.at),
           .reason = std::string(reinterpret_cast<const char*>(payload.data()), payload.size()),
           .collectives = header.index,
           .mark = header.mark};
  // All that a rank sends before it leaves has reached this host before it says so, but may lie in other flows yet.
  undrained_ = 0;
  for (const auto& other : flows_) {
    const bool may_have_more = next == RankState::kLeft && other->number != flow && other->connected;
    if (may_have_more) undrained_ |= std::uint32_t{1} << other->number;
  }
  if (undrained_ == 0) state_.store(next, std::memory_order_release);
  return Status::Ok();
}

// Nothing lies in a flow.
void RemoteRank::NoteDrained(int flow) {
  std::lock_guard lock(mutex_);
  if (undrained_ == 0) return;
  undrained_ &= ~(std::uint32_t{1} << flow);
  if (undrained_ == 0) state_.store(said_.state, std::memory_order_release);
}

bool RemoteRank::HasUnsent() const {
  std::lock_guard lock(mutex_);
  return links_.HasUnsent();
}

bool RemoteRank::HasUnconsumed() const {
  std::lock_guard lock(mutex_);
  return links_.HasUnconsumed();
}

bool RemoteRank::Owes(Credits credits) const {
  std::lock_guard lock(mutex_);
  return owes_state_ || links_.Owes(credits);
}

bool RemoteRank::Unfinished(Credits credits) const {
  std::lock_guard lock(mutex_);
  if (links_.HasUnsent()) return true;
  if (connected() == 0) return false;
  return owes_state_ || !to_tell_.empty() || links_.Owes(credits) ||
         std::ranges::any_of(flows_, [](const auto& flow) { return flow->busy.load(std::memory_order_relaxed); });
}

bool RemoteRank::Unacknowledged() {
  if (Unfinished(Credits::kAll)) return true;
  return std::ranges::any_of(flows_, [](const auto& flow) {
    std::lock_guard lock(flow->mutex);
    return flow->wire != nullptr && flow->wire->Backlog() > 0;
  });
}

std::string RemoteRank::Describe() {
  std::string all = [&] {
    std::lock_guard lock(mutex_);
    return links_.Describe();
  }();
  for (const auto& flow : flows_) {
    std::lock_guard lock(flow->mutex);
    if (flow->wire == nullptr) continue;
    fmt::format_to(std::back_inserter(all), "; flow {} ({}){}: {} bytes added, {} of them not known to have arrived",
                   flow->number, flow->wire->Name(), flow->speaks ? "" : " that waits for its caller",
                   flow->wire->Added(), flow->wire->Backlog());
  }
  return all;
}

PeerState RemoteRank::said() const {
  std::lock_guard lock(mutex_);
  return said_;
}

Status RemoteRank::why_lost() const {
  std::lock_guard lock(mutex_);
  return why_lost_;
}

}  // namespace tutti::transport::net
