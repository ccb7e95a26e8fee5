// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "comm/gpu/log_batch.h"

#include <fmt/format.h>

#include "base/log.h"
#include "comm/host/log_choice.h"
#include "exec/gpu/lower/compile.h"

namespace tutti::comm {

void LogBatch(const Operation& first, int operations, const exec::gpu::Shape& shape, int channels) {
  TUTTI_INFO(log::kTuning, "{}: {} operations -> one launch, proto {}, {} channels of {} threads", NcclName(first.kind),
             operations, proto::Name(shape.protocol), channels, shape.threads);
}

}  // namespace tutti::comm
