// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_TESTS_SUPPORT_PAIRED_H_
#define TUTTI_TESTS_SUPPORT_PAIRED_H_

// Compares the times of two ways to do the same thing, far below the noise of the machine: both take turns in batches of
// a few hundred microseconds, so that what slows the machine down slows both, and only their differences count.

#include <sched.h>

#include <algorithm>
#include <cmath>
#include <vector>

namespace tutti::tests {

enum class Way { kFirst, kSecond };

// The order of the batches of a pair, which every rank follows: first, second, second, first. So a steady drift of the
// machine cancels out of the pair's difference.
inline constexpr Way kTurns[] = {Way::kFirst, Way::kSecond, Way::kSecond, Way::kFirst};

struct Paired {
  double first = 0, second = 0;  // medians over the pairs
  double difference = 0;         // second - first: the median over the pairs, and between
  double low = 0, high = 0;      // these it lies with a probability of 95 %, whatever the distribution
};

// Keeps the calling thread on one core, so that ranks do not change places while they are measured.
inline void StayOn(int cpu) {
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(cpu, &set);
  (void)sched_setaffinity(0, sizeof(set), &set);
}

class PairedTimes {
 public:
  // The time per call of each batch of one pair, in the order of kTurns.
  void Add(const double (&turns)[4]) {
    first_.push_back((turns[0] + turns[3]) / 2);
    second_.push_back((turns[1] + turns[2]) / 2);
    difference_.push_back(second_.back() - first_.back());
  }
  // REQUIRES: pairs were added.
  Paired Result() {
    std::ranges::sort(difference_);
    // Order statistics: how many of n differences lie below their median is binomial.
    const auto n = static_cast<double>(difference_.size());
    const auto wide = static_cast<std::size_t>(std::ceil(0.98 * std::sqrt(n)));
    const std::size_t middle = difference_.size() / 2;
    return {.first = Median(first_),
            .second = Median(second_),
            .difference = difference_[middle],
            .low = difference_[middle - std::min(wide, middle)],
            .high = difference_[std::min(middle + wide, difference_.size() - 1)]};
  }

 private:
  static double Median(std::vector<double>& values) {
    std::ranges::nth_element(values, values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2));
    return values[values.size() / 2];
  }

  std::vector<double> first_, second_, difference_;
};

}  // namespace tutti::tests

#endif  // TUTTI_TESTS_SUPPORT_PAIRED_H_
