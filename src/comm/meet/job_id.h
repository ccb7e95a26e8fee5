// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_COMM_MEET_JOB_ID_H_
#define TUTTI_COMM_MEET_JOB_ID_H_

// The ids of a launcher's job, as this process computes them or gets them from the launcher (comm/identity/launch.h). The process
// of rank 0 awaits the leaders of other hosts under each of them, where they may be on several.

#include <cstdint>

#include "comm/identity/launch_identity.h"
#include "tutti/communicator.h"
#include "tutti/status.h"

namespace tutti::comm {

// Who this process is, and the id of its communicator; by `generation`, as IdentityFrom.
Result<LaunchIdentity> IdentityFromEnvironment(std::uint64_t generation = 0);

// The same for the next generation of this process: call after call 0, 1, 2, ... Any thread.
Result<LaunchIdentity> NextIdentityFromEnvironment();

// The id for a caller of ncclGetUniqueId. By default a fresh one, which the caller passes on to the other ranks.
//
// TUTTI_UNIQUE_ID=job: an id that every rank of the launcher's job gets by itself, so that a program without any other
// means to talk can make a communicator of all its ranks. The first call on each rank delivers one id, the second call
// the next, and so on; ranks that call must call equally often.
//
// NCCL_COMM_ID=host:port: as with NCCL one id for all who have that variable, the same at each call. Ranks of one host meet
// without the address; for those of several the process of rank 0 listens there, and the others connect to it.
//
// Errors: kInvalidArgument for texts that are neither, and where there is no launcher for `job` to name. Any thread.
// docs/decisions/0006-unique-ids.md tells why.
Result<UniqueId> JobUniqueId();

// For a launcher, which has made the id of a job (TUTTI_ID) and is no rank: awaits the leaders of hosts under the ids of the job's
// first kAwaitedIds communicators too, and of as many calls of ncclGetUniqueId with TUTTI_UNIQUE_ID=job.
Status AwaitJob(const UniqueId& id);
inline constexpr std::uint64_t kAwaitedIds = 64;

}  // namespace tutti::comm

#endif  // TUTTI_COMM_MEET_JOB_ID_H_
