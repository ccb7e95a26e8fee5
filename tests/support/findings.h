// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_TESTS_SUPPORT_FINDINGS_H_
#define TUTTI_TESTS_SUPPORT_FINDINGS_H_

// How tests look into findings.

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <string_view>

#include "doctor/finding.h"

namespace tutti::doctor {

inline std::string All(const Findings& findings) {
  std::string all;
  for (const Finding& finding : findings) all += LineOf(finding) + "\n";
  return all;
}

// The worst finding of a check; severity OK and a text that says so where there is none.
inline Finding Worst(const Findings& findings, std::string_view check) {
  Finding worst{.severity = Severity::kOk, .check = "none", .what = "nothing was said of " + std::string(check)};
  for (const Finding& finding : findings) {
    if (finding.check == check && (worst.check == "none" || finding.severity > worst.severity)) worst = finding;
  }
  return worst;
}

// That the check says this, and where it is bad, what to do.
inline void ExpectFinding(const Findings& findings, std::string_view check, Severity severity, std::string_view text) {
  const Finding worst = Worst(findings, check);
  EXPECT_EQ(worst.check, check) << All(findings);
  EXPECT_EQ(Name(worst.severity), Name(severity)) << All(findings);
  EXPECT_NE(TextOf(worst).find(text), std::string::npos) << All(findings);
  if (severity >= Severity::kWarn) {
    EXPECT_NE(worst.remedy, "") << All(findings);
  }
}

}  // namespace tutti::doctor

#endif  // TUTTI_TESTS_SUPPORT_FINDINGS_H_
