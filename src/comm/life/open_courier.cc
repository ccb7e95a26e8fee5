// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "transport/net/open_courier.h"

#include <functional>
#include <memory>
#include <span>
#include <utility>

#include "comm/identity/unique_id.h"
#include "comm/life/creation.h"
#include "comm/life/watch_over.h"
#include "transport/remote.h"
#include "transport/shm/fabric.h"

namespace tutti::comm {

Status Creation::OpenCourier(std::vector<transport::net::RemotePeer> remotes,
                             std::shared_ptr<transport::net::Port> port,
                             std::shared_ptr<transport::net::plugin::Network> network) {
  const Result<IdParts> parts = ReadId(made.id);
  if (!parts.ok()) return parts.status();
  transport::net::CourierOptions options{
      .rank = made.rank,
      .ranks = made.ranks,
      .rings = made.fabric->rings(),
      .outgoing = {&made.fabric->out(0, 0), static_cast<std::size_t>(made.ranks)},
      .incoming = {&made.fabric->in(0, 0), static_cast<std::size_t>(made.ranks)},
      .pool = made.fabric->own().pool(),
      .secret = sys::ComputeMac(parts->secret, {sys::Bytes("tutti links between hosts"), parts->name}),
      .version = TUTTI_VERSION,
      .cards = cards,
      .flows_per_card = flows_per_card,
      .movers = movers,
      .peers = std::move(remotes),
      .network = std::move(network),
      .device = device,
      .rails = rails,
      .cross = static_cast<transport::net::CrossRails>(made.settings.cross_nic)};
  Result<std::shared_ptr<transport::RemoteLinks>> courier =
      transport::net::OpenCourier(std::move(options), std::move(port));
  if (!courier.ok()) return courier.status();
  made.fabric->SetRemote(std::move(*courier));
  WatchPaces(made);
  return Status::Ok();
}

std::function<void(int)> Creation::LinkOpener() const {
  return [fabric = made.fabric.get()](int peer) {
    if (fabric->IsRemote(peer)) fabric->remote()->Open(peer);
  };
}

}  // namespace tutti::comm
