// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "tools/command_page.h"

namespace tutti::tools {
namespace {

using Option = CommandPage::Option;

// In single quotes of bash and zsh.
std::string Quoted(std::string_view text) {
  std::string quoted = "'";
  for (const char c : text) quoted += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return quoted + "'";
}

// fish knows \' within single quotes.
std::string FishQuoted(std::string_view text) {
  std::string quoted = "'";
  for (const char c : text) {
    if (c == '\'' || c == '\\') quoted += '\\';
    quoted += c;
  }
  return quoted + "'";
}

// What zsh shows in brackets: a closing one and a colon would end it.
std::string ZshText(std::string_view text) {
  std::string escaped;
  for (const char c : text) {
    if (c == '[' || c == ']' || c == ':' || c == '\\') escaped += '\\';
    escaped += c;
  }
  return escaped;
}

std::vector<std::string> AllNames(const CommandPage& page) {
  std::vector<std::string> names;
  for (const Option& option : page.options) {
    if (!option.IsPositional()) names.insert(names.end(), option.names.begin(), option.names.end());
  }
  return names;
}

// A program and its arguments come last: they are completed as if they stood alone.
bool EndsWithProgram(const CommandPage& page) {
  for (const Option& option : page.options) {
    if (option.IsPositional() && option.value.ends_with("...")) return true;
  }
  return false;
}

std::vector<std::string> WordsByPlace(const CommandPage& page) {
  for (const Option& option : page.options) {
    if (option.IsPositional()) return option.values;
  }
  return {};
}

std::string BashPiece(const CommandPage& page) {
  std::string text = fmt::format("    {})\n", page.Command());
  std::string arms;
  for (const Option& option : page.options) {
    if (option.IsPositional() || option.value.empty()) continue;
    const std::string reply = option.TakesFile() ? "compopt -o default"
                              : option.values.empty()
                                  ? ":"
                                  : fmt::format("mapfile -t COMPREPLY < <(compgen -W {} -- \"$word\")",
                                                Quoted(fmt::format("{}", fmt::join(option.values, " "))));
    arms += fmt::format("        {}) {}; return ;;\n", fmt::join(option.names, " | "), reply);
  }
  if (!arms.empty()) text += "      case $before in\n" + arms + "      esac\n";
  text += fmt::format("      options={}\n", Quoted(fmt::format("{}", fmt::join(AllNames(page), " "))));
  if (const std::vector<std::string> words = WordsByPlace(page); !words.empty()) {
    text += fmt::format("      words={}\n", Quoted(fmt::format("{}", fmt::join(words, " "))));
  }
  if (EndsWithProgram(page)) text += "      program=yes\n";
  return text + "      ;;\n";
}

std::string ZshAction(const Option& option) {
  if (option.TakesFile()) return "_files";
  return option.values.empty() ? " " : fmt::format("({})", fmt::join(option.values, " "));
}

std::string ZshPiece(const CommandPage& page) {
  std::string text = fmt::format("_tutti_{}() {{\n  _arguments -s", page.Command());
  int place = 0;
  for (const Option& option : page.options) {
    text += " \\\n    ";
    const std::string message = ZshText(option.value);
    if (option.IsPositional() && option.value.ends_with("...")) {
      text += "'*::program:_normal'";
    } else if (option.IsPositional()) {
      text += Quoted(fmt::format("{}:{}:{}", ++place, ZshText(option.names.front()),
                                 option.values.empty() ? "_files" : ZshAction(option)));
    } else {
      const std::string rest =
          fmt::format("[{}]{}", ZshText(option.help),
                      option.value.empty() ? "" : fmt::format(":{}:{}", message, ZshAction(option)));
      text += option.names.size() == 1 ? Quoted("*" + option.names.front() + rest)
                                       : fmt::format("'*'{{{}}}{}", fmt::join(option.names, ","), Quoted(rest));
    }
  }
  return text + "\n}\n";
}

std::string FishPiece(const CommandPage& page) {
  std::string text;
  for (const Option& option : page.options) {
    text += fmt::format("complete -c tutti -n '__fish_seen_subcommand_from {}'", page.Command());
    if (!option.IsPositional()) {
      for (const std::string& name : option.names) {
        const bool is_long = name.starts_with("--");
        text += fmt::format(" {} {}", is_long ? "-l" : "-s", name.substr(is_long ? 2 : 1));
      }
      if (!option.value.empty()) text += option.TakesFile() ? " -r -F" : " -x";
    } else if (!option.values.empty()) {
      text += " -f";
    }
    if (!option.values.empty()) text += " -a " + FishQuoted(fmt::format("{}", fmt::join(option.values, " ")));
    text += fmt::format(" -d {}\n", FishQuoted(option.help));
  }
  return text;
}

std::string CommandNames(std::span<const CommandSummary> commands) {
  std::string names;
  for (const CommandSummary& command : commands) names += fmt::format("{}{}", names.empty() ? "" : " ", command.name);
  return names;
}

constexpr std::string_view kBashHead =
    R"(# Completes the words behind tutti, in bash. Made by: tutti completion bash

_tutti() {{
  local word=${{COMP_WORDS[COMP_CWORD]}} before=${{COMP_WORDS[COMP_CWORD - 1]}} options="" words="" program=""
  COMPREPLY=()
  if ((COMP_CWORD == 1)); then
    mapfile -t COMPREPLY < <(compgen -W '{} --help --version' -- "$word")
    return
  fi
  case ${{COMP_WORDS[1]}} in
)";

constexpr std::string_view kBashEnd = R"(  esac
  if [[ $word == -* ]]; then
    mapfile -t COMPREPLY < <(compgen -W "$options" -- "$word")
  elif [[ -n $words ]]; then
    mapfile -t COMPREPLY < <(compgen -W "$words" -- "$word")
  elif [[ -n $program ]]; then
    mapfile -t COMPREPLY < <(compgen -c -- "$word")
    compopt -o default
  else
    compopt -o default
  fi
}

complete -F _tutti tutti
)";

}  // namespace

