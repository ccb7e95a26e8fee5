// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "comm/meet/meeting.h"

#include "comm/host/origin.h"
#include "comm/life/creation.h"
#include "comm/life/watch_over.h"
#include "comm/meet/bootstrap_message.h"

namespace tutti::comm {

// What all meetings of these ranks have in common.
MeetOptions Creation::Meeting() const {
  return {.id = made.id,
          .rank = made.rank,
          .ranks = made.ranks,
          .timeout_ms = made.settings.init_timeout_ms,
          .cancel = cancel,
          .host = made.settings.host_id,
          .look = [this]() -> Status {
            TUTTI_RETURN_IF_ERROR(GivenUp(made));
            return made.origin == nullptr ? Status::Ok() : made.origin->FindDead();
          },
          .missing = [this](const Missing& missing) { NoteMissing(made, missing.ranks, missing.place); }};
}

}  // namespace tutti::comm
