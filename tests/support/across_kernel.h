// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_TESTS_SUPPORT_ACROSS_KERNEL_H_
#define TUTTI_TESTS_SUPPORT_ACROSS_KERNEL_H_

#include "tests/support/fake_streams.h"

namespace tutti::tests {

// ncclTuttiAcross for the driver of fake streams: the code of exec/gpu/device/across.cuh, by a block of one thread. How many threads
// work together is tried by tests/kernels.
const FakeKernel& AcrossKernel();

}  // namespace tutti::tests

#endif  // TUTTI_TESTS_SUPPORT_ACROSS_KERNEL_H_
