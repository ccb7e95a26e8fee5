// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_TESTS_DIAG_DICE_H_
#define TUTTI_TESTS_DIAG_DICE_H_

// What a seed chooses.

#include <algorithm>
#include <cstdint>
#include <random>
#include <vector>

namespace tutti::tests {

class Dice {
 public:
  explicit Dice(std::uint64_t seed) : random_(seed * 0x9e3779b97f4a7c15u) {}

  // 0 to below - 1.
  int Any(int below) { return static_cast<int>(random_() % static_cast<std::uint64_t>(below)); }
  // Both ends are possible.
  int Between(int least, int most) { return least + Any(most - least + 1); }
  bool Coin() { return Any(2) == 0; }
  bool OneIn(int times) { return Any(times) == 0; }

 private:
  std::mt19937_64 random_;
};

// Which host each rank is on. Every host has a rank; hosts of neighbours are the same more often than not.
inline std::vector<int> Spread(int ranks, int hosts, Dice& dice) {
  std::vector<int> host_of;
  for (int r = 0; r < ranks; ++r) host_of.push_back(r < hosts ? r : dice.Any(hosts));
  std::ranges::sort(host_of);
  return host_of;
}

}  // namespace tutti::tests

#endif  // TUTTI_TESTS_DIAG_DICE_H_
