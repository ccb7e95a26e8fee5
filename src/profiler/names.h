// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_PROFILER_NAMES_H_
#define TUTTI_PROFILER_NAMES_H_

#include "trace/layout.h"
#include "tutti/types.h"

namespace tutti::profiler {

// What plugins are told of names. All texts live until the process ends.

// "AllReduce"; as NCCL's ncclFuncToString.
const char* FunctionName(Collective function);
// "ncclFloat32"; as NCCL's ncclDatatypeToString.
const char* TypeName(DataType type);
// NCCL's name for the nearest of its algorithms ("RING"), or Tutti's own ("one_shot") where it has none; "Unknown" where there is no
// algorithm.
const char* AlgorithmName(const trace::How& how);
// "LL", "LL128", "SIMPLE".
const char* ProtocolName(const trace::How& how);

}  // namespace tutti::profiler

#endif  // TUTTI_PROFILER_NAMES_H_
