// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "comm/meet/rendezvous_listen.h"

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/ports.h"
#include "comm/identity/unique_id.h"
#include "sys/net/interface_choice.h"
#include "sys/net/interfaces.h"
#include "sys/os/device_tree.h"
#include "tutti/settings.h"

namespace tutti::comm {

namespace {

// The interfaces that are chosen for a use.
Result<sys::InterfaceChoice> Choose(const Settings& settings, sys::NetworkUse use) {
  const Result<std::vector<sys::Interface>> interfaces = sys::ReadInterfaces();
  if (!interfaces.ok()) return interfaces.status();
  sys::InterfaceChoice choice = sys::ChooseInterfaces(*interfaces, settings, use);
  TUTTI_RETURN_IF_ERROR(choice.Usable());
  return choice;
}

std::vector<sys::IpAddress> AddressesOf(const sys::InterfaceChoice& choice) {
  std::vector<sys::IpAddress> addresses;
  for (const sys::Interface& interface : choice.chosen) {
    addresses.insert(addresses.end(), interface.addresses.begin(), interface.addresses.end());
  }
  return addresses;
}

Result<LinkListener> Listen(const Settings& settings, sys::NetworkUse use) {
  const Result<sys::InterfaceChoice> choice = Choose(settings, use);
  if (!choice.ok()) return choice.status();
  const Ports ports = ParsePorts(settings.ports).value_or(Ports{});
  Result<sys::TcpListener> listener =
      sys::TcpListener::Open({.addresses = AddressesOf(*choice), .ports = {ports.first, ports.last}});
  if (!listener.ok()) return listener.status();
  LinkListener made{.listener = std::move(*listener), .cards = {}};
  for (const sys::Interface& interface : choice->chosen) {
    // The last part of its path names the card; of what is no PCI device it names something else.
    const std::string& path = interface.pci_path;
    const std::string bus_id = sys::NormalBusId(std::string_view(path).substr(path.rfind('/') + 1)).value_or("");
    transport::net::Card& card = made.cards.emplace_back(
        transport::net::Card{.name = interface.name, .rail = static_cast<int>(made.cards.size()), .bus_id = bus_id});
    for (const sys::Endpoint& endpoint : made.listener.endpoints()) {
      const bool its = std::ranges::find(interface.addresses, endpoint.address) != interface.addresses.end();
      if (its) card.endpoints.push_back(endpoint);
    }
  }
  return made;
}

// Those addresses of the id that are this host's.
Result<std::vector<sys::IpAddress>> OwnOf(const IdParts& id) {
  const Result<std::vector<sys::Interface>> interfaces = sys::ReadInterfaces();
  if (!interfaces.ok()) return interfaces.status();
  std::vector<sys::IpAddress> own;
  for (const sys::Endpoint& endpoint : id.addresses) {
    const bool is_own =
        endpoint.address.IsLoopback() || std::ranges::any_of(*interfaces, [&](const sys::Interface& interface) {
          return std::ranges::count(interface.addresses, endpoint.address) > 0;
        });
    if (is_own) own.push_back(endpoint.address);
  }
  return own;
}

}  // namespace

Result<sys::TcpListener> ListenForHosts(const Settings& settings) {
  Result<LinkListener> made = Listen(settings, sys::NetworkUse::kMeeting);
  if (!made.ok()) return made.status();
  return std::move(made->listener);
}

Result<LinkListener> ListenForLinks(const Settings& settings) { return Listen(settings, sys::NetworkUse::kData); }

Result<sys::TcpListener> ListenAsRankZero(const Settings& settings, const IdParts& id) {
  Result<std::vector<sys::IpAddress>> own = OwnOf(id);
  if (!own.ok()) return own.status();
  if (std::ranges::all_of(*own, &sys::IpAddress::IsLoopback)) {
    const Result<sys::InterfaceChoice> choice = Choose(settings, sys::NetworkUse::kMeeting);
    if (!choice.ok() && own->empty()) return choice.status();
    if (choice.ok()) {
      for (const sys::IpAddress& address : AddressesOf(*choice)) {
        if (std::ranges::count(*own, address) == 0) own->push_back(address);
      }
    }
  }
  const std::uint16_t first = id.addresses.front().port;
  return sys::TcpListener::Open(
      {.addresses = std::move(*own), .ports = {first, static_cast<std::uint16_t>(first + id.ports - 1)}});
}

}  // namespace tutti::comm
