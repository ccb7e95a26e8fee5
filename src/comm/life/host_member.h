// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_COMM_LIFE_HOST_MEMBER_H_
#define TUTTI_COMM_LIFE_HOST_MEMBER_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "sys/net/address.h"
#include "transport/net/remote_peer.h"
#include "tutti/status.h"

namespace tutti::tune {
struct Machine;
}

namespace tutti::comm {

// What carries a rank's data to other hosts.
struct NetworkOffer {
  std::string name;        // "Socket", or what a network calls its protocol
  bool automatic = false;  // nobody has asked for it

  bool operator==(const NetworkOffer&) const = default;
};

// What ranks of several hosts tell each other once those of each host are connected.
struct HostMember {
  bool can_refer = false;  // it can read the memory of all ranks of its host
  std::int32_t pid = 0;
  int flows_per_card = 1;  // see transport::net::RemotePeer
  NetworkOffer network;
  std::string failure;                           // why it cannot be part of the communicator; empty: it can
  int rail = 0;                                  // of the device of that network which it uses
  std::string tuner;                             // "Example (v6)"; empty: it has none
  std::vector<transport::net::Card> cards;       // where it is called for links
  std::vector<sys::Endpoint> meeting;            // OwnMeetingPoint
  std::shared_ptr<const tune::Machine> machine;  // rank 0's holds for all; null of ranks of other hosts than its
};

std::vector<std::byte> Encode(const HostMember& own);
// Trusts nothing. kRemote where it is not what Encode writes.
Result<HostMember> ParseHostMember(std::span<const std::byte> payload);

}  // namespace tutti::comm

#endif  // TUTTI_COMM_LIFE_HOST_MEMBER_H_
