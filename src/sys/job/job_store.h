// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_SYS_JOB_JOB_STORE_H_
#define TUTTI_SYS_JOB_JOB_STORE_H_

// What launchers keep for the processes of a job: a process puts a text into the store, and those on all hosts can read it.

#include <cstdint>
#include <string>

#include "tutti/status.h"

namespace tutti::sys {

enum class JobStore : std::uint8_t {
  kNone,
  // PMIx, by libpmix.so.2, opened at run time: Open MPI's mpirun, `srun --mpi=pmix`, jsrun. A program that uses MPI or PMIx itself
  // is not disturbed: PMIx counts its users.
  kPmix,
  // PMI-1, by the connection that PMI_FD names: MPICH's and Intel MPI's mpiexec, Flux. The connection serves one user, who ends
  // it. So a process that has an MPI library, or exports MPI_Init, is refused: the connection is MPI's.
  kPmi,
};

// Hands rank 0's text, of at most kMostSharedBytes printable characters without blanks, to all ranks of the job. All of them call
// it, once in the life of each process; the text counts on rank 0 alone. Every rank waits for rank 0, with kPmi for all.
// Errors: kUnsupported, the store cannot be used, alike on all ranks where these run the same program; kTimeout, kSystem,
// kRemote. Threads: one at a time.
Result<std::string> ShareText(JobStore store, int rank, const std::string& text, std::int64_t deadline_ns);
inline constexpr std::size_t kMostSharedBytes = 512;

namespace internal {
// The two, for tests. `pmi_fd`: the socket whose number PMI_FD is.
Result<std::string> ShareByPmix(int rank, const std::string& text, std::int64_t deadline_ns);
Result<std::string> ShareByPmi(int pmi_fd, int rank, const std::string& text, std::int64_t deadline_ns);
// What of MPI is in this process: the path of a library, or the name of a function; empty: nothing.
std::string FindMpi();
}  // namespace internal

}  // namespace tutti::sys

#endif  // TUTTI_SYS_JOB_JOB_STORE_H_
