// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_COMM_AGREE_GPU_MACHINE_H_
#define TUTTI_COMM_AGREE_GPU_MACHINE_H_

// Which table of constants the choices of a communicator's GPUs go by (tune/gpu_machine.h): ranks tell each other what their GPUs
// are, and rank 0's tables hold for all.

#include <cstdint>
#include <span>
#include <string_view>

#include "sys/cuda/cuda.h"
#include "tune/gpu_machine.h"
#include "tutti/communicator.h"
#include "tutti/settings.h"
#include "tutti/status.h"

namespace tutti::comm {

struct GpuProfile {
  sys::cuda::Uuid gpu;
  char name[64];  // the driver's, zero-terminated
  std::int32_t compute_capability;
  std::int32_t multiprocessors;
};

// What the driver cannot say is left empty.
GpuProfile ProfileOf(const sys::cuda::Driver& driver, sys::cuda::Device device);

// Of all ranks' profiles, at least one; the same on all ranks.
tune::GpuSituation SituationOf(std::span<const GpuProfile> profiles, bool staged);

// Of rank 0's stored tables the first one that covers the ranks' GPUs, else of the shipped ones. Collective over the
// communicator; the same on all ranks, an error too. staged: the ranks exchange data through host memory. `who` begins the line
// of the log that names the table.
Result<tune::GpuMachine> AgreeOnGpuMachine(Communicator& communicator, const Settings& settings, const GpuProfile& own,
                                           bool staged, std::string_view who);

}  // namespace tutti::comm

#endif  // TUTTI_COMM_AGREE_GPU_MACHINE_H_
