// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include <benchmark/benchmark.h>
#include <fmt/format.h>

#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "exec/cpu/fold.h"

// The folds of every type and instruction set, hot, in one thread:
//
//   fold_bench --benchmark_filter='fold/float/sum/avx512/x2/'
//
// GB/s figures count the bytes of one array (count * element size), as nccl-tests counts: the memory traffic
// of a fold of N operands is N + 1 times that.
namespace tutti {
namespace {

constexpr std::size_t kBytes[] = {4 << 10, 256 << 10, 64 << 20};

struct Free {
  void operator()(void* p) const { std::free(p); }
};

// Arrays one after the other, apart by an odd number of lines so that they do not all fall into the same
// cache sets. Elements are the byte pattern of small numbers in every type.
class Arrays {
 public:
  Arrays(std::size_t arrays, std::size_t bytes) : stride_((bytes + 4096 + 4095) / 4096 * 4096 + 64) {
    const std::size_t total = (arrays * stride_ + (2 << 20) - 1) >> 21 << 21;
    memory_.reset(std::aligned_alloc(2 << 20, total));
    std::memset(memory_.get(), 0x2c, total);
    for (std::size_t i = 0; i < arrays; ++i) all_.push_back(static_cast<char*>(memory_.get()) + i * stride_);
  }
  void* operator[](std::size_t i) const { return all_[i]; }
  const void* const* data() const { return all_.data(); }

 private:
  std::size_t stride_;
  std::unique_ptr<void, Free> memory_;
  std::vector<void*> all_;
};

void Report(benchmark::State& state, std::size_t bytes) {
  state.SetBytesProcessed(static_cast<std::int64_t>(state.iterations() * bytes));
}

void Fold(benchmark::State& state, DataType type, ReduceOp op, Isa isa, int operand_count, std::size_t bytes,
          Stores stores) {
  const FoldFn fold = GetFoldVariant(type, op, isa);
  if (!fold) return state.SkipWithError("this machine lacks the instruction set");
  const Arrays arrays(operand_count + 1, bytes);
  const std::size_t count = bytes / SizeOf(type);
  for (auto _ : state) {
    fold(arrays[operand_count], arrays.data(), operand_count, count, stores);
    benchmark::ClobberMemory();
  }
  Report(state, bytes);
}

void FoldInPlace(benchmark::State& state, DataType type, std::size_t bytes) {
  const Arrays arrays(2, bytes);
  const FoldFn fold = GetFold(type, ReduceOp::kMax);
  for (auto _ : state) {
    fold(arrays[0], arrays.data(), 2, bytes / SizeOf(type), Stores::kCached);
    benchmark::ClobberMemory();
  }
  Report(state, bytes);
}

void Copy(benchmark::State& state, std::size_t bytes, Stores stores) {
  const Arrays arrays(2, bytes);
  for (auto _ : state) {
    CopyBytes(arrays[1], arrays[0], bytes, stores);
    benchmark::ClobberMemory();
  }
  Report(state, bytes);
}

void ScaleBench(benchmark::State& state, DataType type, std::size_t bytes) {
  const Arrays arrays(1, bytes);
  for (auto _ : state) {
    Scale(arrays[0], arrays[0], bytes / SizeOf(type), type, 1.0);
    benchmark::ClobberMemory();
  }
  Report(state, bytes);
}

void DivideBench(benchmark::State& state, DataType type, std::size_t bytes) {
  const Arrays arrays(1, bytes);
  for (auto _ : state) {
    DivideIntegers(arrays[0], bytes / SizeOf(type), type, 3);
    benchmark::ClobberMemory();
  }
  Report(state, bytes);
}

void AddFold(DataType type, ReduceOp op, Isa isa, int operand_count, std::size_t bytes, Stores stores) {
  const std::string name = fmt::format("fold/{}/{}/{}/x{}/{}{}", Name(type), Name(op), Name(isa), operand_count, bytes,
                                       stores == Stores::kNonTemporal ? "/nontemporal" : "");
  benchmark::RegisterBenchmark(name.c_str(), Fold, type, op, isa, operand_count, bytes, stores);
}

void AddFolds(DataType type, Isa isa) {
  for (const ReduceOp op : {ReduceOp::kSum, ReduceOp::kProd, ReduceOp::kMax, ReduceOp::kMin}) {
    for (const std::size_t elements : {1, 4, 15, 16}) {
      AddFold(type, op, isa, 2, elements * SizeOf(type), Stores::kCached);
    }
    for (const std::size_t bytes : kBytes) {
      for (const int operand_count : {2, 3, 4, 8, 16, 64}) {
        AddFold(type, op, isa, operand_count, bytes, Stores::kCached);
        AddFold(type, op, isa, operand_count, bytes, Stores::kNonTemporal);
      }
    }
  }
}

int AddAll() {
  for (int t = 0; t < kNcclDataTypes; ++t) {
    const auto type = static_cast<DataType>(t);
    for (int isa = 0; isa < kIsas; ++isa) AddFolds(type, static_cast<Isa>(isa));
    for (const std::size_t bytes : kBytes) {
      const std::string suffix = fmt::format("/{}/{}", Name(type), bytes);
      benchmark::RegisterBenchmark(("fold_in_place/max" + suffix).c_str(), FoldInPlace, type, bytes);
      benchmark::RegisterBenchmark(("scale" + suffix).c_str(), ScaleBench, type, bytes);
      if (t <= static_cast<int>(DataType::kUint64)) {
        benchmark::RegisterBenchmark(("divide" + suffix).c_str(), DivideBench, type, bytes);
      }
    }
  }
  for (const std::size_t bytes : {std::size_t{64}, kBytes[0], kBytes[1], kBytes[2]}) {
    const std::string name = fmt::format("copy/{}", bytes);
    benchmark::RegisterBenchmark(name.c_str(), Copy, bytes, Stores::kCached);
    benchmark::RegisterBenchmark((name + "/nontemporal").c_str(), Copy, bytes, Stores::kNonTemporal);
  }
  return 0;
}

[[maybe_unused]] const int kAdded = AddAll();

}  // namespace
}  // namespace tutti
