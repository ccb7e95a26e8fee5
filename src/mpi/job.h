// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_MPI_JOB_H_
#define TUTTI_MPI_JOB_H_

#include <cstdint>
#include <memory>
#include <mutex>
#include <unordered_map>

#include "mpi/abi.h"
#include "mpi/comm.h"
#include "tutti/status.h"

namespace tutti::mpi {

// What a process has between MPI_Init and MPI_Finalize: MPI_COMM_WORLD, and what its handles mean. Threads: any.
class Job {
 public:
  static Job& Get();

  // Meets the other ranks, which the launcher's variables tell of (comm/identity/launch.h). Once it has succeeded, does nothing until End.
  // Where it fails, calls on MPI_COMM_WORLD return the same error.
  Status Start();
  // Closes all communicators. Start makes others.
  void End();
  bool started();  // also where it has ended
  bool ended();
  // Whether a launcher has started this process.
  bool launched();

  // Null where there is none. MPI_COMM_WORLD always is.
  std::shared_ptr<Comm> FindComm(Handle handle);
  Handle AddComm(std::shared_ptr<Comm> comm);
  std::shared_ptr<Comm> TakeComm(Handle handle);

  struct Pending {
    std::shared_ptr<Comm> comm;
    std::shared_ptr<Request> request;
  };
  Handle AddRequest(Pending pending);
  // With null pointers where there is none.
  Pending TakeRequest(Handle handle);

 private:
  Job();

  std::mutex mutex_;  // guards all
  std::shared_ptr<Comm> world_;
  bool started_ = false, ended_ = false, launched_ = false;
  std::uint64_t starts_ = 0;
  Handle next_ = kFirstHandle;
  std::unordered_map<Handle, std::shared_ptr<Comm>> comms_;
  std::unordered_map<Handle, Pending> requests_;
};

}  // namespace tutti::mpi

#endif  // TUTTI_MPI_JOB_H_
