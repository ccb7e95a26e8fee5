// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_TOOLS_COMMAND_LINE_H_
#define TUTTI_TOOLS_COMMAND_LINE_H_

// The options of a program, with their help. It is what the programs of this tree use of CLI11, which costs every source
// that includes it seconds of compiling; command_line.cc alone does.

#include <cstdint>
#include <initializer_list>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "tools/command_page.h"

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace tutti::tools {

class CommandLine {
 public:
  // One option of a command line, as long as that exists. What it returns is itself, for the next call.
  class Option {
   public:
    // What stands for the value in the help: "N" for whole numbers, "SECONDS" for others and "WORD" unless said here.
    Option Shown(const std::string& value) const;
    Option Required() const;
    // Both ends are fine.
    Option Between(std::int64_t least, std::int64_t most) const;
    Option BetweenSeconds(double least, double most) const;
    Option OneOf(std::initializer_list<const char*> values) const;
    // Shells offer these words; it takes others too.
    Option Suggest(const std::vector<std::string>& words) const;
    Option SuggestCollectives() const;
    // One word with commas is several values.
    Option SplitAtCommas() const;
    Option Excludes(Option other) const;
    Option Needs(Option other) const;

   private:
    friend class CommandLine;
    explicit Option(CLI::Option* option) : option_(option) {}
    CLI::Option* option_;
  };

  // `name` is how the program is called, as "tutti perf"; `about` says what it does.
  CommandLine(const std::string& about, const std::string& name);
  ~CommandLine();
  CommandLine(const CommandLine&) = delete;
  CommandLine& operator=(const CommandLine&) = delete;

  // An option without a value: `value` is whether it was given. `names` is "-u,--unalign" or the like.
  Option AddFlag(const std::string& names, bool& value, const std::string& help);
  // An option with a value, or a word by its place where `names` has no dash. Parse() writes the value to `value`, which
  // has to live until then and stays as it is where the option is not given.
  Option Add(const std::string& names, std::string& value, const std::string& help);
  Option Add(const std::string& names, std::vector<std::string>& value, const std::string& help);
  Option Add(const std::string& names, int& value, const std::string& help);
  Option Add(const std::string& names, std::int64_t& value, const std::string& help);
  Option Add(const std::string& names, double& value, const std::string& help);
  // What is added from here on stands in the help under this head.
  void Group(const std::string& head);
  // The end of the help. What begins with a line "Examples:", up to an empty line, stands before the options instead.
  void Footer(const std::string& text);

  // nullopt: go on. Otherwise the process's exit code: help or the version was asked for and has been printed (kExitOk),
  // or the error has been (kExitUsage). With --page=man, --page=bash, --page=zsh or --page=fish as the first word, which the help
  // does not show, it has printed these options so, for `tutti man` and `tutti completion` (kExitOk).
  std::optional<int> Parse(int argc, char** argv);
  // What has been added.
  CommandPage Page() const;

 private:
  template <typename Value>
  Option AddValue(const std::string& names, Value& value, const std::string& help, const char* shown);

  std::unique_ptr<CLI::App> app_;
};

}  // namespace tutti::tools

#endif  // TUTTI_TOOLS_COMMAND_LINE_H_
