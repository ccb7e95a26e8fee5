// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "tune/at_size.h"

#include <algorithm>
#include <vector>

namespace tutti::tune {

GpuChoice AtSize(GpuChooser& chooser, const GpuChoice& way, Collective collective, std::size_t bytes, Outputs outputs) {
  const std::vector<GpuChoice> all = chooser.Candidates(collective, bytes, outputs);
  const auto same = [&](const GpuChoice& other) {
    return other.algorithm == way.algorithm && other.protocol == way.protocol && other.direct == way.direct &&
           other.copies == way.copies;
  };
  const auto found = std::ranges::find_if(all, same);
  return found == all.end() ? way : *found;
}

}  // namespace tutti::tune
