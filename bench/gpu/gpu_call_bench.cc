// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
// What Tutti adds to the driver's launch in a call that enqueues: ranks are threads, and the driver is a fake whose
// launches return at once (tests/support/fake_cuda.cc), so no GPU is needed.
//
//   all_reduce/ranks:2     warm: ns per call, called over and over; cold: the median where the program has used a mebibyte
//                          of memory in between
#include <benchmark/benchmark.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "capi/handle.h"
#include "nccl.h"
#include "sys/os/clock.h"
#include "tests/support/fake_cuda.h"

namespace {

constexpr int kRanks = 2;
constexpr int kWarmCalls = 20000, kColdCalls = 500;
constexpr std::size_t kCount = 256, kUsedBytes = std::size_t{1} << 20;

void Require(bool condition, const char* what) {
  if (condition) return;
  std::fprintf(stderr, "gpu_call_bench: %s\n", what);
  std::exit(1);
}

struct Job {
  ncclComm_t comm;
  float *in, *out;
};

ncclResult_t Several(const Job& job, int items) {
  (void)ncclGroupStart();
  for (int i = 0; i < items; ++i) {
    (void)ncclAllReduce(job.in + i * kCount, job.out + i * kCount, kCount, ncclFloat, ncclSum, job.comm, nullptr);
  }
  return ncclGroupEnd();
}

struct Row {
  const char* name;
  ncclResult_t (*call)(const Job& job);
};
const Row kRows[] = {
    {"all_reduce",
     [](const Job& j) { return ncclAllReduce(j.in, j.out, kCount, ncclFloat, ncclSum, j.comm, nullptr); }},
    {"all_gather", [](const Job& j) { return ncclAllGather(j.in, j.out, kCount, ncclFloat, j.comm, nullptr); }},
    {"reduce_scatter",
     [](const Job& j) { return ncclReduceScatter(j.in, j.out, kCount, ncclFloat, ncclSum, j.comm, nullptr); }},
    {"broadcast", [](const Job& j) { return ncclBroadcast(j.in, j.out, kCount, ncclFloat, 0, j.comm, nullptr); }},
    {"all_to_all", [](const Job& j) { return ncclAlltoAll(j.in, j.out, kCount, ncclFloat, j.comm, nullptr); }},
    {"changing_buffers",
     [](const Job& j) {
       static int turn = 0;
       const int shift = turn++ % 8 * static_cast<int>(kCount);
       return ncclAllReduce(j.in + shift, j.out + shift, kCount, ncclFloat, ncclSum, j.comm, nullptr);
     }},
    {"changing_counts",
     [](const Job& j) {
       static int turn = 0;
       return ncclAllReduce(j.in, j.out, kCount + turn++ % 2, ncclFloat, ncclSum, j.comm, nullptr);
     }},
    {"send_recv",
     [](const Job& j) {
       (void)ncclGroupStart();
       (void)ncclSend(j.in, kCount, ncclFloat, 1, j.comm, nullptr);
       (void)ncclRecv(j.out, kCount, ncclFloat, 1, j.comm, nullptr);
       return ncclGroupEnd();
     }},
    {"8xall_reduce", [](const Job& j) { return Several(j, 8); }},
    {"64xall_reduce", [](const Job& j) { return Several(j, 64); }},
};

void LoadFakeDriver() {
  static const bool loaded = tutti::tests::LoadFakeCuda(TUTTI_FAKE_CUDA);
  Require(loaded, "the fake driver " TUTTI_FAKE_CUDA " could not be loaded: build the target fake_cuda");
}

void Measure(benchmark::State& state, const Row& row) {
  LoadFakeDriver();
  ncclUniqueId id;
  Require(ncclGetUniqueId(&id) == ncclSuccess, "no id");
  ncclComm_t comms[kRanks];
  std::thread other(
      [&] { Require(ncclCommInitRank(&comms[1], kRanks, id, 1) == ncclSuccess, "rank 1 did not start"); });
  Require(ncclCommInitRank(&comms[0], kRanks, id, 0) == ncclSuccess, "rank 0 did not start");
  other.join();
  Require(comms[0]->gpu != nullptr, "the communicator does not use the fake GPU");
  std::vector<float> in(1 << 15), out(1 << 15);
  const Job job{comms[0], in.data(), out.data()};
  std::vector<std::uint8_t> used(kUsedBytes);
  for (auto _ : state) {
    const auto call = [&] { Require(row.call(job) == ncclSuccess, ncclGetLastError(nullptr)); };
    for (int i = 0; i < kWarmCalls / 10; ++i) call();
    std::int64_t begin_ns = tutti::sys::NowNs();
    for (int i = 0; i < kWarmCalls; ++i) call();
    state.counters["warm"] = static_cast<double>(tutti::sys::NowNs() - begin_ns) / kWarmCalls;
    std::vector<double> cold;
    for (int i = 0; i < kColdCalls; ++i) {
      for (std::size_t at = 0; at < kUsedBytes; at += 64) ++used[at];
      benchmark::DoNotOptimize(used.data());
      benchmark::ClobberMemory();
      begin_ns = tutti::sys::NowNs();
      call();
      cold.push_back(static_cast<double>(tutti::sys::NowNs() - begin_ns));
    }
    std::ranges::nth_element(cold, cold.begin() + kColdCalls / 2);
    state.counters["cold"] = cold[kColdCalls / 2];
  }
  std::thread leaving([&] { Require(ncclCommDestroy(comms[1]) == ncclSuccess, "rank 1 did not end"); });
  Require(ncclCommDestroy(comms[0]) == ncclSuccess, "rank 0 did not end");
  leaving.join();
}

const bool registered = [] {
  for (const Row& row : kRows) {
    const std::string name = std::string(row.name) + "/ranks:" + std::to_string(kRanks);
    benchmark::RegisterBenchmark(name.c_str(), Measure, row)->Iterations(1);
  }
  return true;
}();

}  // namespace
