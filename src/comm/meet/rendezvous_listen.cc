// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "comm/meet/rendezvous_listen.h"

#include <vector>

#include "sys/net/interface_choice.h"
#include "sys/net/interfaces.h"
#include "tutti/settings.h"

namespace tutti::comm {

namespace {

Result<sys::TcpListener> Listen(const Settings& settings, sys::NetworkUse use) {
  const Result<std::vector<sys::Interface>> interfaces = sys::ReadInterfaces();
  if (!interfaces.ok()) return interfaces.status();
  const sys::InterfaceChoice choice = sys::ChooseInterfaces(*interfaces, settings, use);
  TUTTI_RETURN_IF_ERROR(choice.Usable());
  sys::ListenOptions listen;
  for (const sys::Interface& interface : choice.chosen) {
    listen.addresses.insert(listen.addresses.end(), interface.addresses.begin(), interface.addresses.end());
  }
  return sys::TcpListener::Open(listen);
}

}  // namespace

Result<sys::TcpListener> ListenForHosts(const Settings& settings) {
  return Listen(settings, sys::NetworkUse::kMeeting);
}

Result<sys::TcpListener> ListenForLinks(const Settings& settings) { return Listen(settings, sys::NetworkUse::kData); }

}  // namespace tutti::comm
