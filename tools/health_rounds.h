// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_TOOLS_HEALTH_ROUNDS_H_
#define TUTTI_TOOLS_HEALTH_ROUNDS_H_

// Who exchanges with whom in `tutti health`: a number of rounds that does not grow with the ranks, in which each rank meets several
// others, then rings over all.

#include <string>
#include <vector>

namespace tutti::tools {

struct Pairing {
  std::string name;          // "between hosts 1"
  std::vector<int> partner;  // by rank; -1: it rests
};

// `host_of`: by rank, hosts counted from 0. On one host: at most 6 rounds over all ranks. On several: at most 3 in which ranks of a host
// meet, and at most 4 in which hosts do. No two ranks meet twice.
std::vector<Pairing> PairingsFor(const std::vector<int>& host_of);

// Orders of all ranks, in each of which everybody sends to the next one, the last to the first. One order of two ranks, else two that have
// no neighbours in common in the same direction. None of one rank.
std::vector<std::vector<int>> RingsFor(int ranks);

}  // namespace tutti::tools

#endif  // TUTTI_TOOLS_HEALTH_ROUNDS_H_
