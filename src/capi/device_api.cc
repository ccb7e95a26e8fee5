// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
// The host side of NCCL's device interface, which lies in nccl_device.h: what is plain arithmetic works; what needs a
// GPU says so. The types follow that header's layout in 2.28.9, and the properties that of 2.30; they are declared here
// because programs without CUDA never see them.
#include <fmt/format.h>

#include <cstdint>
#include <cstring>

#include "capi/error.h"
#include "capi/handle.h"

extern "C" {

typedef struct {
  int nRanks, rank, stride;
} ncclTeam_t;

typedef struct ncclDevResourceRequirements {
  struct ncclDevResourceRequirements* next;
  size_t bufferSize, bufferAlign;
  uint32_t* outBufferHandle;
  int ginSignalCount, ginCounterCount;
  uint32_t* outGinSignalStart;
  uint32_t* outGinCounterStart;
} ncclDevResourceRequirements_t;

typedef struct {
  uint32_t bufHandle;
  int nBarriers;
} ncclLsaBarrierHandle_t;

typedef struct {
  uint32_t signal0;
  uint32_t bufHandle;
} ncclGinBarrierHandle_t;

typedef struct {
  uint32_t bufHandle;
  uint32_t nSlots;
} ncclLLA2AHandle_t;

typedef struct {
  size_t size;
  unsigned int magic, version;
  int rank, nRanks, cudaDev, nvmlDev;
  bool deviceApiSupport, multimemSupport;
  int ginType;
  int nLsaTeams; /* this and what follows since 2.29.4 */
  bool hostRmaSupport;
  int railedGinType;
} ncclCommProperties_t;

struct ncclGinOutboxHandle;
struct ncclGinInboxA2AHandle;
struct ncclDevCommRequirements;
struct ncclDevComm;
struct ncclMultimemHandle;
}

namespace tutti::capi {
namespace {

Status NeedsGpu(const char* what) {
  return Status(Code::kUnsupported, fmt::format("{} needs a GPU with symmetric memory, and there is none here: use the "
                                                "functions of nccl.h, or run where there is one",
                                                what));
}

// A team of a communicator that cannot be used is empty; the last error says why.
template <typename Make>
ncclTeam_t TeamOf(const char* function, ncclComm* comm, Make&& make) {
  ncclTeam_t team{0, 0, 0};
  (void)Call(function, [&]() -> Status {
    TUTTI_RETURN_IF_ERROR(CheckSettled(comm));
    team = make(comm->ranks.load(), comm->rank.load());
    return Status::Ok();
  });
  return team;
}

// The rank, in the communicator, of member `member` of a team that this rank belongs to; -1 on a mistake.
int WorldRank(const char* function, ncclComm* comm, const ncclTeam_t& team, int member) {
  int world = -1;
  (void)Call(function, [&]() -> Status {
    TUTTI_RETURN_IF_ERROR(CheckSettled(comm));
    if (member < 0 || member >= team.nRanks) {
      return InvalidArgument(fmt::format("rank {} is not in a team of {}", member, team.nRanks));
    }
    world = comm->rank.load() + (member - team.rank) * team.stride;
    return Status::Ok();
  });
  return world;
}

// Ranks on host memory cannot load and store each other's buffers, so each is alone in its load-store team; ranks whose
// GPUs reach each other's memory are one team.
bool InOneTeam(const ncclComm& comm) { return comm.gpu != nullptr && comm.gpu->reaches_peers(); }

// Where a rank's part of a window lies. Without windows in this process: it has no GPU for them.
Status AddressIn(ncclWindow_t window, std::size_t offset, int rank, void** address) {
  if (address == nullptr) return InvalidArgument("the pointer for the answer is NULL");
  *address = nullptr;
  if (window == nullptr) return NeedsGpu("a device pointer of a window");
  const Result<void*> found = comm::WindowAddress(window, rank, offset);
  if (found.ok()) *address = *found;
  return found.status();
}

// Its first fields; the later ones as far as the caller's struct has them.
void FillProperties(const ncclComm& comm, ncclCommProperties_t& props) {
  const auto fill = [&](auto& field, auto value) {
    const auto end = reinterpret_cast<const char*>(&field + 1) - reinterpret_cast<const char*>(&props);
    if (props.size >= static_cast<std::size_t>(end)) field = value;
  };
  fill(props.rank, comm.rank.load());
  fill(props.nRanks, comm.ranks.load());
  fill(props.cudaDev, comm.device);
  fill(props.nvmlDev, comm.device);
  fill(props.deviceApiSupport, false);
  fill(props.multimemSupport, false);
  fill(props.ginType, 0);
  fill(props.nLsaTeams, InOneTeam(comm) ? 1 : comm.ranks.load());
  fill(props.hostRmaSupport, InOneTeam(comm));
  fill(props.railedGinType, 0);
}

Status CheckCounts(bool good, const void* handle, const void* requirements) {
  if (!good) return InvalidArgument("a count is negative");
  if (handle == nullptr || requirements == nullptr) return InvalidArgument("a pointer for the answer is NULL");
  return Status::Ok();
}

}  // namespace
}  // namespace tutti::capi

