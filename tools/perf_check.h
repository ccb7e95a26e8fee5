// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_TOOLS_PERF_CHECK_H_
#define TUTTI_TOOLS_PERF_CHECK_H_

// Does an operation compute what it should? Inputs that every rank can compute for every other
// (verify_data.h), an output filled with poison, one run, and a comparison with what must be there.

#include <cstddef>
#include <cstdint>
#include <vector>

#include "tools/perf_shape.h"

namespace tutti::tools {

// Writes poison over the output and its guard (kGuardBytes behind it), then this rank's input. `first` and
// `second` as for PlaceOf.
void FillBuffers(const Work& work, Placement placement, std::byte* first, std::byte* second, std::uint64_t seed);

// Elements that are wrong on this rank after FillBuffers and a run: in the output, in an input that must not
// change (out of place), in the guard.
class Checker {
 public:
  Checker();
  std::size_t CountWrong(const Work& work, Placement placement, const std::byte* first, const std::byte* second,
                         std::uint64_t seed);

 private:
  std::vector<std::byte> expected_;  // one piece of what must be there
};

}  // namespace tutti::tools

#endif  // TUTTI_TOOLS_PERF_CHECK_H_
