// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "base/log.h"
#include "comm/identity/unique_id.h"
#include "comm/meet/meeting_point.h"
#include "sys/os/random_bytes.h"

namespace tutti {

Result<UniqueId> CreateUniqueId() {
  comm::IdParts parts;
  TUTTI_RETURN_IF_ERROR(sys::FillRandom(parts.secret));
  TUTTI_RETURN_IF_ERROR(sys::FillRandom(parts.name));
  const Result<std::vector<sys::Endpoint>> endpoints = comm::OwnMeetingPoint();
  Status awaits = endpoints.status();
  if (endpoints.ok()) {
    parts.addresses = *endpoints;
    awaits = comm::AwaitHosts(comm::MakeId(parts));
  }
  if (!awaits.ok()) {
    parts.addresses.clear();
    TUTTI_INFO(log::kInit, "the id has no address, so its ranks can meet on one host only: {}", awaits.message());
  }
  return comm::MakeId(parts);
}

}  // namespace tutti
