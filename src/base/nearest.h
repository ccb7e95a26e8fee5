// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_BASE_NEAREST_H_
#define TUTTI_BASE_NEAREST_H_

#include <optional>
#include <span>
#include <string_view>

namespace tutti {

// Insertions, deletions, replacements and swaps of neighbours that turn `a` into `b`.
int EditDistance(std::string_view a, std::string_view b);

// The candidate that `word` was probably meant to be; nullopt when none is near.
std::optional<std::string_view> Nearest(std::string_view word, std::span<const std::string_view> candidates);

}  // namespace tutti

#endif  // TUTTI_BASE_NEAREST_H_
