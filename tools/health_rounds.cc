// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "tools/health_rounds.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <set>
#include <utility>

namespace tutti::tools {
namespace {

constexpr int kMostOnOneHost = 6, kMostWithin = 3, kMostBetween = 4;

// A tournament of `count`: in each of its rounds all meet in pairs, but for one that rests where they are odd.
int TournamentRounds(int count) { return count < 2 ? 0 : count % 2 == 0 ? count - 1 : count; }

// Whom `one` meets in a round; -1: nobody. The circle method: one stands still, the others turn around it.
int Opponent(int one, int round, int count) {
  const int circle = count % 2 == 0 ? count - 1 : count;  // those that turn
  if (count % 2 == 0 && one == circle) return round;
  const int other = ((2 * round - one) % circle + circle) % circle;
  if (other != one) return other;
  return count % 2 == 0 ? circle : -1;
}

// Some of so many rounds, far from each other.
std::vector<int> Spread(int rounds, int most) {
  std::vector<int> chosen;
  const int count = std::min(rounds, most);
  for (int i = 0; i < count; ++i) chosen.push_back(i * rounds / count);
  return chosen;
}

std::vector<std::vector<int>> RanksOfHosts(const std::vector<int>& host_of) {
  std::vector<std::vector<int>> hosts;
  for (std::size_t rank = 0; rank < host_of.size(); ++rank) {
    const auto host = static_cast<std::size_t>(host_of[rank]);
    if (hosts.size() <= host) hosts.resize(host + 1);
    hosts[host].push_back(static_cast<int>(rank));
  }
  return hosts;
}

void AddWithin(const std::vector<std::vector<int>>& hosts, int most, std::size_t ranks,
               std::vector<Pairing>& pairings) {
  int largest = 0;
  for (const std::vector<int>& host : hosts) largest = std::max(largest, static_cast<int>(host.size()));
  int number = 0;
  for (const int round : Spread(TournamentRounds(largest), most)) {
    Pairing pairing{.name = fmt::format("within hosts {}", ++number), .partner = std::vector<int>(ranks, -1)};
    for (const std::vector<int>& host : hosts) {
      const int count = static_cast<int>(host.size());
      if (round >= TournamentRounds(count)) continue;
      for (int i = 0; i < count; ++i) {
        const int other = Opponent(i, round, count);
        if (other >= 0)
          pairing.partner[static_cast<std::size_t>(host[static_cast<std::size_t>(i)])] =
              host[static_cast<std::size_t>(other)];
      }
    }
    pairings.push_back(std::move(pairing));
  }
}

// Hosts meet as in a tournament, their ranks by their places; then again with the places of one side turned by one.
void AddBetween(const std::vector<std::vector<int>>& hosts, std::size_t ranks, std::vector<Pairing>& pairings) {
  const int count = static_cast<int>(hosts.size()), rounds = TournamentRounds(count);
  std::size_t least = hosts.front().size();
  for (const std::vector<int>& host : hosts) least = std::min(least, host.size());
  const int turns = static_cast<int>(std::min<std::size_t>(least, 2));
  int number = 0;
  for (const int chosen : Spread(rounds * turns, kMostBetween)) {
    const int round = chosen % rounds, turn = chosen / rounds;
    Pairing pairing{.name = fmt::format("between hosts {}", ++number), .partner = std::vector<int>(ranks, -1)};
    for (int host = 0; host < count; ++host) {
      const int other = Opponent(host, round, count);
      if (other < host) continue;
      const std::vector<int>&mine = hosts[static_cast<std::size_t>(host)],
            &theirs = hosts[static_cast<std::size_t>(other)];
      const std::size_t places = std::min(mine.size(), theirs.size());
      for (std::size_t i = 0; i < places; ++i) {
        const int a = mine[i], b = theirs[(i + static_cast<std::size_t>(turn)) % places];
        pairing.partner[static_cast<std::size_t>(a)] = b;
        pairing.partner[static_cast<std::size_t>(b)] = a;
      }
    }
    pairings.push_back(std::move(pairing));
  }
}

}  // namespace

std::vector<Pairing> PairingsFor(const std::vector<int>& host_of) {
  std::vector<Pairing> pairings;
  const std::vector<std::vector<int>> hosts = RanksOfHosts(host_of);
  if (hosts.empty()) return pairings;
  AddWithin(hosts, hosts.size() == 1 ? kMostOnOneHost : kMostWithin, host_of.size(), pairings);
  if (hosts.size() > 1) AddBetween(hosts, host_of.size(), pairings);
  return pairings;
}

std::vector<std::vector<int>> RingsFor(int ranks) {
  std::vector<std::vector<int>> rings;
  if (ranks < 2) return rings;
  std::set<int> steps = {1};
  for (int step = ranks / 2 + 1; step < ranks; ++step) {
    if (std::gcd(step, ranks) != 1) continue;
    steps.insert(step);
    break;
  }
  for (const int step : steps) {
    std::vector<int> ring;
    for (int i = 0; i < ranks; ++i) ring.push_back(static_cast<int>(static_cast<long long>(i) * step % ranks));
    rings.push_back(std::move(ring));
  }
  return rings;
}

}  // namespace tutti::tools
