// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_WATCH_PROCESS_LOOK_H_
#define TUTTI_WATCH_PROCESS_LOOK_H_

// Processes of this host, as evidence of a look (diag/evidence.h).

#include <cstdint>
#include <string>

#include "diag/evidence.h"
#include "sys/os/process.h"
#include "sys/os/process_activity.h"
#include "transport/link.h"

namespace tutti::watch {

// What /proc/PID/stat and the like have shown.
diag::ProcessLook Convert(const sys::ProcessActivity& seen, const std::string& host);

// A process, only whether it runs, is stopped or has ended, or with what it does. The first costs a read of /proc, some 10 us, the
// second some 0.3 ms, and more where it has many threads. kUnknown where it may not be seen. REQUIRES: a process of this
// sys::ProcessNamespace(); its pid may be taken by another one meanwhile, which is noticed where its start is known.
enum class Depth : std::uint8_t { kState, kActivity };
diag::ProcessLook LookAt(const sys::ProcessId& process, const std::string& host, Depth depth);

// How far a rank is, as its pages say; kUnknown for a value that no rank writes.
diag::RankState StateOf(transport::RankState state);

}  // namespace tutti::watch

#endif  // TUTTI_WATCH_PROCESS_LOOK_H_
