// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_COMM_MEET_RENDEZVOUS_LISTEN_H_
#define TUTTI_COMM_MEET_RENDEZVOUS_LISTEN_H_

#include "sys/net/tcp.h"
#include "tutti/status.h"

namespace tutti {
struct Settings;
}

namespace tutti::comm {

// Listens on the network interfaces by which hosts meet (sys/net/interface_choice.h), on one port. Errors: none of them can be
// used, or be listened on.
Result<sys::TcpListener> ListenForHosts(const Settings& settings);

}  // namespace tutti::comm

#endif  // TUTTI_COMM_MEET_RENDEZVOUS_LISTEN_H_
