// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "tools/command_line.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <sstream>
#include <type_traits>

#include "tools/cli.h"
#include "tutti/types.h"

namespace tutti::tools {
namespace {

constexpr const char* kOneOf = "one of";  // the name of a check whose description is the words that are offered

template <typename Number>
std::string Outside(const std::string& word, Number least, Number most) {
  Number value = 0;
  if (CLI::detail::lexical_cast(word, value) && value >= least && value <= most) return "";
  return fmt::format("takes a {} from {} to {}, not '{}'", std::is_integral_v<Number> ? "whole number" : "number",
                     least, most, word);
}

CommandPage::Option Describe(CLI::Option& option) {
  CommandPage::Option described{.value = option.get_option_text(),
                                .help = option.get_description(),
                                .group = option.get_positional() ? "Positionals" : option.get_group(),
                                .required = option.get_required()};
  if (option.get_positional()) {
    described.names.push_back(option.get_name(true));
  } else {
    for (const std::string& name : option.get_snames()) described.names.push_back("-" + name);
    for (const std::string& name : option.get_lnames()) described.names.push_back("--" + name);
  }
  try {
    std::istringstream words(option.get_validator(kOneOf)->get_description());
    for (std::string word; words >> word;) described.values.push_back(word);
  } catch (const CLI::OptionNotFound&) {  // it takes any word
  }
  return described;
}

// The part of a footer that begins with a line "Examples:", up to the next empty line; {} where there is none.
struct FooterParts {
  std::string examples, rest;
};

FooterParts SplitFooter(const std::string& footer) {
  constexpr std::string_view kHead = "Examples:\n";
  const std::size_t begin = footer.find(kHead);
  if (begin == footer.npos || (begin > 0 && footer[begin - 1] != '\n')) return {.examples = {}, .rest = footer};
  const std::size_t end = std::min(footer.find("\n\n", begin), footer.size());
  std::string rest = footer.substr(0, begin);
  while (rest.ends_with('\n')) rest.pop_back();
  std::string behind = footer.substr(std::min(end + 2, footer.size()));
  if (!rest.empty() && !behind.empty()) rest += "\n\n";
  return {.examples = footer.substr(begin, end - begin), .rest = rest + behind};
}

// Examples come before the options: most readers look for one like their own call.
class Formatter : public CLI::Formatter {
 public:
  std::string make_usage(const CLI::App* app, std::string name) const override {
    const std::string examples = SplitFooter(app->get_footer()).examples;
    return CLI::Formatter::make_usage(app, name) + (examples.empty() ? "" : "\n" + examples + "\n");
  }
  std::string make_footer(const CLI::App* app) const override {
    const std::string rest = SplitFooter(app->get_footer()).rest;
    return rest.empty() ? "" : "\n" + rest + "\n";
  }
};

// What an option that does not exist may have been meant to be: "; did you mean --minbytes?" or nothing.
std::string MeantBy(const std::vector<std::string>& unknown, const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::Option* option : app.get_options()) {
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
  }
  const std::vector<std::string_view> views(names.begin(), names.end());
  for (const std::string& word : unknown) {
    if (!word.starts_with("--")) continue;
    const std::string_view option = std::string_view(word).substr(0, word.find('='));
    if (const std::optional<std::string_view> nearest = Nearest(option, views)) {
      return fmt::format("; did you mean {}?", *nearest);
    }
  }
  return "";
}

// nullopt where the word asks for no page.
std::optional<std::string> PrintedPage(std::string_view word, const CommandPage& page) {
  if (word == "--page=man") return ManPage(page);
  if (word == "--page=bash") return CompletionPiece(Shell::kBash, page);
  if (word == "--page=zsh") return CompletionPiece(Shell::kZsh, page);
  if (word == "--page=fish") return CompletionPiece(Shell::kFish, page);
  return std::nullopt;
}

}  // namespace

CommandLine::Option CommandLine::Option::Shown(const std::string& value) const {
  option_->option_text(value);
  return *this;
}

CommandLine::Option CommandLine::Option::Required() const {
  option_->required();
  return *this;
}

CommandLine::Option CommandLine::Option::Between(std::int64_t least, std::int64_t most) const {
  option_->check([least, most](const std::string& word) { return Outside(word, least, most); });
  return *this;
}

