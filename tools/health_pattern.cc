// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "tools/health_pattern.h"

namespace tutti::tools {
namespace {

// The finalizer of splitmix64: each bit of the place changes half of the word's.
std::uint64_t WordAt(std::uint64_t seed, std::uint64_t index) {
  std::uint64_t x = seed + (index + 1) * 0x9e3779b97f4a7c15;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
  x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
  return x ^ (x >> 31);
}

}  // namespace

void FillPattern(std::span<std::uint64_t> words, std::uint64_t seed) {
  for (std::size_t i = 0; i < words.size(); ++i) words[i] = WordAt(seed, i);
}

PatternCheck CheckPattern(std::span<const std::uint64_t> words, std::uint64_t seed) {
  PatternCheck check;
  for (std::size_t i = 0; i < words.size(); ++i) {
    const std::uint64_t expected = WordAt(seed, i);
    if (words[i] == expected) continue;
    if (check.wrong_words++ == 0) {
      check.first = i;
      check.flipped = words[i] ^ expected;
    }
  }
  return check;
}

}  // namespace tutti::tools
