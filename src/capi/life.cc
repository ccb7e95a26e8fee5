// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
// What can be asked of a communicator, and how it ends.
#include <fmt/format.h>

#include "capi/error.h"
#include "capi/group.h"
#include "capi/nvtx.h"
#include "capi/profile.h"

namespace tutti::capi {
namespace {

Status Finalize(ncclComm* comm) {
  TUTTI_RETURN_IF_ERROR(CheckSettled(comm));
  const State state = comm->state.load();
  if (state == State::kFinalized) return InvalidArgument("the communicator has been finalized before");
  if (state == State::kRevoked) return InvalidArgument("the communicator was revoked: destroy it instead");
  const std::shared_ptr<ncclComm> kept = comm->shared_from_this();
  return RunOrDefer({.comm = kept,
                     .run = [kept]() -> Status {
                       const nvtx::Waiting mark("waits for operations");
                       const Status s = kept->queue->Wait();
                       if (s.ok()) kept->state.store(State::kFinalized, std::memory_order_release);
                       return s;
                     },
                     .blocking = kept->config.blocking});
}

// What tools are told of a communicator; nothing of one that is not there.
nvtx::OfComm PayloadOf(const ncclComm* comm) {
  if (comm == nullptr || !comm->alive()) return {};
  return {.comm = comm->id_hash, .ranks = comm->ranks.load(), .rank = comm->rank.load(), .device = comm->device};
}

[[gnu::noinline]] Status WaitMarked(ncclComm& comm) {
  if (comm.queue->idle()) return comm.queue->Wait();
  const nvtx::Waiting mark("waits for operations");
  return comm.queue->Wait();
}

void WaitForBackground(ncclComm& comm) {
  std::unique_lock lock(comm.background.mutex);
  comm.background.ended.wait(lock, [&] { return comm.background.jobs == 0; });
}

// In a forked child: forgets the handle; the parent's communicator does not notice.
Status DropForeign(ncclComm& comm) {
  comm.state.store(State::kGone);
  if (comm.gpu_owner != nullptr) comm.gpu_owner->Abandon();
  if (comm.owner != nullptr) comm.owner->Abandon();
  if (comm.profile_owner != nullptr) AbandonProfile(*comm.profile_owner);
  comm.magic.store(0);
  return Status::Ok();
}

Status Destroy(ncclComm* comm) {
  if (comm == nullptr) return Status::Ok();
  if (comm->alive() && comm->foreign()) return DropForeign(*comm);
  TUTTI_RETURN_IF_ERROR(CheckHandle(comm));
  if (comm->made_in_group != nullptr) {
    return InvalidUsage("the communicator is made when the group ends: call ncclGroupEnd before it is destroyed");
  }
  WaitForBackground(*comm);
  return DestroyOrDefer(*comm);
}

// Ends what goes on, on host memory and on the GPU, with an error on all ranks.
void EndOperations(ncclComm& comm, const std::string& reason) {
  comm.owner->Abort(reason);
  comm::GpuQueue* gpu;
  {
    std::lock_guard lock(comm.background.mutex);
    gpu = comm.gpu;
  }
  if (gpu != nullptr) (void)gpu->Look();
}

Status Abort(ncclComm* comm) {
  if (comm == nullptr) return Status::Ok();
  if (comm->alive() && comm->foreign()) return DropForeign(*comm);
  TUTTI_RETURN_IF_ERROR(CheckHandle(comm));
  const std::shared_ptr<ncclComm> kept = comm->shared_from_this();
  bool pending;
  {
    std::lock_guard lock(comm->background.mutex);
    if (comm->state.exchange(State::kGone) == State::kGone) return Status::Ok();
    pending = comm->background.jobs > 0;
    comm->abort = true;
    for (const std::shared_ptr<ncclComm>& child : comm->background.unborn) child->abort = true;
  }
  if (comm->owner != nullptr) {
    EndOperations(*comm, fmt::format("rank {} aborted: ncclCommAbort was called", comm->rank.load()));
  }
  if (pending && comm->owner == nullptr) {
    Bury(*comm);  // whoever makes it sees `abort`, and takes down what it made
    return Status::Ok();
  }
  if (pending) WaitForBackground(*comm);
  TakeDown(*comm);
  return Status::Ok();
}

Status Revoke(ncclComm* comm, int flags) {
  if (comm == nullptr) return Status::Ok();
  if (flags != NCCL_REVOKE_DEFAULT) {
    return InvalidArgument(fmt::format("revoke flags {:#x}: only NCCL_REVOKE_DEFAULT (0) exists", flags));
  }
  State state;
  do {  // again, where another thread changes it at this moment
    TUTTI_RETURN_IF_ERROR(CheckSettled(comm));
    state = comm->state.load();
    if (state == State::kRevoked) return InvalidArgument("the communicator has been revoked before");
    if (state == State::kFinalized) return InvalidArgument("the communicator has been finalized: destroy it instead");
  } while (!comm->state.compare_exchange_strong(state, State::kRevoked));
  EndOperations(*comm, fmt::format("rank {} revoked the communicator", comm->rank.load()));
  return Status::Ok();
}

Status AsyncError(ncclComm* comm, ncclResult_t* error) {
  if (error == nullptr) return InvalidArgument("the pointer for the error is NULL");
  *error = ncclSuccess;
  if (comm != nullptr && !comm->alive() && comm->abort.load()) return Status::Ok();  // aborted: nothing goes on
  TUTTI_RETURN_IF_ERROR(CheckHandle(comm));
  switch (comm->state.load(std::memory_order_acquire)) {
    case State::kPending:
      *error = ncclInProgress;
      return Status::Ok();
    case State::kFailed: {
      std::lock_guard lock(comm->background.mutex);
      *error = Report("ncclCommGetAsyncError", comm->background.failure, Told::kAlready);
      return Status::Ok();
    }
    case State::kGone:
    case State::kRevoked:
      return Status::Ok();
    default:
      break;
  }
  {
    std::lock_guard lock(comm->background.mutex);
    if (!comm->background.failure.ok()) {
      *error = Report("ncclCommGetAsyncError", comm->background.failure, Told::kAlready);
      return Status::Ok();
    }
  }
  if (comm->gpu != nullptr) (void)comm->gpu->Look();  // breaks the communicator where kernels have failed
  if (const Status s = comm->queue->Poll(); !s.ok()) *error = Report("ncclCommGetAsyncError", s, Told::kAlready);
  return Status::Ok();
}

template <typename Value>
Status Fact(const ncclComm* comm, int* out, Value&& value) {
  if (out == nullptr) return InvalidArgument("the pointer for the answer is NULL");
  TUTTI_RETURN_IF_ERROR(CheckSettled(comm));
  *out = value(*comm);
  return Status::Ok();
}

}  // namespace
}  // namespace tutti::capi

