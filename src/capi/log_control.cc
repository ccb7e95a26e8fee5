// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
// The log's switches in NCCL's interface. The log is opened once, by the first communicator: reading its variables
// again would change the log under other threads, so these do nothing, as in NCCL since 2.28.
#include "capi/error.h"

TUTTI_NCCL_API(void, ncclResetDebugInit, ()) {}

extern "C" __attribute__((visibility("default"))) void ncclResetDebugInitInternal();
void ncclResetDebugInitInternal() {}
