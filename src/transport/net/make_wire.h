// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_TRANSPORT_NET_MAKE_WIRE_H_
#define TUTTI_TRANSPORT_NET_MAKE_WIRE_H_

#include <memory>

#include "tutti/status.h"

namespace tutti::transport::net {

struct CourierOptions;
struct MadeFlow;
struct RemotePeer;
class Wire;

// What carries the frames of a connection to `peer`: itself, or a network plugin beside it. Errors: the plugin cannot listen.
Result<std::unique_ptr<Wire>> MakeWire(const CourierOptions& options, const RemotePeer& peer, MadeFlow& made);

}  // namespace tutti::transport::net

#endif  // TUTTI_TRANSPORT_NET_MAKE_WIRE_H_
