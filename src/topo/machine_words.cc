// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "topo/machine_words.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <locale>
#include <sstream>

#include "base/one_line.h"
#include "base/words.h"

namespace tutti::topo {
namespace {

constexpr std::string_view kBlanks = " \t\r,:";
constexpr std::array<std::string_view, 7> kForTheEye = {"of", "with", "at", "and", "has", "per", "each"};
constexpr std::size_t kMostShown = 60;

// By a stream, since std::from_chars would make libnccl.so.2 need libm, and strtod goes by the program's locale.
std::optional<double> Parse(std::string_view text) {
  std::istringstream stream{std::string(text)};
  stream.imbue(std::locale::classic());
  double number = 0;
  if (!(stream >> std::noskipws >> number) || stream.peek() != std::istringstream::traits_type::eof())
    return std::nullopt;
  if (!std::isfinite(number)) return std::nullopt;
  return number;
}

}  // namespace

std::string Excerpt(std::string_view text) {
  std::string shown(text.substr(0, kMostShown));
  ReplaceControls(shown, '?');
  return text.size() > kMostShown ? shown + "..." : shown;
}

MachineWords::MachineWords(std::string_view text, int line, std::string_view where) : line_(line), where_(where) {
  text = text.substr(0, text.find('#'));
  indent_ = static_cast<int>(std::min(text.find_first_not_of(" \t"), text.size()));
  while (true) {
    const std::size_t first = text.find_first_not_of(kBlanks);
    if (first == std::string_view::npos) return;
    text.remove_prefix(first);
    const std::string_view word = text.substr(0, text.find_first_of(kBlanks));
    text.remove_prefix(word.size());
    const bool matters =
        std::ranges::none_of(kForTheEye, [&](std::string_view w) { return EqualIgnoringCase(w, word); });
    if (matters) words_.push_back(word);
  }
}

std::string_view MachineWords::Take() { return done() ? std::string_view() : words_[next_++]; }

bool MachineWords::TakeIf(std::string_view word) {
  const std::string_view next = Peek();
  const bool plural = next.size() == word.size() + 1 && Lower(next.back()) == 's';
  if (!EqualIgnoringCase(plural ? next.substr(0, word.size()) : next, word)) return false;
  ++next_;
  return true;
}

std::optional<double> MachineWords::TakeNumber() {
  const std::optional<double> number = Parse(Peek());
  if (number) ++next_;
  return number;
}

std::optional<int> MachineWords::TakeWhole() {
  const std::optional<int> number = ParseNumber<int>(Peek());
  if (number) ++next_;
  return number;
}

Result<double> MachineWords::Number(std::string_view what, double least, double most) {
  const std::string_view word = Take();
  const std::optional<double> number = Parse(word);
  if (!number || *number < least || *number > most) {
    return Error(fmt::format("{} must be a number from {} to {}, not \"{}\"", what, least, most, Excerpt(word)));
  }
  return *number;
}

Result<int> MachineWords::Whole(std::string_view what, int least, int most) {
  const std::string_view word = Take();
  const std::optional<int> number = ParseNumber<int>(word);
  if (!number || *number < least || *number > most) {
    return Error(fmt::format("{} must be a whole number from {} to {}, not \"{}\"", what, least, most, Excerpt(word)));
  }
  return *number;
}

Status MachineWords::Error(std::string_view reason) const {
  return Status(Code::kInvalidArgument, fmt::format("line {} of {}: {}", line_, Excerpt(where_), reason));
}

Status MachineWords::Unknown(std::string_view known) const {
  if (done()) return Error(fmt::format("something is missing at the end; write {}", known));
  return Error(fmt::format("\"{}\" is not known here; write {}", Excerpt(Peek()), known));
}

}  // namespace tutti::topo
