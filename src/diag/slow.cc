// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "diag/slow.h"

#include <algorithm>
#include <functional>
#include <iterator>
#include <map>
#include <optional>
#include <tuple>
#include <utility>

namespace tutti::diag {
namespace {

constexpr double kLimits = 0.5;  // of the time that must have been waited on the edge
// Of the time that what is sent must have waited in the own card: of two links, and of one that is found beside others.
constexpr int kQueuedPercent = 30, kMostlyQueuedPercent = 60;
constexpr std::size_t kFewLinks = 4;   // of fewer it does not tell much that all are alike
constexpr std::size_t kFewOthers = 3;  // so many ways of other hosts say what is usual

// Whether so many slow links of so many say that it is something else.
bool AreTooMany(std::size_t slow, std::size_t rated) { return rated >= kFewLinks && 2 * slow > rated; }

EndIs EndOf(const RankLook& rank) {
  if (!rank.inside()) return EndIs::kDone;
  return rank.wait.kind == trace::WaitKind::kNothing ? EndIs::kInside : EndIs::kWaiting;
}

// One edge at one look.
struct Moment {
  EdgeFinding finding;
  const LinkLook* out;
  const LinkLook* in;
  const RankLook* sender;
  const RankLook* receiver;
  bool loaded;  // at least half of what the link holds is on its way: it is not the distance that takes the time
};
std::optional<Moment> At(const CommunicatorLook& c, const EdgeFacts& facts, int channel, const EdgeTable& table) {
  const RankLook* sender = c.Find(facts.from);
  const RankLook* receiver = c.Find(facts.to);
  if (sender == nullptr || receiver == nullptr) return std::nullopt;
  const Edge edge{.sender = sender,
                  .receiver = receiver,
                  .sender_is = EndOf(*sender),
                  .receiver_is = EndOf(*receiver),
                  .channel = channel,
                  .window = c.window};
  const Moment moment{.finding = Find(table, SenderOf(edge), ReceiverOf(edge)),
                      .out = sender->LinkTo(facts.to, channel),
                      .in = receiver->LinkTo(facts.from, channel),
                      .sender = sender,
                      .receiver = receiver,
                      .loaded = c.window[0] > 0 && InFlight(edge) >= c.window[0] / 2};
  if (moment.out == nullptr || moment.in == nullptr) return std::nullopt;
  return moment;
}

// Whether those who wait on the edge did so for long enough.
bool Limits(const Moment& old, const Moment& now, double wanted_ns) {
  const auto room_ns = static_cast<double>(now.out->room_wait_ns - old.out->room_wait_ns);
  const auto data_ns = static_cast<double>(now.in->data_wait_ns - old.in->data_wait_ns);
  switch (now.finding) {
    case EdgeFinding::kLink:
      return data_ns >= wanted_ns && (room_ns >= wanted_ns || (old.loaded && now.loaded));
    case EdgeFinding::kReceiver:
      return now.receiver->gpu >= 0 && room_ns >= wanted_ns;
    case EdgeFinding::kSender:
      return now.sender->gpu >= 0 && data_ns >= wanted_ns;
    default:
      return false;
  }
}

// Bytes that arrived; 0 also where nobody knows how many they were. An end that does not wait is behind with its counters.
double Moved(const Moment& old, const Moment& now, const EdgeFacts& facts) {
  double bytes = 0;
  for (std::size_t p = 0; p < trace::kBoxProtocols; ++p) {
    const std::uint64_t units =
        std::max(now.in->received[p] - old.in->received[p], now.out->credit[p] - old.out->credit[p]);
    if (units > 0 && facts.unit_bytes[p] == 0) return 0;
    bytes += static_cast<double>(units) * facts.unit_bytes[p];
  }
  return bytes;
}

std::optional<Slow> Judge(const std::optional<Moment>& old, const std::optional<Moment>& now, const EdgeFacts& facts,
                          double seconds, double below) {
  if (!old || !now || old->finding != now->finding || !Limits(*old, *now, kLimits * seconds * 1e9)) return std::nullopt;
  const double bytes = Moved(*old, *now, facts);
  if (bytes == 0) return std::nullopt;  // what does not move at all is another question
  const Slow slow{.what = now->finding,
                  .from = facts.from,
                  .to = facts.to,
                  .bytes_per_s = bytes / seconds,
                  .rated_bytes_per_s = facts.rated_bytes_per_s,
                  .past_bytes_per_s = facts.past_bytes_per_s};
  if (slow.bytes_per_s >= below * slow.rated_bytes_per_s) return std::nullopt;
  if (slow.past_bytes_per_s > 0 && slow.bytes_per_s >= below * slow.past_bytes_per_s) return std::nullopt;
  return slow;
}

bool IsBelow(const LinkLook& link, double bytes_per_s) {
  return link.pace_bytes_per_s > 0 && static_cast<double>(link.pace_bytes_per_s) < bytes_per_s;
}

// What ways that leave other hosts than one carry; 0: too few are known. With much to send that in the middle. With little to send a rate is the
// least that a way could carry, and many have next to nothing to send: that of the best quarter, of three at least.
struct Others {
  double much = 0, little = 0;
};
Others FindOthers(const CommunicatorLook& c, int island) {
  std::vector<std::uint64_t> much, little;
  for (const RankLook& rank : c.seen) {
    for (const FlowLook& flow : rank.flows) {
      if (rank.island == island) continue;
      if (flow.carries_bytes_per_s > 0) much.push_back(flow.carries_bytes_per_s);
      if (flow.carries_little_bytes_per_s > 0) little.push_back(flow.carries_little_bytes_per_s);
    }
  }
  const auto after = [](std::vector<std::uint64_t>& rates, std::size_t faster) {
    if (rates.size() < kFewOthers) return 0.0;
    const auto at = rates.begin() + static_cast<std::ptrdiff_t>(faster);
    std::ranges::nth_element(rates, at, std::greater());
    return static_cast<double>(*at);
  };
  return {.much = after(much, much.size() / 2), .little = after(little, std::max(kFewOthers - 1, little.size() / 4))};
}

// Whether a way was never faster than this.
bool NeverCarried(const RankLook& rank, const LinkLook& link, double bytes_per_s) {
  const auto is_it = [&](const FlowLook& flow) { return flow.peer == link.peer && flow.card == link.card; };
  const auto flow = std::ranges::find_if(rank.flows, is_it);
  if (flow == rank.flows.end() || flow->carries_bytes_per_s == 0) return false;
  return static_cast<double>(std::max(flow->carries_bytes_per_s, flow->carries_little_bytes_per_s)) < bytes_per_s;
}

// At both looks there was enough to send, and too little of it arrived: for this way, or where that was never faster, beside others. Networks
// need not be alike everywhere, so it takes more for the latter; and more still where the others have had little to send only.
std::optional<Slow> ByPace(const RankLook& from, const LinkLook* old, const LinkLook& now, double below,
                           const Others& others) {
  if (old == nullptr) return std::nullopt;
  Slow slow{.from = from.rank,
            .to = now.peer,
            .channel = now.channel,
            .bytes_per_s = static_cast<double>(now.pace_bytes_per_s),
            .rated_bytes_per_s = static_cast<double>(now.usual_bytes_per_s),
            .card = now.card,
            .queued = now.queued_percent >= kQueuedPercent};
  if (IsBelow(*old, below * static_cast<double>(old->usual_bytes_per_s)) &&
      IsBelow(now, below * slow.rated_bytes_per_s))
    return slow;
  const bool by_much = others.much > 0;
  if (!by_much && now.queued_percent < kMostlyQueuedPercent) return std::nullopt;
  slow.rated_bytes_per_s = by_much ? others.much : others.little;
  slow.beside_others = true;
  const double much_below = below * below * (by_much ? 1 : below) * slow.rated_bytes_per_s;
  if (!IsBelow(*old, much_below) || !IsBelow(now, much_below) || !NeverCarried(from, now, much_below))
    return std::nullopt;
  return slow;
}

// The host of a rank; -1: not known.
int IslandOf(const CommunicatorLook& c, int rank) {
  const RankLook* look = c.Find(rank);
  return look == nullptr ? -1 : look->island;
}

// Whether all these links begin or end at one host.
bool HaveHostInCommon(const CommunicatorLook& c, const std::vector<Slow>& slow) {
  const auto is_common = [&](int island) {
    return std::ranges::all_of(
        slow, [&](const Slow& s) { return IslandOf(c, s.from) == island || IslandOf(c, s.to) == island; });
  };
  return is_common(IslandOf(c, slow.front().from)) || is_common(IslandOf(c, slow.front().to));
}

// That data have arrived is told over the way back. Where that goes through a slow link the way there looks slow too: so of two links,
// one of which ends where the other begins, only one counts: that whose data are known to wait on their way there, else the slower one.
void LeaveOutWaysBack(const CommunicatorLook& c, std::vector<Slow>& slow) {
  std::ranges::sort(slow, {}, [](const Slow& s) { return std::pair(!s.queued, s.bytes_per_s / s.rated_bytes_per_s); });
  std::vector<Slow> kept;
  for (const Slow& s : slow) {
    const bool is_way_back = std::ranges::any_of(kept, [&](const Slow& worse) {
      return IslandOf(c, worse.from) == IslandOf(c, s.to) || IslandOf(c, worse.to) == IslandOf(c, s.from);
    });
    if (!is_way_back) kept.push_back(s);
  }
  std::ranges::sort(kept, {}, [](const Slow& s) { return std::tuple(s.from, s.to, s.channel); });
  slow = std::move(kept);
}

// Links to other hosts, by what their senders say.
void FindByPace(const CommunicatorLook& old, const CommunicatorLook& c, double below, std::vector<Slow>& slow,
                std::size_t& rated) {
  std::size_t known = 0;
  std::map<int, Others> others;  // by island
  for (const RankLook& rank : c.seen) {
    const RankLook* then = old.Find(rank.rank);
    for (const LinkLook& link : rank.links) {
      if (link.usual_bytes_per_s == 0 || then == nullptr || c.Find(link.peer) == nullptr) continue;
      ++known;
      if (link.pace_bytes_per_s == 0) continue;
      const auto [beside, is_new] = others.try_emplace(rank.island);
      if (is_new) beside->second = FindOthers(c, rank.island);
      const std::optional<Slow> one = ByPace(rank, then->LinkTo(link.peer, link.channel), link, below, beside->second);
      if (one) slow.push_back(*one);
    }
  }
  rated += known;
  if (slow.empty()) return;
  if (AreTooMany(slow.size(), known) && !HaveHostInCommon(c, slow)) {
    slow.clear();
    return;
  }
  LeaveOutWaysBack(c, slow);
}

}  // namespace

std::vector<Slow> FindSlow(const Look& before, const Look& now, int communicator, const EdgeTable& table,
                           double below) {
  const CommunicatorLook& c = now.communicators[static_cast<std::size_t>(communicator)];
  const CommunicatorLook* old = before.Find(c.id);
  if (old == nullptr) return {};
  const double seconds = static_cast<double>(now.taken_ns - before.taken_ns) * 1e-9;
  std::vector<Slow> all;
  std::size_t rated = 0, links = 0;
  for (const EdgeFacts& facts : c.edges) {
    const RankLook* sender = c.Find(facts.from);
    if (facts.rated_bytes_per_s <= 0 || sender == nullptr) continue;
    for (const LinkLook& link : sender->links) {
      if (link.peer != facts.to) continue;
      ++rated;
      std::optional<Slow> slow =
          Judge(At(*old, facts, link.channel, table), At(c, facts, link.channel, table), facts, seconds, below);
      if (!slow) continue;
      slow->channel = link.channel;
      links += slow->what == EdgeFinding::kLink ? 1 : 0;
      all.push_back(*slow);
    }
  }
  std::vector<Slow> by_pace;
  FindByPace(*old, c, below, by_pace, rated);
  links += by_pace.size();
  std::ranges::copy(by_pace, std::back_inserter(all));
  if (AreTooMany(links, rated)) {
    std::erase_if(all, [](const Slow& s) { return s.what == EdgeFinding::kLink; });
  }
  return all;
}

}  // namespace tutti::diag
