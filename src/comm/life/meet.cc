// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include <cstddef>
#include <vector>

#include "comm/agree/profiles.h"
#include "comm/host/origin.h"
#include "comm/life/creation.h"
#include "comm/meet/bootstrap.h"
#include "transport/shm/fabric.h"

namespace tutti::comm {

Status Creation::Meet() {
  MeetOptions meeting = Meeting();
  const std::vector<std::byte> payload = profiles->Encode();
  meeting.payload = payload;
  meeting.shared = &made.fabric->own().fd();
  TUTTI_RETURN_IF_ERROR(comm::Meet(meeting, [&](int peer, Member&& member) -> Status {
    const Result<bool> agree = profiles->Add(peer, member.payload);
    if (!agree.ok()) return agree.status();
    // Pages of another size cannot be used; but all meet to the end, to say the same of who differs.
    return *agree ? made.fabric->Connect(peer, member.shared, member.process) : Status::Ok();
  }));
  return profiles->Check();
}

// What all meetings of these ranks have in common.
MeetOptions Creation::Meeting() const {
  return {.id = made.id,
          .rank = made.rank,
          .ranks = made.ranks,
          .timeout_ms = made.settings.init_timeout_ms,
          .cancel = cancel,
          .look = [this] { return made.origin == nullptr ? Status::Ok() : made.origin->FindDead(); }};
}

}  // namespace tutti::comm
