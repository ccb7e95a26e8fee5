// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "profiler/names.h"

#include "algo/algorithm.h"

namespace tutti::profiler {

const char* FunctionName(Collective function) {
  constexpr const char* kNames[] = {"AllReduce", "AllGather", "ReduceScatter", "Broadcast", "Reduce", "Gather",
                                    "Scatter",   "AlltoAll",  "SendRecv",      "Barrier",   "Send",   "Recv"};
  return kNames[static_cast<int>(function)];
}

const char* TypeName(DataType type) {
  constexpr const char* kNames[kDataTypes] = {
      "ncclInt8",    "ncclUint8",   "ncclInt32",   "ncclUint32",   "ncclInt64",      "ncclUint64",
      "ncclFloat16", "ncclFloat32", "ncclFloat64", "ncclBfloat16", "ncclFloat8e4m3", "ncclFloat8e5m2",
      "bool",        "int16",       "uint16",      "complex64",    "complex128"};
  return kNames[static_cast<int>(type)];
}

// The registry's names are literals, so each ends in 0.
const char* AlgorithmName(const trace::How& how) {
  if (how.algorithm >= algo::kAlgorithms) return "Unknown";
  const algo::Entry& entry = algo::Get(static_cast<algo::Algorithm>(how.algorithm));
  return entry.nccl_name.empty() ? entry.name.data() : entry.nccl_name.data();
}

const char* ProtocolName(const trace::How& how) {
  constexpr const char* kNames[] = {"LL", "LL128", "SIMPLE"};
  if (how.algorithm >= algo::kAlgorithms || how.protocol >= std::size(kNames)) return "Unknown";
  return kNames[how.protocol];
}

}  // namespace tutti::profiler
