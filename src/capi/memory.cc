// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
// Buffers: allocating, registering, windows; and the memory of communicators.
#include <fmt/format.h>

#include <cstdlib>
#include <span>
#include <vector>

#include "capi/error.h"
#include "capi/group.h"
#include "capi/nvtx.h"
#include "comm/gpu/memory.h"
#include "comm/host/footprint.h"

namespace tutti::capi {
namespace {

constexpr std::size_t kPageBytes = 4096;

Status Allocate(void** pointer, std::size_t bytes) {
  if (pointer == nullptr) return InvalidArgument("the pointer for the memory is NULL");
  *pointer = nullptr;
  if (bytes == 0) return Status::Ok();
  if (bytes > SIZE_MAX - kPageBytes) return InvalidArgument(fmt::format("{} bytes cannot exist", bytes));
  const Result<void*> on_gpu = comm::AllocateOnGpu(bytes);
  if (!on_gpu.ok()) return on_gpu.status();
  *pointer = *on_gpu;
  if (*pointer != nullptr) return Status::Ok();
  *pointer = std::aligned_alloc(kPageBytes, (bytes + kPageBytes - 1) / kPageBytes * kPageBytes);
  if (*pointer != nullptr) return Status::Ok();
  return Status(Code::kSystem, fmt::format("no memory for {} bytes: free some, or raise the limit (ulimit -v)", bytes));
}

Status Register(ncclComm* comm, void* buffer, std::size_t bytes, void** handle) {
  if (handle == nullptr) return InvalidArgument("the pointer for the handle is NULL");
  *handle = nullptr;
  TUTTI_RETURN_IF_ERROR(CheckSettled(comm));
  if (buffer == nullptr || bytes == 0) {
    return InvalidArgument(fmt::format("a buffer at {} of {} bytes cannot be registered", buffer, bytes));
  }
  comm->registrations.insert(++comm->last_registration);
  *handle = reinterpret_cast<void*>(comm->last_registration);
  return Status::Ok();
}

Status Deregister(ncclComm* comm, void* handle) {
  TUTTI_RETURN_IF_ERROR(CheckSettled(comm));
  if (handle == nullptr) return Status::Ok();
  if (comm->registrations.erase(reinterpret_cast<std::uintptr_t>(handle)) == 0) {
    return InvalidArgument(
        fmt::format("{} is not the handle of a registration of this communicator, or was given back "
                    "before",
                    handle));
  }
  return Status::Ok();
}

Status RegisterWindow(ncclComm* comm, const void* buffer, std::size_t bytes, ncclWindow_t* window, int flags) {
  if (window == nullptr) return InvalidArgument("the pointer for the window is NULL");
  *window = nullptr;
  TUTTI_RETURN_IF_ERROR(WhyNotReady(comm));
  if (buffer == nullptr || bytes == 0) {
    return InvalidArgument(fmt::format("a buffer at {} of {} bytes cannot be a window", buffer, bytes));
  }
  if ((flags & ~(NCCL_WIN_COLL_SYMMETRIC | NCCL_WIN_STRICT_ORDERING)) != 0) {
    return InvalidArgument(fmt::format("window flags {:#x} do not exist", flags));
  }
  if (comm->gpu == nullptr) return Status::Ok();  // without a window, as on GPUs that have no symmetric memory
  using Symmetry = comm::WindowSymmetry;
  const auto symmetry = (flags & NCCL_WIN_COLL_SYMMETRIC) != 0 ? Symmetry::kSymmetric : Symmetry::kNone;
  const std::shared_ptr<ncclComm> kept = comm->shared_from_this();
  return RunOrDefer({.comm = kept, .run = [=]() -> Status {
                       const auto made = kept->gpu->RegisterWindow(buffer, bytes, symmetry);
                       if (!made.ok()) return made.status();
                       *window = reinterpret_cast<ncclWindow_t>(const_cast<transport::p2p::Window*>(*made));
                       return Status::Ok();
                     }});
}

Status DeregisterWindow(ncclComm* comm, ncclWindow_t window) {
  TUTTI_RETURN_IF_ERROR(CheckSettled(comm));
  if (window == nullptr) return Status::Ok();
  return comm->gpu == nullptr ? comm::NotAWindow() : comm->gpu->DeregisterWindow(window);
}

Status UserPointer(ncclComm* comm, ncclWindow_t window, void** pointer) {
  if (pointer == nullptr) return InvalidArgument("the pointer for the answer is NULL");
  *pointer = nullptr;
  TUTTI_RETURN_IF_ERROR(CheckSettled(comm));
  if (window == nullptr) return Status::Ok();  // no window, no pointer
  *pointer = comm->gpu == nullptr ? nullptr : comm->gpu->OwnBufferOf(window);
  return *pointer != nullptr ? Status::Ok() : comm::NotAWindow();
}

Status NoWindow(const char* what) {
  return Status(Code::kUnsupported, fmt::format("{}: windows need GPUs with symmetric memory, and there are none here; "
                                                "ncclCommWindowRegister gave NULL. Use ncclSend and ncclRecv",
                                                what));
}

// NCCL has one of each so far.
Status CheckSignal(ncclComm* comm, const char* what, int signal, int context, unsigned flags) {
  TUTTI_RETURN_IF_ERROR(WhyNotReady(comm));
  if (signal != 0 || context != 0 || flags != 0) {
    return InvalidArgument(
        fmt::format("{}: signal {}, context {}, flags {:#x}: each has to be 0", what, signal, context, flags));
  }
  return comm->gpu == nullptr ? NoWindow(what) : Status::Ok();
}

Status AwaitSignals(ncclComm* comm, std::span<const ncclWaitSignalDesc_t> waits, cudaStream_t stream) {
  std::vector<std::uint32_t> counts(static_cast<std::size_t>(comm->ranks.load()));
  if (waits.empty()) return CheckSignal(comm, "a wait for signals", 0, 0, 0);
  for (const ncclWaitSignalDesc_t& wait : waits) {
    if (wait.peer < 0 || static_cast<std::size_t>(wait.peer) >= counts.size() || wait.opCnt < 0) {
      return InvalidArgument(fmt::format("{} signals of rank {} cannot be waited for: there are {} ranks", wait.opCnt,
                                         wait.peer, counts.size()));
    }
    TUTTI_RETURN_IF_ERROR(CheckSignal(comm, "a wait for signals", wait.sigIdx, wait.ctx, 0));
    counts[static_cast<std::size_t>(wait.peer)] += static_cast<std::uint32_t>(wait.opCnt);
  }
  return RunOrDeferWait(*comm, [=]() -> Status {
    std::vector<comm::AwaitedSignals> awaited;
    for (std::size_t peer = 0; peer < counts.size(); ++peer) {
      if (counts[peer] > 0) awaited.push_back({static_cast<int>(peer), counts[peer]});
    }
    TUTTI_RETURN_IF_ERROR(WhyNotReady(comm));
    return comm->gpu->AwaitSignals(awaited, stream);
  });
}

Status PutSignal(ncclComm* comm, const comm::WindowPut& put, cudaStream_t stream) {
  if (put.bytes > 0 && put.from == nullptr) return InvalidArgument("the pointer for the data is NULL");
  return comm->gpu->Put(put, stream);
}

Status Suspend(ncclComm* comm, int flags) {
  TUTTI_RETURN_IF_ERROR(CheckSettled(comm));
  if (comm->state.load() == State::kSuspended) return InvalidUsage("the communicator is suspended already");
  TUTTI_RETURN_IF_ERROR(WhyNotReady(comm));
  if (flags != NCCL_SUSPEND_MEM) {
    return InvalidArgument(fmt::format("suspend flags {:#x}: use NCCL_SUSPEND_MEM", flags));
  }
  const std::shared_ptr<ncclComm> kept = comm->shared_from_this();
  return RunOrDefer({.comm = kept, .run = [kept]() -> Status {
                       TUTTI_RETURN_IF_ERROR(comm::ReleaseBuffers(*kept->queue));
                       kept->state.store(State::kSuspended, std::memory_order_release);
                       return Status::Ok();
                     }});
}

Status Resume(ncclComm* comm) {
  TUTTI_RETURN_IF_ERROR(CheckSettled(comm));
  if (comm->state.load() != State::kSuspended) return InvalidUsage("the communicator is not suspended");
  const std::shared_ptr<ncclComm> kept = comm->shared_from_this();
  return RunOrDefer({.comm = kept, .run = [kept]() -> Status {
                       TUTTI_RETURN_IF_ERROR(comm::RestoreBuffers(*kept->queue));
                       kept->state.store(State::kReady, std::memory_order_release);
                       return Status::Ok();
                     }});
}

Status MemStats(ncclComm* comm, ncclCommMemStat_t stat, std::uint64_t* value) {
  if (value == nullptr) return InvalidArgument("the pointer for the value is NULL");
  TUTTI_RETURN_IF_ERROR(CheckSettled(comm));
  const Result<comm::MemoryFootprint> bytes = comm::FootprintOf(*comm->queue);
  if (!bytes.ok()) return bytes.status();
  const std::size_t gpu_bytes = comm->gpu != nullptr ? comm->gpu->device_bytes() : 0;
  switch (stat) {
    case ncclStatGpuMemSuspend:
      *value = bytes->releasable;
      return Status::Ok();
    case ncclStatGpuMemSuspended:
      *value = comm->state.load() == State::kSuspended ? 1 : 0;
      return Status::Ok();
    case ncclStatGpuMemPersist:
      *value = bytes->fixed + gpu_bytes;
      return Status::Ok();
    case ncclStatGpuMemTotal:
      *value = bytes->releasable + bytes->fixed + gpu_bytes;
      return Status::Ok();
  }
  return InvalidArgument(fmt::format("statistic {} does not exist", static_cast<int>(stat)));
}

}  // namespace
}  // namespace tutti::capi

