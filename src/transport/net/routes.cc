// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "transport/net/routes.h"

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <functional>

#include "transport/net/cut_links.h"

namespace tutti::transport::net {
namespace {

// Bits that two addresses have in common at their beginning.
int CommonBits(const sys::IpAddress& a, const sys::IpAddress& b) {
  int bits = 0;
  for (std::size_t i = 0; i < a.bytes().size(); ++i) {
    const auto differ = static_cast<std::uint8_t>(a.bytes()[i] ^ b.bytes()[i]);
    if (differ != 0) return bits + std::countl_zero(differ);
    bits += 8;
  }
  return bits;
}

// What addresses of one network have in common as a rule: more says nothing of networks. Those of IPv4 have 96 bits before them.
int NetworkBits(sys::IpFamily family) { return family == sys::IpFamily::kV4 ? 96 + 24 : 64; }

// More than 0: two cards are on one network. 0: they are not, for less than a network in common is nothing: each host may have networks
// of its own, joined by routers. -1: they have no addresses of one family.
int CommonBits(const Card& a, const Card& b) {
  int most = -1;
  for (const sys::Endpoint& mine : a.endpoints) {
    for (const sys::Endpoint& its : b.endpoints) {
      if (mine.address.family() != its.address.family()) continue;
      const int network = NetworkBits(mine.address.family());
      most = std::max(most, CommonBits(mine.address, its.address) >= network ? network : 0);
    }
  }
  return most;
}

// The card of `theirs` that is on the rail of `own`: of its network, and among several with its number. Null where there is none at
// all.
const Card* OnRailOf(const Card& own, std::span<const Card> theirs) {
  const Card* best = nullptr;
  int most = -2;
  for (const Card& card : theirs) {
    const int bits = CommonBits(own, card);
    if (bits < most || (bits == most && card.rail != own.rail)) continue;
    most = bits;
    best = &card;
  }
  return best;
}

}  // namespace

FlowCount FlowsOf(std::span<const Card> own, std::span<const Card> theirs, int per_card) {
  const int cards = std::clamp(static_cast<int>(std::max(own.size(), theirs.size())), 1, kMostFlows);
  return {.all = std::min(cards * std::max(per_card, 1), kMostFlows), .first = cards};
}

std::vector<sys::Endpoint> EndpointsOf(std::span<const Card> cards) {
  std::vector<sys::Endpoint> all;
  for (const Card& card : cards) all.insert(all.end(), card.endpoints.begin(), card.endpoints.end());
  return all;
}

int DeviceWith(const RemotePeer& peer, int rank, int device, std::span<const int> rails, CrossRails cross) {
  const auto own = static_cast<std::size_t>(device);
  if (cross != CrossRails::kNever || own >= rails.size()) return device;
  const int rail = rank < peer.rank ? rails[own] : peer.rail;
  if (rails[own] == rail) return device;
  const auto same = std::ranges::find(rails, rail);
  return same == rails.end() ? device : static_cast<int>(same - rails.begin());
}

Route RouteOf(int flow, std::span<const Card> own, std::span<const Card> theirs, CrossRails cross) {
  Route route;
  const auto number = static_cast<std::size_t>(flow);
  const Card* const only =
      cross == CrossRails::kNever && !own.empty() ? OnRailOf(own[number % own.size()], theirs) : nullptr;
  for (std::size_t i = 0; i < theirs.size(); ++i) {
    const Card& card = theirs[(number + i) % theirs.size()];
    if (only != nullptr && only != &card) continue;
    route.to.insert(route.to.end(), card.endpoints.begin(), card.endpoints.end());
  }
  if (own.size() < 2) return route;
  const Card& card = own[number % own.size()];
  route.card = card.name;
  // Of the card's addresses that which is nearest to any of the peer's.
  int most = -1;
  for (const sys::Endpoint& mine : card.endpoints) {
    for (const sys::Endpoint& its : route.to) {
      if (mine.address.family() != its.address.family()) continue;
      const int bits = CommonBits(mine.address, its.address);
      if (bits <= most) continue;
      most = bits;
      route.from = mine.address;
    }
  }
  if (!route.from) return route;
  std::erase_if(route.to, [&](const sys::Endpoint& its) { return its.address.family() != route.from->family(); });
  if (cross == CrossRails::kFreely) return route;
  std::ranges::stable_sort(route.to, std::greater<>(),
                           [&](const sys::Endpoint& its) { return CommonBits(*route.from, its.address); });
  return route;
}

}  // namespace tutti::transport::net
