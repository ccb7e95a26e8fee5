// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_CAPI_HANDLE_H_
#define TUTTI_CAPI_HANDLE_H_

// What an ncclComm_t points to.
//
// A handle that was destroyed or aborted keeps its memory for a while (see Bury), so that a call on it gets a sentence
// instead of other people's memory.

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "capi/config.h"
#include "comm/gpu/queue.h"
#include "comm/host/queue.h"
#include "nccl.h"
#include "tutti/status.h"

namespace tutti::capi {

class CallProfile;

// A factor of ncclRedOpCreatePreMulSum. The value lies in `bytes`, or at `address` until it is used.
struct PreMulSum {
  bool used = false;
  ncclDataType_t type = ncclNumTypes;
  const void* address = nullptr;
  unsigned char bytes[8] = {};
};

enum class State : std::uint32_t {
  kPending,  // something goes on in the background: it is being made, split or finalized
  kReady,
  kSuspended,
  kFinalized,
  kRevoked,
  kFailed,  // could not be made; `failure` says why
  kGone     // destroyed or aborted
};

// What goes on behind the caller's back for a handle. The mutex guards the rest, and that the handle is given what was
// made for it.
struct Background {
  mutable std::mutex mutex;
  std::condition_variable ended;   // a job has
  int jobs = 0;                    // that have not ended
  State before = State::kPending;  // what it was before those that use it began, and will be once all have ended
  Status failure;                  // of the first job that failed
  std::vector<std::shared_ptr<ncclComm>> unborn;  // being split off from it
};

}  // namespace tutti::capi

struct ncclComm : std::enable_shared_from_this<ncclComm> {
  static constexpr std::uint64_t kMagic = 0x74757474692d6363;  // "tutti-cc"

  // Where the hot path looks.
  std::atomic<std::uint64_t> magic{kMagic};
  std::atomic<tutti::capi::State> state{tutti::capi::State::kPending};
  tutti::comm::Queue* queue = nullptr;               // null until it is made
  tutti::comm::GpuQueue* gpu = nullptr;              // null where it works on host memory only
  const tutti::comm::HostOnly* host_only = nullptr;  // null where no buffer can lie on a GPU by mistake
  tutti::capi::CallProfile* profile = nullptr;       // null where no profiler is told of calls

  // Facts. rank and ranks are known only once it is made, for a split.
  std::atomic<int> rank{-1};
  std::atomic<int> ranks{0};
  int device = 0;
  int shared_blocks = 0;       // of the communicator that it comes from (GpuQueue)
  bool beside_others = false;  // DeviceHasOthers, when it was called for
  tutti::capi::Config config;
  std::uint32_t fork_generation = 0;
  std::uint32_t serial = 0;  // numbers the handles of this process

  // Set in the group of this thread that will make it; operations may be called on it in that group.
  const void* made_in_group = nullptr;

  std::shared_ptr<tutti::capi::CallProfile> profile_owner;  // outlives the queues, which tell it of calls
  std::shared_ptr<tutti::comm::Queue> owner;
  std::unique_ptr<tutti::comm::GpuQueue> gpu_owner;
  std::unique_ptr<tutti::comm::HostOnly> host_only_owner;
  std::uint64_t id_hash = 0;  // names it in the log and for tools; 0 until it is made
  std::vector<tutti::capi::PreMulSum> factors;
  std::set<std::uintptr_t> registrations;  // their handles: numbers, never used again
  std::uintptr_t last_registration = 0;

  tutti::capi::Background background;
  std::atomic<bool> abort{false};  // whoever makes it gives up, or takes it down at once

  bool alive() const { return magic.load(std::memory_order_relaxed) == kMagic; }
  bool foreign() const { return fork_generation != tutti::sys::ForkGeneration(); }
};

namespace tutti::capi {

// Whether a device has a communicator of several ranks, or one that is being made, other than `except`.
bool DeviceHasOthers(int device, const ncclComm* except);
// A new handle, pending.
std::shared_ptr<ncclComm> NewHandle(const Config& config, int device);
// Gives it the communicator that was made for it, and that one its GPU, if there is one; collective. It is ready then,
// or taken down at once where it was aborted.
Status Adopt(ncclComm& comm, Communicator communicator);
// A job goes on in the background that makes the handle, uses it or ends it: the handle is pending until it has ended, and all others.
// The job that made the handle may end a little after the handle was ready and another job began.
void BeginBackground(ncclComm& comm);
// `outcome` is remembered where it is a failure. What a job makes of the handle it says itself: Adopt, FailHandle.
void EndBackground(ncclComm& comm, const Status& outcome);
// It could not be made.
void FailHandle(ncclComm& comm, const Status& why);
// The handle is not to be used any more. Keeps the last kBuried of them so that mistakes are found.
inline constexpr std::size_t kBuried = 1024;
void Bury(ncclComm& comm);

// Frees what the handle stands for and buries it. Waits for background jobs.
void TakeDown(ncclComm& comm);

// Whether operations may be called.
inline bool Ready(const ncclComm* comm) {
  return comm != nullptr && comm->alive() && comm->state.load(std::memory_order_acquire) == State::kReady &&
         !comm->queue->foreign();
}
// Why not; Ok where it has become ready at this moment.
Status WhyNotReady(const ncclComm* comm);
// A handle that exists in this process, in whatever state.
Status CheckHandle(const ncclComm* comm);
// A handle that no background job works on, so that its facts and its queue may be used; ready or not.
Status CheckSettled(const ncclComm* comm);

}  // namespace tutti::capi

#endif  // TUTTI_CAPI_HANDLE_H_
