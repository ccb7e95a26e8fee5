// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "comm/gpu/log_links.h"

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "comm/gpu/core.h"
#include "comm/host/core.h"
#include "comm/host/log_links.h"
#include "sys/cuda/cuda_memory.h"
#include "transport/p2p/fabric.h"
#include "transport/shm/fabric.h"

namespace tutti::comm {

void LogGpuLinks(const GpuCore& core, int channels, SegmentsIn where) {
  if (core.ranks < 2) return;
  const int next = (core.rank + 1) % core.ranks;
  std::string_view way = "SHM";
  if (where == SegmentsIn::kDeviceMemory) {
    const bool same_process = core.host.fabric->process(next) == core.host.fabric->process(core.rank);
    const bool handles = core.fabric->identity().way == static_cast<int>(sys::cuda::DeviceMemory::Way::kIpc);
    way = same_process ? "P2P/direct pointer" : handles ? "P2P/IPC" : "P2P/CUMEM";
  }
  const std::vector<std::int32_t> one_host(static_cast<std::size_t>(core.ranks));
  LogLinks({.rank = core.rank, .host_of = one_host, .channels = channels, .way = way});
}

}  // namespace tutti::comm
