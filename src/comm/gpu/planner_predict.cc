// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
//
// What calls would take, and whether several are better launched as one.
#include <optional>

#include "comm/gpu/planner.h"
#include "comm/gpu/recipe.h"
#include "comm/gpu/work.h"
#include "tune/at_size.h"

namespace tutti::comm {
namespace {

// Whether two that are alike move as many bytes, so that what was found out about one holds for the other.
bool AreOfASize(const Operation& a, const Operation& b) { return a.count == b.count && a.type == b.type; }

}  // namespace

Result<const GpuRecipe*> GpuPlanner::FindBatchRecipe(std::span<const Operation* const> operations) {
  if (operations.size() < 2) return nullptr;
  const Operation& first = *operations[0];
  double one_by_one_us = 0;
  std::size_t bytes = 0;
  const Operation* before = nullptr;
  double us = 0;  // of the one before
  for (const Operation* o : operations) {
    if (before == nullptr || !AreOfASize(*o, *before)) {
      const Result<const GpuRecipe*> recipe = FindRecipe(o->kind, BytesOf(*o), o->root);
      if (!recipe.ok()) return recipe;
      us = (*recipe)->predicted_us;
    }
    one_by_one_us += us;
    bytes += BytesOf(*o);
    before = o;
  }
  const Result<const GpuRecipe*> recipe =
      FindBatchRecipe(first.kind, bytes, first.root, static_cast<int>(operations.size()));
  if (!recipe.ok() || (*recipe)->predicted_us < one_by_one_us) return recipe;
  return nullptr;
}

Result<double> GpuPlanner::PredictAlikeUs(std::span<const Operation* const> operations) {
  const Result<const GpuRecipe*> batch = FindBatchRecipe(operations);
  if (!batch.ok()) return batch.status();
  if (*batch != nullptr) return (*batch)->predicted_us;
  double us = 0;
  for (const Operation* o : operations) {
    if (IsEmpty(*o)) continue;
    const Result<const GpuRecipe*> recipe = FindRecipe(o->kind, BytesOf(*o), o->root);
    if (!recipe.ok()) return recipe.status();
    const tune::GpuChoice way{.algorithm = (*recipe)->algorithm,
                              .protocol = (*recipe)->shape.protocol,
                              .direct = (*recipe)->direct,
                              .predicted_us = (*recipe)->predicted_us};
    us += tune::AtSize(chooser(), way, o->kind, BytesOf(*o)).predicted_us;
  }
  return us;
}

Result<double> GpuPlanner::PredictCopiesUs(const Operation& o) {
  tune::GpuChoice copies{.copies = true};
  if (const std::optional<algo::Algorithm> algorithm = chooser().AlgorithmOfCopies(o.kind)) {
    copies.algorithm = *algorithm;
    copies = tune::AtSize(chooser(), copies, o.kind, BytesOf(o), tune::Outputs::kInWindows);
  }
  const Operation* const alone = &o;
  return copies.predicted_us > 0 ? copies.predicted_us : PredictAlikeUs({&alone, 1});
}

}  // namespace tutti::comm