using namespace tutti::capi;  // NOLINT: the functions below are C's
using tutti::Status;

TUTTI_NCCL_API(ncclResult_t, ncclMemAlloc, (void** ptr, size_t size)) {
  const nvtx::Range range(nvtx::Call::kMemAlloc);
  return Call("ncclMemAlloc", [&] { return Allocate(ptr, size); });
}

TUTTI_NCCL_API(ncclResult_t, ncclMemFree, (void* ptr)) {
  const nvtx::Range range(nvtx::Call::kMemFree);
  if (!tutti::comm::FreeOnGpu(ptr)) std::free(ptr);
  return ncclSuccess;
}

TUTTI_NCCL_API(ncclResult_t, ncclCommRegister, (const ncclComm_t comm, void* buff, size_t size, void** handle)) {
  return Call("ncclCommRegister", [&] { return Register(comm, buff, size, handle); });
}

TUTTI_NCCL_API(ncclResult_t, ncclCommDeregister, (const ncclComm_t comm, void* handle)) {
  return Call("ncclCommDeregister", [&] { return Deregister(comm, handle); });
}

TUTTI_NCCL_API(ncclResult_t, ncclCommWindowRegister,
               (ncclComm_t comm, void* buff, size_t size, ncclWindow_t* win, int winFlags)) {
  return Call("ncclCommWindowRegister", [&] { return RegisterWindow(comm, buff, size, win, winFlags); });
}

