// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_BASE_HASH_H_
#define TUTTI_BASE_HASH_H_

#include <cstdint>
#include <string_view>

namespace tutti {

// The 64-bit FNV-1a hash: for names and comparisons, not against people who choose the bytes.
constexpr std::uint64_t Fnv1a(std::string_view bytes) {
  std::uint64_t hash = 0xcbf29ce484222325u;
  for (const char c : bytes) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3u;
  return hash;
}

}  // namespace tutti

#endif  // TUTTI_BASE_HASH_H_
