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

#include "sys/os/process.h"
#include "tutti/communicator.h"
#include "tutti/status.h"

namespace tutti::comm {

// Who this process is among those that a launcher started.
struct LaunchIdentity {
  int rank = 0;
  int ranks = 1;
  int local_rank = -1;   // among the ranks of this host; -1: the launcher does not say
  int local_ranks = -1;  // how many of them; -1: the launcher does not say
  UniqueId id;
  std::string launcher;  // "tutti run", "torchrun", "Open MPI", "MVAPICH2", "MPICH", "PMIx", "Slurm", "Flux",
                         // "JSM", "PMI" or "none"
};

// Reads it from the environment. The first that is there counts:
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
// generation: 0 for the first communicator that a process makes from its environment, 1 for the second, and so on:
// each gets an id of its own. All ranks must count alike.
//
// Variables that contradict each other or hold no number are kInvalidArgument, with a sentence that names them; ranks
// on several hosts, where the launcher says so, kUnsupported.
Result<LaunchIdentity> IdentityFromEnvironment(std::uint64_t generation = 0);

// The same for the next generation of this process: call after call 0, 1, 2, ... Any thread.
Result<LaunchIdentity> NextIdentityFromEnvironment();

// The id for a caller of ncclGetUniqueId. By default a fresh one, which the caller passes on to the other ranks.
//
// TUTTI_UNIQUE_ID=job: an id that every rank of the launcher's job gets by itself, so that a program without any other
// means to talk can make a communicator of all its ranks. The first call on each rank delivers one id, the second call
// the next, and so on; ranks that call must call equally often.
//
// NCCL_COMM_ID=host:port: as with NCCL one id for all who have that variable, the same at each call. Here the text is
// only a name: nothing listens on that address, and the ranks must be on one host and of one user.
//
// Errors: kInvalidArgument for texts that are neither, and where there is no launcher for `job` to name. Any thread.
// docs/decisions/0006-unique-ids.md tells why.
Result<UniqueId> JobUniqueId();

namespace internal {
// The outside that an identity depends on, so that tests can make one up.
struct LaunchContext {
  std::function<std::optional<std::string>(const char*)> variable;
  // The process whose children the ranks are: the nearest ancestor of that name, or the parent.
  std::function<sys::ProcessId(std::string_view name)> launcher;
  std::uint32_t uid = 0;
  // What only processes of this user know; empty where there is nothing.
  std::function<Result<std::vector<std::byte>>()> secret;
};
Result<LaunchIdentity> IdentityFrom(const LaunchContext& context, std::uint64_t generation);
Result<UniqueId> JobUniqueIdFrom(const LaunchContext& context, std::uint64_t generation);
}  // namespace internal

}  // namespace tutti::comm

#endif  // TUTTI_COMM_IDENTITY_LAUNCH_H_