using namespace tutti::capi;  // NOLINT: the functions below are C's
using tutti::Status;

TUTTI_NCCL_API(ncclResult_t, ncclCommFinalize, (ncclComm_t comm)) {
  nvtx::Range range(nvtx::Call::kCommFinalize);
  if (range.pushed() && comm != nullptr) range.Add(nvtx::OfFinalize{PayloadOf(comm).comm});
  return Call("ncclCommFinalize", [&] { return Finalize(comm); });
}

TUTTI_NCCL_API(ncclResult_t, ncclCommDestroy, (ncclComm_t comm)) {
  const nvtx::Range range(nvtx::Call::kCommDestroy, PayloadOf(comm));
  return Call("ncclCommDestroy", [&] { return Destroy(comm); });
}

TUTTI_NCCL_API(ncclResult_t, ncclCommAbort, (ncclComm_t comm)) {
  nvtx::Range range(nvtx::Call::kCommAbort);
  if (range.pushed() && comm != nullptr) range.Add(PayloadOf(comm));
  return Call("ncclCommAbort", [&] { return Abort(comm); });
}

TUTTI_NCCL_API(ncclResult_t, ncclCommRevoke, (ncclComm_t comm, int revokeFlags)) {
  nvtx::Range range(nvtx::Call::kCommRevoke);
  if (range.pushed() && comm != nullptr) range.Add(PayloadOf(comm));
  return Call("ncclCommRevoke", [&] { return Revoke(comm, revokeFlags); });
}

TUTTI_NCCL_API(ncclResult_t, ncclCommGetAsyncError, (ncclComm_t comm, ncclResult_t* asyncError)) {
  return Call("ncclCommGetAsyncError", [&] { return AsyncError(comm, asyncError); });
}

TUTTI_NCCL_API(ncclResult_t, ncclCommCount, (const ncclComm_t comm, int* count)) {
  const nvtx::Range range(nvtx::Call::kCommCount);
  return Call("ncclCommCount", [&] { return Fact(comm, count, [](const ncclComm& c) { return c.ranks.load(); }); });
}

TUTTI_NCCL_API(ncclResult_t, ncclCommCuDevice, (const ncclComm_t comm, int* device)) {
  const nvtx::Range range(nvtx::Call::kCommCuDevice);
  return Call("ncclCommCuDevice", [&] { return Fact(comm, device, [](const ncclComm& c) { return c.device; }); });
}

TUTTI_NCCL_API(ncclResult_t, ncclCommUserRank, (const ncclComm_t comm, int* rank)) {
  const nvtx::Range range(nvtx::Call::kCommUserRank);
  return Call("ncclCommUserRank", [&] { return Fact(comm, rank, [](const ncclComm& c) { return c.rank.load(); }); });
}

TUTTI_NCCL_API(const char*, ncclGetLastError, (ncclComm_t comm)) {
  // The watchdog of a program asks on another thread than the one whose call failed.
  if (*LastError() == '\0' && comm != nullptr && comm->alive() && !comm->foreign()) {
    ncclResult_t remembered;
    (void)Guarded([&] { return AsyncError(comm, &remembered); });
  }
  return LastError();
}

TUTTI_NCCL_API(ncclResult_t, ncclTuttiSynchronize, (ncclComm_t comm)) {
  return Call("ncclTuttiSynchronize", [&]() -> Status {
    if (!Ready(comm)) [[unlikely]] {
      TUTTI_RETURN_IF_ERROR(CheckSettled(comm));
    }
    if (InGroup()) {
      return InvalidUsage("waits for operations that begin only when the group ends: call ncclGroupEnd first");
    }
    if (nvtx::On()) [[unlikely]]
      return WaitMarked(*comm);
    return comm->queue->Wait();
  });
}
