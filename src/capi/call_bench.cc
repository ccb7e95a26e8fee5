// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
// What a call through C costs more than the same through C++: every operation on one rank, where nothing but the call
// remains, and between two ranks, threads on a core each. Through C it is the call, in a group where it takes two, and
// ncclTuttiSynchronize; through C++ Communicator::Run. Both take turns on one communicator and the same buffers
// (tests/support/paired.h), so that nothing but the call differs. An operation through C may cost at most 100 ns more.
//
//   all_reduce/bytes:8/ranks:2     bytes: of one rank's block; times of rank 0, the root. cpp and c: medians, ns; costs: the
//                                  median difference of all pairs; low, high: where it lies with a probability of 95 %
#include <benchmark/benchmark.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <thread>
#include <vector>

#include "capi/handle.h"
#include "nccl.h"
#include "tests/support/paired.h"
#include "tutti/tutti.h"

namespace {

namespace tests = tutti::tests;
using tutti::Collective;

constexpr int kMostRanks = 2;
// A batch takes a few hundred microseconds.
constexpr int kCallsOfSmall = 1000, kCallsOfLarge = 60;
constexpr int kPairs = 400;
constexpr std::size_t kSmallBytes = 8, kLargeBytes = 65536;

struct Buffers {
  std::vector<std::int64_t> in, out;
  std::size_t count;  // of a block
  explicit Buffers(std::size_t bytes) : in(kMostRanks * bytes / 8, 1), out(kMostRanks * bytes / 8), count(bytes / 8) {}
};

using CCall = ncclResult_t (*)(Buffers& b, ncclComm_t comm, int rank, int ranks);

// kSend stands for a group: a send to the next rank and a receive from the one before.
struct Row {
  const char* name;
  Collective kind;
  CCall call;
};

const Row kRows[] = {
    {"all_reduce", Collective::kAllReduce,
     [](Buffers& b, ncclComm_t comm, int, int) {
       return ncclAllReduce(b.in.data(), b.out.data(), b.count, ncclInt64, ncclSum, comm, nullptr);
     }},
    {"all_gather", Collective::kAllGather,
     [](Buffers& b, ncclComm_t comm, int, int) {
       return ncclAllGather(b.in.data(), b.out.data(), b.count, ncclInt64, comm, nullptr);
     }},
    {"reduce_scatter", Collective::kReduceScatter,
     [](Buffers& b, ncclComm_t comm, int, int) {
       return ncclReduceScatter(b.in.data(), b.out.data(), b.count, ncclInt64, ncclSum, comm, nullptr);
     }},
    {"broadcast", Collective::kBroadcast,
     [](Buffers& b, ncclComm_t comm, int, int) {
       return ncclBroadcast(b.in.data(), b.out.data(), b.count, ncclInt64, 0, comm, nullptr);
     }},
    {"reduce", Collective::kReduce,
     [](Buffers& b, ncclComm_t comm, int, int) {
       return ncclReduce(b.in.data(), b.out.data(), b.count, ncclInt64, ncclSum, 0, comm, nullptr);
     }},
    {"gather", Collective::kGather,
     [](Buffers& b, ncclComm_t comm, int, int) {
       return ncclGather(b.in.data(), b.out.data(), b.count, ncclInt64, 0, comm, nullptr);
     }},
    {"scatter", Collective::kScatter,
     [](Buffers& b, ncclComm_t comm, int, int) {
       return ncclScatter(b.in.data(), b.out.data(), b.count, ncclInt64, 0, comm, nullptr);
     }},
    {"all_to_all", Collective::kAllToAll,
     [](Buffers& b, ncclComm_t comm, int, int) {
       return ncclAlltoAll(b.in.data(), b.out.data(), b.count, ncclInt64, comm, nullptr);
     }},
    {"send_recv", Collective::kSend,
     [](Buffers& b, ncclComm_t comm, int rank, int ranks) {
       (void)ncclGroupStart();
       (void)ncclSend(b.in.data(), b.count, ncclInt64, (rank + 1) % ranks, comm, nullptr);
       (void)ncclRecv(b.out.data(), b.count, ncclInt64, (rank + ranks - 1) % ranks, comm, nullptr);
       return ncclGroupEnd();
     }},
};

struct Shape {
  const Row* row;
  std::size_t bytes;
  int ranks;
  int Calls() const { return bytes == kSmallBytes ? kCallsOfSmall : kCallsOfLarge; }
};

void Require(bool condition) {
  if (!condition) std::abort();
}

class Rank {
 public:
  Rank(const Shape& shape, int rank, const tutti::UniqueId& id) : shape_(shape), rank_(rank), buffers_(shape.bytes) {
    ncclUniqueId c_id;
    std::copy(id.bytes.begin(), id.bytes.end(), c_id.internal);
    Require(ncclCommInitRank(&comm_, shape.ranks, c_id, rank) == ncclSuccess);
    Require(comm_->queue
                ->WithIdle([&](tutti::Communicator& c) {
                  inside_ = &c;
                  return tutti::Status::Ok();
                })
                .ok());
    tutti::Operation o{.kind = shape.row->kind,
                       .in = buffers_.in.data(),
                       .out = buffers_.out.data(),
                       .count = buffers_.count,
                       .type = tutti::DataType::kInt64};
    group_ = o.kind == Collective::kSend;
    operations_.fill(o);
    operations_[0].root = group_ ? (rank + 1) % shape.ranks : 0;
    if (group_) operations_[1].kind = Collective::kRecv;
    if (group_) operations_[1].root = (rank + shape.ranks - 1) % shape.ranks;
  }
  ~Rank() { (void)ncclCommDestroy(comm_); }

