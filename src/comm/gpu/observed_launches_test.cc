// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
// What is told of calls on the GPU, with a driver whose events happen when the test says so.
#include "comm/gpu/observed_launches.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

#include "sys/os/clock.h"

namespace tutti::comm {
namespace {

using Lines = std::vector<std::string>;

// Events are numbers; when each has happened, ms, or not yet.
struct Gpu {
  std::uintptr_t made = 0, given_back = 0;
  std::vector<std::uintptr_t> recorded;
  std::map<std::uintptr_t, double> happened_ms;
};
Gpu g_gpu;

sys::cuda::Driver FakeDriver() {
  sys::cuda::Driver driver{};
  driver.EventCreate = [](sys::cuda::Event* event, unsigned) {
    *event = reinterpret_cast<sys::cuda::Event>(++g_gpu.made);
    return 0;
  };
  driver.EventDestroy = [](sys::cuda::Event) {
    ++g_gpu.given_back;
    return 0;
  };
  driver.EventRecord = [](sys::cuda::Event event, sys::cuda::Stream) {
    g_gpu.recorded.push_back(reinterpret_cast<std::uintptr_t>(event));
    g_gpu.happened_ms.erase(g_gpu.recorded.back());
    return 0;
  };
  driver.EventElapsedTime = [](float* ms, sys::cuda::Event from, sys::cuda::Event to) {
    const auto a = g_gpu.happened_ms.find(reinterpret_cast<std::uintptr_t>(from));
    const auto b = g_gpu.happened_ms.find(reinterpret_cast<std::uintptr_t>(to));
    if (a == g_gpu.happened_ms.end() || b == g_gpu.happened_ms.end()) return sys::cuda::kNotReady;
    *ms = static_cast<float>(b->second - a->second);
    return 0;
  };
  return driver;
}

class Notes final : public CallObserver {
 public:
  Token Begins(const Run& run) override {
    lines.push_back(fmt::format("begins {}", run.operations.size()));
    return wants ? reinterpret_cast<Token>(++tokens) : nullptr;
  }
  void Starts(Token token, std::int64_t now_ns) override {
    lines.push_back(fmt::format("starts {}", Number(token)));
    times_ns.push_back(now_ns);
  }
  void Ends(Token token, std::int64_t now_ns) override {
    lines.push_back(fmt::format("ends {}{}", Number(token), now_ns == 0 ? " without a time" : ""));
    if (now_ns != 0) times_ns.push_back(now_ns);
  }
  void Waits(Token, const Wait&) override {}
  void Launches(void*) override { lines.emplace_back("launches"); }
  void HasLaunched() override { lines.emplace_back("launched"); }

  static std::uintptr_t Number(Token token) { return reinterpret_cast<std::uintptr_t>(token); }
  Lines lines;
  std::vector<std::int64_t> times_ns;
  std::uintptr_t tokens = 0;
  bool wants = true;
};

class ObservedLaunchesTest : public testing::Test {
 protected:
  void SetUp() override { g_gpu = {}; }
  void Launch(const Status& outcome = Status::Ok()) {
    const Operation operation;
    const Operation* const one = &operation;
    EXPECT_EQ(launches_
                  .Launch({.operations = std::span(&one, 1), .side = CallObserver::Side::kGpu}, nullptr,
                          [&] {
                            notes_.lines.emplace_back("in stream");
                            return outcome;
                          })
                  .ok(),
              outcome.ok());
  }

  const sys::cuda::Driver driver_ = FakeDriver();
  Notes notes_;
  ObservedLaunches launches_{driver_, notes_};
};

TEST_F(ObservedLaunchesTest, TimesAreTheGpus) {
  const std::int64_t before_ns = sys::NowNs();
  Launch();
  Launch();
  EXPECT_EQ(notes_.lines,
            (Lines{"begins 1", "launches", "in stream", "launched", "begins 1", "launches", "in stream", "launched"}));
  notes_.lines.clear();
  ASSERT_EQ(g_gpu.recorded.size(), 5u);  // where time begins, and two for each run
  g_gpu.happened_ms = {{1, 10.0}, {2, 11.0}, {3, 13.5}};
  launches_.Look();
  EXPECT_EQ(notes_.lines, (Lines{"starts 1", "ends 1"}));
  g_gpu.happened_ms.insert({{4, 14.0}, {5, 14.25}});
  launches_.Look();
  EXPECT_EQ(notes_.lines, (Lines{"starts 1", "ends 1", "starts 2", "ends 2"}));
  ASSERT_EQ(notes_.times_ns.size(), 4u);
  EXPECT_GE(notes_.times_ns[0], before_ns + 1'000'000);
  EXPECT_EQ(notes_.times_ns[1] - notes_.times_ns[0], 2'500'000);
  EXPECT_EQ(notes_.times_ns[2] - notes_.times_ns[1], 500'000);
  EXPECT_EQ(notes_.times_ns[3] - notes_.times_ns[2], 250'000);
  launches_.End();
  EXPECT_EQ(g_gpu.given_back, g_gpu.made);
}

TEST_F(ObservedLaunchesTest, EventsAreUsedAgain) {
  for (int i = 0; i < 10; ++i) {
    Launch();
    for (const std::uintptr_t event : g_gpu.recorded) g_gpu.happened_ms[event] = static_cast<double>(i);
    launches_.Look();
  }
  EXPECT_LE(g_gpu.made, 4u);
  launches_.End();
}

TEST_F(ObservedLaunchesTest, WhatNeverEndsHasNoTime) {
  Launch();
  notes_.lines.clear();
  launches_.End();
  EXPECT_EQ(notes_.lines, (Lines{"ends 1 without a time"}));
  EXPECT_EQ(g_gpu.given_back, g_gpu.made);
}

TEST_F(ObservedLaunchesTest, ALaunchThatFailsEndsAtOnce) {
  Launch(Status(Code::kSystem, "no"));
  EXPECT_EQ(notes_.lines.back(), "ends 1 without a time");
  launches_.End();
}

TEST_F(ObservedLaunchesTest, NothingIsTimedWhereNobodyWantsToKnow) {
  notes_.wants = false;
  Launch();
  EXPECT_EQ(notes_.lines, (Lines{"begins 1", "launches", "in stream", "launched"}));
  EXPECT_EQ(g_gpu.made, 0u);
}

}  // namespace
}  // namespace tutti::comm
