// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "diag/slow.h"

#include <algorithm>
#include <iterator>
#include <optional>
#include <tuple>
#include <utility>

namespace tutti::diag {
namespace {

constexpr double kLimits = 0.5;       // of the time that must have been waited on the edge
constexpr int kQueuedPercent = 30;    // of the time that what is sent must have waited in the own card
constexpr std::size_t kFewLinks = 4;  // of fewer it does not tell much that all are alike

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

// At both looks there was enough to send, and too little of it arrived.
std::optional<Slow> ByPace(int from, const LinkLook* old, const LinkLook& now, double below) {
  const auto is_slow = [&](const LinkLook& link) {
    const auto usual = static_cast<double>(link.usual_bytes_per_s);
    return link.pace_bytes_per_s > 0 && static_cast<double>(link.pace_bytes_per_s) < below * usual;
  };
  if (old == nullptr || !is_slow(*old) || !is_slow(now)) return std::nullopt;
  return Slow{.from = from,
              .to = now.peer,
              .channel = now.channel,
              .bytes_per_s = static_cast<double>(now.pace_bytes_per_s),
              .rated_bytes_per_s = static_cast<double>(now.usual_bytes_per_s),
              .card = now.card,
              .queued = now.queued_percent >= kQueuedPercent};
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
  for (const RankLook& rank : c.seen) {
    const RankLook* then = old.Find(rank.rank);
    for (const LinkLook& link : rank.links) {
      if (link.usual_bytes_per_s == 0 || then == nullptr || c.Find(link.peer) == nullptr) continue;
      ++known;
      if (const std::optional<Slow> one = ByPace(rank.rank, then->LinkTo(link.peer, link.channel), link, below))
        slow.push_back(*one);
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
