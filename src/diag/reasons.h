// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_DIAG_REASONS_H_
#define TUTTI_DIAG_REASONS_H_

// What the system says of why a process has ended, or a GPU or the way between two GPUs does not do its part: added to what counters and
// states have shown. Nothing here accuses anybody anew.

#include <string>
#include <vector>

#include "diag/verdict.h"

namespace tutti::diag {

// Adds reasons and a better next step to a verdict that is not merged with others yet. One on a GPU, or on a link between two of a host,
// becomes an NVLink fault where an NVLink of theirs is down or counts errors.
void AddReasons(const Look& now, Verdict& verdict);

// What is wrong with NVLinks between the GPUs of two ranks of a host, one sentence each. Empty: nothing is known to be.
std::vector<std::string> NvLinkFaults(const Look& now, const RankLook& one, const RankLook& other);
// What such faults are of, without counts: "NVLink 4 of GPU 0000:3b:00.0". REQUIRES: some.
std::string CommonOf(const std::vector<std::string>& faults);

}  // namespace tutti::diag

#endif  // TUTTI_DIAG_REASONS_H_
