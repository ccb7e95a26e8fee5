// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "transport/net/make_wire.h"

#include <fmt/format.h>

#include <utility>

#include "transport/net/connector.h"
#include "transport/net/open_courier.h"
#include "transport/net/plugin_stream.h"
#include "transport/net/stream_wire.h"

namespace tutti::transport::net {

Result<std::unique_ptr<Wire>> MakeWire(const CourierOptions& options, const RemotePeer& peer, MadeFlow& made) {
  std::unique_ptr<Stream> stream;
  if (options.network == nullptr) {
    stream = OverTcp(std::move(made.connection));
  } else {
    Result<std::unique_ptr<Stream>> over = OverPlugin({.network = options.network,
                                                       .device = options.device,
                                                       .called = made.side == RemoteRank::Side::kCalled,
                                                       .session = made.session,
                                                       .peer = fmt::format("rank {} on host {}", peer.rank, peer.host)},
                                                      std::move(made.connection));
    if (!over.ok()) return over.status();
    stream = std::move(*over);
  }
  return std::unique_ptr<Wire>(std::make_unique<StreamWire>(std::move(stream)));
}

}  // namespace tutti::transport::net
