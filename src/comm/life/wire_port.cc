// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "comm/life/wire_port.h"

#include <cstdint>
#include <mutex>

#include "comm/meet/rendezvous_listen.h"
#include "sys/os/fork.h"
#include "transport/net/port.h"

namespace tutti::comm {

using transport::net::Port;

Result<std::shared_ptr<Port>> WirePort(const Settings& settings) {
  static std::mutex& mutex = *[] {
    auto* made = new std::mutex;
    sys::FreeInForkedChildren(*made);
    sys::WatchForks();
    return made;
  }();
  // Never destroyed: its threads may run until the very end of the process.
  static std::shared_ptr<Port>& port = *new std::shared_ptr<Port>;
  static std::uint32_t generation = 0;
  std::lock_guard lock(mutex);
  if (port != nullptr && generation == sys::ForkGeneration()) return port;
  Result<LinkListener> listener = ListenForLinks(settings);
  if (!listener.ok()) return listener.status();
  Result<std::shared_ptr<Port>> opened = Port::Open(std::move(listener->listener), std::move(listener->cards));
  if (!opened.ok()) return opened.status();
  if (port != nullptr) (void)new std::shared_ptr<Port>(port);  // the parent's, whose threads are not here
  port = *opened;
  generation = sys::ForkGeneration();
  return port;
}

const std::vector<transport::net::Card>& CardsOf(const Port& port) { return port.cards(); }

}  // namespace tutti::comm
