// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_TESTS_GPU_OWN_KERNEL_H_
#define TUTTI_TESTS_GPU_OWN_KERNEL_H_

// What a program does on its GPU beside collectives, to their harm. The kernels are PTX, which the driver compiles: no compiler for GPUs is
// needed. Of the calling thread's current context.

#include "nccl.h"
#include "tutti/status.h"

namespace tutti::tests {

// A kernel that has every multiprocessor of the GPU to itself, from when it is in the stream until Release.
class Hog {
 public:
  static Result<Hog> Launch(cudaStream_t stream);
  void Release() { *static_cast<volatile unsigned*>(word_) = 1; }

 private:
  void* word_ = nullptr;  // in host memory that the kernel sees; the process keeps it
};

// A kernel that writes where no memory is: the context is lost from then on, with all that runs in it. Returns once the driver says so.
Status BreakContext(cudaStream_t stream);

}  // namespace tutti::tests

#endif  // TUTTI_TESTS_GPU_OWN_KERNEL_H_
