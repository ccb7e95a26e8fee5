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
#include "comm/gpu/ways.h"
#include "comm/host/log_choice.h"
#include "tune/gpu_model.h"
#include "tutti/settings.h"

namespace tutti::comm {

using exec::gpu::PreparedPlan;
using Kind = Collective;

struct GpuPlanner::Known {
  explicit Known(int ranks) : alone(ranks), batch(ranks) {}

  Result<const GpuRecipe*> FindIn(GpuPlanner& planner, GpuWays& ways, const GpuWanted& wanted);

  tune::GpuMachine machine{};  // the constants that choices go by
  GpuWays alone, batch;        // of operations that are launched by themselves, and as one
  std::unique_ptr<GpuLinks> links;
  int most_blocks = 1;
  std::map<std::tuple<algo::Algorithm, Collective, int>, std::unique_ptr<PreparedPlan>> plans;
  std::set<std::string> said;                                         // by LogChoice
  std::array<std::vector<const PreparedPlan*>, kCollectives> copies;  // CopiesOf, by root
};

GpuPlanner::GpuPlanner(int rank, int ranks) : rank_(rank), ranks_(ranks), known_(std::make_unique<Known>(ranks)) {}

GpuPlanner::~GpuPlanner() = default;

Status GpuPlanner::Start(const tune::GpuMachine& machine, const GpuLimits& limits,
                         const transport::p2p::Sections& sections, const Settings& settings,
                         std::shared_ptr<tune::plugin::Tuner> tuner) {
  known_->machine = machine;
  known_->links = std::make_unique<GpuLinks>(ranks_, sections, limits.ring);
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
  TUTTI_RETURN_IF_ERROR(known_->alone.Start(choosing, tuner));
  choosing.direct = false;  // batches are run by the interpreter
  return known_->batch.Start(choosing, std::move(tuner));
}

Result<const PreparedPlan*> GpuPlanner::FindPlan(algo::Algorithm algorithm, Collective collective, int root) {
  std::unique_ptr<PreparedPlan>& slot = known_->plans[{algorithm, collective, root}];
  if (slot == nullptr) {
    const algo::Entry& entry = algo::Get(algorithm);
    const exec::gpu::Seating* seating = entry.few_links(collective) ? known_->links->FindSeating(algorithm) : nullptr;
    const Result<PreparedPlan> prepared =
        exec::gpu::PreparePlan(known_->links->PlansOf(algorithm, collective, root), rank_, seating);
    if (!prepared.ok()) return prepared.status();
    slot = std::make_unique<PreparedPlan>(*prepared);
  }
  return slot.get();
}

Result<const GpuRecipe*> GpuPlanner::FindRecipe(Collective collective, std::size_t bytes, int root) {
  return known_->FindIn(*this, known_->alone, {.collective = collective, .bytes = bytes, .root = root});
}

Result<const GpuRecipe*> GpuPlanner::FindBatchRecipe(Collective collective, std::size_t bytes, int root,
                                                     int operations) {
  return known_->FindIn(*this, known_->batch,
                        {.collective = collective, .bytes = bytes, .root = root, .operations = operations});
}

Result<const GpuRecipe*> GpuPlanner::Known::FindIn(GpuPlanner& planner, GpuWays& ways, const GpuWanted& wanted) {
  GpuRecipe& recipe = ways.RecipeFor(wanted);
  if (recipe.plan != nullptr) [[likely]]
    return &recipe;
  const Collective collective = wanted.collective;
  const tune::GpuChooserOptions& options = ways.chooser().options();
  Status why(Code::kInvalidUsage,
             fmt::format("NCCL_ALGO=\"{}\" and NCCL_PROTO=\"{}\" leave nothing that can do {} among {} ranks",
                         options.algo_filter, options.proto_filter, Name(collective), planner.ranks_));
  for (const tune::GpuChoice& choice : ways.Candidates(wanted)) {
    const Result<const PreparedPlan*> plan = planner.FindPlan(choice.algorithm, collective, wanted.root);
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
    const int protocol = static_cast<int>(choice.protocol);
    ways.LetTunerCut(choice, wanted, links->GeometryOf(**plan).RingBytes(protocol), recipe);
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
                   way.predicted_us,
                   way.algorithm};
}

bool GpuPlanner::IsLong(const GpuRecipe& recipe) const { return recipe.predicted_us >= known_->machine.long_call_us; }

int GpuPlanner::ThreadsOfBatch(proto::Protocol protocol, std::size_t message_bytes) const {
  return known_->batch.chooser().Threads(protocol, static_cast<double>(message_bytes));
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
    const std::optional<algo::Algorithm> algorithm = known_->alone.chooser().AlgorithmOfCopies(o.kind);
    if (!algorithm) return nullptr;
    const Result<const PreparedPlan*> plan = FindPlan(*algorithm, o.kind, static_cast<int>(root));
    if (plan.ok()) known[root] = *plan;
  }
  return known[root];
}

bool GpuPlanner::CopiesPay(const Operation& o) { return known_->alone.CopiesPay(o); }

double GpuPlanner::PredictTransferUs(std::size_t bytes) const {
  return tune::PredictTransferUs(known_->machine, bytes);
}

std::string GpuPlanner::Explain(const Operation& o) {
  const std::vector<tune::GpuChoice> choices = known_->alone.Candidates(WantedFor(o));
  return choices.empty() ? "nothing that NCCL_ALGO and NCCL_PROTO allow" : tune::ToString(choices.front());
}

tune::GpuChooser& GpuPlanner::chooser() { return known_->alone.chooser(); }

}  // namespace tutti::comm
