// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
// Communicators being made: alone, from several ids, all in one process, from others.
#include <fmt/format.h>

#include <cstring>
#include <numeric>
#include <set>
#include <vector>

#include "capi/error.h"
#include "capi/group.h"
#include "capi/nvtx.h"
#include "comm/gpu/memory.h"
#include "comm/life/subset.h"
#include "comm/meet/job_id.h"

namespace tutti::capi {
namespace {

static_assert(sizeof(UniqueId) == sizeof(ncclUniqueId));

UniqueId ToUniqueId(const ncclUniqueId& id) {
  UniqueId result;
  std::memcpy(result.bytes.data(), id.internal, sizeof(id));
  return result;
}

Status CheckSlot(const ncclComm_t* slot) {
  return slot == nullptr ? InvalidArgument("the pointer for the new communicator is NULL") : Status::Ok();
}

Status CheckRank(int ranks, int rank) {
  if (ranks < 1) return InvalidArgument(fmt::format("the number of ranks is {}; at least 1 is needed", ranks));
  if (rank < 0 || rank >= ranks) {
    return InvalidArgument(
        fmt::format("rank {} does not exist: with {} ranks they go from 0 to {}", rank, ranks, ranks - 1));
  }
  if (ranks > kMostRanks) {
    return InvalidArgument(fmt::format("the number of ranks is {}; at most {} are possible", ranks, kMostRanks));
  }
  return Status::Ok();
}

// The environment has the last word.
Config Override(Config config, const Settings& settings) {
  if (settings.comm_blocking >= 0) config.blocking = settings.comm_blocking != 0;
  return config;
}

struct Birth {
  ncclComm_t* slot = nullptr;
  Config config;
  int device = 0;
  std::shared_ptr<ncclComm> parent;  // that it comes from
  bool replaces_parent = false;      // which is to go
  std::function<Result<CommunicatorOptions>(const std::atomic<bool>& cancel)> find;
};

Result<Communicator> CreateMarked(const CommunicatorOptions& options) {
  const nvtx::Waiting mark("waits for ranks to meet");
  return Communicator::Create(options);
}

// Makes a communicator at once, when the group ends, or in the background. *slot holds its handle from now on.
Status Make(Birth birth) {
  *birth.slot = nullptr;
  const ncclComm* parent = birth.parent.get();
  const bool beside_others = DeviceHasOthers(birth.device, birth.replaces_parent ? parent : nullptr);
  std::shared_ptr<ncclComm> comm = NewHandle(birth.config, birth.device);
  comm->beside_others = beside_others;
  if (parent != nullptr && parent->gpu != nullptr) comm->shared_blocks = parent->gpu->shared_blocks();
  *birth.slot = comm.get();
  LifeJob job{.comm = comm, .parent = birth.parent, .slot = birth.slot, .blocking = birth.config.blocking};
  job.run = [comm = comm.get(), find = std::move(birth.find)]() -> Status {
    Result<CommunicatorOptions> options = find(comm->abort);
    if (!options.ok()) return options.status();
    options->name = comm->config.name;
    options->gpu = comm->device;
    options->cancel = &comm->abort;
    Result<Communicator> communicator = CreateMarked(*options);
    if (!communicator.ok()) return communicator.status();
    return Adopt(*comm, std::move(*communicator));
  };
  return RunOrDefer(std::move(job));
}

Status MakeFromId(ncclComm_t* slot, const CommunicatorOptions& options, const Config& config, int device) {
  return Make({.slot = slot, .config = Override(config, options.settings), .device = device, .find = [=](const auto&) {
                 return Result<CommunicatorOptions>(options);
               }});
}

Status InitRank(ncclComm_t* slot, int ranks, std::span<const ncclUniqueId> ids, int rank, const ncclConfig_t* config) {
  TUTTI_RETURN_IF_ERROR(CheckSlot(slot));
  *slot = nullptr;
  TUTTI_RETURN_IF_ERROR(CheckRank(ranks, rank));
  const Result<Config> read = ReadConfig(config);
  if (!read.ok()) return read.status();
  std::vector<UniqueId> all;
  for (const ncclUniqueId& id : ids) all.push_back(ToUniqueId(id));
  return MakeFromId(slot, {.rank = rank, .ranks = ranks, .id = comm::CombineIds(all)}, *read, comm::CurrentGpu());
}

Status InitAll(ncclComm_t* comms, int devices, const int* list) {
  TUTTI_RETURN_IF_ERROR(CheckSlot(comms));
  if (devices < 1) return InvalidArgument(fmt::format("the number of devices is {}; at least 1 is needed", devices));
  if (devices > kMostRanks) {
    return InvalidArgument(fmt::format("the number of devices is {}; at most {} are possible", devices, kMostRanks));
  }
  std::vector<int> numbers(devices);
  std::iota(numbers.begin(), numbers.end(), 0);
  if (list != nullptr) numbers.assign(list, list + devices);
  std::set<int> seen;
  for (const int number : numbers) {
    if (number < 0) return InvalidArgument(fmt::format("device {} does not exist: numbers begin at 0", number));
    if (!seen.insert(number).second) {
      return InvalidUsage(fmt::format("device {} is listed twice: each rank needs a device of its own", number));
    }
  }
  std::fill(comms, comms + devices, nullptr);
  const Result<UniqueId> id = CreateUniqueId();
  if (!id.ok()) return id.status();
  BeginGroup();
  Status s;
  for (int i = 0; i < devices && s.ok(); ++i) {
    s = MakeFromId(comms + i, {.rank = i, .ranks = devices, .id = *id}, Config(), numbers[i]);
  }
  const Status ended = EndGroup();
  return s.ok() ? ended : s;
}

// The parent of a new communicator: settled, alive, and not finalized.
Status CheckParent(const ncclComm* parent) {
  TUTTI_RETURN_IF_ERROR(CheckSettled(parent));
  if (parent->state.load() == State::kRevoked) return Status::Ok();
  return WhyNotReady(parent);
}

Result<Config> ChildConfig(const ncclComm* parent, const ncclConfig_t* config) {
  Config defaults = parent->config;
  defaults.name.clear();
  Result<Config> read = ReadConfig(config, defaults);
  if (read.ok()) *read = Override(*read, Settings::FromEnvironment());
  return read;
}

Status Split(ncclComm* parent, int color, int key, ncclComm_t* slot, const ncclConfig_t* config) {
  TUTTI_RETURN_IF_ERROR(CheckSlot(slot));
  *slot = nullptr;
  TUTTI_RETURN_IF_ERROR(CheckParent(parent));
  if (color < 0 && color != NCCL_SPLIT_NOCOLOR) {
    return InvalidArgument(
        fmt::format("color {} on rank {}: it must be 0 or more, or NCCL_SPLIT_NOCOLOR", color, parent->rank.load()));
  }
  const Result<Config> read = ChildConfig(parent, config);
  if (!read.ok()) return read.status();
  const std::shared_ptr<ncclComm> kept = parent->shared_from_this();
  // All ranks of a revoked communicator have revoked it; where it broke otherwise, some may never come.
  const auto where_broken =
      parent->state.load() == State::kRevoked ? comm::WhereBroken::kMeet : comm::WhereBroken::kFail;
  if (color == NCCL_SPLIT_NOCOLOR) {
    return RunOrDefer(
        {.parent = kept,
         .run = [=] { return comm::Split(*kept->queue, std::nullopt, key, where_broken, &kept->abort).status(); },
         .blocking = read->blocking});
  }
  return Make({.slot = slot,
               .config = *read,
               .device = parent->device,
               .parent = kept,
               .find = [=](const std::atomic<bool>& cancel) -> Result<CommunicatorOptions> {
                 Result<std::optional<CommunicatorOptions>> options =
                     comm::Split(*kept->queue, color, key, where_broken, &cancel);
                 if (!options.ok()) return options.status();
                 return **options;
               }});
}

Status Shrink(ncclComm* parent, const int* excluded, int count, ncclComm_t* slot, const ncclConfig_t* config,
              int flags) {
  TUTTI_RETURN_IF_ERROR(CheckSlot(slot));
  *slot = nullptr;
  TUTTI_RETURN_IF_ERROR(CheckParent(parent));
  if (flags != NCCL_SHRINK_DEFAULT && flags != NCCL_SHRINK_ABORT) {
    return InvalidArgument(fmt::format("shrink flags {:#x}: use NCCL_SHRINK_DEFAULT or NCCL_SHRINK_ABORT", flags));
  }
  if (count < 1 || excluded == nullptr) {
    return InvalidArgument(fmt::format("the list of ranks to leave out is {} and has {} entries; at least 1 is needed",
                                       excluded == nullptr ? "NULL" : "there", count));
  }
  const Result<Config> read = ChildConfig(parent, config);
  if (!read.ok()) return read.status();
  const std::vector<int> ranks(excluded, excluded + count);
  const std::shared_ptr<ncclComm> kept = parent->shared_from_this();
  // Wrong lists are told at once, whatever becomes of the call.
  TUTTI_RETURN_IF_ERROR(comm::CheckShrink(parent->queue->rank(), parent->queue->ranks(), ranks));
  return Make({.slot = slot,
               .config = *read,
               .device = parent->device,
               .parent = kept,
               .replaces_parent = true,
               .find = [kept, ranks, flags](const auto&) -> Result<CommunicatorOptions> {
                 if (flags == NCCL_SHRINK_ABORT) {
                   kept->queue->Abort(fmt::format("rank {} ended it to shrink the communicator", kept->rank.load()));
                 } else if (Status s = kept->queue->Wait(); !s.ok() && kept->state.load() != State::kRevoked) {
                   return Status(
                       s.code(),
                       "the communicator is broken; NCCL_SHRINK_ABORT shrinks it all the same: " + s.message(),
                       s.peer());
                 }
                 return comm::Shrink(*kept->queue, ranks);
               }});
}

Status Grow(ncclComm* parent, int ranks, const ncclUniqueId* id, int rank, ncclComm_t* slot,
            const ncclConfig_t* config) {
  TUTTI_RETURN_IF_ERROR(CheckSlot(slot));
  *slot = nullptr;
  if (parent == nullptr) {
    TUTTI_RETURN_IF_ERROR(CheckRank(ranks, rank));
    if (id == nullptr) return InvalidArgument("a new rank needs the id of ncclCommGetUniqueId; it is NULL");
    return InitRank(slot, ranks, {id, 1}, rank, config);
  }
  TUTTI_RETURN_IF_ERROR(WhyNotReady(parent));
  if (rank != -1) {
    return InvalidArgument(
        fmt::format("rank {} of the old communicator passes rank {}: old ranks keep theirs and pass "
                    "-1",
                    parent->rank.load(), rank));
  }
  if (ranks <= parent->ranks.load()) {
    return InvalidArgument(
        fmt::format("the communicator has {} ranks and cannot grow to {}", parent->ranks.load(), ranks));
  }
  const Result<Config> read = ChildConfig(parent, config);
  if (!read.ok()) return read.status();
  std::optional<UniqueId> given;
  if (id != nullptr) given = ToUniqueId(*id);
  const std::shared_ptr<ncclComm> kept = parent->shared_from_this();
  return Make({.slot = slot,
               .config = *read,
               .device = parent->device,
               .parent = kept,
               .replaces_parent = true,
               .find = [=](const auto&) { return comm::Grow(*kept->queue, ranks, given ? &*given : nullptr); }});
}

// What tools are told of a communicator that was made, or will be at the end of a group.
void AddMade(nvtx::Range& range, const ncclComm_t* slot, int ranks, int rank) {
  if (!range.pushed() || slot == nullptr || *slot == nullptr) return;
  range.Add(nvtx::OfComm{.comm = (*slot)->id_hash, .ranks = ranks, .rank = rank, .device = (*slot)->device});
}

Status MakeId(ncclUniqueId* id) {
  if (id == nullptr) return InvalidArgument("the pointer for the id is NULL");
  const Result<UniqueId> made = comm::JobUniqueId();
  if (!made.ok()) return made.status();
  std::memcpy(id->internal, made->bytes.data(), sizeof(*id));
  return Status::Ok();
}

}  // namespace
}  // namespace tutti::capi

