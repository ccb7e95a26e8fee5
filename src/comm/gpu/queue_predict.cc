// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
//
// What operations behind a GpuQueue would take.
#include "comm/gpu/groups.h"
#include "comm/gpu/hosts.h"
#include "comm/gpu/impl.h"
#include "comm/gpu/queue.h"

namespace tutti::comm {

Result<double> GpuQueue::PredictUs(std::span<const Call> calls) {
  std::lock_guard lock(lock_);
  if (Status s = Usable(); !s.ok()) return s;
  operations_.clear();
  for (const Call& call : calls) operations_.push_back(call.operation);
  if (gpu_->impl()->hosts != nullptr) return gpu_->impl()->hosts->PredictUs(operations_);
  return gpu_->impl()->groups.PredictUs(operations_);
}

}  // namespace tutti::comm
