// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_TESTS_KERNELS_ACROSS_H_
#define TUTTI_TESTS_KERNELS_ACROSS_H_

// The kernel for small operations between hosts, and a stand-in for the host's thread (comm/gpu/host_runner.h) that looks whether
// all has arrived when it sees the kernel's word.

#include <cstdint>
#include <string>

#include "exec/gpu/device/plants.h"

namespace tutti::tests {

// Runs what a seed stands for: some operations one after the other, each enqueued or captured, of any regions and alignments. "": all
// is well, else what went wrong and the seed.
std::string RunAcross(std::uint64_t seed, exec::gpu::Plant plant = exec::gpu::Plant::kNone);
// Every size that matters, from nothing to the most that the kernel is for, with every alignment of both ends.
std::string RunEveryAcross();

}  // namespace tutti::tests

#endif  // TUTTI_TESTS_KERNELS_ACROSS_H_
