// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_TRANSPORT_NET_REMOTE_PEER_H_
#define TUTTI_TRANSPORT_NET_REMOTE_PEER_H_

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "sys/net/address.h"

namespace tutti::transport::net {

// A network card of a host, and where a process listens on it. A card without a name stands for all that is known of a host.
struct Card {
  std::string name;
  std::vector<sys::Endpoint> endpoints;
  int rail = 0;        // its number among the cards of its host, as that counts them
  std::string bus_id;  // of the host's own cards that are PCI devices: "0000:1b:00.0"
};

// All addresses of all cards.
std::vector<sys::Endpoint> EndpointsOf(std::span<const Card> cards);

// Whether flows may go from a card to one of another rail at the other host (NCCL_CROSS_NIC).
enum class CrossRails : std::uint8_t {
  kNever = 0,        // a flow that has no card of its rail there goes by that of the same number
  kFreely = 1,       // the peer's cards count in the peer's order
  kWhereNeeded = 2,  // the rail first, then others
};

// A rank of another host, and where its process listens (port.h).
struct RemotePeer {
  int rank = 0;
  std::int32_t pid = 0;
  std::string host;
  std::vector<Card> cards;
  int flows_per_card = 1;  // that it asks for
  int rail = 0;            // of the device of a network plugin that it uses
};

}  // namespace tutti::transport::net

#endif  // TUTTI_TRANSPORT_NET_REMOTE_PEER_H_
