// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/log.h"
#include "comm/agree/close_cards.h"
#include "comm/agree/gpu_bus_id.h"
#include "comm/agree/graph_files.h"
#include "comm/agree/host_graph.h"
#include "comm/life/creation.h"
#include "comm/life/wire_port.h"
#include "topo/channels.h"
#include "transport/net/plugin/catalog.h"
#include "transport/net/remote_peer.h"

namespace tutti::comm {

using transport::net::Card;
using transport::net::plugin::Device;

namespace {

// "mlx5_1 (PIX), mlx5_0 (SYS)"
std::string List(std::span<const CardId> cards, const CloseCards& close) {
  std::string list;
  for (const int card : close.order) {
    list += fmt::format("{}{} ({})", list.empty() ? "" : ", ", cards[static_cast<std::size_t>(card)].name,
                        close.types[static_cast<std::size_t>(card)]);
  }
  return list;
}

void Log(int rank, std::span<const CardId> cards, const DataPlace& place, const CloseCards& close) {
  if (close.types.empty()) return;
  const bool of_gpu = !place.gpu_bus_id.empty();
  TUTTI_INFO(log::kNet | log::kGraph, "rank {} : network cards by closeness to {}: {}{}", rank,
             of_gpu ? "GPU " + place.gpu_bus_id : std::string("its cores"), List(cards, close),
             !of_gpu        ? ""
             : close.writes ? close.reads ? "; GDR 1" : "; GDR 1 but for reads"
                            : "; GDR 0");
}

// A device without a path of its own is known by its name.
std::vector<CardId> IdsOf(std::span<const Device> devices) {
  std::vector<CardId> ids;
  for (const Device& device : devices) {
    ids.push_back({.name = device.name, .bus_id = device.pci_path.substr(device.pci_path.rfind('/') + 1)});
  }
  return ids;
}

std::vector<CardId> IdsOf(std::span<const Card> cards) {
  std::vector<CardId> ids;
  for (const Card& card : cards) ids.push_back({.name = card.name, .bus_id = card.bus_id});
  return ids;
}

}  // namespace

// A host with one card of each kind is not looked at.
void Creation::ChooseCards(const transport::net::Port& port, const transport::net::plugin::Network* network) {
  cards = CardsOf(port);
  const std::span<const Device> devices =
      network != nullptr ? std::span<const Device>(network->devices()) : std::span<const Device>();
  for (std::size_t i = 0; i < devices.size(); ++i) {
    rails.push_back(devices[i].rail >= 0 ? devices[i].rail : static_cast<int>(i));
  }
  if (!rails.empty()) rail = rails.front();
  if (cards.size() < 2 && devices.size() < 2) return;
  DataPlace place{.gpu_bus_id = GpuBusId(made.settings, made.gpu), .index = IndexOnHost(made)};
  if (!devices.empty())
    device = place.index % static_cast<int>(devices.size());  // as far as the graph says nothing else
  const bool of_gpu = !place.gpu_bus_id.empty();
  if (!of_gpu) place.cpus = OwnCpus();
  const Result<std::shared_ptr<const HostGraph>> host =
      FindHostGraph(made.settings, of_gpu ? GraphOf::kHostWithGpus : GraphOf::kHost);
  if (!rails.empty()) rail = rails[static_cast<std::size_t>(device)];
  if (!host.ok()) return;
  const Result<std::vector<topo::Channels>> given = ReadGivenChannels(made.settings, **host);
  const topo::Channels* const rings = given.ok() ? RingsOf(*given) : nullptr;
  if (devices.size() > 1) {
    const std::vector<CardId> ids = IdsOf(devices);
    const CloseCards close = OrderByCloseness(made.settings, **host, ids, place, rings);
    device = ShareOf(close, place);
    rail = rails[static_cast<std::size_t>(device)];
    Log(made.rank, ids, place, close);
  }
  if (cards.size() > 1) {
    const std::vector<CardId> ids = IdsOf(cards);
    const CloseCards close = OrderByCloseness(made.settings, **host, ids, place, rings);
    std::vector<Card> ordered;
    for (const int card : close.order) ordered.push_back(cards[static_cast<std::size_t>(card)]);
    cards = std::move(ordered);
    if (network == nullptr) Log(made.rank, ids, place, close);
  }
}

}  // namespace tutti::comm
