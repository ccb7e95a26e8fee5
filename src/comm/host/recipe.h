// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_COMM_HOST_RECIPE_H_
#define TUTTI_COMM_HOST_RECIPE_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "tune/choice.h"

namespace tutti::exec::cpu {
struct Job;
struct PreparedPlan;
}  // namespace tutti::exec::cpu

namespace tutti::comm {

// One way to do a collective of a size class, ready for use.
struct Recipe {
  tune::Choice choice;
  std::vector<const exec::cpu::PreparedPlan*> plans;  // one per channel; empty: not decided yet
  std::size_t chunk_bytes = 0;
  std::size_t pool_chunk_bytes = 0;  // where an operation can not refer after all
  std::uint16_t how = 0;             // trace::How::Pack
};

// Lets a job, whose call is filled in, take this way.
void Follow(const Recipe& recipe, exec::cpu::Job& job);

}  // namespace tutti::comm

#endif  // TUTTI_COMM_HOST_RECIPE_H_
