// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_WATCH_MONITOR_H_
#define TUTTI_WATCH_MONITOR_H_

#include <string>

namespace tutti::watch {

// Starts the thread that watches what is in the registry. It ends when nothing is there any more, and takes no signals. It uses nothing
// that the end of a process takes down, and nobody waits for its end. False, with a warning, where there can be no thread.
// `kernel_log`: as EvidencePlaces has it; what it gets from this call on counts, however late the thread begins.
// REQUIRES: the registry's lock is held, and no monitor runs.
bool StartMonitor(const std::string& kernel_log);

}  // namespace tutti::watch

#endif  // TUTTI_WATCH_MONITOR_H_
