// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
//
// The kernel for small operations between hosts, for the host.
#include "exec/gpu/device/across.cu"
