// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_DIAG_MERGE_H_
#define TUTTI_DIAG_MERGE_H_

#include <string>
#include <vector>

#include "diag/verdict.h"

namespace tutti::diag {

// What all these links, at least one, have in common and no single one explains better; empty: nothing.
std::string CommonOf(const std::vector<LinkPlace>& links);

// Verdicts that are one cause become one: ranks that are late for the same call, a process that is late in several communicators, processes
// that are stopped, and links of one kind that have a network card or a host in common.
std::vector<Verdict> Merge(std::vector<Verdict> verdicts);

}  // namespace tutti::diag

#endif  // TUTTI_DIAG_MERGE_H_
