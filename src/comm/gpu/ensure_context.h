// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_COMM_GPU_ENSURE_CONTEXT_H_
#define TUTTI_COMM_GPU_ENSURE_CONTEXT_H_

#include "sys/cuda/cuda.h"

namespace tutti::comm {

// Makes a context the thread's current one for a while, where it is not already.
class EnsureContext {
 public:
  EnsureContext(const sys::cuda::Driver& driver, sys::cuda::Context context) : driver_(driver) {
    sys::cuda::Context current = nullptr;
    driver.CtxGetCurrent(&current);
    if (current == context) [[likely]]
      return;
    driver.CtxPushCurrent(context);
    pushed_ = true;
  }
  EnsureContext(const EnsureContext&) = delete;
  EnsureContext& operator=(const EnsureContext&) = delete;
  ~EnsureContext() {
    sys::cuda::Context mine = nullptr;
    if (pushed_) driver_.CtxPopCurrent(&mine);
  }

 private:
  const sys::cuda::Driver& driver_;
  bool pushed_ = false;
};

}  // namespace tutti::comm

#endif  // TUTTI_COMM_GPU_ENSURE_CONTEXT_H_
