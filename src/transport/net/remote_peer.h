// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_TRANSPORT_NET_REMOTE_PEER_H_
#define TUTTI_TRANSPORT_NET_REMOTE_PEER_H_

#include <cstdint>
#include <string>
#include <vector>

#include "sys/net/address.h"

namespace tutti::transport::net {

// A network card of a host, and where a process listens on it. A card without a name stands for all that is known of a host.
struct Card {
  std::string name;
  std::vector<sys::Endpoint> endpoints;
};

// A rank of another host, and where its process listens (port.h).
struct RemotePeer {
  int rank = 0;
  std::int32_t pid = 0;
  std::string host;
  std::vector<Card> cards;
  int flows_per_card = 1;  // that it asks for
};

}  // namespace tutti::transport::net

#endif  // TUTTI_TRANSPORT_NET_REMOTE_PEER_H_
