// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_TUNE_DISTINCT_H_
#define TUTTI_TUNE_DISTINCT_H_

#include <vector>

#include "algo/algorithm.h"
#include "tune/choice.h"

namespace tutti::tune {

// Of ways by which all ranks would do the same, the first: of few ranks several algorithms have one plan. Among 2 ranks a ring, a tree and
// a one_shot reduce alike. Ways of many ranks are left as they are: there few plans are the same, and each takes building them all.
std::vector<Choice> Distinct(std::vector<Choice> ways, Collective collective, const algo::Hosts& hosts, int root);

}  // namespace tutti::tune

#endif  // TUTTI_TUNE_DISTINCT_H_
