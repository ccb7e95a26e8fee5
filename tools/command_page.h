// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_TOOLS_COMMAND_PAGE_H_
#define TUTTI_TOOLS_COMMAND_PAGE_H_

// What a program's table of options says, written as a manual page, and for shells that complete words.

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tutti::tools {

struct CommandPage {
  struct Option {
    std::vector<std::string> names;  // "-n", "--ranks"; one name without a dash for a word by its place
    std::string value;               // what stands for the value in the help: "N"; empty: it takes none
    std::string help;
    std::string group;                // the head of the help that it stands under
    std::vector<std::string> values;  // words that it takes, where they are listed
    bool required = false;

    bool IsPositional() const { return !names.front().starts_with('-'); }
    // Whether the value is the name of a file or of a folder, as far as what stands for it tells.
    bool TakesFile() const;
  };
  std::string name;  // as it is called: "tutti perf"
  std::string about;
  std::string footer;
  std::vector<Option> options;  // in the order of the help

  std::string_view Command() const;  // the last word of the name
};

// A command as the program's own help lists it.
struct CommandSummary {
  std::string_view name;
  std::string_view help;
};

// In roff, as `man` reads it: of one command, and of the program `tutti` itself, whose help ends with `footer`.
std::string ManPage(const CommandPage& page);
std::string ManPageOfTutti(std::span<const CommandSummary> commands, std::string_view footer);

enum class Shell { kBash, kZsh, kFish };

// A script that completes the words behind `tutti` consists of a head, a piece for each command, and an end.
std::string CompletionHead(Shell shell, std::span<const CommandSummary> commands);
std::string CompletionPiece(Shell shell, const CommandPage& page);
std::string CompletionEnd(Shell shell, std::span<const CommandSummary> commands);

}  // namespace tutti::tools

#endif  // TUTTI_TOOLS_COMMAND_PAGE_H_
