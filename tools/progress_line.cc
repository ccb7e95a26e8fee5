// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "tools/progress_line.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>
#include <string>

namespace tutti::tools {

ProgressLine::ProgressLine(int total, bool wanted)
    : total_(total), terminal_(wanted && isatty(STDOUT_FILENO) && isatty(STDERR_FILENO)) {}

void ProgressLine::Show(std::string_view what) {
  if (!terminal_) return;
  std::string text(what);
  if (total_ > 0) text += fmt::format(": {} of {} done", done_, total_);
  if (total_ > 0 && done_ > 0) {
    const std::chrono::duration<double> spent = std::chrono::steady_clock::now() - begin_;
    text += fmt::format(", {:.2g} per s", done_ / spent.count());
  }
  fmt::print(stderr, "\r\033[K{} ...", text);
  std::fflush(stderr);
  shown_ = true;
}

void ProgressLine::Erase() {
  if (!shown_) return;
  fmt::print(stderr, "\r\033[K");
  std::fflush(stderr);
  shown_ = false;
}

}  // namespace tutti::tools
