// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_DIAG_PLAUSIBLE_H_
#define TUTTI_DIAG_PLAUSIBLE_H_

// Whether what ranks say can be. Nobody is accused by evidence that contradicts itself.

#include <string>
#include <vector>

#include "diag/standing.h"

namespace tutti::diag {

// Contradictions in what the ranks of a communicator say, a sentence each: "rank 2 has received 9 units of rank 1, which has sent 7".
// `communicator`: its place in `now`.
std::vector<std::string> FindContradictions(const Look& before, const Look& now, const Standings& standings,
                                            int communicator);

}  // namespace tutti::diag

#endif  // TUTTI_DIAG_PLAUSIBLE_H_
