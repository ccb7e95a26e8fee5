// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_TESTS_SUPPORT_ERRORS_PAGE_H_
#define TUTTI_TESTS_SUPPORT_ERRORS_PAGE_H_

// docs/errors.md, for the tests that make its errors happen. The last cell of a row names the test that does, as
// "Provoke.Death", or says after "not provoked:" why there is none.

#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <vector>

#include "tutti/communicator.h"

namespace tutti::tests {

struct ErrorRow {
  std::string message;
  std::vector<std::string> pieces;  // between the dots
  std::string provoked_by;          // the last cell
  std::string seen;                 // a sentence that fits; empty: none came
};

std::vector<std::string> SplitText(const std::string& text, const std::string& separator);
// Whether the pieces lie in the sentence in this order.
bool Fits(const ErrorRow& row, const std::string& sentence);

// A test that makes errors happen. Every sentence that it expects must have a row, and every row that names the test must
// fit one of them.
class Provoke : public testing::Test {
 protected:
  void Expect(const std::string& sentence);
  void Expect(const Status& status);
  // The last error of a call of nccl.h that fails, which is given as a number here: ncclResult_t.
  void ExpectLast(int result);
  void TearDown() override;

 private:
  std::vector<ErrorRow> rows_ = ReadPage();
  static std::vector<ErrorRow> ReadPage();
};

Settings Quick();
// What each of these ranks, as threads, gets from `body`.
std::vector<Status> OnRankThreads(int ranks, const std::function<Status(int rank)>& body);
// The same with a communicator each, made with Quick settings that `change` may change.
std::vector<Status> OnCommunicators(int ranks, const std::function<Status(Communicator&)>& body,
                                    const std::function<void(int rank, CommunicatorOptions&)>& change = {});
// What a forked process returns from `body`, for what harms the process that it happens in; and the warnings of its log.
std::string SaidByChild(const std::function<std::string()>& body);

}  // namespace tutti::tests

#endif  // TUTTI_TESTS_SUPPORT_ERRORS_PAGE_H_
