// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
// What a call costs through C and through C++: every operation on one rank, where nothing but the call remains, and
// between two ranks, which are threads. Through C it is the call, in a group where it takes two, and ncclTuttiSynchronize;
// through C++ Communicator::Run. An operation through C may cost at most 100 ns more.
//
//   all_reduce/bytes:8/ranks:2/cpp     bytes: of one rank's block; the time is that of rank 0, the root
#include <benchmark/benchmark.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <thread>
#include <vector>

#include "nccl.h"
#include "tutti/tutti.h"

namespace {

using Kind = tutti::Operation::Kind;

constexpr int kMostRanks = 2;
constexpr std::int64_t kCallsOfSmall = 50'000, kCallsOfLarge = 10'000;
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
  Kind kind;
  CCall call;
};

const Row kRows[] = {
    {"all_reduce", Kind::kAllReduce,
     [](Buffers& b, ncclComm_t comm, int, int) {
       return ncclAllReduce(b.in.data(), b.out.data(), b.count, ncclInt64, ncclSum, comm, nullptr);
     }},
    {"all_gather", Kind::kAllGather,
     [](Buffers& b, ncclComm_t comm, int, int) {
       return ncclAllGather(b.in.data(), b.out.data(), b.count, ncclInt64, comm, nullptr);
     }},
    {"reduce_scatter", Kind::kReduceScatter,
     [](Buffers& b, ncclComm_t comm, int, int) {
       return ncclReduceScatter(b.in.data(), b.out.data(), b.count, ncclInt64, ncclSum, comm, nullptr);
     }},
    {"broadcast", Kind::kBroadcast,
     [](Buffers& b, ncclComm_t comm, int, int) {
       return ncclBroadcast(b.in.data(), b.out.data(), b.count, ncclInt64, 0, comm, nullptr);
     }},
    {"reduce", Kind::kReduce,
     [](Buffers& b, ncclComm_t comm, int, int) {
       return ncclReduce(b.in.data(), b.out.data(), b.count, ncclInt64, ncclSum, 0, comm, nullptr);
     }},
    {"gather", Kind::kGather,
     [](Buffers& b, ncclComm_t comm, int, int) {
       return ncclGather(b.in.data(), b.out.data(), b.count, ncclInt64, 0, comm, nullptr);
     }},
    {"scatter", Kind::kScatter,
     [](Buffers& b, ncclComm_t comm, int, int) {
       return ncclScatter(b.in.data(), b.out.data(), b.count, ncclInt64, 0, comm, nullptr);
     }},
    {"all_to_all", Kind::kAllToAll,
     [](Buffers& b, ncclComm_t comm, int, int) {
       return ncclAlltoAll(b.in.data(), b.out.data(), b.count, ncclInt64, comm, nullptr);
     }},
    {"send_recv", Kind::kSend,
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
  std::int64_t Calls() const { return bytes == kSmallBytes ? kCallsOfSmall : kCallsOfLarge; }
};

// One rank that calls through C.
class CRank {
 public:
  CRank(const Shape& shape, int rank, const tutti::UniqueId& id) : shape_(shape), rank_(rank), buffers_(shape.bytes) {
    ncclUniqueId c_id;
    std::copy(id.bytes.begin(), id.bytes.end(), c_id.internal);
    if (ncclCommInitRank(&comm_, shape.ranks, c_id, rank) != ncclSuccess) std::abort();
  }
  ~CRank() { ncclCommDestroy(comm_); }
  bool Call() {
    return shape_.row->call(buffers_, comm_, rank_, shape_.ranks) == ncclSuccess &&
           ncclTuttiSynchronize(comm_) == ncclSuccess;
  }

 private:
  const Shape shape_;
  const int rank_;
  Buffers buffers_;
  ncclComm_t comm_ = nullptr;
};

class CppRank {
 public:
  CppRank(const Shape& shape, int rank, const tutti::UniqueId& id)
      : buffers_(shape.bytes),
        comm_(std::move(*tutti::Communicator::Create({.rank = rank, .ranks = shape.ranks, .id = id}))) {
    tutti::Operation o{.kind = shape.row->kind,
                       .in = buffers_.in.data(),
                       .out = buffers_.out.data(),
                       .count = buffers_.count,
                       .type = tutti::DataType::kInt64};
    group_ = o.kind == Kind::kSend;
    operations_.fill(o);
    operations_[0].root = group_ ? (rank + 1) % shape.ranks : 0;
    if (group_) operations_[1].kind = Kind::kRecv;
    if (group_) operations_[1].root = (rank + shape.ranks - 1) % shape.ranks;
  }
  bool Call() { return group_ ? comm_.RunGroup(operations_).ok() : comm_.Run(operations_[0]).ok(); }

 private:
  Buffers buffers_;
  tutti::Communicator comm_;
  std::array<tutti::Operation, 2> operations_;
  bool group_ = false;
};

// Every rank calls equally often; rank 0's calls are measured.
template <typename Rank>
void Measure(benchmark::State& state, const Shape& shape) {
  const tutti::UniqueId id = *tutti::CreateUniqueId();
  std::thread other;
  if (shape.ranks == 2) {
    other = std::thread([&] {
      Rank rank(shape, 1, id);
      for (std::int64_t i = 0; i < shape.Calls(); ++i) {
        if (!rank.Call()) std::abort();
      }
    });
  }
  {
    Rank rank(shape, 0, id);
    for (auto _ : state) {
      if (!rank.Call()) std::abort();
    }
  }
  if (other.joinable()) other.join();
}

const bool registered = [] {
  for (const Row& row : kRows) {
    for (const std::size_t bytes : {kSmallBytes, kLargeBytes}) {
      for (const int ranks : {1, 2}) {
        const Shape shape{&row, bytes, ranks};
        const std::string name =
            std::string(row.name) + "/bytes:" + std::to_string(bytes) + "/ranks:" + std::to_string(ranks);
        benchmark::RegisterBenchmark((name + "/cpp").c_str(), Measure<CppRank>, shape)
            ->Iterations(shape.Calls())
            ->UseRealTime();
        benchmark::RegisterBenchmark((name + "/c").c_str(), Measure<CRank>, shape)
            ->Iterations(shape.Calls())
            ->UseRealTime();
      }
    }
  }
  return true;
}();

}  // namespace
