// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_TESTS_GPU_QUEUES_H_
#define TUTTI_TESTS_GPU_QUEUES_H_

#include <cstdlib>

namespace tutti::tests {

// For processes with several communicators on one GPU: with fewer queues to it than streams, one communicator's second
// kernel may stand before another one's first. Not for others: under CUDA MPS all processes share some hundred queues.
// To be called before CUDA is first used. What the environment says stays.
inline void AskForQueuePerStream() { setenv("CUDA_DEVICE_MAX_CONNECTIONS", "32", 0); }

}  // namespace tutti::tests

#endif  // TUTTI_TESTS_GPU_QUEUES_H_
