// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <cstring>

#include "comm/host/impl.h"
#include "comm/host/placement.h"
#include "comm/identity/unique_id.h"
#include "comm/meet/bootstrap.h"
#include "sys/os/memory.h"
#include "transport/shm/fabric.h"

namespace tutti {

using transport::shm::Regions;

namespace {

// What a rank says of its memory.
struct Introduction {
  std::uint64_t bytes = 0;
  std::uint64_t address = 0;  // where it is mapped there
};

Status NotAcrossHosts(const comm::Placement& placement) {
  return Status(Code::kUnsupported,
                fmt::format("AllocateShared: the ranks are on {} hosts, which share no memory; allocate in a "
                            "communicator of one host (Split by host), or use memory of your own",
                            placement.hosts.size()));
}

}  // namespace

Result<void*> Communicator::AllocateShared(std::size_t bytes) {
  Impl& c = *impl_;
  TUTTI_RETURN_IF_ERROR(c.Broken());
  if (bytes == 0) return Status(Code::kInvalidArgument, "AllocateShared of 0 bytes");
  if (c.several_hosts) return NotAcrossHosts(*c.placement);
  Result<sys::Fd> fd = sys::CreateSharedMemory("tutti-region", bytes);
  if (!fd.ok()) return fd.status();
  Regions::Region region;
  region.bytes = bytes;
  Result<sys::SharedMapping> own = sys::MapOnce(*fd, bytes, sys::Access::kReadWrite);
  if (!own.ok()) return own.status();
  region.own = std::move(*own);
  void* address = region.own.data();
  if (c.ranks == 1) {
    c.own_regions.push_back(std::move(region.own));
    return address;
  }
  region.peers.resize(c.ranks);
  region.peer_addresses.resize(c.ranks);
  // The ranks meet once more, under an id of their own for this allocation.
  const Result<UniqueId> id = comm::NextId(c.id, ++c.shared_allocations);
  if (!id.ok()) return id.status();
  const Introduction own_words = {.bytes = bytes, .address = reinterpret_cast<std::uint64_t>(address)};
  const Status met =
      comm::Meet({.id = *id,
                  .rank = c.rank,
                  .ranks = c.ranks,
                  .timeout_ms = c.settings.init_timeout_ms,
                  .payload = std::as_bytes(std::span(&own_words, 1)),
                  .shared = &*fd,
                  .look = [&] { return c.FindDead(); }},
                 [&](int peer, comm::Member&& member) -> Status {
                   Introduction theirs;
                   if (member.payload.size() == sizeof(theirs)) {
                     std::memcpy(&theirs, member.payload.data(), sizeof(theirs));
                   }
                   if (theirs.bytes != bytes) {
                     return Status(Code::kInvalidUsage,
                                   fmt::format("AllocateShared: rank {} asked for {} bytes, rank {} for {}", c.rank,
                                               bytes, peer, theirs.bytes),
                                   peer);
                   }
                   if (peer == c.rank) return Status::Ok();
                   Result<sys::SharedMapping> mapping = sys::MapOnce(member.shared, bytes, sys::Access::kReadWrite);
                   if (!mapping.ok()) return mapping.status();
                   region.peers[peer] = std::move(*mapping);
                   region.peer_addresses[peer] = theirs.address;
                   return Status::Ok();
                 });
  if (!met.ok()) {
    c.Break(met);
    return c.InParent(met);
  }
  c.fabric->regions().Add(std::move(region));
  // Nobody may refer to the region before everybody has it.
  TUTTI_RETURN_IF_ERROR(Run(Barrier()));
  return address;
}

}  // namespace tutti
