// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
//
// What can be said of limits before ranks have agreed on a machine.
#include <optional>
#include <span>

#include "comm/agree/gpu_machine.h"
#include "comm/agree/machine_file.h"
#include "comm/gpu/limits.h"
#include "comm/host/core.h"
#include "sys/cuda/cuda.h"

namespace tutti::comm {

int BlocksOfPart(const Core& host, int device, std::optional<int> parts) {
  const Result<tune::TuningFile> file = LoadTables(host.settings);  // read before, when `host` was made
  const tune::TuningFile stored = file.ok() ? *file : tune::TuningFile();
  const GpuProfile own = ProfileOf(**sys::cuda::OpenDriver(), device);
  tune::GpuSituation situation = SituationOf(std::span(&own, 1), false);
  situation.ranks = host.ranks;
  const tune::GpuMachine& machine = tune::FindGpuTable(stored.gpus, situation).machine;
  return tune::MostBlocks(machine, own.multiprocessors, parts.value_or(machine.beside_parts));
}

}  // namespace tutti::comm
