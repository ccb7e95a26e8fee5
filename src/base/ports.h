// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_BASE_PORTS_H_
#define TUTTI_BASE_PORTS_H_

#include <cstdint>
#include <optional>
#include <string_view>

#include "base/words.h"

namespace tutti {

struct Ports {
  std::uint16_t first = 0, last = 0;  // both included; 0 to 0: any free port
};

// "4000" or "4000-4100"; empty: any free port. nullopt for all else.
inline std::optional<Ports> ParsePorts(std::string_view text) {
  if (text.empty()) return Ports{};
  const std::size_t dash = text.find('-');
  const auto first = ParseNumber<std::uint16_t>(text.substr(0, dash));
  const auto last = dash == std::string_view::npos ? first : ParseNumber<std::uint16_t>(text.substr(dash + 1));
  if (!first || !last || *first == 0 || *first > *last) return std::nullopt;
  return Ports{*first, *last};
}

}  // namespace tutti

#endif  // TUTTI_BASE_PORTS_H_
