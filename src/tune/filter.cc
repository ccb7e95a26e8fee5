// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "tune/filter.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/words.h"

namespace tutti::tune {
namespace {

constexpr std::string_view kBlanks = " \t";

std::vector<std::string_view> Split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  while (true) {
    const std::size_t at = text.find(separator);
    parts.push_back(Trim(text.substr(0, at), kBlanks));
    if (at == std::string_view::npos) return parts;
    text.remove_prefix(at + 1);
  }
}

}  // namespace

Filter::Filter() { allowed_.fill(~std::uint32_t{0}); }

Result<Filter> Filter::Parse(std::string_view text, std::string_view variable,
                             const std::function<std::optional<std::uint32_t>(std::string_view)>& bits_of,
                             std::string_view known) {
  Filter filter;
  for (std::string_view part : Split(text, ';')) {
    if (part.empty()) continue;
    std::optional<Collective> only;
    if (const std::size_t colon = part.find(':'); colon != std::string_view::npos) {
      const std::string_view name = Trim(part.substr(0, colon), kBlanks);
      only = ParseCollective(name);
      if (!only) {
        return Status(Code::kInvalidUsage,
                      fmt::format("{}=\"{}\": \"{}\" is not a collective; use one of all_reduce, all_gather, "
                                  "reduce_scatter, broadcast, reduce, gather, scatter, all_to_all, barrier",
                                  variable, text, name));
      }
      part = Trim(part.substr(colon + 1), kBlanks);
    }
    const bool negated = !part.empty() && part.front() == '^';
    if (negated) part.remove_prefix(1);
    std::uint32_t bits = 0;
    for (const std::string_view name : Split(part, ',')) {
      const std::optional<std::uint32_t> found = bits_of(name);
      if (!found) {
        return Status(Code::kInvalidUsage, fmt::format("{}=\"{}\": \"{}\" is not known; use {}, separated by commas, "
                                                       "after ^ to exclude them",
                                                       variable, text, name, known));
      }
      bits |= *found;
      if (*found == 0 && std::ranges::find(filter.ignored_, name) == filter.ignored_.end()) {
        filter.ignored_.emplace_back(name);
      }
    }
    if (bits == 0) continue;
    for (int c = 0; c < kCollectives; ++c) {
      if (only && static_cast<int>(*only) != c) continue;
      filter.allowed_[c] = negated ? ~bits : bits;
      filter.says_[c] = true;
      filter.binds_[c] = only.has_value();
    }
  }
  return filter;
}

}  // namespace tutti::tune
