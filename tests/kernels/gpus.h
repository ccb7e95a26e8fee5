// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_TESTS_KERNELS_GPUS_H_
#define TUTTI_TESTS_KERNELS_GPUS_H_

// A communicator's ranks on a machine of tests: makes the kernels' arguments of calls as the library does, by
// exec/gpu/lower, and compares what the kernels give.

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <tuple>
#include <vector>

#include "exec/gpu/format/program.h"
#include "exec/gpu/launch/lowered.h"
#include "exec/gpu/lower/compile.h"
#include "tests/kernels/call.h"
#include "tests/kernels/machine.h"
#include "transport/p2p/sections.h"

namespace tutti::tests {

// How long rings are.
enum class Rings : std::uint8_t { kTight, kWide };

// The element types whose kernels this program has.
std::vector<DataType> KnownTypes();

class Gpus {
 public:
  Gpus(int ranks, Rings rings);

  int ranks() const { return machine_.ranks(); }
  Machine& machine() { return machine_; }

  // Whether the call has a form like this one's, and its plan fits the rings.
  bool Supports(const Call& call);
  // Puts the calls into all ranks' streams and runs them. "": all results are what they must be. Begins with rings through
  // which as much has gone as the seed says, so that a seed says all.
  std::string Run(const std::vector<Call>& calls, std::uint64_t seed, exec::gpu::Plant plant = exec::gpu::Plant::kNone);
  // One call that a rank does not make, so that the others give up: what each of them reported (HostWords::failure), or 0.
  // `instead`: a shorter one that it makes.
  std::vector<std::uint64_t> RunWithout(int absent, const Call& call, std::uint64_t seed, std::string& error,
                                        const Call* instead = nullptr);

  // The number that every call has, and what a rank's kernels have told of themselves in the last RunWithout.
  static constexpr std::uint64_t kNumber = 77;
  const exec::gpu::HostWords& words(int rank) const { return words_[static_cast<std::size_t>(rank)]; }
  std::uint64_t begun(int rank) const { return CountsOf(rank).begun; }
  // What the last kernel of a rank was lowered to, by which its report is read.
  const exec::gpu::Lowered& lowered(int rank) const { return lowered_[static_cast<std::size_t>(rank)]; }

  // Kernels that have been run.
  std::uint64_t launched() const { return launched_; }

 private:
  using Plans = std::vector<std::unique_ptr<exec::gpu::PreparedPlan>>;

  const Plans& Prepare(const Call& call);
  const transport::p2p::Layout& LayoutOf(const exec::gpu::PreparedPlan& plan) const {
    return sections_.At(plan.section);
  }
  // What a program needs to know of the machine.
  void Connect(const exec::gpu::PreparedPlan& plan, int rank, exec::gpu::Program& program) const;
  exec::gpu::Work WorkOf(const Call& call, const Buffers& buffers, int rank) const;
  bool MovesOnly(const Call& call, const exec::gpu::PreparedPlan& plan) const;
  // "": launched; else what is missing.
  std::string Launch(const Call& call, std::vector<Buffers>& items, int rank);
  std::string LaunchProgram(const Call& call, const Buffers& buffers, int rank);
  std::string LaunchBatch(const Call& call, const std::vector<Buffers>& items, int rank);
  std::string LaunchRelay(const Call& call, const Buffers& buffers, int rank);
  std::string LaunchGroup(const Call& call, const Buffers& buffers, int rank);
  std::string LaunchRound(const Call& call, const transport::p2p::Layout& layout, int seat,
                          const std::vector<exec::gpu::TransferRequest>& sends,
                          const std::vector<exec::gpu::TransferRequest>& receives, int rank, exec::gpu::Group& group);
  template <typename Argument>
  std::string Start(int rank, const std::string& kernel, const Argument& argument, int blocks, int threads);
  void Connect(std::byte** segments) const;
  // The ranks' memory as it is after many operations.
  void Age(Random& random);
  void AgeCollectives(int section, Random& random);
  void AgeTransfers(int section, Random& random);
  transport::p2p::LaunchCounts& CountsOf(int rank) const;
  transport::p2p::ChannelState& StateAt(int rank, std::size_t at) const;
  std::uint64_t& WordAt(int rank, std::size_t at) const;

  const transport::p2p::Sections sections_;
  Machine machine_;
  std::vector<std::byte*> segments_;                                                 // by rank
  std::vector<exec::gpu::HostWords> words_;                                          // likewise
  std::vector<exec::gpu::Lowered> lowered_;                                          // likewise
  std::unique_ptr<exec::gpu::PreparedPlan> group_plans_[transport::p2p::kMaxRanks];  // of the last groups
  std::uint64_t timeout_ns_ = ~std::uint64_t{0};
  std::map<std::tuple<algo::Algorithm, Collective, int>, Plans> plans_;
  std::uint64_t launched_ = 0;
};

}  // namespace tutti::tests

#endif  // TUTTI_TESTS_KERNELS_GPUS_H_
