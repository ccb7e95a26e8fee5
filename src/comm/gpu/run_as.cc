// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
//
// Operations in a given way, for tests and measurements.
#include <algorithm>

#include "comm/gpu/groups.h"
#include "comm/gpu/planner.h"
#include "comm/gpu/recipe.h"
#include "comm/gpu/runner.h"
#include "comm/gpu/submitter.h"
#include "comm/gpu/work.h"
#include "comm/host/validate.h"

namespace tutti::comm {

Status GpuRunner::RunAs(const Operation& o, const tune::GpuChoice& choice, sys::cuda::Stream stream) {
  TUTTI_RETURN_IF_ERROR(comm::ValidateForGpu(o, core_.rank, core_.ranks));
  if (IsEmpty(o)) return Status::Ok();
  const Result<GpuRecipe> recipe = planner_.RecipeOf(choice, o.kind, o.root, GpuPlanner::Launched::kAlone);
  if (!recipe.ok()) return recipe.status();
  return submitter_.RunAs(o, *recipe, stream);
}

Status GpuGroups::RunAs(std::span<const Operation> operations, const tune::GpuChoice& choice,
                        sys::cuda::Stream stream) {
  alike_.clear();
  for (const Operation& o : operations) {
    TUTTI_RETURN_IF_ERROR(comm::ValidateForGpu(o, runner_.rank(), runner_.ranks()));
    if (!IsEmpty(o)) alike_.push_back(&o);
  }
  if (alike_.empty()) return Status::Ok();
  Result<GpuRecipe> recipe =
      planner_.RecipeOf(choice, alike_[0]->kind, alike_[0]->root, GpuPlanner::Launched::kInABatch);
  if (!recipe.ok()) return recipe.status();
  recipe->shape.channels = std::min(recipe->shape.channels, exec::gpu::kMaxBatchChannels);
  return submitter_.RunBatch(alike_, *recipe, recipe->shape, stream);
}

}  // namespace tutti::comm
