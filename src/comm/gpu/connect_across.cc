// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
//
// How a GpuCommunicator is made where its ranks are on several hosts: with a second communicator for what goes through host
// memory, so that a thread can run it whatever the program does with the first; and where hosts have several ranks each, with one
// for those of this host and one for those at the same place of each host.
#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/log.h"
#include "comm/gpu/across_hosts.h"
#include "comm/gpu/by_hosts.h"
#include "comm/gpu/exchange.h"
#include "comm/gpu/impl.h"
#include "comm/gpu/within_host.h"
#include "comm/host/child_id.h"
#include "comm/host/impl.h"
#include "comm/host/origin.h"
#include "comm/host/placement.h"
#include "sys/os/clock.h"

namespace tutti {
namespace {

// How long the thread polls where each rank has a core: as long as it stays awake.
constexpr std::int64_t kSpinNs = sys::kNsPerMs;

// A communicator of some of the ranks of `first`, this one among them. `what`: the same text on all of them, and no others.
Result<Communicator> MakeChild(const Communicator::Impl& first, const std::string& what, std::span<const int> members) {
  using Numbers = comm::Origin::Numbers;
  const Result<UniqueId> id = comm::ChildId(first, what, members[0]);
  if (!id.ok()) return id.status();
  const bool all = std::ssize(members) == first.ranks;
  return Communicator::Create(
      {.rank = static_cast<int>(std::ranges::find(members, first.rank) - members.begin()),
       .ranks = static_cast<int>(members.size()),
       .id = *id,
       .settings = first.settings,
       .name = "GPU memory of " + first.name,
       .origin = comm::Origin::Of(first.fabric.get(), members, all ? Numbers::kKept : Numbers::kNew)});
}

// The ranks from `first` on, each `step` behind the one before.
std::vector<int> Members(int first, int step, int count) {
  std::vector<int> members;
  for (int i = 0; i < count; ++i) members.push_back(first + i * step);
  return members;
}

}  // namespace

// Each host's ranks, from GPU to GPU. None on all ranks where some host's cannot.
Status GpuCommunicator::Impl::ConnectWithinHost(const comm::HostShape& shape, const std::string& what) {
  const std::vector<int> members = Members(shape.RankOf(shape.host, 0), 1, shape.places);
  Result<Communicator> near = MakeChild(*communicator.impl(), fmt::format("{} of host {}", what, shape.host), members);
  TUTTI_RETURN_IF_ERROR(exchange.AgreeOnAll(near.status(), "could not meet the ranks of its host again"));
  Result<std::unique_ptr<comm::GpuWithinHost>> made = comm::GpuWithinHost::Create(std::move(*near), members, options);
  const int mine = made.ok() ? 1 : 0;
  int least = 0;
  TUTTI_RETURN_IF_ERROR(exchange.FindLeast(std::span(&mine, 1), std::span(&least, 1)));
  if (!made.ok() && shape.place == 0) {
    TUTTI_WARN(
        "{} the GPUs of this host do not work together: {}. Operations of several hosts go through host memory, which "
        "is slower",
        who, made.status().message());
  }
  if (least == 1) within = std::move(*made);
  return Status::Ok();
}

Status GpuCommunicator::Impl::ConnectAcrossHosts() {
  Communicator::Impl& first = *communicator.impl();
  const std::string what = fmt::format("GPU memory {}", first.children++);
  std::vector<comm::RunnerCommunicator> over;
  Result<Communicator> second = MakeChild(first, what, Members(0, 1, ranks));
  TUTTI_RETURN_IF_ERROR(second.status());  // the same on all ranks
  over.push_back({.communicator = std::move(*second)});
  const std::optional<comm::HostShape> shape = comm::FindHostShape(first.placement->host_of, rank);
  if (shape) TUTTI_RETURN_IF_ERROR(ConnectWithinHost(*shape, what));
  if (within != nullptr) {
    const std::vector<int> rail = Members(shape->place, shape->places, shape->hosts);
    Result<Communicator> third = MakeChild(first, fmt::format("{} of rail {}", what, shape->place), rail);
    TUTTI_RETURN_IF_ERROR(exchange.AgreeOnAll(third.status(), "could not meet the ranks of its rail"));
    over.push_back({.communicator = std::move(*third), .in_parent = rail});
  }
  Result<std::unique_ptr<comm::GpuAcrossHosts>> made =
      comm::GpuAcrossHosts::Create({.driver = driver,
                                    .device = device,
                                    .context = context.get(),
                                    .spin_ns = host.crowded ? host.spin_ns : kSpinNs,
                                    .broken = [this](const Status& why) { host.Break(why); },
                                    .start_kernel = comm::GpuAcrossHosts::FindKernel(driver, who)},
                                   std::move(over));
  if (made.ok()) across = std::move(*made);
  TUTTI_RETURN_IF_ERROR(exchange.AgreeOnAll(made.status(), "could not prepare host memory for its GPU"));
  if (within == nullptr) return Status::Ok();
  by_hosts = std::make_unique<comm::GpuByHosts>(
      driver, *shape, *across, [this](std::span<const Operation> operations, sys::cuda::Stream stream) {
        return within->Run(operations, stream);
      });
  return Status::Ok();
}

}  // namespace tutti
