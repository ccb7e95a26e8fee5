// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_TRANSPORT_NET_ROUTES_H_
#define TUTTI_TRANSPORT_NET_ROUTES_H_

// Which cards a flow goes by.
//
// A pair of ranks has as many flows as the host with more cards has cards, and as many more as both ask for: one connection does
// not fill a fast card, nor one thread. Flow i leaves by the caller's card i, modulo their number, and tries the peer's addresses in
// turn: those first that share the longest beginning with the caller's, as addresses of one network do, and among equals those of the
// peer's card i. So each card is used where cards of two hosts are joined one by one, however each host counts them.
//
// Each side lists its cards in its own order, the closest first. The card that is on the network of the caller's card is of its rail, or
// among several that with the same number (Card::rail). CrossRails::kNever leaves out the others, kFreely tries the peer's cards in the
// peer's order, from card i on.

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "sys/net/address.h"
#include "transport/net/remote_peer.h"
#include "transport/net/remote_rank.h"

namespace tutti::transport::net {

// How many there are; the first ones, one for each card, carry what is small too.
FlowCount FlowsOf(std::span<const Card> own, std::span<const Card> theirs, int per_card);

struct Route {
  std::string card;                    // the own one; empty: the system chooses
  std::optional<sys::IpAddress> from;  // the own address to call from; nullopt: the system chooses
  std::vector<sys::Endpoint> to;       // to be tried in this order
  int segment_bytes = 0;               // the most of a packet's data; 0: as the network says
};
Route RouteOf(int flow, std::span<const Card> own, std::span<const Card> theirs,
              CrossRails cross = CrossRails::kWhereNeeded);

// The device of a network plugin by which a rank exchanges data with a peer: `device`, its own; but where rails are not crossed both ends
// use the rail of the lower rank, as far as they have it. `rails`: of this host's devices.
int DeviceWith(const RemotePeer& peer, int rank, int device, std::span<const int> rails, CrossRails cross);

}  // namespace tutti::transport::net

#endif  // TUTTI_TRANSPORT_NET_ROUTES_H_
