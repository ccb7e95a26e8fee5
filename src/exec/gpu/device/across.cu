// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
//
// The kernel for small operations between hosts, which are launched as one block. An image of its own: ranks of several hosts load
// no other.

#include "exec/gpu/device/across.cuh"

namespace tutti::exec::gpu {

extern "C" __global__ void __launch_bounds__(kMostAcrossThreads, 1) ncclTuttiAcross(const TUTTI_ARGUMENT(Across) a) {
  RunAcross(a);
}
TUTTI_KERNEL_IS(ncclTuttiAcross, Across)

}  // namespace tutti::exec::gpu
