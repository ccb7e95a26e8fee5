// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "mpi/job.h"

#include <cstdint>
#include <utility>
#include <vector>

#include "comm/meet/job_id.h"

namespace tutti::mpi {
namespace {

Result<std::shared_ptr<Comm>> MakeWorld(const comm::LaunchIdentity& identity) {
  Result<Communicator> made = Communicator::Create(
      {.rank = identity.rank, .ranks = identity.ranks, .id = identity.id, .name = "MPI_COMM_WORLD"});
  if (!made.ok()) return made.status();
  return std::make_shared<Comm>(std::make_shared<comm::Queue>(std::move(*made)));
}

std::shared_ptr<Comm> Unusable(const char* why) { return std::make_shared<Comm>(Status(Code::kInvalidUsage, why)); }

}  // namespace

// Never destroyed: other threads may still be in a call when the process ends.
Job& Job::Get() {
  static auto* job = new Job;
  return *job;
}

Job::Job() : world_(Unusable("MPI_Init_thread has not been called, which makes MPI_COMM_WORLD")) {}

Status Job::Start() {
  const std::lock_guard lock(mutex_);
  if (started_) return Status::Ok();
  // The ids of the job are counted down from the last, because another copy of the library in this process, such as the Python package's,
  // counts them up from the first.
  const std::uint64_t generation = comm::kAwaitedIds - 1 - starts_++ % comm::kAwaitedIds;
  const Result<comm::LaunchIdentity> identity = comm::IdentityFromEnvironment(generation);
  Result<std::shared_ptr<Comm>> world = identity.ok() ? MakeWorld(*identity) : identity.status();
  if (!world.ok()) {
    world_ = std::make_shared<Comm>(world.status());
    return world.status();
  }
  world_ = *world;
  launched_ = identity.ok() && (*identity).launcher != "none";
  started_ = true;
  ended_ = false;
  return Status::Ok();
}

void Job::End() {
  std::vector<std::shared_ptr<Comm>> open;
  {
    const std::lock_guard lock(mutex_);
    for (const auto& [handle, comm] : comms_) open.push_back(comm);
    open.push_back(world_);
    comms_.clear();
    requests_.clear();
    world_ = Unusable("MPI_Finalize has been called");
    started_ = false;
    ended_ = true;
  }
  for (const std::shared_ptr<Comm>& comm : open) comm->Close();
}

bool Job::started() {
  const std::lock_guard lock(mutex_);
  return started_ || ended_;
}

bool Job::ended() {
  const std::lock_guard lock(mutex_);
  return ended_;
}

bool Job::launched() {
  const std::lock_guard lock(mutex_);
  return launched_;
}

std::shared_ptr<Comm> Job::FindComm(Handle handle) {
  const std::lock_guard lock(mutex_);
  if (handle == kCOMM_WORLD) return world_;
  const auto found = comms_.find(handle);
  return found == comms_.end() ? nullptr : found->second;
}

Handle Job::AddComm(std::shared_ptr<Comm> comm) {
  const std::lock_guard lock(mutex_);
  comms_.emplace(++next_, std::move(comm));
  return next_;
}

std::shared_ptr<Comm> Job::TakeComm(Handle handle) {
  const std::lock_guard lock(mutex_);
  const auto taken = comms_.extract(handle);
  return taken.empty() ? nullptr : taken.mapped();
}

Handle Job::AddRequest(Pending pending) {
  const std::lock_guard lock(mutex_);
  requests_.emplace(++next_, std::move(pending));
  return next_;
}

Job::Pending Job::TakeRequest(Handle handle) {
  const std::lock_guard lock(mutex_);
  const auto taken = requests_.extract(handle);
  return taken.empty() ? Pending() : taken.mapped();
}

}  // namespace tutti::mpi
