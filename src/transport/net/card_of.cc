// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <cstddef>

#include "transport/net/open_courier.h"
#include "transport/net/plugin/catalog.h"
#include "transport/net/routes.h"

namespace tutti::transport::net {

std::string CardOf(const CourierOptions& o, const RemotePeer& peer, int flow) {
  if (o.network == nullptr) return o.cards.empty() ? "" : o.cards[static_cast<std::size_t>(flow) % o.cards.size()].name;
  const auto number = static_cast<std::size_t>(DeviceWith(peer, o.rank, o.device, o.rails, o.cross));
  if (number >= o.network->devices().size()) return "";
  const plugin::Device& device = o.network->devices()[number];
  return device.name.empty() || device.port == 0 ? device.name : fmt::format("{}:{}", device.name, device.port);
}

}  // namespace tutti::transport::net
