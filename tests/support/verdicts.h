// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_TESTS_SUPPORT_VERDICTS_H_
#define TUTTI_TESTS_SUPPORT_VERDICTS_H_

// What tests of verdicts ask of them.

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "diag/sentence.h"
#include "diag/verdict.h"

namespace tutti::tests {

inline std::vector<int> RanksOf(const std::vector<diag::Place>& places) {
  std::vector<int> ranks;
  for (const diag::Place& p : places) ranks.push_back(p.rank);
  return ranks;
}

// That there is one verdict, of this kind and these culprits.
inline const diag::Verdict& One(const std::vector<diag::Verdict>& verdicts, diag::Kind kind,
                                const std::vector<int>& culprits) {
  static const diag::Verdict kNone;
  for (const diag::Verdict& v : verdicts) SCOPED_TRACE(diag::Sentence(v));
  EXPECT_EQ(verdicts.size(), 1u);
  if (verdicts.empty()) return kNone;
  EXPECT_EQ(diag::Name(verdicts[0].kind), std::string(diag::Name(kind))) << diag::Sentence(verdicts[0]);
  EXPECT_EQ(RanksOf(verdicts[0].culprits), culprits) << diag::Sentence(verdicts[0]);
  return verdicts[0];
}

inline bool Has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

}  // namespace tutti::tests

#endif  // TUTTI_TESTS_SUPPORT_VERDICTS_H_