TUTTI_NCCL_API(ncclResult_t, ncclCommWindowDeregister, (ncclComm_t comm, ncclWindow_t win)) {
  return Call("ncclCommWindowDeregister", [&] { return DeregisterWindow(comm, win); });
}

TUTTI_NCCL_API(ncclResult_t, ncclWinGetUserPtr, (ncclComm_t comm, ncclWindow_t win, void** outUserPtr)) {
  return Call("ncclWinGetUserPtr", [&] { return UserPointer(comm, win, outUserPtr); });
}

TUTTI_NCCL_API(ncclResult_t, ncclPutSignal,
               (const void* localbuff, size_t count, ncclDataType_t datatype, int peer, ncclWindow_t peerWin,
                size_t peerWinOffset, int sigIdx, int ctx, unsigned int flags, ncclComm_t comm, cudaStream_t stream)) {
  return Call("ncclPutSignal", [&]() -> Status {
    TUTTI_RETURN_IF_ERROR(CheckSignal(comm, "a put", sigIdx, ctx, flags));
    TUTTI_RETURN_IF_ERROR(CheckType(datatype));
    return PutSignal(comm,
                     {.from = localbuff,
                      .bytes = count * tutti::SizeOf(static_cast<tutti::DataType>(datatype)),
                      .peer = peer,
                      .window = peerWin,
                      .offset = peerWinOffset},
                     stream);
  });
}

TUTTI_NCCL_API(ncclResult_t, ncclSignal,
               (int peer, int sigIdx, int ctx, unsigned int flags, ncclComm_t comm, cudaStream_t stream)) {
  return Call("ncclSignal", [&]() -> Status {
    TUTTI_RETURN_IF_ERROR(CheckSignal(comm, "a signal", sigIdx, ctx, flags));
    return PutSignal(comm, {.peer = peer}, stream);
  });
}

TUTTI_NCCL_API(ncclResult_t, ncclWaitSignal,
               (int nDesc, ncclWaitSignalDesc_t* signalDescs, ncclComm_t comm, cudaStream_t stream)) {
  return Call("ncclWaitSignal", [&]() -> Status {
    TUTTI_RETURN_IF_ERROR(WhyNotReady(comm));
    if (nDesc < 0 || (nDesc > 0 && signalDescs == nullptr)) {
      return InvalidArgument(fmt::format("{} descriptions of signals at {} cannot be", nDesc, fmt::ptr(signalDescs)));
    }
    return AwaitSignals(comm, {signalDescs, static_cast<std::size_t>(nDesc)}, stream);
  });
}

TUTTI_NCCL_API(ncclResult_t, ncclCommSuspend, (ncclComm_t comm, int flags)) {
  return Call("ncclCommSuspend", [&] { return Suspend(comm, flags); });
}

TUTTI_NCCL_API(ncclResult_t, ncclCommResume, (ncclComm_t comm)) {
  return Call("ncclCommResume", [&] { return Resume(comm); });
}

TUTTI_NCCL_API(ncclResult_t, ncclCommMemStats, (ncclComm_t comm, ncclCommMemStat_t stat, uint64_t* value)) {
  return Call("ncclCommMemStats", [&] { return MemStats(comm, stat, value); });
}
