// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_EXEC_CPU_STORES_BY_TRIAL_H_
#define TUTTI_EXEC_CPU_STORES_BY_TRIAL_H_

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

#include "exec/cpu/fold_types.h"

namespace tutti::exec::cpu {

// How to write what another rank reads next. Its lines are in that rank's cache since the last time, and an ordinary store has to
// take each of them away from there first, which stores past the caches need not; but the reader then reads memory. Which is faster
// depends on where both cores are, and a virtual machine's cores move. On an EPYC (Zen 5), for 64 KiB, us per KiB to write and
// to read:
//
//   both cores                        cached          past the caches
//   threads of one core               0.02 + 0.02     0.035 + 0.07
//   share a third-level cache         0.11 + 0.03     0.035 + 0.07
//   share none                        0.61 + 0.08     0.04 + 0.075
//
// So both are timed, as messages go by: the one that has not been taken for a while gets one of them. Only the writer takes part,
// so ranks need not agree.
class StoresByTrial {
 public:
  // How to write the next message that is long enough.
  Stores Pick(std::int64_t now_ns) {
    const Stores best = Best(), other = best == Stores::kCached ? Stores::kNonTemporal : Stores::kCached;
    const Side& known = SideOf(other);
    return known.us_per_kib > 0 && now_ns - known.tried_ns < kTryAgainNs ? best : other;
  }
  // So long it took.
  void Note(Stores stores, std::size_t bytes, std::int64_t began_ns, std::int64_t ended_ns) {
    Side& side = SideOf(stores);
    const double us_per_kib =
        std::max(static_cast<double>(ended_ns - began_ns) / 1000 / (static_cast<double>(bytes) / 1024), 1e-6);
    side.tried_ns = ended_ns;
    // The core may have been away meanwhile: what is much slower counts little.
    const double believed = side.us_per_kib > 0 ? std::min(us_per_kib, kMostGrowth * side.us_per_kib) : us_per_kib;
    side.us_per_kib = side.us_per_kib > 0 ? side.us_per_kib + (believed - side.us_per_kib) * kWeight : us_per_kib;
  }
  Stores Best() const {
    const double cached = sides_[0].us_per_kib, past = sides_[1].us_per_kib;
    return cached > 0 && past > 0 && PaysPastCaches(cached, past) ? Stores::kNonTemporal : Stores::kCached;
  }
  // By what a KiB takes to write, us.
  static bool PaysPastCaches(double cached, double past) { return cached > past + kReaderUsPerKib; }

 private:
  // What past the caches has to save: reading from memory takes longer, and more so where both ends write and read at a time. (An
  // all_reduce of 2 MiB by cores that share a cache takes 157 us cached and 215 past it, although writing takes a third.)
  static constexpr double kReaderUsPerKib = 0.2;
  static constexpr std::int64_t kTryAgainNs = 10'000'000;
  static constexpr double kWeight = 0.5, kMostGrowth = 8;

  struct Side {
    double us_per_kib = 0;  // 0: not tried yet
    std::int64_t tried_ns = 0;
  };
  Side& SideOf(Stores stores) { return sides_[static_cast<std::size_t>(stores)]; }

  std::array<Side, 2> sides_;  // by Stores
};

}  // namespace tutti::exec::cpu

#endif  // TUTTI_EXEC_CPU_STORES_BY_TRIAL_H_
