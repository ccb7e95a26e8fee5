// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
// How fast the simulator is: an all_reduce of 1 GiB on hosts of 8 GPUs, each GPU with a NIC, leaves of 32 hosts and 16 spines. One
// channel, blocks in one message; a tree's in four. Of halving_doubling, what a rank sends another one together is one message.
//
//   ring/hosts:128    messages_per_s: of the plan; events_per_s; peak_mb: of memory, of the process so far
#include <benchmark/benchmark.h>
#include <sys/resource.h>

#include <memory>
#include <numeric>
#include <vector>

#include "sim/plans.h"
#include "sim/simulator.h"
#include "sim/test_machines.h"

namespace {

using namespace tutti;       // NOLINT
using namespace tutti::sim;  // NOLINT

constexpr std::uint64_t kBytes = std::uint64_t{1} << 30;
constexpr int kGpus = 8, kHostsPerLeaf = 32, kSpines = 16;

void AllReduce(benchmark::State& state, algo::Algorithm algorithm, std::uint64_t chunk_bytes, Merge merge) {
  const int hosts = static_cast<int>(state.range(0)), ranks = hosts * kGpus;
  const TestMachine machine = MakeTestMachine(
      {.hosts = hosts, .gpus = kGpus, .hosts_per_leaf = kHostsPerLeaf, .spines = kSpines, .uplink_gb_per_s = 100});
  const std::vector<int> sizes(static_cast<std::size_t>(hosts), kGpus);
  Job job;
  job.communicators.emplace_back().ranks.resize(static_cast<std::size_t>(ranks));
  std::iota(job.communicators[0].ranks.begin(), job.communicators[0].ranks.end(), 0);
  AddOperation(
      {.name = "all_reduce",
       .plans = std::make_shared<RegistryPlans>(algorithm, Collective::kAllReduce, algo::Hosts::OfSizes(sizes)),
       .bytes = kBytes,
       .chunk_bytes = chunk_bytes,
       .merge = merge},
      job);
  Options options;
  for (WayCosts& way : options.costs.ways) way = {.hop_us = 1, .network_hop_us = 3, .write_gb_per_s = 100};
  double messages = 0, events = 0;
  for ([[maybe_unused]] const auto step : state) {
    const Result<Outcome> outcome = Simulate(job, machine.machine(), options);
    if (!outcome.ok() || !outcome->stuck.ok()) {
      state.SkipWithError("the ranks wait for ever");
      return;
    }
    messages += static_cast<double>(outcome->messages);
    events += static_cast<double>(outcome->events);
  }
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  state.counters["messages_per_s"] = benchmark::Counter(messages, benchmark::Counter::kIsRate);
  state.counters["events_per_s"] = benchmark::Counter(events, benchmark::Counter::kIsRate);
  state.counters["peak_mb"] = static_cast<double>(usage.ru_maxrss) / 1e3;
}

void Add(const char* name, algo::Algorithm algorithm, std::vector<std::int64_t> hosts, std::uint64_t chunk_bytes = 0,
         Merge merge = Merge::kNo) {
  const auto run = [=](benchmark::State& state) { AllReduce(state, algorithm, chunk_bytes, merge); };
  benchmark::internal::Benchmark* added =
      benchmark::RegisterBenchmark(name, run)->ArgName("hosts")->Unit(benchmark::kSecond)->Iterations(1);
  for (const std::int64_t count : hosts) added->Arg(count);
}

const bool kAdded = [] {
  Add("ring", algo::Algorithm::kRing, {16, 128});
  Add("hier_tree", algo::Algorithm::kHierTree, {2048});
  Add("hier_recursive_doubling", algo::Algorithm::kHierRecursiveDoubling, {2048});
  Add("hier_ring", algo::Algorithm::kHierRing, {256});
  Add("tree", algo::Algorithm::kTree, {12500}, kBytes / 4);
  Add("halving_doubling", algo::Algorithm::kHalvingDoubling, {1250, 12500}, 0, Merge::kTogether);
  return true;
}();

}  // namespace
