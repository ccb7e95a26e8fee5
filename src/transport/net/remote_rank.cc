// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "transport/net/remote_rank.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "base/log.h"
#include "sys/os/clock.h"
#include "transport/net/flow.h"
#include "transport/net/frame.h"
#include "transport/net/wire.h"

namespace tutti::transport::net {
namespace {

// Data that wait are shared out among flows from here on; less leaves by one.
constexpr std::size_t kSharedBytes = kPieceGranule / 2;
// And from here on among several of one card, which cost more system calls.
constexpr std::size_t kMuchBytes = 2 * kPieceGranule;
// A flow is looked at so often; its rate is that of at least and at most so much time in which it was busy, the last, and is
// forgotten when it was not busy for so long.
constexpr std::int64_t kRateNs = sys::kNsPerMs / 5;
constexpr double kLeastLearnNs = sys::kNsPerMs, kLearnNs = 20 * sys::kNsPerMs;
constexpr std::int64_t kForgetNs = sys::kNsPerSecond;
// A flow over which nothing arrives for so long, while something does over another, is given up; the system does that much later.
constexpr std::int64_t kStalledNs = sys::kNsPerSecond;
// So long after much was under way all flows are looked at; else every so many times.
constexpr std::int64_t kBusyNs = sys::kNsPerMs / 5;
constexpr std::uint32_t kLooks = 16;
// Another flow has to be so much faster to take over what is small.
constexpr double kMuchFaster = 2;

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
  if (has_movers_.load(std::memory_order_relaxed)) return first_;
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
  const int last = movers > 0 || !has_movers_.load(std::memory_order_relaxed) ? flows() : first_;
  for (int flow = movers > 0 ? first_ + mover : 0; flow < last; flow += std::max(movers, 1)) {
    AddWatched(*flows_[static_cast<std::size_t>(flow)], watched);
  }
}

void RemoteRank::Join(int number, Side side, std::unique_ptr<Wire> wire, std::uint64_t name) {
  Flow& flow = *flows_[static_cast<std::size_t>(number)];
  std::lock_guard lock(flow.mutex);
  if (flow.wire != nullptr) Lose(flow, Status(Code::kRemote, "another one came in its place"));
  flow.wire = std::move(wire);
  flow.name = name;
  flow.backlog = 0;
  flow.backlog_then = 0;
  flow.busy_ns = flow.busy_bytes = 0;
  flow.bytes_per_s = 0;
  flow.rated_ns = 0;
  flow.arrived_then = 0;
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
  to_tell_.push_back({flow.number, flow.name});
  why_lost_ = why;
  if (why.code() == Code::kTimeout) has_timed_out_.store(true, std::memory_order_relaxed);
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
    if (flow.wire != nullptr && flow.name == lost.name) Lose(flow, Status(Code::kRemote, "the peer has lost it"));
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

bool RemoteRank::IsAlone(const Flow& flow) const {
  return std::ranges::none_of(
      flows_, [&](const auto& other) { return other.get() != &flow && other->speaks.load(std::memory_order_relaxed); });
}

// Those of which one carries what is small: the first ones, unless none of them can.
std::span<const std::unique_ptr<Flow>> RemoteRank::Leading() const {
  const std::span all(flows_);
  const auto first = all.first(static_cast<std::size_t>(first_));
  const bool any =
      std::ranges::any_of(first, [](const auto& flow) { return flow->speaks.load(std::memory_order_relaxed); });
  return any ? first : all;
}

double RemoteRank::FastestRate(std::span<const std::unique_ptr<Flow>> among) {
  double fastest = 0;
  for (const auto& flow : among) {
    if (!flow->speaks.load(std::memory_order_relaxed)) continue;
    fastest = std::max(fastest, flow->bytes_per_s.load(std::memory_order_relaxed));
  }
  return fastest;
}

// The first one that is not much slower than the fastest.
bool RemoteRank::Leads(const Flow& flow) const {
  const auto leading = Leading();
  const double fastest = FastestRate(leading);
  const auto first = std::ranges::find_if(leading, [&](const auto& other) {
    const double rate = other->bytes_per_s.load(std::memory_order_relaxed);
    return other->speaks.load(std::memory_order_relaxed) && (rate == 0 || rate * kMuchFaster >= fastest);
  });
  return first != leading.end() && first->get() == &flow;
}

// Whether no other flow would deliver the next piece before this one, of those that are worth it for so many bytes.
bool RemoteRank::ShouldTake(const Flow& flow, std::size_t under_way) const {
  const auto among = under_way >= kMuchBytes ? std::span<const std::unique_ptr<Flow>>(flows_) : Leading();
  const double fastest = std::max(FastestRate(among), 1.0);
  const std::int64_t forget_ns = sys::NowNs() - kForgetNs;
  const auto arrival = [&](const Flow& of) {
    const bool known = of.rated_ns.load(std::memory_order_relaxed) > forget_ns;
    const double its = of.bytes_per_s.load(std::memory_order_relaxed);
    const double rate = known && its > 0 ? its : fastest;
    return static_cast<double>(of.backlog.load(std::memory_order_relaxed) + kPieceGranule) / rate;
  };
  const double own = arrival(flow);
  bool counts = false;
  for (const auto& other : among) {
    if (other.get() == &flow) {
      counts = true;
    } else if (other->speaks.load(std::memory_order_relaxed) && arrival(*other) < own) {
      return false;
    }
  }
  return counts;
}

void RemoteRank::NoteUnderWay(std::size_t bytes) {
  if (bytes >= (first_ > 1 ? kSharedBytes : kMuchBytes)) wants_more_.store(true, std::memory_order_relaxed);
  if (bytes >= kMuchBytes) busy_ns_.store(sys::NowNs(), std::memory_order_relaxed);
}

void RemoteRank::Fill(Flow& flow, Credits credits) {
  Wire& wire = *flow.wire;
  const bool alone = IsAlone(flow);
  const bool leads = alone || Leads(flow);
  while (wire.HasRoom() && !to_tell_.empty()) {
    const Lost lost = to_tell_.back();
    to_tell_.pop_back();
    wire.Add({.kind = FrameKind::kLost, .index = lost.name, .at = static_cast<std::uint32_t>(lost.flow)}, {});
  }
  if (flow.greets.exchange(false)) links_.ComposeCredits(wire);
  if (!stopped_ && leads) links_.Compose(wire, credits);
  while (!stopped_ && wire.HasRoom()) {
    const std::size_t waiting = links_.DataWaiting();
    if (waiting == 0) break;
    const std::size_t under_way = waiting + flow.backlog.load(std::memory_order_relaxed);
    if (flows() > 1) NoteUnderWay(under_way);
    const bool shared = !alone && under_way >= kSharedBytes;
    if (shared ? !ShouldTake(flow, under_way) : !leads) break;
    // Among several flows always cut alike, so that what comes twice comes in the same pieces.
    const std::uint64_t before = wire.Added();
    if (!links_.ComposePiece(wire, flows() == 1 ? kMostMessageBytes : kPieceGranule)) break;
    flow.backlog.fetch_add(wire.Added() - before, std::memory_order_relaxed);
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

// Time in which there was always enough under way tells the rate; where that has arrived, it was no less. What is small says
// nothing: its acknowledgement may come late.
void RemoteRank::Rate(Flow& flow) {
  const std::uint64_t backlog = flow.wire->Backlog(), arrived = flow.wire->Added() - backlog;
  flow.backlog.store(backlog, std::memory_order_relaxed);
  const std::int64_t now_ns = sys::NowNs(), ns = now_ns - flow.looked_ns;
  if (arrived > flow.arrived_then) flow.arrived_ns.store(now_ns, std::memory_order_relaxed);
  if (arrived > flow.arrived_then || backlog == 0) flow.well_ns.store(now_ns, std::memory_order_relaxed);
  const bool was_busy = flow.backlog_then >= kSharedBytes, is_busy = backlog >= kSharedBytes;
  if (was_busy && is_busy && ns < kRateNs && arrived == flow.arrived_then) return;
  if (was_busy && ns > 0) {
    if (now_ns - flow.rated_ns.load(std::memory_order_relaxed) > kForgetNs) flow.busy_ns = flow.busy_bytes = 0;
    const auto bytes = static_cast<double>(arrived - flow.arrived_then), time = static_cast<double>(ns);
    if (is_busy || bytes * flow.busy_ns > flow.busy_bytes * time) {
      flow.busy_ns += time;
      flow.busy_bytes += bytes;
      flow.rated_ns.store(now_ns, std::memory_order_relaxed);
    }
    const double keep = std::min(1.0, kLearnNs / std::max(flow.busy_ns, 1.0));
    flow.busy_ns *= keep;
    flow.busy_bytes *= keep;
    const bool known = flow.busy_ns >= kLeastLearnNs;
    flow.bytes_per_s.store(known ? flow.busy_bytes / flow.busy_ns * sys::kNsPerSecond : 0, std::memory_order_relaxed);
  }
  flow.looked_ns = now_ns;
  flow.backlog_then = backlog;
  flow.arrived_then = arrived;
}

// Where a flow does not go on, the others are asked for an acknowledgement, since nothing may go over them while all wait for it.
bool RemoteRank::HasStalled(const Flow& flow) {
  const std::int64_t since_ns = flow.well_ns.load(std::memory_order_relaxed), silent_ns = sys::NowNs() - since_ns;
  if (silent_ns < kStalledNs / 2) return false;
  bool others_go_on = false;
  for (const auto& other : flows_) {
    if (other.get() == &flow || !other->speaks.load(std::memory_order_relaxed)) continue;
    if (other->arrived_ns.load(std::memory_order_relaxed) > since_ns + kStalledNs / 2) others_go_on = true;
    if (other->backlog.load(std::memory_order_relaxed) == 0) other->greets = true;
  }
  return others_go_on && silent_ns >= kStalledNs;
}

bool RemoteRank::SendOver(Flow& flow, Credits credits) {
  bool any = false;
  if (!flow.speaks.load(std::memory_order_relaxed)) return false;
  while (true) {
    // Small messages alone do not need a look at how much has arrived, which is a system call, each time.
    if (flows() > 1 && (IsBusy() || sys::NowNs() - flow.looked_ns >= kRateNs)) Rate(flow);
    {
      std::lock_guard lock(mutex_);
      Fill(flow, credits);
    }
    flow.busy.store(flow.wire->unfinished(), std::memory_order_relaxed);
    if (!flow.wire->unfinished()) return any;
    const Result<bool> sent = flow.wire->Send();
    flow.busy.store(flow.wire->unfinished(), std::memory_order_relaxed);
    // Where that failed, what the peer has said before it left is read first; that finds the end, too.
    if (!sent.ok()) return any;
    any = any || *sent;
    if (!*sent || flow.wire->busy()) return any;
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
    moved = SendOver(flow, credits) || *came;
    if (flows() > 1 && HasStalled(flow)) Lose(flow, Status(Code::kTimeout, "nothing arrives over it any more"));
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
    if (lock.owns_lock() && flow.wire != nullptr) any = SendOver(flow, credits) || any;
  }
  return any;
}

void RemoteRank::Stop() {
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
  to_end_.push_back({static_cast<int>(header.at), header.index});
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
  return links_.Owes(credits);
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

PeerState RemoteRank::said() const {
  std::lock_guard lock(mutex_);
  return said_;
}

Status RemoteRank::why_lost() const {
  std::lock_guard lock(mutex_);
  return why_lost_;
}

}  // namespace tutti::transport::net
