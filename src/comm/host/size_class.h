// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_COMM_HOST_SIZE_CLASS_H_
#define TUTTI_COMM_HOST_SIZE_CLASS_H_

#include <cstddef>

namespace tutti::comm {

// Sizes with the same top bits share a choice: four classes for each power of two.
inline constexpr int kSizeClasses = 256;
constexpr int SizeClass(std::size_t bytes) {
  if (bytes < 4) return static_cast<int>(bytes);
  const int width = 63 - __builtin_clzll(bytes);
  return width * 4 + static_cast<int>(bytes >> (width - 2) & 3);
}
constexpr std::size_t SmallestOfClass(int size_class) {
  if (size_class < 8) return size_class;
  const int width = size_class / 4;
  return (std::size_t{1} << width) + (static_cast<std::size_t>(size_class % 4) << (width - 2));
}

}  // namespace tutti::comm

#endif  // TUTTI_COMM_HOST_SIZE_CLASS_H_
