// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_BASE_WORDS_H_
#define TUTTI_BASE_WORDS_H_

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>

namespace tutti {

inline constexpr std::string_view kSpace = " \t\n\v\f\r";

// A text without the blanks at its ends.
inline std::string_view Trim(std::string_view text, std::string_view blanks = kSpace) {
  const std::size_t first = text.find_first_not_of(blanks);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(blanks) - first + 1);
}

// Letters are those of ASCII, whatever the locale.
inline char Lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

inline std::string Lower(std::string_view text) {
  std::string lower(text);
  for (char& c : lower) c = Lower(c);
  return lower;
}

// Whether two texts differ in nothing but capitals.
inline bool EqualIgnoringCase(std::string_view a, std::string_view b) {
  const auto lower = [](char c) { return Lower(c); };
  return std::ranges::equal(a, b, {}, lower, lower);
}

// Takes the first line off a text, and its end with it. REQUIRES: the text is not empty.
inline std::string_view TakeLine(std::string_view& text) {
  const std::size_t end = std::min(text.find('\n'), text.size());
  const std::string_view line = text.substr(0, end);
  text.remove_prefix(std::min(end + 1, text.size()));
  return line;
}

// A whole number that fits T and nothing else; nullopt: it is none. A sign may be a minus, where T has one.
template <typename T>
std::optional<T> ParseNumber(std::string_view text, int base = 10) {
  T number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number, base);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

}  // namespace tutti

#endif  // TUTTI_BASE_WORDS_H_