using namespace tutti::capi;  // NOLINT: the functions below are C's
using tutti::Status;

TUTTI_NCCL_API(ncclResult_t, ncclGetVersion, (int* version)) {
  return Call("ncclGetVersion", [&]() -> Status {
    if (version == nullptr) return InvalidArgument("the pointer for the version is NULL");
    *version = NCCL_VERSION_CODE;
    return Status::Ok();
  });
}

TUTTI_NCCL_API(ncclResult_t, ncclGetUniqueId, (ncclUniqueId * uniqueId)) {
  return Call("ncclGetUniqueId", [&] { return MakeId(uniqueId); });
}

TUTTI_NCCL_API(ncclResult_t, ncclCommInitRank, (ncclComm_t * comm, int nranks, ncclUniqueId commId, int rank)) {
  nvtx::Range range(nvtx::Call::kCommInitRank);
  const ncclResult_t result = Call("ncclCommInitRank", [&] {
    return InitRank(comm, nranks, {&commId, 1}, rank, nullptr);
  });
  AddMade(range, comm, nranks, rank);
  return result;
}

TUTTI_NCCL_API(ncclResult_t, ncclCommInitRankConfig,
               (ncclComm_t * comm, int nranks, ncclUniqueId commId, int rank, ncclConfig_t* config)) {
  nvtx::Range range(nvtx::Call::kCommInitRankConfig);
  const ncclResult_t result = Call("ncclCommInitRankConfig", [&] {
    return InitRank(comm, nranks, {&commId, 1}, rank, config);
  });
  AddMade(range, comm, nranks, rank);
  return result;
}

