// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <sstream>

#include "tools/cli.h"
#include "tools/command_page.h"

namespace tutti::tools {
namespace {

// Text in a line of roff: no character in it is one of roff's.
std::string Escape(std::string_view text) {
  std::string escaped;
  for (const char c : text) {
    if (c == '\\') {
      escaped += "\\e";
    } else if (c == '-') {
      escaped += "\\-";  // a minus, which can be copied into a shell
    } else {
      escaped += c;
    }
  }
  return escaped;
}

// The same at the start of a line, where a dot or an apostrophe would begin a request.
std::string EscapeLine(std::string_view text) {
  const bool request = text.starts_with('.') || text.starts_with('\'');
  return (request ? "\\&" : "") + Escape(text) + "\n";
}

std::string Head(std::string_view name, std::string_view about) {
  std::string title(name);
  std::ranges::transform(title, title.begin(), [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
  return fmt::format(".TH \"{}\" \"1\" \"\" \"Tutti {}\" \"User Commands\"\n.SH NAME\n{} \\- {}\n", Escape(title),
                     Version(), Escape(name), Escape(about));
}

// Lines that begin with a blank stay as they are; all others are put together to paragraphs.
std::string Body(const std::vector<std::string>& lines) {
  std::string text;
  bool verbatim = false;
  for (const std::string& line : lines) {
    if (line.empty()) {
      text += verbatim ? "" : ".PP\n";
      continue;
    }
    if (const bool wanted = line.starts_with(' '); wanted != verbatim) {
      text += wanted ? ".RS 2\n.nf\n" : ".fi\n.RE\n";
      verbatim = wanted;
    }
    text += EscapeLine(verbatim ? std::string_view(line).substr(std::min(line.find_first_not_of(' '), std::size_t{2}))
                                : line);
  }
  return text + (verbatim ? ".fi\n.RE\n" : "");
}

// The paragraphs of a help's end, those on exit codes and examples under heads of their own.
std::string Sections(std::string_view footer) {
  std::vector<std::string> notes, codes, examples, *section = &notes;
  std::istringstream lines{std::string(footer)};
  bool begins = true;
  for (std::string line; std::getline(lines, line);) {
    const bool example = line.starts_with("Example");
    if (begins)
      section = example ? &examples : line.starts_with("Exit code") ? &codes : line.starts_with(' ') ? section : &notes;
    begins = line.empty();
    if (!(example && section == &examples)) section->push_back(line);
  }
  std::string text;
  const auto add = [&](const char* head, std::vector<std::string>& body) {
    while (!body.empty() && body.back().empty()) body.pop_back();
    if (!body.empty()) text += fmt::format(".SH {}\n{}", head, Body(body));
  };
  add("NOTES", notes);
  add("EXIT STATUS", codes);
  add("EXAMPLES", examples);
  return text;
}

std::string Names(const CommandPage::Option& option) {
  std::vector<std::string> names;
  for (const std::string& name : option.names) names.push_back(fmt::format("\\fB{}\\fR", Escape(name)));
  return fmt::format("{}{}", fmt::join(names, ", "),
                     option.value.empty() ? "" : fmt::format(" \\fI{}\\fR", Escape(option.value)));
}

std::string Options(const CommandPage& page) {
  std::string text, group;
  for (const CommandPage::Option& option : page.options) {
    if (option.group != group) {
      group = option.group;
      const bool standard = group == "Options" || group == "Positionals";
      text += fmt::format("{} {}\n", standard ? ".SH" : ".SS",
                          standard ? (group == "Options" ? "OPTIONS" : "ARGUMENTS") : Escape(group));
    }
    text += fmt::format(".TP\n{}\n{}", Names(option), EscapeLine(option.help));
  }
  return text;
}

std::string Synopsis(const CommandPage& page) {
  std::string text = fmt::format(".SH SYNOPSIS\n\\fB{}\\fR [\\fIOPTIONS\\fR]", Escape(page.name));
  for (const CommandPage::Option& option : page.options) {
    if (!option.IsPositional()) continue;
    const std::string word =
        fmt::format("\\fI{}\\fR{}", Escape(option.names.front()), option.value.ends_with("...") ? " ..." : "");
    text += option.required ? " " + word : fmt::format(" [{}]", word);
  }
  return text + "\n";
}

}  // namespace

std::string ManPage(const CommandPage& page) {
  std::string name = page.name;
  std::ranges::replace(name, ' ', '-');
  std::string about = page.about.substr(0, page.about.find_first_of(".;,"));
  if (!about.empty()) about[0] = static_cast<char>(std::tolower(static_cast<unsigned char>(about[0])));
  return Head(name, about) + Synopsis(page) + ".SH DESCRIPTION\n" + EscapeLine(page.about) + Options(page) +
         Sections(page.footer) + ".SH SEE ALSO\n.BR tutti (1)\n";
}

std::string ManPageOfTutti(std::span<const CommandSummary> commands, std::string_view footer) {
  std::string text = Head("tutti", "collective communication for plain hosts and GPUs");
  text +=
      ".SH SYNOPSIS\n\\fBtutti\\fR \\fICOMMAND\\fR [\\fIOPTIONS\\fR]\n.SH DESCRIPTION\nTutti moves and adds up data "
      "between the ranks of a "
      "job, which are processes or threads of one host or several. This program starts ranks, measures what they do, "
      "explains it and "
      "predicts it.\n.SH COMMANDS\n";
  std::vector<std::string> pages;
  for (const CommandSummary& command : commands) {
    text += fmt::format(".TP\n\\fB{}\\fR\n{}", Escape(command.name), EscapeLine(command.help));
    pages.push_back(fmt::format(".BR tutti\\-{} (1)", Escape(command.name)));
  }
  text +=
      ".SH OPTIONS\n.TP\n\\fB\\-h\\fR, \\fB\\-\\-help\\fR\nprint the list of commands\n.TP\n\\fB\\-V\\fR, "
      "\\fB\\-\\-version\\fR\nprint the "
      "version\n";
  text += Sections(footer);
  text +=
      ".SH ENVIRONMENT\nSettings are variables whose names begin with TUTTI_ or NCCL_. \\fBtutti env\\fR lists all of "
      "them, with their "
      "values and where those come from.\n.SH FILES\n.TP\n\\fI~/.nccl.conf\\fR, \\fI/etc/nccl.conf\\fR\nsettings that "
      "the environment "
      "does not have, one NAME=value a line; NCCL_CONF_FILE names another file\n";
  return text + fmt::format(".SH SEE ALSO\n{}\n", fmt::join(pages, ",\n"));
}

}  // namespace tutti::tools
