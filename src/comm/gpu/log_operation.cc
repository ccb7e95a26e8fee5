// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "comm/gpu/log_operation.h"

#include <fmt/format.h>

#include "base/log.h"
#include "comm/gpu/runner.h"
#include "comm/host/log_choice.h"
#include "comm/host/log_operation.h"

namespace tutti::comm {

void LogGpuOperation(Core& host, GpuRunner& runner, const Operation& o) {
  LogCall(host, o);
  if (!log::Enabled(log::Level::kInfo, log::kTuning) || (o.count == 0 && o.kind != Collective::kBarrier)) return;
  TUTTI_INFO(log::kTuning, "{}: {} Bytes -> {} on the GPU", NcclName(o.kind), o.count * SizeOf(o.type),
             runner.Explain(o));
}

}  // namespace tutti::comm
