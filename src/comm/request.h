// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_COMM_REQUEST_H_
#define TUTTI_COMM_REQUEST_H_

#include <vector>

#include "comm/impl.h"

namespace tutti {

// Jobs of one Start or StartGroup; they end together.
struct Request::Impl {
  std::shared_ptr<Communicator::Impl> communicator;
  std::vector<exec::cpu::Job*> jobs;
  Status outcome;
  bool ended = false;

  ~Impl();
  bool AllDone() const;
  // Collects the outcome and gives the jobs back.
  void End();
};

}  // namespace tutti

#endif  // TUTTI_COMM_REQUEST_H_