std::string_view CommandPage::Command() const { return std::string_view(name).substr(name.rfind(' ') + 1); }

bool CommandPage::Option::TakesFile() const {
  return value == "FILE" || value == "FOLDER" || value == "PATH" || value == "PREFIX";
}

std::string CompletionHead(Shell shell, std::span<const CommandSummary> commands) {
  if (shell == Shell::kBash) return fmt::format(kBashHead, CommandNames(commands));
  if (shell == Shell::kZsh)
    return "#compdef tutti\n# Completes the words behind tutti, in zsh. Made by: tutti completion zsh\n\n";
  std::string text = "# Completes the words behind tutti, in fish. Made by: tutti completion fish\n\n";
  for (const CommandSummary& command : commands) {
    text += fmt::format("complete -c tutti -n __fish_use_subcommand -f -a {} -d {}\n", command.name,
                        FishQuoted(command.help));
  }
  return text +
         "complete -c tutti -n __fish_use_subcommand -f -l help -s h -d 'print the list of commands'\n"
         "complete -c tutti -n __fish_use_subcommand -f -l version -s V -d 'print the version'\n";
}

std::string CompletionPiece(Shell shell, const CommandPage& page) {
  return shell == Shell::kBash ? BashPiece(page) : shell == Shell::kZsh ? ZshPiece(page) : FishPiece(page);
}

std::string CompletionEnd(Shell shell, std::span<const CommandSummary> commands) {
  if (shell == Shell::kBash) return std::string(kBashEnd);
  if (shell == Shell::kFish) return "";
  std::string text = "\n_tutti() {\n  local -a commands=(\n";
  for (const CommandSummary& command : commands) {
    text += fmt::format("    {}\n", Quoted(fmt::format("{}:{}", command.name, ZshText(command.help))));
  }
  return text + R"(  )
  if ((CURRENT == 2)); then
    _describe command commands
    compadd -- --help --version
    return
  fi
  local function=_tutti_${words[2]}
  shift words
  ((CURRENT -= 1))
  (($+functions[$function])) && $function
}

_tutti "$@"
)";
}

}  // namespace tutti::tools
