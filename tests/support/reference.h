// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_TESTS_SUPPORT_REFERENCE_H_
#define TUTTI_TESTS_SUPPORT_REFERENCE_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>

#include "tutti/communicator.h"

namespace tutti::tests {

// One call to try. Data come from tools/verify_data.h: results are known exactly.
struct Case {
  Collective kind = Collective::kAllReduce;
  std::size_t count = 0;
  DataType type = DataType::kFloat32;
  ReduceOp op = ReduceOp::kSum;
  int root = 0;
  bool in_place = false;
  std::size_t misalign = 0;  // bytes by which both buffers miss their alignment
};

// Runs one operation on the storage around its buffers: `o.in` points into `first` and `o.out` into either, or they are
// null. Whoever copies the storage elsewhere must keep offsets, which carry the misalignment.
using RunOn = std::function<Status(const Operation& o, std::span<std::byte> first, std::span<std::byte> second)>;

// Runs one case of rank `rank` by `run` and compares as below.
Status RunCaseOn(int rank, int ranks, const Case& c, std::uint64_t seed, const RunOn& run);

// What a case is, for messages.
std::string Describe(const Case& c, int ranks);

// Runs the cases one after the other on this rank and compares every output, and the bytes around it, with what they
// must be. Inputs must be unchanged too unless in place.
Status RunCase(Communicator& communicator, std::span<const Case> cases);

}  // namespace tutti::tests

#endif  // TUTTI_TESTS_SUPPORT_REFERENCE_H_
