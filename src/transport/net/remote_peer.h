// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_TRANSPORT_NET_REMOTE_PEER_H_
#define TUTTI_TRANSPORT_NET_REMOTE_PEER_H_

#include <cstdint>
#include <string>
#include <vector>

#include "sys/net/address.h"

namespace tutti::transport::net {

// A rank of another host, and where its process listens (port.h).
struct RemotePeer {
  int rank = 0;
  std::int32_t pid = 0;
  std::string host;
  std::vector<sys::Endpoint> endpoints;
};

}  // namespace tutti::transport::net

#endif  // TUTTI_TRANSPORT_NET_REMOTE_PEER_H_
