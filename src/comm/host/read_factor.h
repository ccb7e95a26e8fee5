// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_COMM_HOST_READ_FACTOR_H_
#define TUTTI_COMM_HOST_READ_FACTOR_H_

namespace tutti {
struct Operation;
}

namespace tutti::comm {

// Puts the factor of a kPreMulSum into the operation: an element of its type, at any address of host memory.
void ReadFactor(const void* at, Operation& operation);

}  // namespace tutti::comm

#endif  // TUTTI_COMM_HOST_READ_FACTOR_H_
