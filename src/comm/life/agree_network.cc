// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <span>

#include "base/log.h"
#include "comm/host/log_links.h"
#include "comm/life/creation.h"
#include "comm/life/host_member.h"
#include "transport/net/plugin/catalog.h"

namespace tutti::comm {

using transport::net::plugin::Network;

NetworkOffer Creation::OfferOf(const Network* network) {
  if (network == nullptr) return {.name = "Socket"};
  return {.name = network->plugin().Protocol(), .automatic = network->automatic()};
}

Status Creation::AgreeOnNetwork(std::span<const NetworkOffer> offers, std::shared_ptr<Network>& chosen) {
  const NetworkOffer own = OfferOf(chosen.get());
  const auto other = std::ranges::find_if(offers, [&](const NetworkOffer& one) { return one.name != own.name; });
  if (other != offers.end()) {
    const bool may_be_tcp =
        std::ranges::all_of(offers, [](const NetworkOffer& one) { return one.automatic || one.name == "Socket"; });
    if (!may_be_tcp) {
      const int peer = static_cast<int>(other - offers.begin());
      return Status(
          Code::kInvalidUsage,
          fmt::format(
              "rank {} exchanges data over the network {}, and rank {} over {}: give all hosts the same plugin, or set "
              "NCCL_NET or NCCL_NET_PLUGIN alike on all",
              peer, other->name, made.rank, own.name),
          peer);
    }
    TUTTI_INFO(log::kInit | log::kNet, "rank {} uses TCP, since not all hosts have network cards for {}", made.rank,
               chosen != nullptr ? chosen->plugin().name() : "libfabric");
    chosen.reset();
  }
  if (chosen != nullptr) network = chosen->plugin().name();
  LogUse(made.settings, network);
  return Status::Ok();
}

}  // namespace tutti::comm
