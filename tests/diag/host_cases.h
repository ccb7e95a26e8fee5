// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_TESTS_DIAG_HOST_CASES_H_
#define TUTTI_TESTS_DIAG_HOST_CASES_H_

// Runs cases on several hosts. What counts is what each rank's own monitor writes to its log.

#include <string>

#include "tests/diag/host_case.h"

namespace tutti::tests {

Means MeansHere();

// Some seconds. `flights`: while the fault lasts `tutti record` writes a flight record to files that begin so; empty: it does not. REQUIRES:
// this process has one thread.
CaseResult RunHostCase(const HostCase& what, const std::string& flights = "");

}  // namespace tutti::tests

#endif  // TUTTI_TESTS_DIAG_HOST_CASES_H_
