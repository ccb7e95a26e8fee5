// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "comm/gpu/ways.h"

#include <array>
#include <map>
#include <tuple>
#include <utility>

#include "comm/gpu/recipe.h"
#include "comm/gpu/work.h"
#include "comm/host/size_class.h"
#include "tune/plugin/tuned_gpu_chooser.h"

namespace tutti::comm {
namespace {

// Sizes that a tuner is asked about one by one; of more it speaks for a whole class.
constexpr std::size_t kMostTunedSizes = std::size_t{1} << 16;

}  // namespace

struct GpuWays::Decided {
  using Table = std::array<GpuRecipe, kSizeClasses>;

  std::unique_ptr<tune::plugin::TunedGpuChooser> tuned;                  // null: there is no tuner
  std::array<std::vector<std::unique_ptr<Table>>, kCollectives> tables;  // by collective and root
  // By collective, bytes, root and operations.
  std::map<std::tuple<Collective, std::size_t, int, int>, GpuRecipe> tuned_recipes;
  // By collective and size class: whether copies pay; 0: not known.
  enum : std::uint8_t { kUnknown, kYes, kNo };
  std::array<std::array<std::uint8_t, kSizeClasses>, kCollectives> pays{};
};

GpuWanted WantedFor(const Operation& o) { return {.collective = o.kind, .bytes = BytesOf(o), .root = o.root}; }

GpuWays::GpuWays(int ranks) : ranks_(ranks), decided_(std::make_unique<Decided>()) {}
GpuWays::~GpuWays() = default;

Status GpuWays::Start(const tune::GpuChooserOptions& options, std::shared_ptr<tune::plugin::Tuner> tuner) {
  Result<tune::GpuChooser> made = tune::GpuChooser::Create(options);
  if (!made.ok()) return made.status();
  chooser_ = std::move(*made);
  if (tuner == nullptr) return Status::Ok();
  Result<tune::plugin::TunedGpuChooser> tuned = tune::plugin::TunedGpuChooser::Create(std::move(tuner), options);
  if (!tuned.ok()) return tuned.status();
  decided_->tuned = std::make_unique<tune::plugin::TunedGpuChooser>(std::move(*tuned));
  return Status::Ok();
}

std::vector<tune::GpuChoice> GpuWays::Candidates(const GpuWanted& wanted) {
  const std::size_t smallest = SmallestOfClass(SizeClass(wanted.bytes));
  std::vector<tune::GpuChoice> choices = chooser_.Candidates(wanted.collective, smallest);
  if (decided_->tuned == nullptr) return choices;
  return decided_->tuned->Order(std::move(choices), wanted.collective, wanted.bytes, smallest, wanted.operations);
}

GpuRecipe& GpuWays::RecipeFor(const GpuWanted& wanted) {
  const auto& [collective, bytes, any_root, operations] = wanted;
  const int root = HasRoot(collective) ? any_root : 0;
  if (decided_->tuned != nullptr) {
    auto& recipes = decided_->tuned_recipes;
    const std::tuple key(collective, bytes, root, operations);
    const auto found = recipes.find(key);
    if (found != recipes.end()) return found->second;
    if (recipes.size() < kMostTunedSizes) return recipes[key];
  }
  auto& tables = decided_->tables[static_cast<std::size_t>(collective)];
  if (tables.empty()) tables.resize(static_cast<std::size_t>(ranks_));
  std::unique_ptr<Decided::Table>& table = tables[static_cast<std::size_t>(root)];
  if (table == nullptr) table = std::make_unique<Decided::Table>();
  return (*table)[static_cast<std::size_t>(SizeClass(bytes))];
}

void GpuWays::LetTunerCut(const tune::GpuChoice& choice, const GpuWanted& wanted, std::size_t most_bytes,
                          GpuRecipe& recipe) {
  if (decided_->tuned == nullptr || recipe.direct) return;  // teams have no chunks
  std::size_t& chunk_bytes = recipe.shape.chunk_bytes;
  const std::size_t most = chunk_bytes != 0 ? chunk_bytes : most_bytes;
  const std::size_t cut = decided_->tuned->ChunkBytes(choice, wanted.collective, wanted.bytes, wanted.operations, most);
  if (cut < most) chunk_bytes = cut;
}

bool GpuWays::CopiesPay(const Operation& o) {
  const int size_class = SizeClass(BytesOf(o));
  std::uint8_t& known = decided_->pays[static_cast<std::size_t>(o.kind)][static_cast<std::size_t>(size_class)];
  if (known == Decided::kUnknown) {
    const std::vector<tune::GpuChoice> choices =
        chooser_.Candidates(o.kind, SmallestOfClass(size_class), tune::Outputs::kInWindows);
    known = !choices.empty() && choices.front().copies ? Decided::kYes : Decided::kNo;
  }
  return known == Decided::kYes;
}

}  // namespace tutti::comm
