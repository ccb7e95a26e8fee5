// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "transport/net/join_flow.h"

#include <fmt/format.h>

#include <memory>
#include <utility>

#include "base/log.h"
#include "transport/net/connector.h"
#include "transport/net/open_courier.h"
#include "transport/net/plugin_stream.h"
#include "transport/net/routes.h"
#include "transport/net/stream_wire.h"

namespace tutti::transport::net {

Status JoinFlow(const CourierOptions& options, RemoteRank& rank, MadeFlow made) {
  const RemotePeer& peer = rank.who();
  const bool called = made.side == RemoteRank::Side::kCalled;
  std::unique_ptr<Stream> stream;
  if (options.network == nullptr) {
    stream = OverTcp(std::move(made.connection));
  } else {
    Result<std::unique_ptr<Stream>> over =
        OverPlugin({.network = options.network,
                    .device = DeviceWith(peer, options.rank, options.device, options.rails, options.cross),
                    .called = called,
                    .session = made.session,
                    .peer = fmt::format("rank {} on host {}", peer.rank, peer.host)},
                   std::move(made.connection));
    if (!over.ok()) return over.status();
    stream = std::move(*over);
  }
  auto wire = std::make_unique<StreamWire>(std::move(stream));
  TUTTI_INFO(log::kNet, "rank {} : {} rank {} on host {} over {}, flow {}: {}", options.rank,
             called ? "called by" : "connected to", peer.rank, peer.host,
             options.network == nullptr ? "TCP" : "a network plugin", made.flow, wire->Name());
  rank.Join(made.flow, made.side, std::move(wire), made.name, made.small_packets);
  return Status::Ok();
}

}  // namespace tutti::transport::net
