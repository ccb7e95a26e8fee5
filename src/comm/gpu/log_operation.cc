// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "base/log.h"
#include "comm/gpu/impl.h"
#include "comm/host/log_operation.h"

namespace tutti {

void GpuCommunicator::Impl::LogOperation(const Operation& o) {
  comm::LogCall(host, o);
  if (!log::Enabled(log::Level::kInfo, log::kTuning) || (o.count == 0 && o.kind != Collective::kBarrier)) return;
  TUTTI_INFO(log::kTuning, "{}: {} Bytes -> {} on the GPU", comm::NcclName(o.kind), o.count * SizeOf(o.type),
             Explain(o));
}

void GpuCommunicator::Impl::LogBatch(const Operation& first, int operations, const exec::gpu::Shape& shape,
                                     int channels) {
  TUTTI_INFO(log::kTuning, "{}: {} operations -> one launch, proto {}, {} channels of {} threads",
             comm::NcclName(first.kind), operations, proto::Name(shape.protocol), channels, shape.threads);
}

}  // namespace tutti