CommandLine::Option CommandLine::Option::BetweenSeconds(double least, double most) const {
  option_->check([least, most](const std::string& word) { return Outside(word, least, most); });
  return *this;
}

CommandLine::Option CommandLine::Option::OneOf(std::initializer_list<const char*> values) const {
  option_->check(
      [values = std::vector<std::string>(values.begin(), values.end())](const std::string& word) {
        if (std::ranges::find(values, word) != values.end()) return std::string();
        return fmt::format("takes one of {}, not '{}'", fmt::join(values, " "), word);
      },
      fmt::format("{}", fmt::join(values, " ")), kOneOf);
  return *this;
}

CommandLine::Option CommandLine::Option::Suggest(const std::vector<std::string>& words) const {
  option_->check([](const std::string&) { return std::string(); }, fmt::format("{}", fmt::join(words, " ")), kOneOf);
  return *this;
}

CommandLine::Option CommandLine::Option::SuggestCollectives() const {
  std::vector<std::string> names;
  for (int i = 0; i < kCollectives; ++i) {
    if (static_cast<Collective>(i) != Collective::kBarrier) names.emplace_back(Name(static_cast<Collective>(i)));
  }
  return Suggest(names);
}

CommandLine::Option CommandLine::Option::SplitAtCommas() const {
  option_->delimiter(',');
  return *this;
}

CommandLine::Option CommandLine::Option::Excludes(Option other) const {
  option_->excludes(other.option_);
  return *this;
}

CommandLine::Option CommandLine::Option::Needs(Option other) const {
  option_->needs(other.option_);
  return *this;
}

CommandLine::CommandLine(const std::string& about, const std::string& name)
    : app_(std::make_unique<CLI::App>(about, name)) {
  app_->set_help_flag("-h,--help", "print this help");
  app_->set_version_flag("--version", fmt::format("tutti {}", Version()), "print the version");
  app_->formatter(std::make_shared<Formatter>());
  app_->get_formatter()->column_width(28);
}

CommandLine::~CommandLine() = default;

CommandLine::Option CommandLine::AddFlag(const std::string& names, bool& value, const std::string& help) {
  return Option(app_->add_flag(names, value, help));
}

template <typename Value>
CommandLine::Option CommandLine::AddValue(const std::string& names, Value& value, const std::string& help,
                                          const char* shown) {
  return Option(app_->add_option(names, value, help)->option_text(shown));
}

CommandLine::Option CommandLine::Add(const std::string& names, std::string& value, const std::string& help) {
  return AddValue(names, value, help, "WORD");
}

CommandLine::Option CommandLine::Add(const std::string& names, std::vector<std::string>& value,
                                     const std::string& help) {
  return AddValue(names, value, help, "LIST");
}

CommandLine::Option CommandLine::Add(const std::string& names, int& value, const std::string& help) {
  return AddValue(names, value, help, "N");
}

CommandLine::Option CommandLine::Add(const std::string& names, std::int64_t& value, const std::string& help) {
  return AddValue(names, value, help, "N");
}

CommandLine::Option CommandLine::Add(const std::string& names, double& value, const std::string& help) {
  return AddValue(names, value, help, "SECONDS");
}

void CommandLine::Group(const std::string& head) { app_->option_defaults()->group(head); }

void CommandLine::Footer(const std::string& text) { app_->footer(text); }

CommandPage CommandLine::Page() const {
  CommandPage page{
      .name = app_->get_name(), .about = app_->get_description(), .footer = app_->get_footer(), .options = {}};
  for (const bool positional : {true, false}) {
    for (CLI::Option* option : app_->get_options()) {
      if (option->get_positional() == positional) page.options.push_back(Describe(*option));
    }
  }
  return page;
}

std::optional<int> CommandLine::Parse(int argc, char** argv) {
  if (argc == 2) {
    if (const std::optional<std::string> page = PrintedPage(argv[1], Page())) {
      fmt::print("{}", *page);
      return kExitOk;
    }
  }
  try {
    app_->parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) {  // --help, --version
      app_->exit(error);
      return kExitOk;
    }
    return UsageError(app_->get_name(), error.what() + MeantBy(app_->remaining(), *app_));
  }
  return std::nullopt;
}

}  // namespace tutti::tools
