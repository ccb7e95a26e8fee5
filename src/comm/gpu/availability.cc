// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "comm/gpu/availability.h"

#include <fmt/format.h>

#include <span>

#include "comm/agree/gpu_machine.h"
#include "comm/agree/machine_file.h"
#include "comm/gpu/memory.h"
#include "comm/host/core.h"
#include "sys/cuda/cuda.h"
#include "transport/p2p/sections.h"

namespace tutti::comm {
bool CanUseGpuFor(const Core& host) {
  return host.settings.gpu && (host.several_hosts || host.ranks <= transport::p2p::kMaxRanks) && CanUseGpu();
}

int BlocksOfPart(const Core& host, sys::cuda::Device device, std::optional<int> parts) {
  const Result<tune::TuningFile> file = LoadTables(host.settings);  // read before, when `host` was made
  const tune::TuningFile stored = file.ok() ? *file : tune::TuningFile();
  const GpuProfile own = ProfileOf(**sys::cuda::OpenDriver(), device);
  tune::GpuSituation situation = SituationOf(std::span(&own, 1), false);
  situation.ranks = host.ranks;
  const tune::GpuMachine& machine = tune::FindGpuTable(stored.gpus, situation).machine;
  return tune::MostBlocks(machine, own.multiprocessors, parts.value_or(machine.beside_parts));
}

std::optional<std::string> WhyHostOnly(const Core& c) {
  if (!sys::cuda::OpenDriver().ok()) return std::nullopt;
  if (!CanUseGpu()) {
    return "this build of Tutti has no kernels for GPUs; build it where nvcc is installed, or copy to host memory "
           "first";
  }
  if (!c.settings.gpu) return "TUTTI_GPU=0 switches the GPU off";
  if (!c.several_hosts && c.ranks > transport::p2p::kMaxRanks) {
    return fmt::format(
        "it has {} ranks, and at most {} can use GPU memory on one host; copy to host memory first, or make "
        "smaller communicators",
        c.ranks, transport::p2p::kMaxRanks);
  }
  return "another rank has no GPU that it can use; give every rank one (CUDA_VISIBLE_DEVICES), or copy to host memory "
         "first";
}

}  // namespace tutti::comm
