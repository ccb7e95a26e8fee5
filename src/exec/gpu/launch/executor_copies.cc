// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
//
// The form of copies.
#include "exec/gpu/launch/copy_runner.h"
#include "exec/gpu/launch/executor.h"
#include "exec/gpu/launch/failures.h"
#include "exec/gpu/launch/launch.h"

namespace tutti::exec::gpu {

Launch Executor::CompileCopies(const PreparedPlan& plan, const Work& work, std::span<std::byte* const> outputs) {
  return {.copies = &copies_->Keep(ListCopies(plan, work), outputs, failures_.WayOf(plan))};
}

Status Executor::StartCopies(const Launch& launch, sys::cuda::Stream stream, bool captured) {
  return copies_->Start(*launch.copies, stream, captured);
}

}  // namespace tutti::exec::gpu
