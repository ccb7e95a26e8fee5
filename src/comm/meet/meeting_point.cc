// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "comm/meet/meeting_point.h"

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <utility>

#include "comm/identity/unique_id.h"
#include "comm/meet/rank_zero_place.h"
#include "comm/meet/rendezvous_listen.h"
#include "comm/meet/rendezvous_server.h"
#include "sys/os/fork.h"
#include "tutti/settings.h"

namespace tutti::comm {
namespace {

constexpr std::uint16_t kOwn = 0;  // the place whose port this process has chosen itself

Result<std::unique_ptr<RendezvousServer>> Open(std::uint16_t place, const IdParts* id) {
  const Settings settings = Settings::FromEnvironment();
  Result<sys::TcpListener> listener = place == kOwn ? ListenForHosts(settings) : ListenAsRankZero(settings, *id);
  if (!listener.ok()) return listener.status();
  return RendezvousServer::Open(std::move(*listener));
}

// Those of this process, by the first port that was asked for; they stay until it ends. A forked child gets its own. `id`: says
// where, unless the place is kOwn. Any thread.
Result<RendezvousServer*> ServerAt(std::uint16_t place, const IdParts* id) {
  // Never destroyed: the servers' threads may run until the very end of the process.
  static std::mutex& mutex = *[] {
    auto* made = new std::mutex;
    sys::FreeInForkedChildren(*made);
    sys::WatchForks();
    return made;
  }();
  static auto& servers = *new std::map<std::uint16_t, RendezvousServer*>;
  static std::uint32_t generation = 0;
  std::lock_guard lock(mutex);
  if (generation != sys::ForkGeneration()) servers.clear();
  generation = sys::ForkGeneration();
  RendezvousServer*& server = servers[place];
  if (server == nullptr) {
    Result<std::unique_ptr<RendezvousServer>> opened = Open(place, id);
    if (!opened.ok()) return opened.status();
    server = opened->release();
  }
  return server;
}

// Awaits the hosts of an id for both of their meetings.
Status Await(RendezvousServer& server, const UniqueId& id) {
  const Result<UniqueId> second = HostsId(id);
  if (!second.ok()) return second.status();
  for (const UniqueId& awaited : {id, *second}) {
    const Result<IdParts> parts = ReadId(awaited);
    if (!parts.ok()) return parts.status();
    TUTTI_RETURN_IF_ERROR(server.Await(*parts));
  }
  return Status::Ok();
}

}  // namespace

Result<std::vector<sys::Endpoint>> OwnMeetingPoint() {
  const Result<RendezvousServer*> server = ServerAt(kOwn, nullptr);
  if (!server.ok()) return server.status();
  return (*server)->endpoints();
}

Status AwaitHosts(const UniqueId& id) {
  const Result<RendezvousServer*> server = ServerAt(kOwn, nullptr);
  if (!server.ok()) return server.status();
  return Await(**server, id);
}

Status AwaitAsRankZero(const UniqueId& id) {
  const Result<IdParts> parts = ReadId(id);
  if (!parts.ok()) return parts.status();
  if (parts->listener != IdListener::kRankZero) return Status::Ok();
  const Result<RendezvousServer*> server = ServerAt(parts->addresses.front().port, &*parts);
  if (!server.ok()) return server.status();
  return Await(**server, id);
}

Result<UniqueId> HostsId(const UniqueId& id) {
  const Result<UniqueId> further = FurtherId(id, "links between hosts", 0);
  if (!further.ok()) return further.status();
  return WithPlaceOf(*further, id);
}

}  // namespace tutti::comm