using namespace tutti::capi;  // NOLINT: the functions below are C's
using tutti::Status;

TUTTI_NCCL_API(ncclTeam_t, ncclTeamWorld, (ncclComm_t comm)) {
  return TeamOf("ncclTeamWorld", comm, [](int ranks, int rank) { return ncclTeam_t{ranks, rank, 1}; });
}

TUTTI_NCCL_API(ncclTeam_t, ncclTeamLsa, (ncclComm_t comm)) {
  return TeamOf("ncclTeamLsa", comm, [&](int ranks, int rank) {
    return InOneTeam(*comm) ? ncclTeam_t{ranks, rank, 1} : ncclTeam_t{1, 0, 1};
  });
}

TUTTI_NCCL_API(ncclTeam_t, ncclTeamRail, (ncclComm_t comm)) {
  return TeamOf("ncclTeamRail", comm, [&](int ranks, int rank) {  // one rank of each load-store team
    return InOneTeam(*comm) ? ncclTeam_t{1, 0, ranks} : ncclTeam_t{ranks, rank, 1};
  });
}

TUTTI_NCCL_API(int, ncclTeamRankToWorld, (ncclComm_t comm, ncclTeam_t team, int rank)) {
  return WorldRank("ncclTeamRankToWorld", comm, team, rank);
}

TUTTI_NCCL_API(int, ncclTeamRankToLsa, (ncclComm_t comm, ncclTeam_t team, int rank)) {
  const int world = WorldRank("ncclTeamRankToLsa", comm, team, rank);
  if (world < 0) return -1;
  return InOneTeam(*comm) ? world : world - comm->rank.load();
}

TUTTI_NCCL_API(ncclResult_t, ncclLsaBarrierCreateRequirement,
               (ncclTeam_t team, int nBarriers, ncclLsaBarrierHandle_t* outHandle,
                ncclDevResourceRequirements_t* outReq)) {
  return Call("ncclLsaBarrierCreateRequirement", [&]() -> Status {
    TUTTI_RETURN_IF_ERROR(CheckCounts(nBarriers >= 0 && team.nRanks >= 0, outHandle, outReq));
    *outReq = {};
    outHandle->nBarriers = nBarriers;
    // Per barrier: an epoch, two multicast words, and an inbox for each member.
    outReq->bufferSize = static_cast<std::size_t>(nBarriers) * (3 + team.nRanks) * sizeof(std::uint32_t);
    outReq->bufferAlign = alignof(std::uint32_t);
    outReq->outBufferHandle = &outHandle->bufHandle;
    return Status::Ok();
  });
}

TUTTI_NCCL_API(ncclResult_t, ncclGinBarrierCreateRequirement,
               (ncclComm_t comm, ncclTeam_t team, int nBarriers, ncclGinBarrierHandle_t* outHandle,
                ncclDevResourceRequirements_t* outReq)) {
  return Call("ncclGinBarrierCreateRequirement", [&]() -> Status {
    TUTTI_RETURN_IF_ERROR(CheckHandle(comm));
    TUTTI_RETURN_IF_ERROR(CheckCounts(nBarriers >= 0 && team.nRanks >= 0, outHandle, outReq));
    *outReq = {};
    outReq->ginSignalCount = nBarriers * team.nRanks;
    outReq->outGinSignalStart = &outHandle->signal0;
    return Status::Ok();
  });
}

TUTTI_NCCL_API(int, ncclLLA2ACalcSlots, (int maxElts, int maxEltSize)) {
  constexpr int kSlotBytes = 8;
  return maxElts * ((maxEltSize + kSlotBytes - 1) / kSlotBytes);
}

