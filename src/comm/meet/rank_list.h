// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_COMM_MEET_RANK_LIST_H_
#define TUTTI_COMM_MEET_RANK_LIST_H_

#include <string>
#include <vector>

namespace tutti::comm {

// "3, 5-7 and 9", of ascending ranks; cut off after a dozen.
std::string RankList(const std::vector<int>& ranks);
// The same with "rank " or "ranks " before it.
std::string NamedRanks(const std::vector<int>& ranks);

}  // namespace tutti::comm

#endif  // TUTTI_COMM_MEET_RANK_LIST_H_
