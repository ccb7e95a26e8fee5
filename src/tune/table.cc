// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "tune/table.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <locale>
#include <sstream>

#include "base/one_line.h"
#include "base/words.h"

namespace tutti::tune {
namespace {

constexpr std::string_view kBlanks = " \t\r";
constexpr std::size_t kMostShown = 60;  // bytes of a file's own text in a sentence

std::string Show(std::string_view text) {
  std::string shown(text.substr(0, kMostShown));
  ReplaceControls(shown, '?');
  return text.size() > kMostShown ? shown + "..." : shown;
}

// What writes a valid table of that kind.
std::string Remedy(std::string_view kind) {
  return kind == kGpuTable ? "`tutti tune --gpu` writes a valid table"
                           : "`tutti tune --calibrate` writes a valid table";
}

// By a stream, since std::from_chars would make libnccl.so.2 need libm, and strtod goes by the program's locale.
bool ParseNumber(std::string_view text, double& number) {
  std::istringstream stream{std::string(text)};
  stream.imbue(std::locale::classic());
  return stream >> std::noskipws >> number && stream.peek() == std::istringstream::traits_type::eof() &&
         std::isfinite(number);
}

Status ReadValue(const TableText::Line& line, std::string_view kind, const Constant& constant) {
  if (std::string* const* words = std::get_if<std::string*>(&constant.value)) {
    if (line.value.empty()) {
      return Status(Code::kInvalidUsage, fmt::format("line {} of the tuning file: {} has no value; {}", line.number,
                                                     constant.name, Remedy(kind)));
    }
    **words = line.value;
    return Status::Ok();
  }
  double number = 0;
  const bool whole = !std::holds_alternative<double*>(constant.value);
  const bool good = ParseNumber(line.value, number) && number >= constant.least && number <= constant.most &&
                    (!whole || number == std::floor(number));
  if (!good) {
    return Status(Code::kInvalidUsage,
                  fmt::format("line {} of the tuning file: {} needs a {} from {} to {}, found \"{}\"; {}", line.number,
                              constant.name, whole ? "whole number" : "number", constant.least, constant.most,
                              Show(line.value), Remedy(kind)));
  }
  if (double* const* value = std::get_if<double*>(&constant.value)) **value = number;
  if (int* const* value = std::get_if<int*>(&constant.value)) **value = static_cast<int>(number);
  if (std::size_t* const* value = std::get_if<std::size_t*>(&constant.value)) {
    **value = static_cast<std::size_t>(number);
  }
  return Status::Ok();
}

}  // namespace

Result<std::vector<TableText>> SplitTables(std::string_view text) {
  std::vector<TableText> tables;
  int number = 0;
  while (!text.empty()) {
    const std::string_view line = Trim(TakeLine(text), kBlanks);
    ++number;
    if (line.empty() || line.front() == '#') continue;
    if (line.front() == '[') {
      const std::string_view kind = Trim(line.substr(1, line.size() - 1 - (line.back() == ']' ? 1 : 0)), kBlanks);
      if (line.back() != ']' || (kind != kHostTable && kind != kGpuTable)) {
        return Status(Code::kInvalidUsage,
                      fmt::format("line {} of the tuning file: \"{}\" begins no table that is known; write [host] for "
                                  "host memory or [gpu] for GPUs",
                                  number, Show(line)));
      }
      tables.push_back({.kind = kind, .number = number, .lines = {}});
      continue;
    }
    if (tables.empty()) {
      return Status(Code::kInvalidUsage,
                    fmt::format("line {} of the tuning file: \"{}\" is in no table; a table begins with [host] or "
                                "[gpu], and `tutti tune --calibrate` writes a valid file",
                                number, Show(line)));
    }
    const std::size_t blank = std::min(line.find_first_of(kBlanks), line.size());
    tables.back().lines.push_back({number, line.substr(0, blank), Trim(line.substr(blank), kBlanks)});
  }
  return tables;
}

Status ReadTable(const TableText& table, std::span<const Constant> constants) {
  std::vector<int> found(constants.size());  // numbers of lines
  for (const TableText::Line& line : table.lines) {
    const auto known = std::ranges::find(constants, line.name, &Constant::name);
    if (known == constants.end()) {
      return Status(Code::kInvalidUsage,
                    fmt::format("line {} of the tuning file: \"{}\" is not a constant of a table [{}]; {}", line.number,
                                Show(line.name), table.kind, Remedy(table.kind)));
    }
    int& before = found[static_cast<std::size_t>(known - constants.begin())];
    if (before != 0) {
      return Status(Code::kInvalidUsage,
                    fmt::format("line {} of the tuning file: {} has a value in line {} already; leave one of them",
                                line.number, known->name, before));
    }
    before = line.number;
    TUTTI_RETURN_IF_ERROR(ReadValue(line, table.kind, *known));
  }
  for (std::size_t i = 0; i < constants.size(); ++i) {
    if (found[i] != 0 || constants[i].optional) continue;
    return Status(Code::kInvalidUsage, fmt::format("the table [{}] in line {} of the tuning file has no {}; {}",
                                                   table.kind, table.number, constants[i].name, Remedy(table.kind)));
  }
  return Status::Ok();
}

std::string ToText(const Constant& constant) {
  struct {
    std::string operator()(const double* value) const { return fmt::format("{:.6g}", *value); }
    std::string operator()(const int* value) const { return fmt::format("{}", *value); }
    std::string operator()(const std::size_t* value) const { return fmt::format("{}", *value); }
    std::string operator()(const std::string* value) const { return *value; }
  } print;
  return std::visit(print, constant.value);
}

std::string WriteTable(std::string_view kind, std::span<const Constant> constants) {
  std::string text = fmt::format("[{}]\n", kind);
  bool fitted = false;
  for (const Constant& constant : constants) {
    if (constant.fitted != fitted) text += fmt::format("\n# {}\n", constant.fitted ? kFitted : kNotFitted);
    fitted = constant.fitted;
    text += fmt::format("{} {}\n", constant.name, ToText(constant));
  }
  return text;
}

}  // namespace tutti::tune