TUTTI_NCCL_API(ncclResult_t, ncclLLA2ACreateRequirement,
               (int nBlocks, int nSlots, ncclLLA2AHandle_t* outHandle, ncclDevResourceRequirements_t* outReq)) {
  return Call("ncclLLA2ACreateRequirement", [&]() -> Status {
    TUTTI_RETURN_IF_ERROR(CheckCounts(nBlocks >= 0 && nSlots >= 0, outHandle, outReq));
    constexpr std::size_t kLineBytes = 16;
    *outReq = {};
    outHandle->nSlots = nSlots;
    outReq->bufferSize = static_cast<std::size_t>(nBlocks) * (1 + 2 * static_cast<std::size_t>(nSlots)) * kLineBytes;
    outReq->bufferAlign = kLineBytes;
    outReq->outBufferHandle = &outHandle->bufHandle;
    return Status::Ok();
  });
}

// Scratch for messages that GPUs send by themselves: without a device communicator nobody could use it.
TUTTI_NCCL_API(ncclResult_t, ncclGinOutboxCreateRequirement,
               (int /*nBlocks*/, int /*size_log2*/, ncclGinOutboxHandle* /*outHandle*/,
                ncclDevResourceRequirements_t* outReq)) {
  if (outReq != nullptr) *outReq = {};
  return Call("ncclGinOutboxCreateRequirement", [] { return NeedsGpu("an outbox of messages of GPUs"); });
}

TUTTI_NCCL_API(ncclResult_t, ncclGinInboxA2ACreateRequirement,
               (ncclTeam_t /*peers*/, int /*nBlocks*/, int /*size_log2*/, ncclGinInboxA2AHandle* /*outHandle*/,
                ncclDevResourceRequirements_t* outReq)) {
  if (outReq != nullptr) *outReq = {};
  return Call("ncclGinInboxA2ACreateRequirement", [] { return NeedsGpu("an inbox of messages of GPUs"); });
}

TUTTI_NCCL_API(ncclResult_t, ncclDevCommCreate,
               (ncclComm_t comm, const ncclDevCommRequirements* /*reqs*/, ncclDevComm* /*outDevComm*/)) {
  return Call("ncclDevCommCreate", [&]() -> Status {
    TUTTI_RETURN_IF_ERROR(CheckHandle(comm));
    return NeedsGpu("a device communicator");
  });
}

TUTTI_NCCL_API(ncclResult_t, ncclDevCommDestroy, (ncclComm_t comm, const ncclDevComm* /*devComm*/)) {
  return Call("ncclDevCommDestroy", [&]() -> Status {
    TUTTI_RETURN_IF_ERROR(CheckHandle(comm));
    return InvalidUsage("there is no device communicator: ncclDevCommCreate made none");
  });
}

TUTTI_NCCL_API(ncclResult_t, ncclCommQueryProperties, (ncclComm_t comm, ncclCommProperties_t* props)) {
  return Call("ncclCommQueryProperties", [&]() -> Status {
    TUTTI_RETURN_IF_ERROR(CheckSettled(comm));
    if (props == nullptr) return InvalidArgument("the pointer for the properties is NULL");
    if (props->magic != NCCL_API_MAGIC) {
      return InvalidUsage("the properties must be initialised with NCCL_COMM_PROPERTIES_INITIALIZER");
    }
    FillProperties(*comm, *props);
    return Status::Ok();
  });
}

TUTTI_NCCL_API(ncclResult_t, ncclGetLsaDevicePointer,
               (ncclWindow_t window, size_t offset, int lsaRank, void** outPtr)) {
  return Call("ncclGetLsaDevicePointer", [&] { return AddressIn(window, offset, lsaRank, outPtr); });
}

TUTTI_NCCL_API(ncclResult_t, ncclGetPeerDevicePointer, (ncclWindow_t window, size_t offset, int peer, void** outPtr)) {
  return Call("ncclGetPeerDevicePointer", [&] { return AddressIn(window, offset, peer, outPtr); });
}

TUTTI_NCCL_API(ncclResult_t, ncclGetLsaMultimemDevicePointer,
               (ncclWindow_t /*window*/, size_t /*offset*/, void** outPtr)) {
  if (outPtr != nullptr) *outPtr = nullptr;
  return Call("ncclGetLsaMultimemDevicePointer", [] { return NeedsGpu("a multicast pointer of a window"); });
}

TUTTI_NCCL_API(ncclResult_t, ncclGetMultimemDevicePointer,
               (ncclWindow_t /*window*/, size_t /*offset*/, ncclMultimemHandle* /*multimem*/, void** outPtr)) {
  if (outPtr != nullptr) *outPtr = nullptr;
  return Call("ncclGetMultimemDevicePointer", [] { return NeedsGpu("a multicast pointer of a window"); });
}
