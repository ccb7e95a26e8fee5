// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
//
// How a GpuCommunicator is made where its ranks are on several hosts: with a second communicator for what goes through host
// memory, so that a thread can run it whatever the program does with the first.
#include <fmt/format.h>

#include <numeric>
#include <utility>
#include <vector>

#include "comm/gpu/across_hosts.h"
#include "comm/gpu/exchange.h"
#include "comm/gpu/impl.h"
#include "comm/host/child_id.h"
#include "comm/host/impl.h"
#include "comm/host/origin.h"
#include "sys/os/clock.h"

namespace tutti {
namespace {

// How long the thread polls where each rank has a core: as long as it stays awake.
constexpr std::int64_t kSpinNs = sys::kNsPerMs;

Result<Communicator> MakeSecond(Communicator::Impl& first) {
  const Result<UniqueId> id = comm::ChildId(first, fmt::format("GPU memory {}", first.children++), 0);
  if (!id.ok()) return id.status();
  std::vector<int> all(static_cast<std::size_t>(first.ranks));
  std::iota(all.begin(), all.end(), 0);
  return Communicator::Create({.rank = first.rank,
                               .ranks = first.ranks,
                               .id = *id,
                               .settings = first.settings,
                               .name = "GPU memory of " + first.name,
                               .origin = comm::Origin::Of(first.fabric.get(), all, comm::Origin::Numbers::kKept)});
}

}  // namespace

Status GpuCommunicator::Impl::ConnectAcrossHosts() {
  Result<Communicator> second = MakeSecond(*communicator.impl());
  TUTTI_RETURN_IF_ERROR(second.status());  // the same on all ranks
  Result<std::unique_ptr<comm::GpuAcrossHosts>> made =
      comm::GpuAcrossHosts::Create({.driver = driver,
                                    .device = device,
                                    .context = context.get(),
                                    .spin_ns = host.crowded ? host.spin_ns : kSpinNs,
                                    .broken = [this](const Status& why) { host.Break(why); }},
                                   std::move(*second));
  if (made.ok()) across = std::move(*made);
  return exchange.AgreeOnAll(made.status(), "could not prepare host memory for its GPU");
}

}  // namespace tutti
