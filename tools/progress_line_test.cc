// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "tools/progress_line.h"

#include <gtest/gtest.h>
#include <pty.h>
#include <unistd.h>

#include <string>

namespace tutti::tools {
namespace {

// What `use` writes to standard error where both outputs are a terminal.
template <typename Use>
std::string OnTerminal(Use use) {
  int master = -1, slave = -1;
  if (openpty(&master, &slave, nullptr, nullptr, nullptr) != 0) return "no terminal";
  const int out = dup(STDOUT_FILENO), err = dup(STDERR_FILENO);
  dup2(slave, STDOUT_FILENO);
  dup2(slave, STDERR_FILENO);
  use();
  dup2(out, STDOUT_FILENO);
  dup2(err, STDERR_FILENO);
  for (const int fd : {out, err, slave}) close(fd);
  std::string text;
  char piece[4096];
  // Nobody has the other end any more, so what comes after the last byte is an error.
  for (ssize_t bytes; (bytes = read(master, piece, sizeof piece)) > 0;)
    text.append(piece, static_cast<std::size_t>(bytes));
  close(master);
  return text;
}

TEST(ProgressLine, SaysHowFarAndHowFastOnATerminalAndErasesItself) {
  const std::string text = OnTerminal([] {
    ProgressLine line(4);
    line.Show("simulating 8 B");
    line.PieceDone();
    line.Show("simulating 64 B");
  });
  EXPECT_NE(text.find("simulating 8 B: 0 of 4 done ..."), std::string::npos) << text;
  EXPECT_NE(text.find("simulating 64 B: 1 of 4 done, "), std::string::npos) << text;
  EXPECT_NE(text.find(" per s ..."), std::string::npos) << text;
  EXPECT_TRUE(text.ends_with("\r\033[K")) << text;
}

TEST(ProgressLine, SaysNothingElsewhere) {
  testing::internal::CaptureStderr();
  ProgressLine(2).Show("simulating 8 B");
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
  EXPECT_EQ(OnTerminal([] { ProgressLine(2, false).Show("simulating 8 B"); }), "");
}

}  // namespace
}  // namespace tutti::tools
