// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
//
// Runs the GPU kernels on the host: all of them, every way. ./dev test-kernels starts it.
#include <fmt/format.h>

#include <cstdio>
#include <cstdlib>
#include <string>

#include "tests/kernels/across.h"
#include "tests/kernels/cases.h"

namespace tutti::tests {
namespace {

constexpr int kLeastRanks = 1, kMostRanks = 8;

// What this process does of all there is.
struct Part {
  int index, parts;
  bool Has(std::uint64_t number) const {
    return number % static_cast<std::uint64_t>(parts) == static_cast<std::uint64_t>(index);
  }
};

bool Say(const std::string& error) {
  if (!error.empty()) std::puts(("WRONG " + error).c_str());
  return error.empty();
}

// Each call twice: the second one finds the rings as the first has left them.
bool RunEvery(Fleet& fleet, const std::vector<DataType>& types, const Part& part) {
  std::uint64_t number = 0, done = 0;
  for (int ranks = kLeastRanks; ranks <= kMostRanks; ++ranks) {
    for (const Rings rings : {Rings::kTight, Rings::kWide}) {
      Gpus& gpus = fleet.Of(ranks, rings);
      for (const Call& call : EveryCall(gpus, types)) {
        if (!part.Has(++number)) continue;
        Random random(number);
        std::vector<Call> calls(2, call);
        for (Call& each : calls) {
          if (HasRoot(each.collective)) each.root = static_cast<int>(random.Below(static_cast<std::uint64_t>(ranks)));
          Vary(each, random);
        }
        if (!Say(RunAll(gpus, calls, number))) return false;
        ++done;
      }
    }
    std::puts(fmt::format("{} ranks: {} calls so far", ranks, 2 * done).c_str());
    std::fflush(stdout);
  }
  return true;
}

bool RunSeeds(Fleet& fleet, const std::vector<DataType>& types, const Part& part, std::uint64_t seeds) {
  for (std::uint64_t seed = 1; seed <= seeds; ++seed) {
    if (part.Has(seed) && !Say(RunAny(fleet, types, seed))) return false;
  }
  return true;
}

bool RunManyRanks(Fleet& fleet, const std::vector<DataType>& types, const Part& part, std::uint64_t seeds) {
  constexpr int kRanks[] = {17, 20, 32, 72};
  for (std::uint64_t seed = 1; seed <= seeds / 20; ++seed) {
    for (const int ranks : kRanks) {
      if (part.Has(seed) && !Say(RunMany(fleet, ranks, types, seed))) return false;
    }
  }
  return true;
}

// Small operations between hosts.
bool RunBetweenHosts(const Part& part, std::uint64_t seeds) {
  if (part.Has(0) && !Say(RunEveryAcross())) return false;
  for (std::uint64_t seed = 1; seed <= seeds; ++seed) {
    if (part.Has(seed) && !Say(RunAcross(seed))) return false;
  }
  return true;
}

bool FindPlants(Fleet& fleet, const Part& part) {
  for (int plant = 1; plant < exec::gpu::kPlants; ++plant) {
    if (!part.Has(static_cast<std::uint64_t>(plant))) continue;
    std::string found;
    const int seeds = FindPlant(fleet, static_cast<exec::gpu::Plant>(plant), found);
    const std::string name(exec::gpu::kPlantNames[plant]);
    if (seeds == 0) return Say("the planted error " + name + " is not found");
    std::puts(fmt::format("{} is found by seed {}", name, seeds).c_str());
  }
  return true;
}

}  // namespace
}  // namespace tutti::tests

int main(int argc, char** argv) {
  using namespace tutti::tests;
  const int index = argc > 1 ? std::atoi(argv[1]) : 0, parts = argc > 2 ? std::atoi(argv[2]) : 1;
  const std::uint64_t seeds = argc > 3 ? std::strtoull(argv[3], nullptr, 10) : 0;
  if (index < 0 || index >= parts || argc > 4) {
    std::fputs("usage: kernel_check [PART PARTS [SEEDS]]\n", stderr);
    return 2;
  }
  Fleet fleet;
  const std::vector<tutti::DataType> types = KnownTypes();
  const Part part{index, parts};
  const bool well = RunEvery(fleet, types, part) && RunSeeds(fleet, types, part, seeds) &&
                    RunManyRanks(fleet, types, part, seeds) && RunBetweenHosts(part, seeds) && FindPlants(fleet, part);
  std::puts(fmt::format("part {} of {}: {} types, {} kernels run, {}", index + 1, parts, types.size(), fleet.launched(),
                        well ? "all well" : "something is wrong")
                .c_str());
  return well ? 0 : 1;
}
