// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_TUNE_PLUGIN_TUNER_LOG_H_
#define TUTTI_TUNE_PLUGIN_TUNER_LOG_H_

namespace tutti::tune::plugin {

// What tuners are given to log with (abi::Log): their lines become lines of Tutti's log, of the subsystem TUNING. Any thread.
[[gnu::format(printf, 5, 6)]] void LogLine(int level, unsigned long subsystems, const char* file, int line,
                                           const char* format, ...);

}  // namespace tutti::tune::plugin

#endif  // TUTTI_TUNE_PLUGIN_TUNER_LOG_H_
