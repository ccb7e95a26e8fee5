// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_COMM_GPU_LOG_LINKS_H_
#define TUTTI_COMM_GPU_LOG_LINKS_H_

namespace tutti::comm {

struct GpuCore;

// As LogLinks (comm/host/log_links.h), for the links between GPUs: a line for each of `channels`. "via P2P/CUMEM" where segments in
// device memory are passed on as descriptors, "P2P/IPC" as handles, "P2P/direct pointer" within a process; "SHM" where segments
// are in host memory.
enum class SegmentsIn { kDeviceMemory, kHostMemory };
void LogGpuLinks(const GpuCore& core, int channels, SegmentsIn where);

}  // namespace tutti::comm

#endif  // TUTTI_COMM_GPU_LOG_LINKS_H_
