// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
//
// What a GpuCommunicator takes of this rank's GPU before it knows the peers'.
#include <fmt/format.h>

#include <utility>

#include "comm/gpu/exchange.h"
#include "comm/gpu/hosts.h"
#include "comm/gpu/impl.h"
#include "comm/gpu/submitter.h"
#include "transport/p2p/fabric.h"
#include "transport/p2p/sections.h"

namespace tutti {

Status GpuCommunicator::Impl::Open() {
  if (!several_hosts && ranks > transport::p2p::kMaxRanks) {
    return Status(Code::kUnsupported, fmt::format("{} ranks: at most {} can use device memory on one host", ranks,
                                                  transport::p2p::kMaxRanks));
  }
  Result<sys::cuda::PrimaryContext> retained = sys::cuda::PrimaryContext::Retain(driver, device);
  Status own = retained.status();
  if (own.ok()) context = std::move(*retained);
  TUTTI_RETURN_IF_ERROR(exchange.AgreeOnAll(own, "has no GPU"));
  return Status::Ok();
}

Status GpuCommunicator::Impl::Load() {
  Result<comm::GpuWords> host_words = comm::GpuWords::Create(driver);
  Status own = host_words.status();
  if (host_words.ok()) words = std::move(*host_words);
  if (own.ok()) {
    own = sys::cuda::Check(*driver, driver->StreamCreate(&inner, sys::cuda::kNonBlocking), "a CUDA stream");
  }
  TUTTI_RETURN_IF_ERROR(exchange.AgreeOnAll(own, "could not get its GPU memory"));
  if (ranks == 1)
    return Status::Ok();  // one rank alone waits for nobody, and may load its few kernels when it needs them
  return exchange.AgreeOnAll(submitter.LoadKernels(), "could not load its GPU kernels");
}

std::size_t GpuCommunicator::device_bytes() const {
  return impl_->fabric == nullptr ? impl_->hosts->device_bytes() : impl_->fabric->device_bytes();
}
std::size_t GpuCommunicator::host_bytes() const {
  return impl_->fabric == nullptr ? impl_->hosts->host_bytes() : impl_->fabric->host_bytes();
}

}  // namespace tutti
