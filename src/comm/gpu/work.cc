// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "comm/gpu/work.h"

#include "exec/gpu/lower/compile.h"

namespace tutti::comm {

exec::gpu::Work WorkOf(const Operation& o) {
  return {.in = o.in,
          .out = o.out,
          .count = o.count,
          .type = o.type,
          .op = o.op,
          .scalar = o.scalar,
          .integer_scalar = o.integer_scalar,
          .device_scalar = o.device_scalar};
}

}  // namespace tutti::comm
