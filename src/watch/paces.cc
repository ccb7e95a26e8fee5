// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "watch/paces.h"

#include <algorithm>
#include <bit>
#include <cstddef>

#include "transport/remote.h"

namespace tutti::watch {
namespace {

constexpr std::int64_t kLeastBusyNs = 20'000'000;  // less tells no rate
constexpr std::int64_t kShareOfCard = 5;
// A way is what the rank waits for from two fifths of a second on: nobody looks at a connection all the time, so half is seen as a little
// less in every other second.
// A slow one is so from less on, so that it does not come and go.
constexpr double kLimits = 0.4, kStillLimits = 0.25;
constexpr std::size_t kLeastKnown = 3, kMostKnown = 61;
// With little under way: so many times as long as usual a round trip takes on a slow way, and so many packets are under way at least.
constexpr double kLongerTrip = 1.5, kLeastPackets = 2;
// And in so much of the time it waits in the card's own queues: that the cores have no time for packets looks alike but for that.
constexpr double kQueued = 0.6, kStillQueued = 0.3;
constexpr double kMeanOfNs = 8e9;  // of slow seconds

double Median(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::ranges::nth_element(values, middle);
  return *middle;
}

void Keep(std::vector<double>& values, double value) {
  if (values.size() == kMostKnown) values.erase(values.begin());
  values.push_back(value);
}

}  // namespace

void Paces::Add(const transport::FlowPace& flow, Second& second) {
  transport::FlowPace& old = flows_[{flow.peer, flow.flow}];
  // Another connection in its place counts from the beginning.
  if (flow.traffic.arrived < old.traffic.arrived || flow.traffic.busy_ns < old.traffic.busy_ns) old.traffic = {};
  const std::int64_t much_ns = flow.busy_ns - old.busy_ns;
  const bool is_counted = flow.traffic.busy_ns > 0;
  const std::int64_t busy_ns = is_counted ? flow.traffic.busy_ns - old.traffic.busy_ns : much_ns;
  second.bytes += static_cast<double>(is_counted ? flow.traffic.arrived - old.traffic.arrived : flow.bytes - old.bytes);
  second.much_bytes += static_cast<double>(flow.bytes - old.bytes);
  second.is_queued |= flow.traffic.is_queued;
  second.much_busy_ns = std::max(second.much_busy_ns, much_ns);
  if (busy_ns > second.busy_ns) {
    second.busy_ns = busy_ns;
    second.round_trip_ns = static_cast<double>(flow.traffic.round_trip_ns);
    second.packet_bytes = flow.traffic.packet_bytes;
  }
  old = flow;
}

bool Paces::Note(std::span<const transport::FlowPace> flows, std::int64_t now_ns) {
  const std::int64_t ns = now_ns - noted_ns_;
  if (!due(now_ns)) return false;
  const bool first = noted_ns_ == 0;
  noted_ns_ = now_ns;
  std::map<Key, Second> seconds;
  for (const transport::FlowPace& flow : flows) Add(flow, seconds[{flow.peer, flow.card}]);
  // One that was stopped for a while does not know when in it the data moved.
  if (first || ns > 2 * kSecondNs) {
    ways_.clear();
    return false;
  }
  std::map<std::string, std::int64_t> busy_ns;  // by card
  for (const auto& [key, second] : seconds) busy_ns[key.second] += second.busy_ns;
  std::map<int, Way> worst;
  for (const auto& [key, second] : seconds) {
    // A second is shared by the peers that data go to by one card.
    const double busy = static_cast<double>(busy_ns[key.second]) / static_cast<double>(ns);
    Way way = Judge(key, second, second.busy_ns >= ns / kShareOfCard ? busy : 0);
    const auto [known, is_new] = worst.try_emplace(key.first, way);
    const auto share = [](const Way& w) {
      return w.bytes_per_s == 0 ? 1e9 : w.bytes_per_s / std::max(w.usual_bytes_per_s, 1.0);
    };
    const double arrived =
        (is_new ? 0 : known->second.arrived_bytes_per_s) + second.bytes * 1e9 / static_cast<double>(ns);
    if (!is_new && share(way) < share(known->second)) known->second = std::move(way);
    known->second.arrived_bytes_per_s = arrived;
  }
  ways_.clear();
  for (auto& [peer, way] : worst) ways_.push_back(std::move(way));
  const bool limited = std::ranges::any_of(
      ways_, [&](const Way& way) { return way.bytes_per_s > 0 && Carries(way.peer, way.card, true) > 0; });
  limited_seconds_ += limited ? 1 : 0;
  return true;
}

// For a part of the second there was much to send.
void Paces::LearnMuch(Past& past, const Second& second) {
  if (second.much_busy_ns < kLeastBusyNs) return;
  const double rate = second.much_bytes * 1e9 / static_cast<double>(second.much_busy_ns);
  if (past.rates.size() >= kLeastKnown && rate < kSlowBelow * Median(past.rates)) return;
  Keep(past.rates, rate);
  Keep(past.round_trips, second.round_trip_ns);
}

// In which part of the last seconds of this kind something waited in the card.
double Paces::NoteLimit(Past& past, const Second& second) {
  const auto ns = static_cast<double>(second.busy_ns);
  const double keep = std::min(1.0, kMeanOfNs / (past.limits_ns + ns));
  past.limits_ns = keep * (past.limits_ns + ns);
  past.limits_queued_ns = keep * (past.limits_queued_ns + (second.is_queued ? ns : 0));
  return past.limits_queued_ns / past.limits_ns;
}

Paces::Way Paces::Judge(const Key& key, const Second& second, double busy) {
  Way way{.peer = key.first, .card = key.second};
  const bool much = second.had_much();
  if (!much) LearnMuch(pasts_[{key, true}], second);
  Past& past = pasts_[{key, much}];
  const bool limits = busy >= (past.slow_ns > 0 ? kStillLimits : kLimits);
  const bool known = past.rates.size() >= kLeastKnown;
  if (known) way.usual_bytes_per_s = Median(past.rates);
  if (second.busy_ns < kLeastBusyNs) return way;
  const double rate = second.rate();
  const bool below = rate < kSlowBelow * way.usual_bytes_per_s;
  const bool takes_longer = known && second.round_trip_ns >= kLongerTrip * Median(past.round_trips);
  const double under_way = rate * second.round_trip_ns * 1e-9;
  const bool is_shown = takes_longer && under_way >= kLeastPackets * second.packet_bytes;
  // One that began as a slow one goes on as long as too little arrives and it waits in the card.
  const bool slow = below && (much || is_shown || past.queued);
  if (limits && !below) {
    way.bytes_per_s = rate;
    way.queued = NoteLimit(past, second);
  }
  if (slow) {
    past.slow_bytes += second.bytes;
    past.slow_ns += static_cast<double>(second.busy_ns);
    past.queued_ns += second.is_queued ? static_cast<double>(second.busy_ns) : 0;
    way.queued = past.queued_ns / past.slow_ns;
    past.queued = way.queued >= (past.queued ? kStillQueued : kQueued);
    if (limits && (much || past.queued)) way.bytes_per_s = past.slow_bytes * 1e9 / past.slow_ns;
    const double keep = std::min(1.0, kMeanOfNs / past.slow_ns);
    past.slow_bytes *= keep;
    past.slow_ns *= keep;
    past.queued_ns *= keep;
    return way;
  }
  past.slow_bytes = past.slow_ns = past.queued_ns = 0;
  past.queued = false;
  // Less under way at a time becomes usual too; what takes longer does not.
  if (below && takes_longer) return way;
  Keep(past.rates, rate);
  Keep(past.round_trips, second.round_trip_ns);
  return way;
}

bool Paces::wants_comparing() const {
  constexpr unsigned kFirst = 20, kLater = 6;
  const bool limits = std::ranges::any_of(ways_, [](const Way& way) { return way.bytes_per_s > 0; });
  const bool is_time = limited_seconds_ <= kFirst || limited_seconds_ - std::bit_floor(limited_seconds_) < kLater;
  return limits && limited_seconds_ > 0 && is_time;
}

double Paces::Carries(int peer, const std::string& card, bool much) const {
  const auto past = pasts_.find({{peer, card}, much});
  return past == pasts_.end() || past->second.rates.size() < kLeastKnown ? 0 : Median(past->second.rates);
}

bool Paces::any_is_slow() const { return std::ranges::any_of(ways_, &Way::is_slow); }

}  // namespace tutti::watch
