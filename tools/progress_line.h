// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_TOOLS_PROGRESS_LINE_H_
#define TUTTI_TOOLS_PROGRESS_LINE_H_

// A line on the terminal that says what runs, for work that may take long. It is on standard error, and erased before anything else is
// printed. Where standard output or standard error is no terminal there is none.

#include <chrono>
#include <string_view>

namespace tutti::tools {

class ProgressLine {
 public:
  // `total`: how many pieces of work there are; 0: not known.
  explicit ProgressLine(int total = 0, bool wanted = true);
  ~ProgressLine() { Erase(); }
  ProgressLine(const ProgressLine&) = delete;
  ProgressLine& operator=(const ProgressLine&) = delete;

  // "measuring 8 KiB ...", or with a total "simulating 8 KiB: 3 of 9 done, 0.8 per s ...".
  void Show(std::string_view what);
  void PieceDone() { ++done_; }
  void Erase();

 private:
  int total_;
  bool terminal_;
  bool shown_ = false;
  int done_ = 0;
  std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
};

}  // namespace tutti::tools

#endif  // TUTTI_TOOLS_PROGRESS_LINE_H_
