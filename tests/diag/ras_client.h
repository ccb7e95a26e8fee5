// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_TESTS_DIAG_RAS_CLIENT_H_
#define TUTTI_TESTS_DIAG_RAS_CLIENT_H_

// What clients of NCCL's RAS make of the answers at a job's ports, by the rules of those that judge by themselves (Ray Train, SGLang).

#include <cstdint>
#include <set>
#include <string>
#include <vector>

namespace tutti::tests {

// What `ncclras -f json` would get at a port of this host; empty where nobody answers in two seconds.
std::string AskRas(std::uint16_t port);

// Whom they name, from the answers of all hosts at two moments while nothing is repaired: a rank whose process is told not to answer, or
// to be gone; and where no counter of a communicator has moved in between, each rank that has launched fewer of some collective than
// another one. Nothing is made of a communicator whose ranks still begin.
std::set<int> NamedByRas(const std::vector<std::string>& before, const std::vector<std::string>& now);

}  // namespace tutti::tests

#endif  // TUTTI_TESTS_DIAG_RAS_CLIENT_H_
