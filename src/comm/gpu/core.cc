// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "comm/gpu/core.h"

#include "comm/gpu/hosts.h"
#include "comm/gpu/observed_launches.h"
#include "comm/host/core.h"
#include "comm/host/observed_calls.h"

namespace tutti::comm {

GpuCore::GpuCore(Core& host, const sys::cuda::Driver* driver, int device)
    : driver(driver),
      host(host),
      rank(host.rank),
      ranks(host.ranks),
      several_hosts(host.several_hosts),
      who(host.who),
      settings(host.settings),
      tuner(host.tuner),
      device(device),
      observed(host.observed != nullptr && driver != nullptr
                   ? std::make_unique<ObservedLaunches>(*driver, host.observed->observer())
                   : nullptr) {}

GpuCore::~GpuCore() = default;

void GpuCore::Break(const Status& why) { host.Break(why); }

Status GpuCore::LaunchObserved(std::span<const Operation* const> operations, const LaunchedHow& how,
                               sys::cuda::Stream stream, bool captured, const std::function<Status()>& launch) {
  CallObserver::Run run{.operations = operations,
                        .side = captured ? CallObserver::Side::kGraph : CallObserver::Side::kGpu,
                        .threads = how.threads};
  if (how.algorithm >= 0) {
    run.how = {.algorithm = static_cast<std::uint8_t>(how.algorithm),
               .protocol = static_cast<std::uint8_t>(how.protocol),
               .channels = static_cast<std::uint8_t>(how.channels)};
  }
  return observed->Launch(run, stream, launch);
}

void GpuCore::TellWhatHasEnded() {
  if (observed != nullptr) observed->Look();
}

void GpuCore::EndObserved() {
  if (observed == nullptr) return;
  const sys::cuda::ScopedContext scope(driver, context.get());
  observed->End();
}

}  // namespace tutti::comm
