// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_TOOLS_PAGES_COMMAND_H_
#define TUTTI_TOOLS_PAGES_COMMAND_H_

#include <span>
#include <string_view>

namespace tutti::tools {

// A command of `tutti`. `run` gets the words from the command's own name on and returns the exit code. It reads its options by a
// CommandLine (tools/command_line.h).
struct Command {
  std::string_view name;
  int (*run)(int argc, char** argv);
  std::string_view help;
};

// `tutti man [COMMAND]`: prints the manual page of tutti or of a command, in roff. --list prints the names of all pages.
// `tutti completion SHELL`: prints a script that completes words behind tutti.
// Both are made from the tables of options by which the commands read theirs.
int PrintManPage(std::span<const Command> commands, std::string_view footer, int argc, char** argv);
int PrintCompletion(std::span<const Command> commands, int argc, char** argv);

}  // namespace tutti::tools

#endif  // TUTTI_TOOLS_PAGES_COMMAND_H_
