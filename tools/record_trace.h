// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_TOOLS_RECORD_TRACE_H_
#define TUTTI_TOOLS_RECORD_TRACE_H_

// What black boxes still hold of the past, as trace events of the kind that Chrome, Perfetto and others show.
// docs/diagnosis.md says what is in it.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "tools/record_job.h"

namespace tutti::tools {

// A job's ranks are processes (pid: the rank, in the k-th job from 0 plus k times this), its communicators threads of them.
inline constexpr int kTracePidsPerJob = 1'000'000;

// Calls and waits as spans, verdicts as instants, arrows between what belongs together. Times are us of CLOCK_MONOTONIC;
// baseTimeNanoseconds added to them makes dates. `last_ns`: only what had not ended so long before the jobs were looked at. Pure;
// any thread.
std::string MakeTrace(const std::vector<RecordJob>& jobs, std::optional<std::int64_t> last_ns);

}  // namespace tutti::tools

#endif  // TUTTI_TOOLS_RECORD_TRACE_H_
