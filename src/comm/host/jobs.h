// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_COMM_HOST_JOBS_H_
#define TUTTI_COMM_HOST_JOBS_H_

#include <algorithm>
#include <memory>
#include <vector>

#include "exec/cpu/job.h"

namespace tutti::comm {

// The jobs of a communicator, with their storage, which one call after the other uses.
class Jobs {
 public:
  // The first is handed out whenever it is free: it may still be ready for a call like its last one.
  exec::cpu::Job* Take() {
    if (!first_taken_) [[likely]]
      return TakeFirst();
    if (free_.empty()) {
      others_.push_back(std::make_unique<Other>());
      free_.push_back(others_.back().get());
    }
    Other* job = free_.back();
    free_.pop_back();
    job->in_use = true;
    return job;
  }
  // REQUIRES: FirstIsFree().
  exec::cpu::Job* TakeFirst() {
    first_taken_ = true;
    return &first_;
  }
  void GiveBack(exec::cpu::Job* job) {
    if (job == &first_) {
      first_taken_ = false;
      return;
    }
    auto* other = static_cast<Other*>(job);
    other->in_use = false;
    free_.push_back(other);
  }
  bool FirstIsFree() const { return !first_taken_; }
  bool IsFirst(const exec::cpu::Job& job) const { return &job == &first_; }
  // Whether a job runs a plan of sends and receives, or is ready to.
  bool Hold(const exec::cpu::PreparedPlan* plan) const {
    return first_.group.plan == plan ||
           std::ranges::any_of(others_, [&](const auto& job) { return job->in_use && job->group.plan == plan; });
  }

 private:
  struct Other : exec::cpu::Job {
    bool in_use = false;
  };
  exec::cpu::Job first_;
  bool first_taken_ = false;
  std::vector<std::unique_ptr<Other>> others_;
  std::vector<Other*> free_;
};

}  // namespace tutti::comm

#endif  // TUTTI_COMM_HOST_JOBS_H_
