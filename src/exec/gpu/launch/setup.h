// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_EXEC_GPU_LAUNCH_SETUP_H_
#define TUTTI_EXEC_GPU_LAUNCH_SETUP_H_

#include <cstddef>
#include <cstdint>
#include <span>

#include "exec/gpu/format/transfer.h"
#include "transport/p2p/sections.h"

namespace tutti::exec::gpu {

// What an executor needs to know of its GPU and of the other ranks'.
struct ExecutorSetup {
  transport::p2p::Sections sections;
  std::span<std::byte* const> segments;                      // every rank's, as this rank reaches it
  std::span<const transport::p2p::StateShift> state_shifts;  // by section
  HostWords* host_words = nullptr;                           // Failures::kSlots, as the host and as the GPU see them
  HostWords* device_words = nullptr;
  std::int64_t timeout_ms = 0;
  GroupLimits limits;
  // OverlapLimit::SetTo, and Launcher::UseClustersUpTo.
  int overlapping_alone = 0, overlapping_beside_others = 0;
  int overlap_kernels = 2, multiprocessor_threads = 1, multiprocessor_shares = 1;  // OverlapLimit::Room
  int clustered_blocks = 0;
};

}  // namespace tutti::exec::gpu

#endif  // TUTTI_EXEC_GPU_LAUNCH_SETUP_H_
