// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_MPI_TYPES_H_
#define TUTTI_MPI_TYPES_H_

#include <optional>
#include <string>

#include "mpi/abi.h"
#include "tutti/types.h"

namespace tutti::mpi {

// What elements of a type of MPI are here; nullopt for what is no such type, or one that cannot be exchanged.
std::optional<DataType> DataTypeOfHandle(Handle type);
std::optional<ReduceOp> ReduceOpOfHandle(Handle op);

// "MPI_LONG_DOUBLE"; for what is no type or operator its number.
std::string TypeName(Handle type);
std::string OpName(Handle op);

}  // namespace tutti::mpi

#endif  // TUTTI_MPI_TYPES_H_
