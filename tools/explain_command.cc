// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "tools/explain_command.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <iostream>
#include <iterator>
#include <optional>
#include <utility>

#include "tools/cli.h"
#include "tools/command_line.h"
#include "tools/errors_page.h"
#include "tools/json.h"

namespace tutti::tools {
namespace {

constexpr std::size_t kAnchorLetters = 80;
constexpr std::size_t kFewestLetters = 10;  // of a sentence's own words; fewer are in many texts
constexpr std::size_t kFewestOfPart = 20;   // of those before a place where it was cut off
constexpr std::size_t kMostShown = 3;

bool IsLetter(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0; }

// Without line breaks and doubled blanks, which a terminal or a copy may have put in.
std::string OneLine(std::string_view text) {
  std::string line;
  for (char c : text) {
    if (std::isspace(static_cast<unsigned char>(c)) == 0) {
      line += c;
    } else if (!line.empty() && line.back() != ' ') {
      line += ' ';
    }
  }
  while (line.ends_with(' ')) line.pop_back();
  return line;
}

// What a sentence says between its dots.
std::vector<std::string_view> Pieces(std::string_view message) {
  std::vector<std::string_view> pieces;
  while (!message.empty()) {
    const std::size_t end = std::min(message.find("..."), message.size());
    if (end > 0) pieces.push_back(message.substr(0, end));
    message.remove_prefix(std::min(end + 3, message.size()));
  }
  return pieces;
}

// How many letters of the row's own words `said` has, in order, and whether it has all of them.
struct Likeness {
  std::size_t letters = 0;
  bool whole = true;
};

Likeness Compare(const ErrorRow& row, std::string_view said) {
  Likeness likeness;
  std::size_t place = 0;
  for (std::string_view piece : Pieces(row.message)) {
    const std::size_t found = said.find(piece, place);
    if (found == said.npos) {
      likeness.whole = false;
      break;
    }
    place = found + piece.size();
    likeness.letters += static_cast<std::size_t>(std::ranges::count_if(piece, IsLetter));
  }
  return likeness;
}

// The cells of "| ``message`` | cause | remedy | provoked by |"; empty where the line is none.
std::array<std::string_view, 4> CellsOf(std::string_view line) {
  std::array<std::string_view, 4> cells;
  if (!line.starts_with("| ``") || !line.ends_with(" |")) return {};
  line = line.substr(2, line.size() - 4);
  for (std::size_t i = 0; i < cells.size(); ++i) {
    const std::size_t end = i + 1 < cells.size() ? line.find(" | ") : line.size();
    if (end == line.npos) return {};
    cells[i] = line.substr(0, end);
    line.remove_prefix(std::min(end + 3, line.size()));
  }
  return cells;
}

void Print(const ErrorRow& row) {
  fmt::print("{}\n  cause:   {}\n  remedy:  {}\n  address: errors.html#{}\n  from:    {}\n", row.message, row.cause,
             row.remedy, row.Anchor(), row.source);
}

Json AsJson(const std::vector<const ErrorRow*>& errors) {
  Json list = Json::Array();
  for (const ErrorRow* row : errors) {
    list.Append({{"message", row->message},
                 {"cause", row->cause},
                 {"remedy", row->remedy},
                 {"address", "errors.html#" + row->Anchor()},
                 {"from", row->source}});
  }
  return list;
}

}  // namespace

std::string ErrorRow::Anchor() const {
  std::string anchor, word;
  for (char c : message + " ") {
    if (IsLetter(c)) {
      word += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
      continue;
    }
    const std::string next = std::exchange(word, {});
    if (next.empty()) continue;
    if (!anchor.empty() && anchor.size() + 1 + next.size() > kAnchorLetters) break;
    anchor += (anchor.empty() ? "" : "-") + next;
  }
  return anchor;
}

std::vector<ErrorRow> ParseErrorsPage(std::string_view page) {
  std::vector<ErrorRow> rows;
  std::string source;
  while (!page.empty()) {
    const std::size_t end = std::min(page.find('\n'), page.size());
    const std::string_view line = page.substr(0, end);
    page.remove_prefix(std::min(end + 1, page.size()));
    if (line.starts_with("## ")) source = line.substr(3);
    const std::array<std::string_view, 4> cells = CellsOf(line);
    if (cells[0].size() < 4) continue;
    rows.push_back({.message = OneLine(cells[0].substr(2, cells[0].size() - 4)),
                    .cause = std::string(cells[1]),
                    .remedy = std::string(cells[2]),
                    .source = source});
  }
  return rows;
}

std::vector<const ErrorRow*> FindErrors(const std::vector<ErrorRow>& rows, std::string_view said) {
  const std::string line = OneLine(said);
  std::vector<std::pair<std::size_t, const ErrorRow*>> whole, begun;
  for (const ErrorRow& row : rows) {
    const Likeness likeness = Compare(row, line);
    if (likeness.letters >= (likeness.whole ? kFewestLetters : kFewestOfPart)) {
      (likeness.whole ? whole : begun).emplace_back(likeness.letters, &row);
    }
  }
  auto& found = whole.empty() ? begun : whole;
  std::ranges::stable_sort(found, std::ranges::greater(), &std::pair<std::size_t, const ErrorRow*>::first);
  std::vector<const ErrorRow*> errors;
  for (const auto& [letters, row] : found) errors.push_back(row);
  if (!errors.empty() || static_cast<std::size_t>(std::ranges::count_if(line, IsLetter)) < kFewestLetters)
    return errors;
  for (const ErrorRow& row : rows) {
    if (row.message.find(line) != std::string::npos) errors.push_back(&row);
  }
  return errors;
}

int ExplainCommand(int argc, char** argv) {
  CommandLine line("Says what an error message means and what to do, from the page of errors.", "tutti explain");
  std::vector<std::string> words;
  std::string json;
  line.Add("MESSAGE", words, "the message, or a piece of it, or a line of the log; without it, standard input");
  line.Add("--json", json, "write what is found to a file as JSON, instead; - is the standard output").Shown("FILE");
  line.Footer(
      "The address is that of the message on the documentation site (./dev docs).\n\n"
      "Examples:\n  tutti explain \"the ranks did not meet within 60000 ms: 3 of 4 ranks have come\"\n"
      "  ./my_program 2>&1 | tail -n 1 | tutti explain\n\n"
      "Exit code: 0, or 1 where no such message is known, 2 for a wrong command line.");
  if (const std::optional<int> exit = line.Parse(argc, argv)) return *exit;
  std::string said;
  for (const std::string& word : words) said += word + " ";
  if (words.empty()) said.assign(std::istreambuf_iterator<char>(std::cin), {});
  const std::vector<ErrorRow> rows = ParseErrorsPage(ErrorsPage());
  const std::vector<const ErrorRow*> errors = FindErrors(rows, said);
  if (errors.empty()) {
    fmt::print(
        stderr,
        "tutti explain: no error of Tutti is like that. Pass the whole sentence in quotes, or at least {} letters "
        "of it in a row; docs/errors.md has all\n",
        kFewestLetters);
    return kExitFailed;
  }
  if (!json.empty()) {
    return WriteTextOrSay("tutti explain", json, AsJson(errors).Dump(2) + "\n") ? kExitOk : kExitFailed;
  }
  for (std::size_t i = 0; i < std::min(errors.size(), kMostShown); ++i) {
    if (i > 0) fmt::print("\n");
    Print(*errors[i]);
  }
  if (errors.size() > kMostShown) fmt::print("\n{} more are like that\n", errors.size() - kMostShown);
  return kExitOk;
}

}  // namespace tutti::tools
