// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
//
// The kernels for the host: compiled once per element type, as exec/gpu/kernels.cmake does for GPUs.
#include "exec/gpu/device/kernels.cu"
