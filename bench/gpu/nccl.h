// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_BENCH_GPU_NCCL_H_
#define TUTTI_BENCH_GPU_NCCL_H_

#include <cstddef>
#include <memory>
#include <span>

#include "sys/cuda.h"
#include "tutti/communicator.h"
#include "tutti/status.h"

namespace tutti::bench {

// A communicator of NVIDIA's library over the ranks of one of ours, for comparison. libnccl.so.2 is opened at run time;
// only its binary interface is used, declared in nccl.cc.
class Nccl {
 public:
  // Collective; the GPU's context must be current. kUnsupported where the library is not installed (set
  // LD_LIBRARY_PATH, or BENCH_NCCL to its file).
  static Result<Nccl> Create(Communicator& communicator);
  Nccl(Nccl&&) noexcept;
  Nccl& operator=(Nccl&&) noexcept;
  ~Nccl();

  int version() const;  // 22809 for 2.28.9
  // The same operation. kUnsupported for what this version does not have.
  Status Run(const Operation& operation, sys::cuda::Stream stream);
  // Sends and receives as one.
  Status RunGroup(std::span<const Operation> operations, sys::cuda::Stream stream);

 private:
  struct Impl;
  Nccl();
  std::unique_ptr<Impl> impl_;
};

}  // namespace tutti::bench

#endif  // TUTTI_BENCH_GPU_NCCL_H_
