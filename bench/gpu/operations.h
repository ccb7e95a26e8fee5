// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_BENCH_GPU_OPERATIONS_H_
#define TUTTI_BENCH_GPU_OPERATIONS_H_

// What the benchmarks have in common: operations as these name them, and a process' place.

#include <cstddef>
#include <string>
#include <vector>

#include "sys/cuda/cuda.h"
#include "tutti/communicator.h"
#include "tutti/status.h"

namespace tutti::bench {

// This process among those that `tutti run` started, and its GPU.
struct Place {
  Communicator communicator;
  const sys::cuda::Driver* driver;
  int gpus;  // of this machine
  sys::cuda::PrimaryContext context;

  int gpu() const { return communicator.rank() % gpus; }
};
// The GPU's context is the thread's current one from then on.
Result<Place> FindPlace();

// 64, 8K, 16M, 1G: bytes.
std::size_t ParseSize(const std::string& text);
std::vector<std::string> Split(const std::string& text, char by);
double Median(std::vector<double> values);

struct Buffers {
  std::byte* in;
  std::byte* out;
};

constexpr std::size_t kLeastStride = 256;  // between buffers of a group

// "64xall_reduce": a group of how many operations, and which.
struct Several {
  int items = 1;
  std::string op;
};
Several ParseSeveral(const std::string& name);

// Whether there is an operation of this name: a collective's, several of it, or send_recv.
bool IsOperation(const std::string& name);

// REQUIRES: IsOperation(name). Sizes count as nccl-tests does: the larger of the two buffers, of floats. Those of a group have buffers
// of their own, one behind the other. send_recv: to the next rank and from the one before, as nccl-tests does.
std::vector<Operation> MakeOperations(const std::string& name, std::size_t bytes, const Communicator& communicator,
                                      const Buffers& buffers);

}  // namespace tutti::bench

#endif  // TUTTI_BENCH_GPU_OPERATIONS_H_
