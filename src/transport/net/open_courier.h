// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_TRANSPORT_NET_OPEN_COURIER_H_
#define TUTTI_TRANSPORT_NET_OPEN_COURIER_H_

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "sys/net/auth.h"
#include "transport/link.h"
#include "transport/net/remote_peer.h"
#include "tutti/status.h"

namespace tutti::transport {
class RemoteLinks;
}

namespace tutti::transport::net {

class Port;
namespace plugin {
class Network;
}

struct CourierOptions {
  int rank = 0;
  int ranks = 1;
  RingSizes rings;
  // This rank's ends of the links of one channel, by peer, and its pool. They outlive the courier.
  std::span<Outgoing> outgoing;
  std::span<Incoming> incoming;
  const std::byte* pool = nullptr;
  sys::Key secret{};  // that only ranks of the communicator have
  std::string version;
  std::vector<Card> cards;  // this host's, as its port listens on them
  int flows_per_card = 1;   // with each rank of another host that asks for as many
  int movers = 0;           // threads that move data besides those that wait for them
  std::vector<RemotePeer> peers;
  std::shared_ptr<plugin::Network> network;  // what carries the data, on all ranks the same; null: TCP
  int device = 0;                            // of the network, of this rank
  std::vector<int> rails;                    // of the network's devices here
  CrossRails cross = CrossRails::kWhereNeeded;
};

// By which card a flow with `peer` leaves: "eth0", of a network plugin the device and its port, "mlx5_1:1"; empty: not known.
std::string CardOf(const CourierOptions& options, const RemotePeer& peer, int flow);

// What carries a rank's links to ranks of other hosts (courier.h). It waits for their calls at `port` from now on, and calls them
// when it must.
Result<std::shared_ptr<RemoteLinks>> OpenCourier(CourierOptions options, std::shared_ptr<Port> port);

}  // namespace tutti::transport::net

#endif  // TUTTI_TRANSPORT_NET_OPEN_COURIER_H_
