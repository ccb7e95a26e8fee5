// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "tools/pages_command.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "tools/cli.h"
#include "tools/command_line.h"
#include "tools/command_page.h"

namespace tutti::tools {
namespace {

std::vector<CommandSummary> Summaries(std::span<const Command> commands) {
  std::vector<CommandSummary> summaries;
  for (const Command& command : commands) summaries.push_back({command.name, command.help});
  return summaries;
}

// The command itself prints it: it alone has its table of options.
int RunForPage(const Command& command, std::string form) {
  std::string name(command.name);
  form = "--page=" + form;
  char* words[] = {name.data(), form.data(), nullptr};
  return command.run(2, words);
}

}  // namespace

int PrintManPage(std::span<const Command> commands, std::string_view footer, int argc, char** argv) {
  CommandLine line("Prints a manual page in roff, the form that man reads.", "tutti man");
  std::string wanted;
  bool list = false;
  std::vector<std::string> names;
  for (const Command& command : commands) names.emplace_back(command.name);
  line.Add("COMMAND", wanted, "the command whose page it is; without it, the page of tutti").Suggest(names);
  line.AddFlag("--list", list, "print the names of all pages instead");
  line.Footer("Examples:\n  tutti man perf | man -l -\n  tutti man run > tutti-run.1");
  if (const std::optional<int> exit = line.Parse(argc, argv)) return *exit;
  if (list) {
    fmt::print("tutti\n");
    for (const Command& command : commands) fmt::print("tutti-{}\n", command.name);
    return kExitOk;
  }
  if (wanted.empty()) {
    fmt::print("{}", ManPageOfTutti(Summaries(commands), footer));
    return kExitOk;
  }
  const auto command = std::ranges::find(commands, wanted, &Command::name);
  if (command == commands.end()) return UsageError("tutti man", fmt::format("there is no command '{}'", wanted));
  return RunForPage(*command, "man");
}

int PrintCompletion(std::span<const Command> commands, int argc, char** argv) {
  CommandLine line("Prints a script by which a shell completes the words behind tutti.", "tutti completion");
  std::string name;
  line.Add("SHELL", name, "bash, zsh or fish").Required().OneOf({"bash", "zsh", "fish"});
  line.Footer(
      "An installed tutti has these scripts where the shells look for them.\n\n"
      "Examples:\n  source <(tutti completion bash)\n  tutti completion fish | source");
  if (const std::optional<int> exit = line.Parse(argc, argv)) return *exit;
  const Shell shell = name == "bash" ? Shell::kBash : name == "zsh" ? Shell::kZsh : Shell::kFish;
  fmt::print("{}", CompletionHead(shell, Summaries(commands)));
  for (const Command& command : commands) {
    if (const int code = RunForPage(command, name); code != kExitOk) return code;
  }
  fmt::print("{}", CompletionEnd(shell, Summaries(commands)));
  return kExitOk;
}

}  // namespace tutti::tools