TUTTI_NCCL_API(ncclResult_t, ncclCommInitRankScalable,
               (ncclComm_t * newcomm, int nranks, int myrank, int nId, ncclUniqueId* commIds, ncclConfig_t* config)) {
  nvtx::Range range(nvtx::Call::kCommInitRankScalable);
  const ncclResult_t result = Call("ncclCommInitRankScalable", [&]() -> Status {
    TUTTI_RETURN_IF_ERROR(CheckSlot(newcomm));
    *newcomm = nullptr;
    TUTTI_RETURN_IF_ERROR(CheckRank(nranks, myrank));
    if (nId < 1 || nId > nranks) {
      return InvalidArgument(
          fmt::format("{} ids for {} ranks: pass 1 to {}, the same list on all ranks", nId, nranks, nranks));
    }
    if (commIds == nullptr) return InvalidArgument("the list of ids is NULL");
    return InitRank(newcomm, nranks, {commIds, static_cast<std::size_t>(nId)}, myrank, config);
  });
  AddMade(range, newcomm, nranks, myrank);
  return result;
}

TUTTI_NCCL_API(ncclResult_t, ncclCommInitAll, (ncclComm_t * comm, int ndev, const int* devlist)) {
  nvtx::Range range(nvtx::Call::kCommInitAll);
  const ncclResult_t result = Call("ncclCommInitAll", [&] { return InitAll(comm, ndev, devlist); });
  if (range.pushed() && result == ncclSuccess) range.Add(nvtx::OfInitAll{comm[0]->id_hash, ndev});
  return result;
}

