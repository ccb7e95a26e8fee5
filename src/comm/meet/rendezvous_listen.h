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

// Listens on one port, on the network interfaces by which hosts meet, or by which their ranks exchange data
// (sys/net/interface_choice.h). Errors: none of them can be used, or be listened on.
Result<sys::TcpListener> ListenForHosts(const Settings& settings);
struct LinkListener {
  sys::TcpListener listener;
  std::vector<transport::net::Card> cards;  // with the addresses that it listens on, the best card first
};
Result<LinkListener> ListenForLinks(const Settings& settings);

}  // namespace tutti::comm

#endif  // TUTTI_COMM_MEET_RENDEZVOUS_LISTEN_H_
