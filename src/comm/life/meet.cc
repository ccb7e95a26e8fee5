// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include <cstddef>
#include <vector>

#include "comm/agree/profiles.h"
#include "comm/host/origin.h"
#include "comm/life/creation.h"
#include "comm/meet/bootstrap.h"
#include "comm/meet/host_list.h"
#include "transport/shm/fabric.h"

namespace tutti::comm {

Status Creation::Meet() {
  HostList hosts;
  MeetOptions meeting = Meeting();
  const std::vector<std::byte> payload = profiles->Encode();
  meeting.payload = payload;
  meeting.shared = &made.fabric->own().fd();
  TUTTI_RETURN_IF_ERROR(comm::Meet(meeting, [&](int peer, Member&& member) -> Status {
    const Result<bool> agree = profiles->Add(peer, member.payload);
    if (!agree.ok()) return agree.status();
    hosts.Add(peer, member.host);
    // Pages of another size cannot be used; but all meet to the end, to say the same of who differs.
    return *agree && !member.remote ? made.fabric->Connect(peer, member.shared, member.process) : Status::Ok();
  }));
  TUTTI_RETURN_IF_ERROR(profiles->Check());
  return hosts.IsOne();
}

// What all meetings of these ranks have in common.
MeetOptions Creation::Meeting() const {
  return {.id = made.id,
          .rank = made.rank,
          .ranks = made.ranks,
          .timeout_ms = made.settings.init_timeout_ms,
          .cancel = cancel,
          .host = made.settings.host_id,
          .look = [this] { return made.origin == nullptr ? Status::Ok() : made.origin->FindDead(); }};
}

}  // namespace tutti::comm
