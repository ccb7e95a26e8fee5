// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_TUNE_AT_SIZE_H_
#define TUTTI_TUNE_AT_SIZE_H_

#include <cstddef>

#include "tune/gpu_model.h"
#include "tutti/types.h"

namespace tutti::tune {

// What was chosen for some size, predicted for another one: the way of the same algorithm and protocol among the candidates there. The
// way itself where there is none.
GpuChoice AtSize(GpuChooser& chooser, const GpuChoice& way, Collective collective, std::size_t bytes,
                 Outputs outputs = Outputs::kAnywhere);

}  // namespace tutti::tune

#endif  // TUTTI_TUNE_AT_SIZE_H_
