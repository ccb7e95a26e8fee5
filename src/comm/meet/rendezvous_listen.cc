// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "comm/meet/rendezvous_listen.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "sys/net/interface_choice.h"
#include "sys/net/interfaces.h"
#include "tutti/settings.h"

namespace tutti::comm {

namespace {

Result<LinkListener> Listen(const Settings& settings, sys::NetworkUse use) {
  const Result<std::vector<sys::Interface>> interfaces = sys::ReadInterfaces();
  if (!interfaces.ok()) return interfaces.status();
  const sys::InterfaceChoice choice = sys::ChooseInterfaces(*interfaces, settings, use);
  TUTTI_RETURN_IF_ERROR(choice.Usable());
  sys::ListenOptions listen;
  for (const sys::Interface& interface : choice.chosen) {
    listen.addresses.insert(listen.addresses.end(), interface.addresses.begin(), interface.addresses.end());
  }
  Result<sys::TcpListener> listener = sys::TcpListener::Open(listen);
  if (!listener.ok()) return listener.status();
  LinkListener made{.listener = std::move(*listener), .cards = {}};
  for (const sys::Interface& interface : choice.chosen) {
    transport::net::Card& card = made.cards.emplace_back(interface.name);
    for (const sys::Endpoint& endpoint : made.listener.endpoints()) {
      const bool its = std::ranges::find(interface.addresses, endpoint.address) != interface.addresses.end();
      if (its) card.endpoints.push_back(endpoint);
    }
  }
  return made;
}

}  // namespace

Result<sys::TcpListener> ListenForHosts(const Settings& settings) {
  Result<LinkListener> made = Listen(settings, sys::NetworkUse::kMeeting);
  if (!made.ok()) return made.status();
  return std::move(made->listener);
}

Result<LinkListener> ListenForLinks(const Settings& settings) { return Listen(settings, sys::NetworkUse::kData); }

}  // namespace tutti::comm
