// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_WATCH_RING_H_
#define TUTTI_WATCH_RING_H_

namespace tutti::watch {

// Wakes the monitor of this process, where it runs. Any thread.
void RingMonitor();

}  // namespace tutti::watch

#endif  // TUTTI_WATCH_RING_H_
