// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
//
// How a GpuCommunicator is made where its ranks are on several hosts: with a second communicator for what goes through host
// memory, so that a thread can run it whatever the program does with the first; and where hosts have several ranks each, with one
// for those of this host and one for those at the same place of each host.
#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/log.h"
#include "comm/gpu/exchange.h"
#include "comm/gpu/host_children.h"
#include "comm/gpu/impl.h"
#include "comm/gpu/several_hosts.h"
#include "comm/gpu/within_host.h"
#include "comm/host/core.h"

namespace tutti {
namespace {

// The ranks from `first` on, each `step` behind the one before.
std::vector<int> Members(int first, int step, int count) {
  std::vector<int> members;
  for (int i = 0; i < count; ++i) members.push_back(first + i * step);
  return members;
}

// How many ranks the GPU with the most of them has, of all hosts: more than of its own host where one machine counts as several.
Result<int> MostRanksOfAGpu(Communicator& communicator, const sys::cuda::Driver& driver, int device) {
  sys::cuda::Uuid own{};
  const Status known = sys::cuda::Check(driver, driver.DeviceGetUuid(&own, device), "the UUID of a GPU");
  std::vector<sys::cuda::Uuid> all(static_cast<std::size_t>(communicator.ranks()));
  TUTTI_RETURN_IF_ERROR(communicator.Run(
      {.kind = Collective::kAllGather, .in = &own, .out = all.data(), .count = sizeof(own), .type = DataType::kUint8}));
  TUTTI_RETURN_IF_ERROR(known);
  std::ptrdiff_t most = 0;
  for (const sys::cuda::Uuid& gpu : all) most = std::max(most, std::ranges::count(all, gpu));
  return static_cast<int>(most);
}

}  // namespace

// The GPUs of this host, or none on all ranks where some host's do not work together.
Status GpuCommunicator::Impl::ConnectWithinHost(const comm::HostShape& shape, const std::string& what,
                                                int ranks_per_gpu, std::unique_ptr<comm::GpuWithinHost>& within) {
  const std::vector<int> members = Members(shape.RankOf(shape.host, 0), 1, shape.places);
  Result<Communicator> near = comm::MakeChild(communicator, fmt::format("{} of host {}", what, shape.host), members);
  TUTTI_RETURN_IF_ERROR(exchange.AgreeOnAll(near.status(), "could not meet the ranks of its host again"));
  GpuOptions own_options = options;
  own_options.ranks_per_gpu = ranks_per_gpu;
  Result<std::unique_ptr<comm::GpuWithinHost>> made =
      comm::GpuWithinHost::Create(std::move(*near), members, own_options);
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
  const std::string what = comm::NameChildren(communicator);
  comm::HostsOptions made{.driver = driver,
                          .device = device,
                          .context = context.get(),
                          .who = who,
                          .spin_ns = host.crowded ? std::optional(host.spin_ns) : std::nullopt,
                          .broken = [this](const Status& why) { host.Break(why); }};
  Result<Communicator> all = comm::MakeChild(communicator, what, Members(0, 1, ranks));
  TUTTI_RETURN_IF_ERROR(all.status());  // the same on all ranks
  made.communicators.push_back({.communicator = std::move(*all)});
  const Result<int> ranks_per_gpu = MostRanksOfAGpu(communicator, *driver, device);
  TUTTI_RETURN_IF_ERROR(exchange.AgreeOnAll(ranks_per_gpu.status(), "does not say which GPU it has"));
  if (*ranks_per_gpu > 1) limits.blocks_where_shared = comm::BlocksOfPart(host, device, *ranks_per_gpu);
  const std::optional<comm::HostShape> shape = comm::FindHostShape(comm::HostsOf(communicator), rank);
  if (shape) TUTTI_RETURN_IF_ERROR(ConnectWithinHost(*shape, what, *ranks_per_gpu, made.within));
  if (made.within != nullptr) {
    made.shape = *shape;
    const std::vector<int> members = Members(shape->place, shape->places, shape->hosts);
    Result<Communicator> rail =
        comm::MakeChild(communicator, fmt::format("{} of rail {}", what, shape->place), members);
    TUTTI_RETURN_IF_ERROR(exchange.AgreeOnAll(rail.status(), "could not meet the ranks of its rail"));
    made.communicators.push_back({.communicator = std::move(*rail), .in_parent = members});
  }
  Result<std::unique_ptr<comm::GpuHosts>> ready = comm::MakeGpuHosts(std::move(made));
  if (ready.ok()) hosts = std::move(*ready);
  return exchange.AgreeOnAll(ready.status(), "could not prepare host memory for its GPU");
}

}  // namespace tutti
