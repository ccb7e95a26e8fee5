// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_COMM_LAUNCH_H_
#define TUTTI_COMM_LAUNCH_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "sys/process.h"
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
  std::string launcher;  // "tutti run", "torchrun", "Open MPI", "MPICH", "PMIx", "Slurm", "Flux", "PMI" or "none"
};

// Reads it from the environment. The first that is there counts:
//
//   TUTTI_RANK, TUTTI_RANKS, TUTTI_ID                    tutti run, or by hand
//   RANK, WORLD_SIZE                                     torchrun
//   OMPI_COMM_WORLD_RANK, _SIZE                          Open MPI
//   PMI_RANK, PMI_SIZE, MPI_LOCALNRANKS                  MPICH and Intel MPI: hydra, also where Slurm started hydra
//   PMIX_RANK with Slurm's number of tasks               srun --mpi=pmix
//   SLURM_PROCID, SLURM_STEP_NUM_TASKS or SLURM_NTASKS   srun; not a batch script outside srun, which is no rank
//   FLUX_TASK_RANK, FLUX_JOB_SIZE                        Flux
//   PMI_RANK, PMI_SIZE                                   other launchers that speak PMI
//   none of them                                         rank 0 of 1
//
// TUTTI_ID gives the id whoever gives the rank. Without it the id is derived from the user and from what the launcher
// says about the job (PMIX_NAMESPACE, SLURM_JOB_ID, MASTER_PORT, ...); where it says nothing, from the launching
// process, which is the nearest ancestor known to be a launcher, or else the parent. Such an id holds no secret, so
// only processes of one user meet under it.
//
// generation: 0 for the first communicator that a process makes from its environment, 1 for the second, and so on:
// each gets an id of its own. All ranks must count alike.
//
// Variables that contradict each other or hold no number are kInvalidArgument, with a sentence that names them.
Result<LaunchIdentity> IdentityFromEnvironment(int generation = 0);

namespace internal {
// The outside that an identity depends on, so that tests can make one up.
struct LaunchContext {
  std::function<std::optional<std::string>(const char*)> variable;
  // The process whose children the ranks are: the nearest ancestor of that name, or the parent.
  std::function<sys::ProcessId(std::string_view name)> launcher;
  std::uint32_t uid = 0;
};
Result<LaunchIdentity> IdentityFrom(const LaunchContext& context, int generation);
}  // namespace internal

}  // namespace tutti::comm

#endif  // TUTTI_COMM_LAUNCH_H_
