// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_TESTS_KERNELS_CASES_H_
#define TUTTI_TESTS_KERNELS_CASES_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "tests/kernels/gpus.h"

namespace tutti::tests {

// Communicators of any number of ranks with rings of both lengths, made when they are first asked for.
class Fleet {
 public:
  Gpus& Of(int ranks, Rings rings);
  std::uint64_t launched() const;

 private:
  std::unique_ptr<Gpus> gpus_[transport::p2p::kMaxRanks + 1][2];
};

// A call that these ranks can make, of any form, collective, algorithm, protocol, type, operator and size.
Call AnyCall(Gpus& gpus, const std::vector<DataType>& types, Random& random);
// Lengths, buffers and blocks of a call are chosen anew.
void Vary(Call& call, Random& random);

// Runs calls one after the other. "": all is well, else what went wrong, the seed, and what was called.
std::string RunAll(Gpus& gpus, const std::vector<Call>& calls, std::uint64_t seed,
                   exec::gpu::Plant plant = exec::gpu::Plant::kNone);
// Runs what a seed stands for: some calls among some ranks.
std::string RunAny(Fleet& fleet, const std::vector<DataType>& types, std::uint64_t seed);
// Some calls among more ranks than a kernel can name, which `seed` chooses.
std::string RunMany(Fleet& fleet, int ranks, const std::vector<DataType>& types, std::uint64_t seed);
// The same of calls in which the error `shown` would show itself, if it is planted.
std::string RunFor(Fleet& fleet, exec::gpu::Plant shown, exec::gpu::Plant plant, std::uint64_t seed);
// The first seed that shows a planted error, and what it found; 0: none of kMostSeedsOfPlant does.
inline constexpr int kMostSeedsOfPlant = 400;
int FindPlant(Fleet& fleet, exec::gpu::Plant plant, std::string& found);

// Every form, collective, algorithm, protocol, type and operator that there is among `ranks` ranks.
std::vector<Call> EveryCall(Gpus& gpus, const std::vector<DataType>& types);

}  // namespace tutti::tests

#endif  // TUTTI_TESTS_KERNELS_CASES_H_
