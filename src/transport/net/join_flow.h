// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_TRANSPORT_NET_JOIN_FLOW_H_
#define TUTTI_TRANSPORT_NET_JOIN_FLOW_H_

#include "tutti/status.h"

namespace tutti::transport::net {

struct CourierOptions;
struct MadeFlow;
class RemoteRank;

// Gives a flow with `rank` the connection that was made for it, or a network plugin beside that. Errors: the plugin cannot listen.
Status JoinFlow(const CourierOptions& options, RemoteRank& rank, MadeFlow made);

}  // namespace tutti::transport::net

#endif  // TUTTI_TRANSPORT_NET_JOIN_FLOW_H_
