// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "comm/host/child_id.h"

#include <span>

#include "comm/host/impl.h"
#include "comm/host/placement.h"
#include "comm/identity/unique_id.h"
#include "comm/meet/meeting_point.h"

namespace tutti::comm {

Result<UniqueId> ChildId(const Communicator::Impl& parent, std::string_view what, int first) {
  const UniqueId own = WithoutPlace(parent.id);
  const UniqueId id = DeriveId({std::as_bytes(std::span(own.bytes)), sys::Bytes(what)});
  if (!parent.several_hosts) return id;
  Result<UniqueId> child = WithAddresses(id, parent.placement->meeting_points[static_cast<std::size_t>(first)]);
  if (child.ok() && parent.rank == first) TUTTI_RETURN_IF_ERROR(AwaitHosts(*child));
  return child;
}

}  // namespace tutti::comm
