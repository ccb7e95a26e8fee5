// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include <cstddef>
#include <utility>

#include "comm/host/placement.h"
#include "comm/identity/unique_id.h"
#include "comm/life/watch_over.h"
#include "transport/net/remote_peer.h"
#include "watch/abroad.h"
#include "watch/watched.h"

namespace tutti::comm {

Status WatchHosts(Communicator::Impl& made, const std::vector<transport::net::RemotePeer>& remotes,
                  std::shared_ptr<transport::net::Port> port) {
  if (made.watched == nullptr) return Status::Ok();
  const Result<IdParts> parts = ReadId(made.id);
  if (!parts.ok()) return parts.status();
  watch::Abroad abroad{
      .own_host =
          made.placement->hosts[static_cast<std::size_t>(made.placement->host_of[static_cast<std::size_t>(made.rank)])],
      .secret = sys::ComputeMac(parts->secret, {sys::Bytes("tutti looks between hosts"), parts->name}),
      .version = TUTTI_VERSION,
      .port = std::move(port)};
  for (const transport::net::RemotePeer& remote : remotes) {
    abroad.ranks.push_back({.rank = remote.rank,
                            .pid = remote.pid,
                            .host = remote.host,
                            .endpoints = transport::net::EndpointsOf(remote.cards)});
  }
  return made.watched->SetAbroad(std::move(abroad));
}

}  // namespace tutti::comm
