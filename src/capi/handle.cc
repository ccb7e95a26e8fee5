// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "capi/handle.h"

#include <fmt/format.h>

#include <algorithm>
#include <deque>

#include "capi/error.h"
#include "capi/profile.h"

namespace tutti::capi {
namespace {

// Never destroyed: calls may come until the very end of the process.
struct Registry {
  std::mutex mutex;
  std::set<std::shared_ptr<ncclComm>> live;
  std::deque<std::shared_ptr<ncclComm>> buried;
};
Registry& TheRegistry() {
  static Registry* const registry = [] {
    auto* made = new Registry;
    sys::FreeInForkedChildren(made->mutex);
    return made;
  }();
  return *registry;
}

std::atomic<std::uint32_t> g_next_serial{1};

}  // namespace
bool DeviceHasOthers(int device, const ncclComm* except) {
  Registry& registry = TheRegistry();
  std::lock_guard lock(registry.mutex);
  return std::ranges::any_of(registry.live, [&](const std::shared_ptr<ncclComm>& comm) {
    return comm.get() != except && comm->device == device && comm->ranks.load(std::memory_order_relaxed) != 1 &&
           comm->state.load(std::memory_order_relaxed) != State::kFailed && !comm->foreign();
  });
}

std::shared_ptr<ncclComm> NewHandle(const Config& config, int device) {
  auto comm = std::make_shared<ncclComm>();
  comm->config = config;
  comm->device = device;
  comm->serial = g_next_serial.fetch_add(1, std::memory_order_relaxed);
  sys::WatchForks();
  comm->fork_generation = sys::ForkGeneration();
  Registry& registry = TheRegistry();
  std::lock_guard lock(registry.mutex);
  registry.live.insert(comm);
  return comm;
}

Status Adopt(ncclComm& comm, Communicator communicator) {
  comm.rank.store(communicator.rank(), std::memory_order_relaxed);
  comm.ranks.store(communicator.ranks(), std::memory_order_relaxed);
  comm.profile_owner = BeginProfile(communicator);
  comm.owner = std::make_shared<comm::Queue>(std::move(communicator));
  comm.id_hash = comm.owner->id_hash();
  if (comm.profile_owner != nullptr) comm.owner->Observe(ObserverOf(*comm.profile_owner));
  Result<comm::GpuQueue::Side> gpu = comm::GpuQueue::Create(comm.owner, {.device = comm.device,
                                                                         .max_blocks = comm.config.max_ctas,
                                                                         .zero_blocks = comm.config.zero_ctas,
                                                                         .shared_blocks = comm.shared_blocks,
                                                                         .beside_others = comm.beside_others});
  if (!gpu.ok()) {
    comm.owner->Close();
    if (comm.profile_owner != nullptr) CloseProfile(*comm.profile_owner);
    return gpu.status();
  }
  comm.gpu_owner = std::move(gpu->queue);
  comm.host_only_owner = std::move(gpu->host_only);
  std::lock_guard lock(comm.background.mutex);
  if (comm.abort) {
    comm.owner->Abort(fmt::format("rank {} aborted while it was made", comm.rank.load()));
    if (comm.gpu_owner != nullptr) comm.gpu_owner->Close();
    comm.owner->Close();
    if (comm.profile_owner != nullptr) CloseProfile(*comm.profile_owner);
    return Status(Code::kInvalidUsage, "the communicator was aborted while it was made");
  }
  comm.queue = comm.owner.get();
  comm.gpu = comm.gpu_owner.get();
  comm.host_only = comm.host_only_owner.get();
  comm.profile = comm.profile_owner.get();
  comm.state.store(State::kReady, std::memory_order_release);
  return Status::Ok();
}

void BeginBackground(ncclComm& comm) {
  std::lock_guard lock(comm.background.mutex);
  ++comm.background.jobs;
  const State state = comm.state.exchange(State::kPending, std::memory_order_acq_rel);
  if (state != State::kPending) comm.background.before = state;
}

void EndBackground(ncclComm& comm, const Status& outcome) {
  std::lock_guard lock(comm.background.mutex);
  if (!outcome.ok() && comm.background.failure.ok()) comm.background.failure = outcome;
  State pending = State::kPending;
  if (--comm.background.jobs == 0)
    comm.state.compare_exchange_strong(pending, comm.background.before, std::memory_order_release);
  comm.background.ended.notify_all();
}

void FailHandle(ncclComm& comm, const Status& why) {
  std::lock_guard lock(comm.background.mutex);
  if (comm.background.failure.ok()) comm.background.failure = why;
  State pending = State::kPending;
  comm.state.compare_exchange_strong(pending, State::kFailed, std::memory_order_release);
}

void Bury(ncclComm& comm) {
  Registry& registry = TheRegistry();
  std::shared_ptr<ncclComm> oldest;  // freed without the lock
  std::lock_guard lock(registry.mutex);
  const auto it = registry.live.find(comm.shared_from_this());
  if (it == registry.live.end()) return;
  comm.magic.store(0, std::memory_order_relaxed);
  registry.buried.push_back(*it);
  registry.live.erase(it);
  if (registry.buried.size() <= kBuried) return;
  oldest = std::move(registry.buried.front());
  registry.buried.pop_front();
}

void TakeDown(ncclComm& comm) {
  comm.state.store(State::kGone, std::memory_order_release);
  if (comm.gpu_owner != nullptr) comm.gpu_owner->Close();
  if (comm.owner != nullptr) comm.owner->Close();
  if (comm.profile_owner != nullptr) CloseProfile(*comm.profile_owner);
  comm.registrations.clear();
  comm.factors = {};
  Bury(comm);
}

Status CheckHandle(const ncclComm* comm) {
  if (comm == nullptr) return InvalidArgument("the communicator is NULL");
  if (!comm->alive()) {
    return InvalidArgument(
        "the communicator was destroyed or aborted before, or the pointer was never a communicator: make one with "
        "ncclCommInitRank");
  }
  if (comm->foreign()) {
    return InvalidUsage(
        fmt::format("this process was forked from the one that made the communicator (rank {}), and has no part in it: "
                    "make communicators after the fork, or exec",
                    comm->rank.load(std::memory_order_relaxed)));
  }
  return Status::Ok();
}

Status CheckSettled(const ncclComm* comm) {
  TUTTI_RETURN_IF_ERROR(CheckHandle(comm));
  switch (comm->state.load(std::memory_order_acquire)) {
    case State::kPending:
      return InvalidArgument(
          comm->made_in_group != nullptr
              ? "the communicator is made when the group that it was asked for in ends: call ncclGroupEnd first"
              : "the communicator is still busy with a call that gave ncclInProgress: wait until "
                "ncclCommGetAsyncError gives ncclSuccess");
    case State::kFailed: {
      std::lock_guard lock(comm->background.mutex);
      return Status(comm->background.failure.code(),
                    fmt::format("the communicator could not be {}: {}", comm->owner == nullptr ? "made" : "finalized",
                                comm->background.failure.message()),
                    comm->background.failure.peer());
    }
    case State::kGone:
      return InvalidArgument("the communicator is being destroyed");
    default:
      return Status::Ok();
  }
}

Status WhyNotReady(const ncclComm* comm) {
  TUTTI_RETURN_IF_ERROR(CheckSettled(comm));
  const int rank = comm->rank.load(std::memory_order_relaxed);
  switch (comm->state.load(std::memory_order_acquire)) {
    case State::kFinalized:
      return InvalidUsage(fmt::format("rank {} has finalized the communicator: it may only be destroyed", rank));
    case State::kRevoked:
      return InvalidUsage(
          fmt::format("rank {} has revoked the communicator: make a new one with ncclCommSplit or "
                      "ncclCommShrink, or destroy it",
                      rank));
    case State::kSuspended:
      return InvalidUsage(fmt::format("rank {} has suspended the communicator: call ncclCommResume first", rank));
    default:
      return Status::Ok();
  }
}

}  // namespace tutti::capi
