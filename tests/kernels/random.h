// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_TESTS_KERNELS_RANDOM_H_
#define TUTTI_TESTS_KERNELS_RANDOM_H_

#include <cstdint>

namespace tutti::tests {

// splitmix64: the same numbers everywhere for a seed.
class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed) {}
  std::uint64_t Next() {
    std::uint64_t z = (state_ += 0x9e3779b97f4a7c15);
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
    z = (z ^ z >> 27) * 0x94d049bb133111eb;
    return z ^ z >> 31;
  }
  // 0 to n - 1. REQUIRES: n > 0.
  std::uint32_t Below(std::uint64_t n) { return static_cast<std::uint32_t>((Next() >> 32) * n >> 32); }
  // Once in n times; 0: never.
  bool OneOf(int n) { return n != 0 && Below(static_cast<std::uint64_t>(n)) == 0; }

 private:
  std::uint64_t state_;
};

}  // namespace tutti::tests

#endif  // TUTTI_TESTS_KERNELS_RANDOM_H_
