// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_TRANSPORT_NET_PLUGIN_PLUGIN_LOG_H_
#define TUTTI_TRANSPORT_NET_PLUGIN_PLUGIN_LOG_H_

#include <cstdint>

namespace tutti::transport::net::plugin {

// What plugins are given to log with (abi::Log): their lines become lines of Tutti's log, of the subsystem NET. Any thread.
[[gnu::format(printf, 5, 6)]] void LogLine(int level, unsigned long subsystems, const char* file, int line,
                                           const char* format, ...);

// What they are given to tell a profiler (abi::Profile). There is none, so nothing is recorded.
int TellNoProfiler(void** event, int type, void* parent, std::int64_t plugin, void* data);

}  // namespace tutti::transport::net::plugin

#endif  // TUTTI_TRANSPORT_NET_PLUGIN_PLUGIN_LOG_H_
