// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "comm/gpu/availability.h"

#include <fmt/format.h>

#include "comm/gpu/memory.h"
#include "comm/host/core.h"
#include "sys/cuda/cuda.h"
#include "transport/p2p/sections.h"

namespace tutti::comm {
bool CanUseGpuFor(const Core& host) {
  return host.settings.gpu && (host.several_hosts || host.ranks <= transport::p2p::kMaxRanks) && CanUseGpu();
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
