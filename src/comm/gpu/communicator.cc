// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
//
// What a GpuCommunicator shows (tutti/gpu.h).
#include <utility>

#include "comm/gpu/exchange.h"
#include "comm/gpu/faults.h"
#include "comm/gpu/groups.h"
#include "comm/gpu/impl.h"
#include "comm/gpu/runner.h"
#include "comm/host/validate.h"

namespace tutti {

Result<GpuCommunicator> GpuCommunicator::Create(Communicator& communicator, const GpuOptions& options) {
  const Result<const sys::cuda::Driver*> driver = sys::cuda::OpenDriver();
  auto impl = std::make_unique<Impl>(communicator, options, driver.ok() ? *driver : nullptr);
  TUTTI_RETURN_IF_ERROR(impl->exchange.AgreeOnAll(driver.status(), "can not use GPUs"));
  TUTTI_RETURN_IF_ERROR(impl->Connect());
  return GpuCommunicator(std::move(impl));
}

GpuCommunicator::GpuCommunicator(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
GpuCommunicator::GpuCommunicator(GpuCommunicator&&) noexcept = default;
GpuCommunicator& GpuCommunicator::operator=(GpuCommunicator&&) noexcept = default;
GpuCommunicator::~GpuCommunicator() = default;

Status GpuCommunicator::Run(const Operation& operation, void* stream) {
  return impl_->runner.Run(operation, static_cast<sys::cuda::Stream>(stream));
}

Status GpuCommunicator::RunGroup(std::span<const Operation> operations, void* stream) {
  return impl_->groups.Run(operations, static_cast<sys::cuda::Stream>(stream));
}

std::string GpuCommunicator::Explain(const Operation& operation) {
  const Status s = comm::ValidateForGpu(operation, impl_->rank, impl_->ranks);
  return s.ok() ? impl_->runner.Explain(operation) : s.ToString();
}

Status GpuCommunicator::Check() { return impl_->faults.Check(); }

void GpuCommunicator::Abort(const std::string& reason) {
  impl_->faults.EndKernels();
  impl_->communicator.Abort(reason);
}

}  // namespace tutti
