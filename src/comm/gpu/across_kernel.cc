// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
//
// How the kernel for small operations between hosts is found and started.
#include <memory>
#include <string>

#include "base/log.h"
#include "comm/gpu/across_hosts.h"
#include "exec/gpu/launch/launcher.h"

namespace tutti::comm {

GpuAcrossHosts::StartKernel GpuAcrossHosts::FindKernel(const sys::cuda::Driver* driver, const std::string& who) {
  const auto launcher = std::make_shared<exec::gpu::Launcher>(driver);
  const Result<sys::cuda::Kernel> found = launcher->FindAcross();
  if (!found.ok()) {
    TUTTI_INFO(log::kInit, "{} has no kernel for small operations between hosts, so copies are made for them too: {}",
               who, found.status().message());
    return nullptr;
  }
  return [launcher, kernel = *found](const exec::gpu::Across& across, sys::cuda::Stream stream) {
    return launcher->StartAcross(kernel, across, stream);
  };
}

}  // namespace tutti::comm
