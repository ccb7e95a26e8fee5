// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "watch/paces.h"

#include <algorithm>
#include <cstddef>

#include "transport/remote.h"

namespace tutti::watch {
namespace {

constexpr std::int64_t kLeastBusyNs = 20'000'000;  // less tells no rate
constexpr std::int64_t kShareOfCard = 5;
// A way is what the rank waits for from two fifths of a second on: nobody looks at a connection all the time, so half is seen as a little
// less in every other second.
constexpr std::int64_t kLimitsFrom = 2, kLimitsOf = 5;
constexpr std::size_t kLeastKnown = 3, kMostKnown = 61;

double Median(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::ranges::nth_element(values, middle);
  return *middle;
}

}  // namespace

bool Paces::Note(std::span<const transport::FlowPace> flows, std::int64_t now_ns) {
  const std::int64_t ns = now_ns - noted_ns_;
  if (!due(now_ns)) return false;
  const bool first = noted_ns_ == 0;
  noted_ns_ = now_ns;
  std::map<Key, Second> seconds;
  for (const transport::FlowPace& flow : flows) {
    Flow& old = flows_[{flow.peer, flow.flow}];
    Second& second = seconds[{flow.peer, flow.card}];
    second.busy_ns = std::max(second.busy_ns, flow.busy_ns - old.busy_ns);
    second.bytes += static_cast<double>(flow.bytes - old.bytes);
    old = {.busy_ns = flow.busy_ns, .bytes = flow.bytes};
  }
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
    const bool limits = kLimitsOf * busy_ns[key.second] >= kLimitsFrom * ns && second.busy_ns >= ns / kShareOfCard;
    Way way = Judge(key, second, limits);
    const auto [known, is_new] = worst.try_emplace(key.first, way);
    const auto share = [](const Way& w) {
      return w.bytes_per_s == 0 ? 1e9 : w.bytes_per_s / std::max(w.usual_bytes_per_s, 1.0);
    };
    if (!is_new && share(way) < share(known->second)) known->second = std::move(way);
  }
  ways_.clear();
  for (auto& [peer, way] : worst) ways_.push_back(std::move(way));
  return true;
}

Paces::Way Paces::Judge(const Key& key, const Second& second, bool limits) {
  Way way{.peer = key.first, .card = key.second};
  std::vector<double>& rates = rates_[key];
  if (rates.size() >= kLeastKnown) way.usual_bytes_per_s = Median(rates);
  if (second.busy_ns < kLeastBusyNs) return way;
  const double rate = second.bytes * 1e9 / static_cast<double>(second.busy_ns);
  if (limits) way.bytes_per_s = rate;
  if (rate < kSlowBelow * way.usual_bytes_per_s) return way;
  if (rates.size() == kMostKnown) rates.erase(rates.begin());
  rates.push_back(rate);
  return way;
}

bool Paces::any_is_slow() const { return std::ranges::any_of(ways_, &Way::is_slow); }

}  // namespace tutti::watch