TUTTI_NCCL_API(ncclResult_t, ncclCommSplit,
               (ncclComm_t comm, int color, int key, ncclComm_t* newcomm, ncclConfig_t* config)) {
  nvtx::Range range(nvtx::Call::kCommSplit);
  const ncclResult_t result = Call("ncclCommSplit", [&] { return Split(comm, color, key, newcomm, config); });
  if (range.pushed() && newcomm != nullptr && *newcomm != nullptr) {
    range.Add(nvtx::OfSplit{.made = (*newcomm)->id_hash,
                            .parent = comm->id_hash,
                            .ranks = comm->ranks.load(),
                            .rank = comm->rank.load(),
                            .device = comm->device,
                            .color = color,
                            .key = key});
  }
  return result;
}

TUTTI_NCCL_API(ncclResult_t, ncclCommShrink,
               (ncclComm_t comm, int* excludeRanksList, int excludeRanksCount, ncclComm_t* newcomm,
                ncclConfig_t* config, int shrinkFlags)) {
  nvtx::Range range(nvtx::Call::kCommShrink);
  const ncclResult_t result = Call("ncclCommShrink", [&] {
    return Shrink(comm, excludeRanksList, excludeRanksCount, newcomm, config, shrinkFlags);
  });
  if (range.pushed() && newcomm != nullptr && *newcomm != nullptr) {
    range.Add(nvtx::OfShrink{.made = comm->id_hash,  // NCCL names the old communicator here
                             .ranks = comm->ranks.load(),
                             .rank = comm->rank.load(),
                             .device = comm->device,
                             .excluded = excludeRanksCount});
  }
  return result;
}

TUTTI_NCCL_API(ncclResult_t, ncclCommGetUniqueId, (ncclComm_t comm, ncclUniqueId* uniqueId)) {
  return Call("ncclCommGetUniqueId", [&]() -> Status {
    TUTTI_RETURN_IF_ERROR(WhyNotReady(comm));
    if (uniqueId == nullptr) return InvalidArgument("the pointer for the id is NULL");
    const tutti::Result<tutti::UniqueId> id = tutti::CreateUniqueId();
    if (!id.ok()) return id.status();
    std::memcpy(uniqueId->internal, id->bytes.data(), sizeof(*uniqueId));
    return Status::Ok();
  });
}

TUTTI_NCCL_API(ncclResult_t, ncclCommGrow,
               (ncclComm_t comm, int nRanks, const ncclUniqueId* uniqueId, int rank, ncclComm_t* newcomm,
                ncclConfig_t* config)) {
  return Call("ncclCommGrow", [&] { return Grow(comm, nRanks, uniqueId, rank, newcomm, config); });
}
