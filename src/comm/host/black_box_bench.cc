// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
// What the black box costs (docs/black_box.md): an all_reduce between two processes, each on a core of its own, without
// it (TUTTI_BLACK_BOX=0) and with it, by turns on the same communicator and the same buffers.
//
//   black_box/bytes:8      off and on: medians, ns; costs: the median difference of all pairs; low, high: where it lies
//                          with a probability of 95 %

#include <benchmark/benchmark.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <vector>

#include "comm/host/impl.h"
#include "sys/os/clock.h"
#include "tests/support/paired.h"

namespace tutti {
namespace {

struct Shape {
  std::size_t bytes;
  int calls;  // of a batch: some hundred microseconds
  int pairs;
};
constexpr Shape kShapes[] = {{8, 1000, 1500},   {256, 1000, 1000},  {4096, 400, 600},
                             {65536, 50, 1000}, {262144, 10, 1000}, {1 << 20, 4, 800}};

void Require(bool condition) {
  if (!condition) std::abort();
}

tests::PairedTimes RunRank(int rank, const UniqueId& id, const Shape& shape) {
  Result<Communicator> c = Communicator::Create({.rank = rank, .ranks = 2, .id = id});
  Require(c.ok());
  tests::StayOn(rank);
  std::vector<std::int64_t> in(shape.bytes / 8, 1), out(shape.bytes / 8);
  const Operation operation = AllReduce(in, out);
  const auto batch = [&](tests::Way way) {
    Require(c->Run(Barrier()).ok());
    c->impl()->recorder.Switch(way == tests::Way::kSecond);
    Require(c->Run(operation).ok());
    const std::int64_t begin_ns = sys::NowNs();
    for (int i = 0; i < shape.calls; ++i) Require(c->Run(operation).ok());
    const std::int64_t end_ns = sys::NowNs();
    c->impl()->recorder.Switch(true);
    return static_cast<double>(end_ns - begin_ns) / shape.calls;
  };
  tests::PairedTimes times;
  double turns[4];
  for (int pair = -5; pair < shape.pairs; ++pair) {
    for (int turn = 0; turn < 4; ++turn) turns[turn] = batch(tests::kTurns[turn]);
    if (pair >= 0) times.Add(turns);
  }
  return times;
}

void BlackBox(benchmark::State& state, const Shape& shape) {
  const UniqueId id = *CreateUniqueId();
  const pid_t child = fork();
  if (child == 0) {
    (void)RunRank(1, id, shape);
    _exit(0);
  }
  for (auto _ : state) {
    const tests::Paired result = RunRank(0, id, shape).Result();
    state.counters["off"] = result.first;
    state.counters["on"] = result.second;
    state.counters["costs"] = result.difference;
    state.counters["low"] = result.low;
    state.counters["high"] = result.high;
  }
  int status = 0;
  Require(waitpid(child, &status, 0) == child && status == 0);
}

const bool registered = [] {
  for (const Shape& shape : kShapes) {
    benchmark::RegisterBenchmark(("black_box/bytes:" + std::to_string(shape.bytes)).c_str(), BlackBox, shape)
        ->Iterations(1);
  }
  return true;
}();

}  // namespace
}  // namespace tutti
