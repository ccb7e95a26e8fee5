// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_COMM_HOST_PREPARER_H_
#define TUTTI_COMM_HOST_PREPARER_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "tutti/operation.h"
#include "tutti/status.h"

namespace tutti {
namespace exec::cpu {
struct Job;
}
}  // namespace tutti

namespace tutti::comm {

class Jobs;
class Planner;
struct Entry;

// From calls to jobs of the engine. A call like the last one of the first job costs no more than its buffers: programs
// repeat themselves.
class Preparer {
 public:
  Preparer(int rank, int ranks, const Jobs& jobs, Planner& planner)
      : rank_(rank), ranks_(ranks), jobs_(jobs), planner_(planner) {}

  // Whether the first job is ready for just this call: the same with the same buffers was found valid before. Repeats counts it.
  bool IsReadyFor(const Operation& operation) const {
    return PreparedFor(operation) && prepared_->in == operation.in && prepared_->out == operation.out && *left_ > 1;
  }
  void Repeats() { --*left_; }
  // The next call is prepared from the beginning, since it may go another way.
  void Forget() { prepared_.reset(); }
  // Makes a job ready for one call, or for sends and receives together. REQUIRES: valid operations.
  Status Prepare(const Operation& operation, exec::cpu::Job& job);
  Status PrepareGroup(std::span<const Operation> operations, exec::cpu::Job& job);
  // A job that has to be submitted before the one that was prepared last (Trials), or null. Asked for once.
  exec::cpu::Job* TakeAhead() { return std::exchange(ahead_, nullptr); }

 private:
  void TakeWay(Entry& entry, exec::cpu::Job& job);
  Status PrepareCollective(const Operation& operation, exec::cpu::Job& job);
  Status PrepareTransfers(std::span<const Operation> operations, exec::cpu::Job& job);
  // Whether the first job is ready for a call that differs in its buffers at most.
  bool PreparedFor(const Operation& o) const {
    return prepared_ && prepared_->kind == o.kind && prepared_->count == o.count && prepared_->type == o.type &&
           prepared_->op == o.op && prepared_->root == o.root;
  }
  static void ChangeBuffers(const Operation& operation, exec::cpu::Job& job);

  const int rank_;
  const int ranks_;
  const Jobs& jobs_;
  Planner& planner_;
  std::optional<Operation> prepared_;  // what the first job is ready for,
  std::uint64_t* left_ = &never_;      // and how many such calls there are, with the one that needs another way
  std::uint64_t never_ = std::uint64_t{1} << 62;
  exec::cpu::Job* ahead_ = nullptr;
  std::vector<std::size_t> to_self_, from_self_;  // bytes, of the group that is being prepared; kept for their memory
  std::uint8_t barrier_output_ = 0;
};

}  // namespace tutti::comm

#endif  // TUTTI_COMM_HOST_PREPARER_H_
