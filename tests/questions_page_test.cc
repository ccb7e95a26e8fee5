// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
// docs/questions.md says what the simulator says: its commands are run, and what it shows of their output and in its tables compared.

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <optional>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "sim/workload.h"
#include "tools/cli.h"
#include "tools/sim_command.h"
#include "topo/machine_text.h"

namespace tutti::tools {
namespace {

using Lines = std::vector<std::string>;

// Numbers of a page and of a run may differ by so much of themselves: another compiler rounds otherwise.
constexpr double kNear = 1e-3;

Lines SplitLines(const std::string& text) {
  Lines lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

Lines SplitWords(const std::string& line) {
  Lines words;
  std::istringstream stream(line);
  for (std::string word; stream >> word;) words.push_back(word);
  return words;
}

std::string ReadWhole(const std::string& path) {
  std::ifstream file(std::string(TUTTI_SOURCE_DIR "/") + path);
  EXPECT_TRUE(file) << path << " cannot be read";
  std::stringstream content;
  content << file.rdbuf();
  return content.str();
}

// The number that a word is, perhaps with a comma behind it.
std::optional<double> NumberOf(std::string_view word) {
  while (!word.empty() && (word.back() == ',' || word.back() == ';')) word.remove_suffix(1);
  const std::string text(word);
  if (text.empty() || (std::isdigit(static_cast<unsigned char>(text[0])) == 0 && text[0] != '-')) return std::nullopt;
  char* end = nullptr;
  const double number = std::strtod(text.c_str(), &end);
  return *end == '\0' ? std::optional(number) : std::nullopt;
}

// Word by word; numbers nearly.
bool SameLine(const std::string& a, const std::string& b) {
  const Lines words_a = SplitWords(a), words_b = SplitWords(b);
  return std::equal(words_a.begin(), words_a.end(), words_b.begin(), words_b.end(),
                    [](const std::string& x, const std::string& y) {
                      const std::optional<double> number_x = NumberOf(x), number_y = NumberOf(y);
                      if (!number_x || !number_y) return x == y;
                      return std::abs(*number_x - *number_y) <= kNear * std::abs(*number_y) + 1e-9;
                    });
}

struct Section {
  std::string head;
  std::string command;  // without "$ tutti sim"
  Lines shown;          // of its output
  Lines table;          // rows, without head and rule
  std::string columns;  // the table's head
};

std::vector<Section> ReadPage(const std::string& page) {
  std::vector<Section> sections;
  enum class In { kText, kCommand, kOutput, kTable } in = In::kText;
  for (const std::string& line : SplitLines(page)) {
    if (line.starts_with("## ")) {
      sections.push_back({.head = line.substr(3), .command = {}, .shown = {}, .table = {}, .columns = {}});
      in = In::kText;
    }
    if (sections.empty()) continue;
    Section& section = sections.back();
    if (line.starts_with("```")) {
      in = In::kText;
    } else if (line.starts_with("$ tutti sim ") || in == In::kCommand) {
      const bool more = line.ends_with("\\");
      const std::string words = line.starts_with("$ ") ? line.substr(std::string_view("$ tutti sim ").size()) : line;
      section.command += " " + words.substr(0, words.size() - (more ? 1 : 0));
      in = more ? In::kCommand : In::kOutput;
    } else if (in == In::kOutput) {
      section.shown.push_back(line);
    } else if (line.starts_with("|---")) {
      in = In::kTable;
    } else if (line.starts_with("|") && in == In::kTable) {
      section.table.push_back(line);
    } else if (line.starts_with("|")) {
      section.columns = line;
    } else {
      in = In::kText;
    }
  }
  return sections;
}

Lines CellsOf(const std::string& row) {
  Lines cells;
  if (row.empty()) return cells;
  std::istringstream stream(row.substr(1));
  for (std::string cell; std::getline(stream, cell, '|');) cells.push_back(cell);
  return cells;
}

// What `tutti sim` prints.
std::string OutputOf(const std::string& command) {
  Lines words = SplitWords("tutti-sim " + command);
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  EXPECT_EQ(chdir(TUTTI_SOURCE_DIR), 0);
  testing::internal::CaptureStdout();
  const int exit = SimCommand(static_cast<int>(argv.size()), argv.data());
  EXPECT_EQ(exit, kExitOk) << command;
  return testing::internal::GetCapturedStdout();
}

// Lines of a section that its command does not print in this order.
Lines NotPrinted(const Section& section, const std::string& output) {
  Lines missing;
  const Lines printed = SplitLines(output);
  auto from = printed.begin();
  for (const std::string& line : section.shown) {
    if (line == "...") continue;
    const auto found = std::find_if(from, printed.end(), [&](const std::string& each) { return SameLine(line, each); });
    if (found == printed.end()) {
      missing.push_back(section.head + ": not printed: " + line);
    } else {
      from = found + 1;
    }
  }
  return missing;
}

// Whether a number in a table, with its decimals and unit, is one of those that the command prints, in us or ms.
bool IsPrinted(const std::string& word, const std::string& unit, const std::vector<double>& printed) {
  const std::size_t point = word.find('.');
  const std::size_t end = word.find_last_of("0123456789");
  const double half = 0.5 * std::pow(10, point == word.npos ? 0 : -static_cast<double>(end - point));
  std::vector<double> factors = {1};
  if (unit.starts_with("s")) factors = {1e-6, 1e-3};
  if (unit.starts_with("ms")) factors = {1e-3, 1};
  return std::ranges::any_of(printed, [&](double each) {
    return std::ranges::any_of(
        factors, [&](double factor) { return std::abs(each * factor - *NumberOf(word)) <= half * (1 + 1e-6); });
  });
}

// Numbers in a section's columns called "here", and those without a name behind them, that are not in the output that it shows.
Lines NotShown(const Section& section, int& checked) {
  std::vector<double> printed;
  for (const std::string& line : section.shown) {
    for (const std::string& word : SplitWords(line)) {
      if (const std::optional<double> number = NumberOf(word)) printed.push_back(*number);
    }
  }
  Lines missing;
  const Lines columns = CellsOf(section.columns);
  for (const std::string& row : section.table) {
    const Lines cells = CellsOf(row);
    bool here = false;
    for (std::size_t i = 1; i < cells.size() && i < columns.size(); ++i) {
      if (!SplitWords(columns[i]).empty()) here = columns[i].find("here") != std::string::npos;
      const Lines words = here ? SplitWords(cells[i]) : Lines();
      for (std::size_t k = 0; k < words.size(); ++k) {
        if (!NumberOf(words[k])) continue;
        ++checked;
        if (IsPrinted(words[k], k + 1 < words.size() ? words[k + 1] : "", printed)) continue;
        missing.push_back(section.head + ": not in the output above: " + words[k] + " in " + row);
      }
    }
  }
  return missing;
}

Lines Complaints(const Section& section, const std::string& output, int& checked) {
  Lines all = NotPrinted(section, output);
  if (!all.empty()) all.push_back("`tutti sim" + section.command + "` prints\n" + output);
  const Lines absent = NotShown(section, checked);
  all.insert(all.end(), absent.begin(), absent.end());
  return all;
}

TEST(QuestionsPage, SaysWhatTheSimulatorSays) {
  const std::string page = ReadWhole("docs/questions.md");
  const std::vector<Section> sections = ReadPage(page);
  ASSERT_GE(sections.size(), 8u);
  for (const Section& section : sections) {
    EXPECT_FALSE(section.command.empty()) << section.head << ": asks nothing; begin a block with \"$ tutti sim\"";
    EXPECT_FALSE(section.shown.empty()) << section.head << ": shows no output";
  }
  int checked = 0;
  for (const Section& section : sections) {
    for (const std::string& complaint : Complaints(section, OutputOf(section.command), checked))
      ADD_FAILURE() << complaint;
  }
  EXPECT_GE(checked, 40) << "numbers in tables";
}

// With another first digit in the number around or before a place.
std::string WithAnotherNumber(std::string line, std::size_t place) {
  const auto digit = [](char c) { return std::isdigit(static_cast<unsigned char>(c)) != 0; };
  while (place > 0 && (digit(line[place - 1]) || line[place - 1] == '.')) --place;
  line[place] = line[place] == '9' ? '1' : static_cast<char>(line[place] + 1);
  return line;
}

// A page that says something else than was printed is found: another time in each block, another number in each table.
TEST(QuestionsPage, WhatDiffersIsFound) {
  int checked = 0;
  for (const Section& section : ReadPage(ReadWhole("docs/questions.md"))) {
    std::string printed;
    for (const std::string& line : section.shown) printed += line + "\n";
    EXPECT_TRUE(Complaints(section, printed, checked).empty()) << section.head;
    Section changed = section;
    const auto line =
        std::ranges::find_if(changed.shown, [](const std::string& each) { return each.starts_with(" "); });
    ASSERT_NE(line, changed.shown.end()) << section.head;
    *line = WithAnotherNumber(*line, line->find('.'));
    EXPECT_FALSE(Complaints(changed, printed, checked).empty()) << *line;
    if (section.table.empty()) continue;
    changed = section;
    std::string& row = changed.table.back();
    row = WithAnotherNumber(row, row.find_last_of("0123456789"));
    EXPECT_FALSE(Complaints(changed, printed, checked).empty()) << row;
  }
}

// Machines and steps that the page does not use would rot, and the page names none that is not there.
TEST(QuestionsPage, UsesAllExamples) {
  const std::string page = ReadWhole("docs/questions.md");
  for (const char* name :
       {"data-parallel-405b", "data-parallel-70b", "data-parallel-7b", "llama-70b-all-reduce", "llama-70b-fsdp"}) {
    const std::string path = std::string("examples/planning/") + name + ".txt";
    EXPECT_NE(page.find(path), std::string::npos) << path;
    EXPECT_TRUE(sim::ReadWorkload(ReadWhole(path)).ok()) << path;
  }
  for (const char* name : {"ethernet-100g", "h200-as-drawn", "h200-one-card", "h200-two-cards", "hgx-h100-slow-cable",
                           "infiniband-100g", "nvlink", "one-card-100g", "one-card-400g", "one-card-400g-pci6"}) {
    const std::string path = std::string("examples/planning/") + name + ".txt";
    EXPECT_NE(page.find(path), std::string::npos) << path;
    EXPECT_TRUE(topo::ReadMachineText(ReadWhole(path), path).ok()) << path;
  }
}

}  // namespace
}  // namespace tutti::tools
