// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_BENCH_GPU_NCCL_H_
#define TUTTI_BENCH_GPU_NCCL_H_

#include <cstddef>
#include <memory>
#include <span>
#include <string>

#include "sys/cuda/cuda.h"
#include "tutti/communicator.h"
#include "tutti/status.h"

namespace tutti::bench {

// A communicator of some libnccl.so.2, NVIDIA's or ours, over the ranks of one of ours. The library is opened at run
// time, so that two of them can be measured by one program.
class Nccl {
 public:
  // Collective; the GPU's context must be current. `file`: a path, or a name that the dynamic linker looks for (then
  // LD_LIBRARY_PATH helps). kUnsupported where it cannot be opened.
  static Result<Nccl> Create(Communicator& communicator, const std::string& file);
  Nccl(Nccl&&) noexcept;
  Nccl& operator=(Nccl&&) noexcept;
  ~Nccl();

  int version() const;              // 22809 for 2.28.9
  const std::string& file() const;  // that it was opened from
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
