// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_COMM_MEET_RENDEZVOUS_LISTEN_H_
#define TUTTI_COMM_MEET_RENDEZVOUS_LISTEN_H_

#include <vector>

#include "sys/net/tcp.h"
#include "transport/net/remote_peer.h"
#include "tutti/status.h"

namespace tutti {
struct Settings;
}

namespace tutti::comm {

struct IdParts;

// Listens on one port, of those that TUTTI_PORTS allows, on the network interfaces by which hosts meet, or by which their ranks exchange data
// (sys/net/interface_choice.h). Errors: none of them can be used, or be listened on.
Result<sys::TcpListener> ListenForHosts(const Settings& settings);
struct LinkListener {
  sys::TcpListener listener;
  std::vector<transport::net::Card> cards;  // with the addresses that it listens on, the best card first
};
Result<LinkListener> ListenForLinks(const Settings& settings);

// Listens where an id says that the process of rank 0 does: on those of its addresses that are this host's. Where none is, or
// only one that no other host can reach, as a name may have on its own host: also on the interfaces by which hosts meet.
Result<sys::TcpListener> ListenAsRankZero(const Settings& settings, const IdParts& id);

}  // namespace tutti::comm

#endif  // TUTTI_COMM_MEET_RENDEZVOUS_LISTEN_H_
