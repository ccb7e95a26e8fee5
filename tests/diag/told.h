// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_TESTS_DIAG_TOLD_H_
#define TUTTI_TESTS_DIAG_TOLD_H_

// What the monitor of a rank's process has logged, read back from its sentences as a person reads them.

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "diag/verdict.h"

namespace tutti::tests {

struct Told {
  diag::Kind kind = diag::Kind::kUnknown;
  bool warn = false;
  bool cleared = false;    // that it is over
  std::vector<int> ranks;  // that it names as who is to blame, or as missing; of a link who sends
  int to = -1;             // of a link: who receives
  std::string text;
  double seconds = 0;  // from the fault to when it was read
};

// Reads the sentence: its kind and ranks. Kind::kBroken where it is none that the monitor has.
Told ReadSentence(const std::string& sentence);

// A log in JSON that grows.
class LogReader {
 public:
  explicit LogReader(std::string path) : path_(std::move(path)) {}
  // What the monitor has written since the last call.
  std::vector<Told> More();

 private:
  const std::string path_;
  std::size_t read_ = 0;
};

}  // namespace tutti::tests

#endif  // TUTTI_TESTS_DIAG_TOLD_H_
