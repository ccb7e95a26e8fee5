// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_RAS_JSON_H_
#define TUTTI_RAS_JSON_H_

#include <string>

#include "ras/events.h"
#include "ras/report.h"

namespace tutti::ras {

// The report as JSON with the keys of NCCL's, and a line's end behind it. What it has beyond them stands in members named "tutti",
// never in "collective_counts": clients compare all that stands there. Hosts are host names, where NCCL writes addresses. -1 is a
// device, pid or version that is not known.
std::string ToJson(const Report& report);

// An event for clients that monitor, likewise.
std::string ToJson(const Event& event);

}  // namespace tutti::ras

#endif  // TUTTI_RAS_JSON_H_
