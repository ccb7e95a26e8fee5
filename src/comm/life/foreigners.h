// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_COMM_LIFE_FOREIGNERS_H_
#define TUTTI_COMM_LIFE_FOREIGNERS_H_

// Ranks in other pid name spaces, as containers have them. Their pids mean nothing here, so their end could not be seen.

#include "comm/meet/bootstrap.h"
#include "transport/shm/fabric.h"
#include "tutti/status.h"

namespace tutti::comm {

// Where ranks live in several pid name spaces they meet once more, and each passes on a handle of its process; those of
// other name spaces are kept in `fabric` and watched. Of several ranks in one process one handle is kept. Costs nothing
// where all share a name space. Warns, once in a process, of ranks whose kernel or sandbox has no handles.
// `meeting`: as of the meeting before, with the time that is left. REQUIRES: all ranks are connected in `fabric`.
Status WatchForeigners(transport::shm::Fabric& fabric, MeetOptions meeting);

}  // namespace tutti::comm

#endif  // TUTTI_COMM_LIFE_FOREIGNERS_H_
