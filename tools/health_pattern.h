// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_TOOLS_HEALTH_PATTERN_H_
#define TUTTI_TOOLS_HEALTH_PATTERN_H_

// Data of which every word can be told from its place and a seed, so that a receiver finds any bit that changed on the way.

#include <cstddef>
#include <cstdint>
#include <span>

namespace tutti::tools {

void FillPattern(std::span<std::uint64_t> words, std::uint64_t seed);

struct PatternCheck {
  std::uint64_t wrong_words = 0;
  std::uint64_t first = 0;    // index of the first wrong word
  std::uint64_t flipped = 0;  // bits in which that differs
};
PatternCheck CheckPattern(std::span<const std::uint64_t> words, std::uint64_t seed);

}  // namespace tutti::tools

#endif  // TUTTI_TOOLS_HEALTH_PATTERN_H_
