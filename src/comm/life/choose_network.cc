// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "base/bytes.h"
#include "comm/host/log_links.h"
#include "comm/host/placement.h"
#include "comm/identity/unique_id.h"
#include "comm/life/creation.h"
#include "transport/net/plugin/catalog.h"

namespace tutti::comm {

using transport::net::plugin::Catalog;
using transport::net::plugin::Network;

std::string Creation::NetworkName(const Network* network) {
  return network == nullptr ? "Socket" : network->plugin().name();
}

Result<std::shared_ptr<Network>> Creation::ChooseNetwork() const {
  const Result<IdParts> parts = ReadId(made.id);
  if (!parts.ok()) return parts.status();
  ByteReader name(parts->name);
  Result<std::shared_ptr<Network>> network =
      Catalog::OfProcess().Choose({.plugins = made.settings.net_plugin,
                                   .network = made.settings.net,
                                   .communicator = name.Number<std::uint64_t>()});
  if (!network.ok()) return network;
  LogUse(made.settings, NetworkName(network->get()));
  return network;
}

// Ranks of a host share the devices of a network between them.
int Creation::DeviceOf(const transport::net::plugin::Network* network) const {
  if (network == nullptr) return 0;
  const auto& host_of = made.placement->host_of;
  const auto own = host_of.begin() + made.rank;
  return static_cast<int>(static_cast<std::size_t>(std::count(host_of.begin(), own, *own)) % network->devices().size());
}

}  // namespace tutti::comm
