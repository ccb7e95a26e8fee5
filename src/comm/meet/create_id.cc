// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include <cstdint>
#include <memory>
#include <mutex>

#include "base/log.h"
#include "comm/identity/unique_id.h"
#include "comm/meet/rendezvous_server.h"
#include "sys/os/fork.h"
#include "sys/os/random_bytes.h"
#include "tutti/settings.h"

namespace tutti {
namespace {

using comm::RendezvousServer;

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

Result<UniqueId> CreateUniqueId() {
  comm::IdParts parts;
  TUTTI_RETURN_IF_ERROR(sys::FillRandom(parts.secret));
  TUTTI_RETURN_IF_ERROR(sys::FillRandom(parts.name));
  const Result<RendezvousServer*> server = ServerOfThisProcess();
  Status awaits = server.status();
  if (server.ok()) {
    parts.addresses = (*server)->endpoints();
    awaits = (*server)->Await(parts);
  }
  if (!awaits.ok()) {
    parts.addresses.clear();
    TUTTI_INFO(log::kInit, "the id has no address, so its ranks can meet on one host only: {}", awaits.message());
  }
  return comm::MakeId(parts);
}

}  // namespace tutti
