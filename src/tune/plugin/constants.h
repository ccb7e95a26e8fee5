// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_TUNE_PLUGIN_CONSTANTS_H_
#define TUTTI_TUNE_PLUGIN_CONSTANTS_H_

#include "tune/plugin/abi.h"

namespace tutti::tune::plugin {

// The constants of NCCL's cost model, equal in NCCL 2.28 to 2.31 (its src/graph/tuning.cc). Tuners since version 5 read them, and
// may change them.
abi::Constants TunerConstants();

}  // namespace tutti::tune::plugin

#endif  // TUTTI_TUNE_PLUGIN_CONSTANTS_H_
