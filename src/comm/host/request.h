// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_COMM_HOST_REQUEST_H_
#define TUTTI_COMM_HOST_REQUEST_H_

#include <memory>

#include "comm/host/submitter.h"
#include "tutti/communicator.h"

namespace tutti {

// A place in the submitter's queue: what one Start or StartGroup began, which ends together.
struct Request::Impl {
  std::shared_ptr<Communicator::Impl> communicator;  // which owns the submitter
  comm::Submitter* submitter = nullptr;
  comm::Submitter::Place place = 0;
  Status submitted;
  Status outcome;
  bool ended = false;

  ~Impl();
  void End();
};

}  // namespace tutti

#endif  // TUTTI_COMM_HOST_REQUEST_H_
