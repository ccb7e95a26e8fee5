// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_COMM_HOST_VALIDATE_H_
#define TUTTI_COMM_HOST_VALIDATE_H_

#include "tutti/operation.h"
#include "tutti/status.h"

namespace tutti::comm {

// What is wrong with an operation that rank `rank` of `ranks` calls, as far as this rank alone can say.
Status Validate(const Operation& operation, int rank, int ranks);
// The same of one in GPU memory.
Status ValidateForGpu(const Operation& operation, int rank, int ranks);

// What calls get after this rank has left the communicator.
Status HasLeft(int rank);

}  // namespace tutti::comm

#endif  // TUTTI_COMM_HOST_VALIDATE_H_
