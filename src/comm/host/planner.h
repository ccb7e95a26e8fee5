// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_COMM_HOST_PLANNER_H_
#define TUTTI_COMM_HOST_PLANNER_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <tuple>
#include <vector>

#include "comm/host/group_plan.h"
#include "comm/host/size_class.h"
#include "exec/cpu/lane.h"
#include "proto/protocol.h"
#include "tutti/operation.h"
#include "tutti/status.h"

namespace tutti {
namespace algo {
enum class Algorithm : std::uint8_t;
}
namespace exec::cpu {
struct ChunkRules;
struct PreparedPlan;
}  // namespace exec::cpu
namespace plan {
class RankPlan;
struct Footprint;
}  // namespace plan
namespace tune {
class Chooser;
struct Choice;
}  // namespace tune
}  // namespace tutti

namespace tutti::comm {

class Jobs;

// What to do for a collective in a size class, decided at its first use.
struct Recipe {
  std::vector<const exec::cpu::PreparedPlan*> plans;  // one per channel; empty: not decided yet
  proto::Protocol protocol = proto::Protocol::kSimple;
  bool by_reference = false;
  std::size_t chunk_bytes = 0;
  std::size_t pool_chunk_bytes = 0;  // where an operation can not refer after all
  std::uint16_t how = 0;             // trace::How::Pack
};

// Chooses how calls are done, and keeps the plans that were chosen. Decided as it is first needed; alike on all ranks.
class Planner {
 public:
  // `jobs`: plans that they hold are not forgotten.
  Planner(int rank, int ranks, const Jobs& jobs);
  ~Planner();
  // Before the first call of the others. `chooser`, `rules`: what choices go by; `rules` outlives this object. `open` is called
  // for each rank that a plan exchanges messages with before the plan is handed out.
  void Start(tune::Chooser chooser, const exec::cpu::ChunkRules& rules, std::function<void(int peer)> open);

  Result<const Recipe*> FindRecipe(Collective collective, std::size_t bytes, int root);
  // Of a group, whatever its sizes.
  const exec::cpu::PreparedPlan* FindTransferPlan(std::span<const Operation> operations);
  exec::cpu::Lane FindLane(std::size_t bytes);
  // The cost model's estimate. REQUIRES: a valid operation.
  Result<double> PredictUs(const Operation& operation);
  // "one_shot LL". REQUIRES: a valid operation.
  std::string Explain(const Operation& operation) const;

  // For measurements: all ways from which one is chosen, the best by prediction first; and the way that calls of this size class and
  // root take from now on, null: the chosen one. kSendRecv speaks for sends and receives. All ranks have to do alike, with nothing
  // unfinished, and Preparer::Forget comes next.
  std::vector<tune::Choice> Candidates(Collective collective, std::size_t bytes) const;
  void Use(Collective collective, std::size_t bytes, int root, const tune::Choice* way);

 private:
  std::unique_ptr<exec::cpu::PreparedPlan> Prepare(plan::RankPlan plan, std::string name) const;
  // `depth`: RankPlan::Deepen.
  struct Wanted {
    algo::Algorithm algorithm;
    Collective collective;
    int root, channel, depth;
    auto operator<=>(const Wanted&) const = default;
  };
  const exec::cpu::PreparedPlan* FindPlan(const Wanted& wanted);
  Recipe& RecipeOf(Collective collective, int size_class, int root);
  Recipe MakeRecipe(const tune::Choice& choice, Collective collective, int root);
  const plan::Footprint& FindFootprint(algo::Algorithm algorithm, Collective collective, int root);

  const int rank_;
  const int ranks_;
  const Jobs& jobs_;
  std::unique_ptr<tune::Chooser> chooser_;
  const exec::cpu::ChunkRules* rules_ = nullptr;
  std::function<void(int)> open_;

  std::map<Wanted, std::unique_ptr<exec::cpu::PreparedPlan>> plans_;
  using Rooted = std::tuple<algo::Algorithm, Collective, int>;
  std::map<Rooted, std::unique_ptr<plan::Footprint>> footprints_;
  using RecipeTable = std::array<Recipe, kSizeClasses>;
  std::array<std::unique_ptr<RecipeTable>, kCollectives> recipes_;
  std::array<std::vector<std::unique_ptr<RecipeTable>>, kCollectives> rooted_recipes_;
  GroupPlans<exec::cpu::PreparedPlan> groups_;
  std::vector<int> ends_;                                           // of the group in hand; kept for its memory
  std::set<std::string> said_;                                      // by LogChoice
  std::array<std::optional<exec::cpu::Lane>, kSizeClasses> lanes_;  // of sends and receives, by size
};

}  // namespace tutti::comm

#endif  // TUTTI_COMM_HOST_PLANNER_H_
