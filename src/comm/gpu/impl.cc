// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "comm/gpu/impl.h"

#include <utility>

#include "base/keep_for_ever.h"
#include "comm/gpu/hosts.h"
#include "comm/gpu/parts.h"

namespace tutti {

GpuCommunicator::Impl::Impl(Communicator& communicator, const GpuOptions& options, const sys::cuda::Driver* driver)
    : GpuCore(comm::HostOf(communicator), driver, options.device),
      parts(std::make_unique<comm::GpuParts>(*this, communicator)),
      exchange(parts->exchange),
      planner(parts->planner),
      submitter(parts->runner.submitter()),
      copies(parts->copies),
      windows(parts->windows),
      runner(parts->runner),
      groups(parts->groups),
      faults(parts->faults),
      executor(submitter.executor()),
      communicator(communicator),
      options(options) {
  zero_ctas = options.zero_ctas;
}

GpuCommunicator::Impl::~Impl() {
  const bool ended = Drain();
  if (context.get() == nullptr) return;
  const sys::cuda::ScopedContext scope(driver, context.get());
  if (!ended) {  // a kernel that still runs must find its memory
    KeepForEver(std::move(fabric));
    KeepForEver(std::move(hosts));
    KeepForEver(std::move(words));
    KeepForEver(std::move(parts));
    return;
  }
  if (inner != nullptr) driver->StreamDestroy(inner);
  parts.reset();
  hosts.reset();
  fabric.reset();
  words = {};
}

}  // namespace tutti
