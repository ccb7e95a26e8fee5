// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "comm/gpu/core.h"

#include "comm/gpu/hosts.h"
#include "comm/host/core.h"

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
      device(device) {}

GpuCore::~GpuCore() = default;

void GpuCore::Break(const Status& why) { host.Break(why); }

}  // namespace tutti::comm
