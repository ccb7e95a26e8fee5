// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "comm/host/recipe.h"

#include <algorithm>

#include "exec/cpu/job.h"
#include "plan/plan.h"

namespace tutti::comm {

void Follow(const Recipe& recipe, exec::cpu::Job& job) {
  job.protocol = recipe.choice.protocol;
  // A value that was scaled first lies nowhere but in the pool; the chunks stay as the recipe's on all ranks.
  job.by_reference = recipe.choice.by_reference && !job.scale_inputs;
  job.chunk_bytes = job.by_reference == recipe.choice.by_reference ? recipe.chunk_bytes : recipe.pool_chunk_bytes;
  // Each channel gets an equal part of every piece, cut at cache lines.
  job.channels = static_cast<int>(recipe.plans.size());
  job.found.cut = false;
  job.found.brief.reset();
  if (job.parts.size() < recipe.plans.size()) job.parts.resize(recipe.plans.size());
  const plan::BlockCut cut = plan::BlockCut::Equal(job.count, job.channels, std::max<std::size_t>(64 / job.element, 1));
  for (int c = 0; c < job.channels; ++c) {
    exec::cpu::Part& part = job.parts[c];
    part.plan = recipe.plans[c];
    part.channel = c;
    part.first = cut.Begin(c);
    part.count = cut.Size(c);
  }
  job.calls.how = recipe.how;
}

}  // namespace tutti::comm
