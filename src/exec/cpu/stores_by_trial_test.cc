// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "exec/cpu/stores_by_trial.h"

#include <gtest/gtest.h>

namespace tutti::exec::cpu {
namespace {

constexpr std::size_t kBytes = 65536;

// A machine on which a KiB takes so long to write, us.
struct Pace {
  double cached, past;
};

// Writes messages for some time, one every 0.1 ms; returns how many of them went past the caches.
int Write(StoresByTrial& trial, const Pace& pace, int messages, std::int64_t& now_ns) {
  int past = 0;
  for (int i = 0; i < messages; ++i) {
    const Stores stores = trial.Pick(now_ns);
    const double us_per_kib = stores == Stores::kCached ? pace.cached : pace.past;
    const auto ns = static_cast<std::int64_t>(us_per_kib * 1000 * kBytes / 1024);
    trial.Note(stores, kBytes, now_ns, now_ns + ns);
    past += stores == Stores::kNonTemporal ? 1 : 0;
    now_ns += 100'000;
  }
  return past;
}

constexpr Pace kNear{.cached = 0.11, .past = 0.035}, kFar{.cached = 0.6, .past = 0.04};

TEST(StoresByTrial, NearCoresKeepTheirCaches) {
  StoresByTrial trial;
  std::int64_t now_ns = 1;
  EXPECT_LE(Write(trial, kNear, 1000, now_ns), 11);  // one in 10 ms, which is 100 messages
}

TEST(StoresByTrial, FarCoresGoPastThem) {
  StoresByTrial trial;
  std::int64_t now_ns = 1;
  EXPECT_GE(Write(trial, kFar, 1000, now_ns), 1000 - 12);
}

TEST(StoresByTrial, BothAreTriedAtOnce) {
  StoresByTrial trial;
  std::int64_t now_ns = 1;
  EXPECT_EQ(Write(trial, kFar, 2, now_ns), 1);
}

TEST(StoresByTrial, ItFollowsAMachineThatMovesItsCores) {
  StoresByTrial trial;
  std::int64_t now_ns = 1;
  Write(trial, kNear, 500, now_ns);
  EXPECT_GE(Write(trial, kFar, 500, now_ns), 500 - 12);
  Write(trial, kNear, 500, now_ns);  // some tenths of a second at most until it believes that
  EXPECT_LE(Write(trial, kNear, 500, now_ns), 7);
}

// A core that was away while it wrote says little about the stores.
TEST(StoresByTrial, OneSlowMessageIsNotBelieved) {
  StoresByTrial trial;
  std::int64_t now_ns = 1;
  Write(trial, {.cached = 0.02, .past = 0.035}, 100, now_ns);
  trial.Note(Stores::kCached, kBytes, now_ns, now_ns + 50'000'000);
  Write(trial, {.cached = 0.02, .past = 0.035}, 300, now_ns);
  EXPECT_EQ(trial.Best(), Stores::kCached);
}

}  // namespace
}  // namespace tutti::exec::cpu
