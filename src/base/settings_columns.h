// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_BASE_SETTINGS_COLUMNS_H_
#define TUTTI_BASE_SETTINGS_COLUMNS_H_

// What the rows of the registry of settings (settings_registry.h) are made of: how a text becomes a field of Settings, and how
// that is shown. For the files with rows only.

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cstdint>
#include <iterator>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>

#include "base/setting.h"
#include "base/words.h"

namespace tutti::rows {

using S = Settings;

inline constexpr std::int64_t kLargest = std::numeric_limits<std::int64_t>::max();
inline constexpr std::int64_t kLongest = 1'000'000'000'000;  // some years; what is computed from it cannot overflow
inline constexpr std::int64_t kMostChannels = 64;            // as NCCL's MAXCHANNELS

// A whole number and nothing else; decimal, or hexadecimal after 0x.
inline std::optional<std::int64_t> ParseNumber(std::string_view text) {
  int base = 10;
  if (text.size() > 2 && text[0] == '0' && (text[1] == 'x' || text[1] == 'X') && text[2] != '-') {
    base = 16;
    text.remove_prefix(2);
  }
  return tutti::ParseNumber<std::int64_t>(text, base);
}

// A number of bytes: "4096", "64K", "6M", "1G", in powers of 1024.
inline std::optional<std::int64_t> ParseBytes(std::string_view text) {
  constexpr std::string_view kSuffixes = "KMG";
  int shift = 0;
  if (!text.empty()) {
    const std::size_t suffix = kSuffixes.find(static_cast<char>(std::toupper(static_cast<unsigned char>(text.back()))));
    if (suffix != std::string_view::npos) {
      shift = 10 * (static_cast<int>(suffix) + 1);
      text.remove_suffix(1);
    }
  }
  const std::optional<std::int64_t> number = ParseNumber(text);
  if (!number || *number < 0 || *number > kLargest >> shift) return std::nullopt;
  return *number << shift;
}

inline std::string NotInRange(std::string_view what, std::int64_t least, std::int64_t most) {
  return most == kLargest ? fmt::format("{}, at least {}", what, least)
                          : fmt::format("{}, {} to {}", what, least, most);
}

// The columns `read` and `print` of a row, for a field of Settings.
struct Columns {
  std::string (*read)(std::string_view, Settings&);
  std::string (*print)(const Settings&);
};

enum class Kind { kCount, kMs, kUs, kBytes, kChannels };
constexpr std::string_view What(Kind kind) {
  constexpr std::string_view kWhat[] = {"a number", "a number of milliseconds", "a number of microseconds",
                                        "a number of bytes (K, M and G may follow)", "a number of channels"};
  return kWhat[static_cast<int>(kind)];
}

template <auto kField, Kind kKind, std::int64_t kLeast, std::int64_t kMost>
std::string ReadNumber(std::string_view text, Settings& settings) {
  const std::optional<std::int64_t> number = kKind == Kind::kBytes ? ParseBytes(text) : ParseNumber(text);
  if (!number || *number < kLeast || *number > kMost) return NotInRange(What(kKind), kLeast, kMost);
  settings.*kField = static_cast<std::remove_reference_t<decltype(settings.*kField)>>(*number);
  return "";
}
template <auto kField>
std::string PrintNumber(const Settings& settings) {
  return fmt::format("{}", std::int64_t{settings.*kField});
}
template <auto kField, Kind kKind, std::int64_t kLeast, std::int64_t kMost>
inline constexpr Columns kNumber = {&ReadNumber<kField, kKind, kLeast, kMost>, &PrintNumber<kField>};

inline std::string Anything(std::string_view) { return ""; }
// Text that `kCheck` approves: it returns what the text is not, or "".
template <auto kField, std::string (*kCheck)(std::string_view)>
std::string ReadText(std::string_view text, Settings& settings) {
  std::string wrong = kCheck(text);
  if (wrong.empty()) settings.*kField = text;
  return wrong;
}
template <auto kField>
std::string PrintText(const Settings& settings) {
  return settings.*kField;
}
template <auto kField, std::string (*kCheck)(std::string_view) = &Anything>
inline constexpr Columns kText = {&ReadText<kField, kCheck>, &PrintText<kField>};

// A level of closeness as NCCL takes it: a type of path, or a number of old, of which those above the last stand for it. Kept in
// capitals, so that ranks compare equal.
template <auto kField>
std::string ReadLevel(std::string_view text, Settings& settings) {
  constexpr std::string_view kNames[] = {"LOC", "NVL", "NVB", "C2C", "PIX", "PXB", "P2C", "PXN", "PHB", "SYS"};
  std::string level(text);
  for (char& c : level) c = c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
  const std::optional<std::int64_t> number = ParseNumber(text);
  if (std::ranges::find(kNames, level) == std::end(kNames) && (!number || *number < 0)) {
    return "one of LOC, NVL, PIX, PXB, PHB, SYS, or a number from 0 to 5";
  }
  settings.*kField = number ? fmt::format("{}", std::min<std::int64_t>(*number, 5)) : level;
  return "";
}
template <auto kField>
inline constexpr Columns kLevel = {&ReadLevel<kField>, &PrintText<kField>};

constexpr Setting Row(Setting row, Columns columns) {
  row.read = columns.read;
  row.print = columns.print;
  return row;
}

}  // namespace tutti::rows

#endif  // TUTTI_BASE_SETTINGS_COLUMNS_H_
