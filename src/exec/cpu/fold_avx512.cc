// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#define TUTTI_FOLD_TABLE kFoldTableAvx512
#include "exec/cpu/fold_kernels.inc"
