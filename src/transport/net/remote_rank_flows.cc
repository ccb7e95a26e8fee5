// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
//
// Which of the flows with a rank of another host carries what, by the rates at which they were seen to carry it.
#include <algorithm>

#include "sys/os/clock.h"
#include "transport/net/flow.h"
#include "transport/net/frame.h"
#include "transport/net/remote_rank.h"

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
// And where it is the only one, for so long: where a network interface of this very host drops what it sends, the system does not.
constexpr std::int64_t kStuckNs = 6 * sys::kNsPerSecond;
// How often the other side's room is looked at, which is a system call.
constexpr std::int64_t kAskNs = 10 * sys::kNsPerMs;
// What was sent last may be acknowledged late, and is up to two segments, of 64 KiB within a host: only more tells how fast the network is.
constexpr std::size_t kPacedBytes = 128 << 10;
// Of a longer time in which nobody looked nothing is known.
constexpr std::int64_t kUnseenNs = 3 * sys::kNsPerSecond;
// Another flow has to be so much faster to take over what is small.
constexpr double kMuchFaster = 2;

}  // namespace

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

// Always cut alike, so that what comes twice comes in the same pieces. Short ones are for cards of different rates; of the flows of one
// card longer ones cost fewer system calls.
std::size_t RemoteRank::MostOfPiece() const {
  if (flows() == 1) return kMostMessageBytes;
  return first_ > 1 ? kPieceGranule : 2 * kPieceGranule;
}

// Whether the flow is one of those that movers do not serve, where there are movers.
bool RemoteRank::HelpsMovers(const Flow& flow) const {
  return flow.number < first_ && movers_.load(std::memory_order_relaxed) > 0;
}

bool RemoteRank::MayTake(const Flow& flow, std::size_t under_way, bool alone, bool leads, Caller caller) const {
  const bool shared = !alone && under_way >= kSharedBytes;
  if (!shared) return leads;
  if (caller == Caller::kWrites && HelpsMovers(flow) && under_way >= kMuchBytes) return false;
  return ShouldTake(flow, under_way);
}

void RemoteRank::NoteUnderWay(std::size_t bytes) {
  if (bytes >= (first_ > 1 ? kSharedBytes : kMuchBytes)) wants_more_.store(true, std::memory_order_relaxed);
  if (bytes >= kMuchBytes) busy_ns_.store(sys::NowNs(), std::memory_order_relaxed);
}

// For who wants to know whether the network is slow: so only where nothing else is.
void RemoteRank::NotePace(Flow& flow, std::int64_t now_ns, std::int64_t ns, std::uint64_t bytes) {
  if (now_ns - flow.asked_ns >= kAskNs) {
    flow.peer_is_full = flow.wire->WaitsForRoom().value_or(false);
    flow.asked_ns = now_ns;
  }
  if (flow.peer_is_full || ns > kUnseenNs || flow.backlog_then < kPacedBytes) return;
  flow.all_busy_ns.fetch_add(ns, std::memory_order_relaxed);
  flow.all_busy_bytes.fetch_add(bytes, std::memory_order_relaxed);
}

// Time in which there was always enough under way tells the rate; where that has arrived, it was no less. What is small says
// nothing: its acknowledgement may come late. Small messages alone do not need a look, which is a system call, each time.
void RemoteRank::Rate(Flow& flow) {
  if (!IsBusy() && sys::NowNs() - flow.looked_ns < kRateNs) return;
  const std::uint64_t backlog = flow.wire->Backlog(), arrived = flow.wire->Added() - backlog;
  flow.backlog.store(backlog, std::memory_order_relaxed);
  const std::int64_t now_ns = sys::NowNs(), ns = now_ns - flow.looked_ns;
  if (arrived > flow.arrived_then) flow.arrived_ns.store(now_ns, std::memory_order_relaxed);
  // Where nobody has looked for long, as in a process that was stopped, nobody knows.
  const bool is_well = arrived > flow.arrived_then || backlog == 0 || ns > 2 * kStalledNs;
  if (is_well) flow.well_ns.store(now_ns, std::memory_order_relaxed);
  const bool was_busy = flow.backlog_then >= kSharedBytes, is_busy = backlog >= kSharedBytes;
  if (was_busy && is_busy && ns < kRateNs && arrived == flow.arrived_then) return;
  if (was_busy && ns > 0) {
    if (now_ns - flow.rated_ns.load(std::memory_order_relaxed) > kForgetNs) flow.busy_ns = flow.busy_bytes = 0;
    const auto bytes = static_cast<double>(arrived - flow.arrived_then), time = static_cast<double>(ns);
    NotePace(flow, now_ns, ns, arrived - flow.arrived_then);
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
bool RemoteRank::HasStalled(Flow& flow) {
  // Over one that has not been spoken over, or is the only one, nobody looks otherwise. What is under way there tells its rate the better
  // the more often it is looked at.
  const std::int64_t apart_ns = flow.backlog_then > 0 ? kStalledNs / 10 : kStalledNs / 2;
  if (sys::NowNs() - flow.looked_ns >= apart_ns) Rate(flow);
  const std::int64_t since_ns = flow.well_ns.load(std::memory_order_relaxed), silent_ns = sys::NowNs() - since_ns;
  if (silent_ns < kStalledNs / 2) return false;
  bool others_go_on = false;
  for (const auto& other : flows_) {
    if (other.get() == &flow || !other->speaks.load(std::memory_order_relaxed)) continue;
    if (other->arrived_ns.load(std::memory_order_relaxed) > since_ns + kStalledNs / 2) others_go_on = true;
    if (other->backlog.load(std::memory_order_relaxed) == 0) other->greets = true;
  }
  if (others_go_on && silent_ns >= kStalledNs) return !flow.wire->WaitsForRoom().value_or(false);
  return silent_ns >= kStuckNs && !flow.wire->WaitsForRoom().value_or(true);
}

}  // namespace tutti::transport::net
