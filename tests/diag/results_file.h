// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_TESTS_DIAG_RESULTS_FILE_H_
#define TUTTI_TESTS_DIAG_RESULTS_FILE_H_

// Files for bench/results, as README.md there has it.

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace tutti::tests {

// "campaign", "soak" or "hours", with a line for each row. `command`: what was run.
void WriteResults(const std::string& path, const std::string& kind, const std::string& command,
                  const std::vector<nlohmann::json>& rows);

}  // namespace tutti::tests

#endif  // TUTTI_TESTS_DIAG_RESULTS_FILE_H_
