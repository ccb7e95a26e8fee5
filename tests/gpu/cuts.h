// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_TESTS_GPU_CUTS_H_
#define TUTTI_TESTS_GPU_CUTS_H_

#include "plan/cuts.h"
#include "tune/gpu_machine.h"

namespace tutti::exec::gpu {

// How tests cut: as on GPUs that have no table of their own.
inline const plan::Cuts& Cuts() { return tune::ShippedGpuTable("generic").machine.cuts; }

}  // namespace tutti::exec::gpu

#endif  // TUTTI_TESTS_GPU_CUTS_H_
