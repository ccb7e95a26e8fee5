// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_COMM_IDENTITY_LAUNCH_IDENTITY_H_
#define TUTTI_COMM_IDENTITY_LAUNCH_IDENTITY_H_

#include <string>

#include "tutti/communicator.h"

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

}  // namespace tutti::comm

#endif  // TUTTI_COMM_IDENTITY_LAUNCH_IDENTITY_H_
