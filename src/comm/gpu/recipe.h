// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_COMM_GPU_RECIPE_H_
#define TUTTI_COMM_GPU_RECIPE_H_

#include "exec/gpu/lower/compile.h"

namespace tutti::algo {
enum class Algorithm : std::uint8_t;
}

namespace tutti::comm {

// What to do for a collective in a size class.
struct GpuRecipe {
  const exec::gpu::PreparedPlan* plan = nullptr;  // null: not decided yet
  exec::gpu::Shape shape;
  bool direct = false;  // by teams, not by an interpreter: Executor::CompileTeams
  double predicted_us = 0;
  algo::Algorithm algorithm{};  // of the plan
};

}  // namespace tutti::comm

#endif  // TUTTI_COMM_GPU_RECIPE_H_