  tests::PairedTimes Run() {
    tests::PairedTimes times;
    double turns[4];
    for (int pair = -3; pair < kPairs; ++pair) {
      for (int turn = 0; turn < 4; ++turn) turns[turn] = Batch(tests::kTurns[turn]);
      if (pair >= 0) times.Add(turns);
    }
    return times;
  }

 private:
  void Call(tests::Way way) {
    if (way == tests::Way::kFirst) {
      Require(group_ ? inside_->RunGroup(operations_).ok() : inside_->Run(operations_[0]).ok());
    } else {
      Require(shape_.row->call(buffers_, comm_, rank_, shape_.ranks) == ncclSuccess &&
              ncclTuttiSynchronize(comm_) == ncclSuccess);
    }
  }
  // ns per call. All ranks begin together, after a call that makes the other way's traces go away.
  double Batch(tests::Way way) {
    Call(way);
    Require(inside_->Run(tutti::Barrier()).ok());
    const auto begin = std::chrono::steady_clock::now();
    for (int i = 0; i < shape_.Calls(); ++i) Call(way);
    const std::chrono::duration<double, std::nano> took = std::chrono::steady_clock::now() - begin;
    return took.count() / shape_.Calls();
  }

  const Shape shape_;
  const int rank_;
  Buffers buffers_;
  ncclComm_t comm_ = nullptr;
  tutti::Communicator* inside_ = nullptr;  // what the handle works with
  std::array<tutti::Operation, 2> operations_;
  bool group_ = false;
};

void Measure(benchmark::State& state, const Shape& shape) {
  const tutti::UniqueId id = *tutti::CreateUniqueId();
  const auto run = [&](int rank) {
    tests::StayOn(rank);
    return Rank(shape, rank, id).Run();
  };
  for (auto _ : state) {
    std::thread other;
    if (shape.ranks == 2) other = std::thread([&] { (void)run(1); });
    const tests::Paired result = run(0).Result();
    if (other.joinable()) other.join();
    state.counters["cpp"] = result.first;
    state.counters["c"] = result.second;
    state.counters["costs"] = result.difference;
    state.counters["low"] = result.low;
    state.counters["high"] = result.high;
  }
}

const bool registered = [] {
  for (const Row& row : kRows) {
    for (const std::size_t bytes : {kSmallBytes, kLargeBytes}) {
      for (const int ranks : {1, 2}) {
        const Shape shape{&row, bytes, ranks};
        const std::string name =
            std::string(row.name) + "/bytes:" + std::to_string(bytes) + "/ranks:" + std::to_string(ranks);
        benchmark::RegisterBenchmark(name.c_str(), Measure, shape)->Iterations(1);
      }
    }
  }
  return true;
}();

}  // namespace
