// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_PROFILER_PROFILER_LOG_H_
#define TUTTI_PROFILER_PROFILER_LOG_H_

namespace tutti::profiler {

// What plugins are given to log with (abi::Log): their lines become lines of Tutti's log, of the subsystem PROFILE. Any thread.
[[gnu::format(printf, 5, 6)]] void LogLine(int level, unsigned long subsystems, const char* file, int line,
                                           const char* format, ...);

}  // namespace tutti::profiler

#endif  // TUTTI_PROFILER_PROFILER_LOG_H_
