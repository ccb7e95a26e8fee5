// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_COMM_MEET_RANK_ZERO_PLACE_H_
#define TUTTI_COMM_MEET_RANK_ZERO_PLACE_H_

// Where the process of rank 0 awaits other hosts, under ids that no process made (IdListener::kRankZero). Any thread.

#include <string>

#include "tutti/communicator.h"
#include "tutti/status.h"

namespace tutti::comm {

// What the process of rank 0 does before its ranks meet under an id: where the id says that it listens (IdListener::kRankZero), it
// does so from now on. Errors: it cannot, which matters only where ranks are on several hosts.
Status AwaitAsRankZero(const UniqueId& id);  // meeting_point.cc

// Why ranks of other hosts cannot come under an id that this process has computed: it has no such place. Of the last id only;
// empty for others.
void NoteNoPlace(const UniqueId& id, const std::string& why);
std::string WhyNoPlace(const UniqueId& id);

}  // namespace tutti::comm

#endif  // TUTTI_COMM_MEET_RANK_ZERO_PLACE_H_
