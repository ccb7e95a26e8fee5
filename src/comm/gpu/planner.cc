// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "comm/gpu/planner.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "comm/gpu/limits.h"
#include "comm/gpu/links.h"
#include "comm/gpu/recipe.h"
#include "comm/gpu/work.h"
#include "comm/host/log_choice.h"
#include "comm/host/size_class.h"
#include "tune/gpu_model.h"
#include "tutti/settings.h"

namespace tutti::comm {

using exec::gpu::PreparedPlan;
using Kind = Collective;

struct GpuPlanner::Known {
  using RecipeTable = std::array<GpuRecipe, kSizeClasses>;
  // All that have been decided, by collective and root.
  using Recipes = std::array<std::vector<std::unique_ptr<RecipeTable>>, kCollectives>;

  Result<const GpuRecipe*> FindIn(GpuPlanner& planner, Recipes& all, tune::GpuChooser& by, Collective collective,
                                  std::size_t bytes, int root);

  tune::GpuMachine machine{};               // the constants that choices go by
  tune::GpuChooser chooser, batch_chooser;  // of operations that are launched by themselves, and as one
  std::unique_ptr<GpuLinks> links;
  int most_blocks = 1;
  std::map<std::tuple<algo::Algorithm, Collective, int>, std::unique_ptr<PreparedPlan>> plans;
  Recipes recipes, batch_recipes;
  std::set<std::string> said;                                         // by LogChoice
  std::array<std::vector<const PreparedPlan*>, kCollectives> copies;  // CopiesOf, by root
  // By collective and size class: whether copies pay; 0: not known.
  enum : std::uint8_t { kUnknown, kYes, kNo };
  std::array<std::array<std::uint8_t, kSizeClasses>, kCollectives> pays{};
};

GpuPlanner::GpuPlanner(int rank, int ranks) : rank_(rank), ranks_(ranks), known_(std::make_unique<Known>()) {}

GpuPlanner::~GpuPlanner() = default;

Status GpuPlanner::Start(const tune::GpuMachine& machine, const GpuLimits& limits,
                         const transport::p2p::Sections& sections, const Settings& settings) {
  known_->machine = machine;
  known_->links = std::make_unique<GpuLinks>(ranks_, sections);
  const GpuLinks& links = *known_->links;
  known_->most_blocks = limits.most_blocks;
  tune::GpuChooserOptions choosing{
      .ranks = ranks_,
      .max_channels = std::min(limits.most_blocks, links.MostChannels(proto::Protocol::kLl)),
      .max_simple_channels = links.MostChannels(proto::Protocol::kSimple),
      .min_channels = limits.least_blocks,
      .direct = true,
      .most_peers = transport::p2p::kSeats - 1,
      .rounds = links.rounds(),
      .whole_lines = limits.whole_lines,
      .machine = machine,
      .algo_filter = settings.algo,
      .proto_filter = settings.proto};
  Result<tune::GpuChooser> made = tune::GpuChooser::Create(choosing);
  if (!made.ok()) return made.status();
  known_->chooser = std::move(*made);
  choosing.direct = false;  // batches are run by the interpreter
  made = tune::GpuChooser::Create(choosing);
  if (!made.ok()) return made.status();
  known_->batch_chooser = std::move(*made);
  return Status::Ok();
}

Result<const PreparedPlan*> GpuPlanner::FindPlan(algo::Algorithm algorithm, Collective collective, int root) {
  std::unique_ptr<PreparedPlan>& slot = known_->plans[{algorithm, collective, root}];
  if (slot == nullptr) {
    const algo::Entry& entry = algo::Get(algorithm);
    const exec::gpu::Seating* seating = entry.few_links(collective) ? known_->links->FindSeating(algorithm) : nullptr;
    const Result<PreparedPlan> prepared =
        exec::gpu::PreparePlan(seating != nullptr ? algo::BuildAllOverFixedLinks(algorithm, collective, ranks_, root)
                                                  : algo::BuildAll(algorithm, collective, ranks_, root),
                               rank_, seating);
    if (!prepared.ok()) return prepared.status();
    slot = std::make_unique<PreparedPlan>(*prepared);
  }
  return slot.get();
}

Result<const GpuRecipe*> GpuPlanner::FindRecipe(Collective collective, std::size_t bytes, int root) {
  return known_->FindIn(*this, known_->recipes, known_->chooser, collective, bytes, root);
}

Result<const GpuRecipe*> GpuPlanner::FindBatchRecipe(Collective collective, std::size_t bytes, int root) {
  return known_->FindIn(*this, known_->batch_recipes, known_->batch_chooser, collective, bytes, root);
}

Result<const GpuRecipe*> GpuPlanner::Known::FindIn(GpuPlanner& planner, Recipes& all, tune::GpuChooser& by,
                                                   Collective collective, std::size_t bytes, int root) {
  auto& tables = all[static_cast<int>(collective)];
  if (tables.empty()) tables.resize(planner.ranks_);
  std::unique_ptr<RecipeTable>& table = tables[HasRoot(collective) ? root : 0];
  if (table == nullptr) table = std::make_unique<RecipeTable>();
  const int size_class = SizeClass(bytes);
  GpuRecipe& recipe = (*table)[size_class];
  if (recipe.plan != nullptr) [[likely]]
    return &recipe;
  Status why(Code::kInvalidUsage,
             fmt::format("NCCL_ALGO=\"{}\" and NCCL_PROTO=\"{}\" leave nothing that can do {} among {} ranks",
                         by.options().algo_filter, by.options().proto_filter, Name(collective), planner.ranks_));
  for (const tune::GpuChoice& choice : by.Candidates(collective, SmallestOfClass(size_class))) {
    const Result<const PreparedPlan*> plan = planner.FindPlan(choice.algorithm, collective, root);
    if (!plan.ok()) {  // does not fit a kernel's arguments: on all ranks alike
      why = plan.status();
      continue;
    }
    const Result<GpuRecipe> made = planner.RecipeFor(**plan, choice, choice.direct);
    if (!made.ok()) {
      why = made.status();
      continue;
    }
    recipe = *made;
    LogChoice(said, collective, algo::Get(choice.algorithm).name, proto::Name(choice.protocol));
    return &recipe;
  }
  return why;
}

Result<GpuRecipe> GpuPlanner::RecipeOf(const tune::GpuChoice& way, Collective collective, int root, Launched launched) {
  const Result<const PreparedPlan*> plan = FindPlan(way.algorithm, collective, HasRoot(collective) ? root : 0);
  if (!plan.ok()) return plan.status();
  const bool direct =
      launched == Launched::kAlone && way.protocol == proto::Protocol::kSimple && (*plan)->forms.ForTeams();
  return RecipeFor(**plan, way, direct);
}

Result<GpuRecipe> GpuPlanner::RecipeFor(const PreparedPlan& plan, const tune::GpuChoice& way, bool direct) const {
  if (!direct) TUTTI_RETURN_IF_ERROR(CanRunSteps(plan, way.protocol));
  return GpuRecipe{&plan,
                   {.protocol = way.protocol,
                    .channels = std::min(way.channels, MostChannels(plan, way.protocol)),
                    .threads = way.threads,
                    .chunk_bytes = way.chunk_bytes},
                   direct,
                   way.predicted_us};
}

bool GpuPlanner::IsLong(const GpuRecipe& recipe) const { return recipe.predicted_us >= known_->machine.long_call_us; }

int GpuPlanner::ThreadsOfBatch(proto::Protocol protocol, std::size_t message_bytes) const {
  return known_->batch_chooser.Threads(protocol, static_cast<double>(message_bytes));
}

int GpuPlanner::MostChannels(const PreparedPlan& plan, proto::Protocol protocol) const {
  const int most = known_->links->GeometryOf(plan).Channels(static_cast<int>(protocol));
  return std::min(most, known_->most_blocks);
}

Status GpuPlanner::CanRunSteps(const PreparedPlan& plan, proto::Protocol protocol) const {
  return exec::gpu::CanRunSteps(plan, protocol, known_->links->GeometryOf(plan));
}

const PreparedPlan* GpuPlanner::CopiesOf(const Operation& o) {
  const std::size_t root = HasRoot(o.kind) ? static_cast<std::size_t>(o.root) : 0;
  std::vector<const PreparedPlan*>& known = known_->copies[static_cast<std::size_t>(o.kind)];
  if (known.size() <= root) known.resize(static_cast<std::size_t>(ranks_));
  if (known[root] == nullptr) {
    const std::optional<algo::Algorithm> algorithm = known_->chooser.AlgorithmOfCopies(o.kind);
    if (!algorithm) return nullptr;
    const Result<const PreparedPlan*> plan = FindPlan(*algorithm, o.kind, static_cast<int>(root));
    if (plan.ok()) known[root] = *plan;
  }
  return known[root];
}

bool GpuPlanner::CopiesPay(const Operation& o) {
  const int size_class = SizeClass(BytesOf(o));
  std::uint8_t& known = known_->pays[static_cast<int>(o.kind)][size_class];
  if (known == Known::kUnknown) {
    const std::vector<tune::GpuChoice> choices =
        known_->chooser.Candidates(o.kind, SmallestOfClass(size_class), tune::Outputs::kInWindows);
    known = !choices.empty() && choices.front().copies ? Known::kYes : Known::kNo;
  }
  return known == Known::kYes;
}

double GpuPlanner::PredictTransferUs(std::size_t bytes) const {
  return tune::PredictTransferUs(known_->machine, bytes);
}

std::string GpuPlanner::Explain(const Operation& o) {
  const std::vector<tune::GpuChoice> choices =
      known_->chooser.Candidates(o.kind, SmallestOfClass(SizeClass(BytesOf(o))));
  return choices.empty() ? "nothing that NCCL_ALGO and NCCL_PROTO allow" : tune::ToString(choices.front());
}

tune::GpuChooser& GpuPlanner::chooser() { return known_->chooser; }

}  // namespace tutti::comm
