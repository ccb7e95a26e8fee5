// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_COMM_MEET_MEETING_POINT_H_
#define TUTTI_COMM_MEET_MEETING_POINT_H_

// This process as a place where the leaders of hosts meet (rendezvous_server.h). Any thread.

#include <vector>

#include "sys/net/address.h"
#include "tutti/communicator.h"
#include "tutti/status.h"

namespace tutti::comm {

// Where this process listens; it begins to at the first call. Errors: it cannot.
Result<std::vector<sys::Endpoint>> OwnMeetingPoint();

// Awaits here the leaders of hosts whose ranks have this id, for both of their meetings (HostsId).
Status AwaitHosts(const UniqueId& id);

// The id under which ranks that are on several hosts meet a second time, at the place of the first.
Result<UniqueId> HostsId(const UniqueId& id);

}  // namespace tutti::comm

#endif  // TUTTI_COMM_MEET_MEETING_POINT_H_
