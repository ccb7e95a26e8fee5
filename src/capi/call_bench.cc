// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
// What a call costs through C and through C++: the same operation on one rank, where nothing but the call remains, and
// between two ranks, which are threads. The C call is ncclAllReduce and the wait for it; an operation through C may
// cost at most 100 ns more.
#include <benchmark/benchmark.h>

#include <cstdint>
#include <functional>
#include <thread>

#include "nccl.h"
#include "tutti/tutti.h"

namespace {

constexpr std::int64_t kCalls = 200'000;

// Runs `call` on every rank equally often; rank 0's calls are measured.
template <typename Join, typename Call>
void Measure(benchmark::State& state, int ranks, const Join& join, const Call& call) {
  const auto peer = [&] {
    auto rank = join(1);
    for (std::int64_t i = 0; i < kCalls; ++i) call(rank);
  };
  std::thread other;
  if (ranks == 2) other = std::thread(peer);
  auto rank = join(0);
  for (auto _ : state) call(rank);
  if (other.joinable()) other.join();
}

struct CRank {
  ncclComm_t comm = nullptr;
  std::int64_t in[16] = {1}, out[16] = {};
  CRank(int ranks, int rank, const ncclUniqueId& id) { ncclCommInitRank(&comm, ranks, id, rank); }
  ~CRank() { ncclCommDestroy(comm); }
};

struct CppRank {
  tutti::Communicator comm;
  std::int64_t in[16] = {1}, out[16] = {};
  tutti::Operation operation;
  CppRank(int ranks, int rank, const tutti::UniqueId& id)
      : comm(std::move(*tutti::Communicator::Create({.rank = rank, .ranks = ranks, .id = id}))) {
    operation = {
        .kind = tutti::Operation::Kind::kAllReduce, .in = in, .out = out, .count = 1, .type = tutti::DataType::kInt64};
  }
};

void ThroughC(benchmark::State& state) {
  const int ranks = static_cast<int>(state.range(0));
  ncclUniqueId id;
  ncclGetUniqueId(&id);
  Measure(
      state, ranks, [&](int rank) { return CRank(ranks, rank, id); },
      [](CRank& r) {
        ncclAllReduce(r.in, r.out, 1, ncclInt64, ncclSum, r.comm, nullptr);
        ncclTuttiSynchronize(r.comm);
      });
}

void ThroughCInAGroup(benchmark::State& state) {
  const int ranks = static_cast<int>(state.range(0));
  ncclUniqueId id;
  ncclGetUniqueId(&id);
  Measure(
      state, ranks, [&](int rank) { return CRank(ranks, rank, id); },
      [](CRank& r) {
        ncclGroupStart();
        ncclAllReduce(r.in, r.out, 1, ncclInt64, ncclSum, r.comm, nullptr);
        ncclGroupEnd();
        ncclTuttiSynchronize(r.comm);
      });
}

void ThroughCppRun(benchmark::State& state) {
  const int ranks = static_cast<int>(state.range(0));
  const tutti::UniqueId id = *tutti::CreateUniqueId();
  Measure(
      state, ranks, [&](int rank) { return CppRank(ranks, rank, id); },
      [](CppRank& r) { (void)r.comm.Run(r.operation); });
}

void ThroughCppStartAndWait(benchmark::State& state) {
  const int ranks = static_cast<int>(state.range(0));
  const tutti::UniqueId id = *tutti::CreateUniqueId();
  Measure(
      state, ranks, [&](int rank) { return CppRank(ranks, rank, id); },
      [](CppRank& r) { (void)r.comm.Start(r.operation).Wait(); });
}

BENCHMARK(ThroughCppRun)->Arg(1)->Arg(2)->Iterations(kCalls)->UseRealTime();
BENCHMARK(ThroughCppStartAndWait)->Arg(1)->Arg(2)->Iterations(kCalls)->UseRealTime();
BENCHMARK(ThroughC)->Arg(1)->Arg(2)->Iterations(kCalls)->UseRealTime();
BENCHMARK(ThroughCInAGroup)->Arg(1)->Arg(2)->Iterations(kCalls)->UseRealTime();

}  // namespace
