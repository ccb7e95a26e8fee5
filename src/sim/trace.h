// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_SIM_TRACE_H_
#define TUTTI_SIM_TRACE_H_

// A simulation as a file that Chrome's about:tracing and ui.perfetto.dev show: JSON, by the "Trace Event Format". A rank is a process
// and a stream one of its threads, on which tasks lie; messages are asynchronous events of their senders. Times are microseconds.

#include <functional>
#include <string_view>

#include "sim/job.h"
#include "sim/message_log.h"

namespace tutti::sim {

// `log` may be null: no messages. Tasks that never ended are left out. Calls `write` with pieces of the text.
void WriteChromeTrace(const Job& job, const Outcome& outcome, const MessageLog* log,
                      const std::function<void(std::string_view)>& write);

}  // namespace tutti::sim

#endif  // TUTTI_SIM_TRACE_H_
