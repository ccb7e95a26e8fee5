// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_COMM_GPU_WATCH_H_
#define TUTTI_COMM_GPU_WATCH_H_

namespace tutti::comm {

class GpuQueue;

// The thread of the process that looks after communicators whose kernels may run while no thread of the program calls
// anything: ten times a second it lets each of them Look. It starts with the first communicator and uses nothing that
// the end of a process takes down. Any thread may call these.
void WatchGpu(GpuQueue& queue);
// Returns when the thread will not look at it again.
void UnwatchGpu(GpuQueue& queue);

}  // namespace tutti::comm

#endif  // TUTTI_COMM_GPU_WATCH_H_
