// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_COMM_IDENTITY_LAUNCH_H_
#define TUTTI_COMM_IDENTITY_LAUNCH_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/ports.h"
#include "comm/identity/launch_identity.h"
#include "comm/identity/root_place.h"
#include "sys/job/job_store.h"
#include "sys/os/process.h"
#include "tutti/communicator.h"
#include "tutti/status.h"

namespace tutti::comm {

// Who a process is follows from its environment. The first that is there counts:
//
//   TUTTI_RANK, TUTTI_RANKS, TUTTI_ID                    tutti run, or by hand
//   RANK, WORLD_SIZE                                     torchrun
//   OMPI_COMM_WORLD_RANK, _SIZE                          Open MPI
//   MV2_COMM_WORLD_RANK, _SIZE                           MVAPICH2
//   PMI_RANK, PMI_SIZE, MPI_LOCALNRANKS                  MPICH and Intel MPI: hydra, also where Slurm started hydra
//   PMIX_RANK with Slurm's number of tasks               srun --mpi=pmix
//   SLURM_PROCID, SLURM_STEP_NUM_TASKS or SLURM_NTASKS   srun; not a batch script outside srun, which is no rank
//   FLUX_TASK_RANK, FLUX_JOB_SIZE                        Flux
//   JSM_NAMESPACE_RANK, _SIZE                            jsrun
//   PMI_RANK, PMI_SIZE                                   other launchers that speak PMI
//   none of them                                         rank 0 of 1
//
// The id comes from TUTTI_ID, whoever gives the rank; else from NCCL_COMM_ID (see JobUniqueId); else it is derived from
// what the launcher says about the job (PMIX_NAMESPACE, SLURM_JOB_ID, MASTER_PORT, ...) and, where it says nothing, from
// the launching process, which is the nearest ancestor known to be a launcher, or else the parent.
//
// What protects a derived id: the user's secret (user_secret.h) goes into it, so another user can not compute it; and
// only processes of one user meet under it, which the kernel vouches for. Without a home folder to keep a secret in,
// the latter alone.
//
// Variables that contradict each other or hold no number are errors of kind kInvalidArgument, with a sentence that names them.
//
// Ranks on several hosts need an id that says where they meet. Where the launcher says that there are several:
//
//   * Open MPI, srun --mpi=pmix, jsrun     PMIx: the id is a fresh one of rank 0, which the others get from the launcher
//   * MPICH, Intel MPI, Flux               PMI-1, likewise, in programs without MPI (sys/job/job_store.h)
//   * torchrun, srun                       the derived id, and ports that follow from it on the host of rank 0, which the
//                                          launcher names (root_place.h): the user's secret must be the same on all hosts
//
// and where it does not say, as torchrun, the same with a place that nobody needs where all turn out to be on one host.
// The outside that an identity depends on.
struct LaunchContext {
  std::function<std::optional<std::string>(const char*)> variable;
  // The process whose children the ranks are: the nearest ancestor of that name, or the parent.
  std::function<sys::ProcessId(std::string_view name)> launcher;
  std::uint32_t uid = 0;
  // What only processes of this user know; empty where there is nothing.
  std::function<Result<std::vector<std::byte>>()> secret;
  Resolver resolve;
  Ports ports;  // that may be listened on
  // The id that rank 0 has made and all ranks get from the launcher's store, the same at each call.
  std::function<Result<UniqueId>(sys::JobStore store, int rank)> shared_id;
  // Hears why ranks of other hosts cannot come under an id. Null: nobody does.
  std::function<void(const UniqueId& id, const std::string& why)> no_place;
};

// generation: 0 for the first communicator that a process makes from its environment, 1 for the second, and so on:
// each gets an id of its own. All ranks must count alike.
Result<LaunchIdentity> IdentityFrom(const LaunchContext& context, std::uint64_t generation);

// Of the job with this id, those of later communicators and of ncclGetUniqueId with TUTTI_UNIQUE_ID=job; at the same place.
enum class JobPurpose : std::uint8_t { kEnvironment, kNcclGetUniqueId };
Result<UniqueId> FurtherJobId(const UniqueId& id, JobPurpose purpose, std::uint64_t generation);

// The id for the caller of ncclGetUniqueId, as JobUniqueId (comm/meet/job_id.h) says. `rank` is the launcher's, or -1 where that
// was not asked.
Result<LaunchIdentity> JobIdentityFrom(const LaunchContext& context, std::uint64_t generation);

}  // namespace tutti::comm

#endif  // TUTTI_COMM_IDENTITY_LAUNCH_H_
