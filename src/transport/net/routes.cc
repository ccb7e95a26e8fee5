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

Route RouteOf(int flow, std::span<const Card> own, std::span<const Card> theirs) {
  Route route;
  const auto number = static_cast<std::size_t>(flow);
  for (std::size_t i = 0; i < theirs.size(); ++i) {
    const Card& card = theirs[(number + i) % theirs.size()];
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
  std::ranges::stable_sort(route.to, std::greater<>(),
                           [&](const sys::Endpoint& its) { return CommonBits(*route.from, its.address); });
  return route;
}

}  // namespace tutti::transport::net
