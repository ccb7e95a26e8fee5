// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_COMM_AGREE_GPU_BUS_ID_H_
#define TUTTI_COMM_AGREE_GPU_BUS_ID_H_

#include <string>

#include "sys/cuda/cuda.h"
#include "tutti/settings.h"

namespace tutti::comm {

// "0000:1b:00.0", by which the host's graph knows a GPU; empty: the driver does not say.
std::string BusIdOf(const sys::cuda::Driver& driver, sys::cuda::Device device);
// Of a CUDA device of this process, where there is a driver and GPUs are used at all; else empty. `device`: -1: none.
std::string GpuBusId(const Settings& settings, int device);

}  // namespace tutti::comm

#endif  // TUTTI_COMM_AGREE_GPU_BUS_ID_H_
