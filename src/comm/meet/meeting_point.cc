// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "comm/meet/meeting_point.h"

#include <cstdint>
#include <memory>
#include <mutex>

#include "comm/identity/unique_id.h"
#include "comm/meet/rendezvous_server.h"
#include "sys/os/fork.h"
#include "tutti/settings.h"

namespace tutti::comm {
namespace {

// That of this process, which stays until it ends. A forked child gets one of its own. Any thread.
Result<RendezvousServer*> ServerOfThisProcess() {
  // Never destroyed: the server's thread may run until the very end of the process.
  static std::mutex& mutex = *[] {
    auto* made = new std::mutex;
    sys::FreeInForkedChildren(*made);
    sys::WatchForks();
    return made;
  }();
  static RendezvousServer* server = nullptr;
  static std::uint32_t generation = 0;
  std::lock_guard lock(mutex);
  if (server == nullptr || generation != sys::ForkGeneration()) {
    Result<std::unique_ptr<RendezvousServer>> opened = RendezvousServer::Open(Settings::FromEnvironment());
    if (!opened.ok()) return opened.status();
    server = opened->release();
    generation = sys::ForkGeneration();
  }
  return server;
}

}  // namespace

Result<std::vector<sys::Endpoint>> OwnMeetingPoint() {
  const Result<RendezvousServer*> server = ServerOfThisProcess();
  if (!server.ok()) return server.status();
  return (*server)->endpoints();
}

Status AwaitHosts(const UniqueId& id) {
  const Result<RendezvousServer*> server = ServerOfThisProcess();
  if (!server.ok()) return server.status();
  const Result<UniqueId> second = HostsId(id);
  if (!second.ok()) return second.status();
  for (const UniqueId& awaited : {id, *second}) {
    const Result<IdParts> parts = ReadId(awaited);
    if (!parts.ok()) return parts.status();
    TUTTI_RETURN_IF_ERROR((*server)->Await(*parts));
  }
  return Status::Ok();
}

Result<UniqueId> HostsId(const UniqueId& id) {
  const Result<IdParts> parts = ReadId(id);
  if (!parts.ok()) return parts.status();
  const Result<UniqueId> further = FurtherId(id, "links between hosts", 0);
  if (!further.ok()) return further.status();
  return WithAddresses(*further, parts->addresses);
}

}  // namespace tutti::comm
