// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_MPI_COMM_H_
#define TUTTI_MPI_COMM_H_

// What is behind a handle of MPI_Comm, and of MPI_Request.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "comm/host/queue.h"
#include "comm/host/waiter.h"
#include "tutti/operation.h"
#include "tutti/status.h"

namespace tutti::mpi {

// Sends and receives that proceed together.
struct Batch;

// A send or a receive that the program has begun.
struct Request {
  bool is_send = false;
  void* buffer = nullptr;  // of a send it is only read
  std::size_t bytes = 0;
  int peer = 0;
  int tag = 0;
  // A tag other than 0 travels before the message, so that the receiver can compare it.
  std::int32_t carried_tag = 0;
  std::shared_ptr<Batch> batch;  // null: it has only been noted
};

// A communicator. MPI lets sends and receives go on by themselves in any order, while those of Tutti that shall not wait for each other
// are begun as one: so Note only notes them, and the first call that waits for one, or that wants anything else of the communicator, begins
// all that were noted. Messages between two ranks arrive in the order in which they were sent, whatever their tags.
//
// Threads: any, as of Queue.
class Comm {
 public:
  explicit Comm(std::shared_ptr<comm::Queue> queue);
  // One that could not be made. Every call returns why.
  explicit Comm(Status why);

  // -1 where it could not be made.
  int rank() const { return queue_ == nullptr ? -1 : queue_->rank(); }
  int ranks() const { return queue_ == nullptr ? -1 : queue_->ranks(); }
  const Status& why() const { return why_; }

  Status Run(const Operation& operation);
  Status Note(const std::shared_ptr<Request>& request);
  // Waits until a noted request has ended; its outcome.
  Status Finish(const Request& request);

  // MPI_Comm_split, which all ranks call: the communicator of this rank's color; null without a color. The keys of a color's ranks
  // must be 0, 1, 2, ..., as XLA's are, which are the ranks that the caller counts on.
  Result<std::shared_ptr<Comm>> Split(std::optional<int> color, int key);
  // Ends what is unfinished and leaves.
  void Close();

 private:
  Status Usable() const;
  Status CheckKeys(std::optional<int> color, int key);
  // Begins what was noted. REQUIRES: the lock on mutex_.
  void BeginNoted();

  const std::shared_ptr<comm::Queue> queue_;
  const Status why_;
  std::mutex mutex_;
  std::vector<std::shared_ptr<Request>> noted_;  // guarded by mutex_
};

}  // namespace tutti::mpi

#endif  // TUTTI_MPI_COMM_H_
