// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "comm/life/creation.h"
#include "comm/life/foreigners.h"
#include "comm/life/watch_over.h"
#include "sys/os/clock.h"

namespace tutti::comm {

Status Creation::Connect() {
  MeetOptions meeting = Meeting();
  meeting.timeout_ms = std::max<std::int64_t>((deadline_ns - sys::NowNs()) / sys::kNsPerMs, 1);
  // Containers on several hosts are not told apart from hosts yet.
  if (!made.several_hosts) TUTTI_RETURN_IF_ERROR(WatchForeigners(*made.fabric, meeting));
  WatchPeers(made);
  made.fabric->FinishConnecting();
  TUTTI_RETURN_IF_ERROR(Await([this] { return made.fabric->EveryoneConnected(); },
                              "met the others, but not all of them finished connecting"));
  can_refer = made.settings.single_copy != SingleCopy::kOff && made.fabric->EveryoneCanRefer();
  return Status::Ok();
}

}  // namespace tutti::comm
