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
#include "exec/cpu/lane.h"
#include "tutti/operation.h"
#include "tutti/status.h"

namespace tutti {
namespace algo {
enum class Algorithm : std::uint8_t;
}
namespace exec::cpu {
struct ChunkRules;
struct Job;
struct PreparedPlan;
}  // namespace exec::cpu
namespace plan {
class RankPlan;
struct Footprint;
}  // namespace plan
namespace tune {
class Chooser;
struct Choice;
namespace plugin {
class TunedChooser;
class Tuner;
}  // namespace plugin
}  // namespace tune
}  // namespace tutti

namespace tutti::comm {

class Jobs;
class TransferTrials;
class Trials;
struct Entry;
struct Recipe;

// Chooses how calls are done, and keeps the plans that were chosen. Decided as it is first needed; alike on all ranks.
class Planner {
 public:
  // `jobs`: plans that they hold are not forgotten. `transfers`: finds out how sends go; null: that is not tried.
  Planner(int rank, int ranks, const Jobs& jobs, TransferTrials* transfers = nullptr);
  ~Planner();
  // Before the first call of the others. `chooser`, `rules`: what choices go by; `rules` outlives this object. `open` is called
  // for each rank that a plan exchanges messages with before the plan is handed out. `calls_before_trial`: as Settings has it.
  // `tuner`: a plugin that may choose instead; null: there is none. What it has chosen is not tried.
  Status Start(tune::Chooser chooser, const exec::cpu::ChunkRules& rules, std::function<void(int peer)> open,
               std::int64_t calls_before_trial, std::shared_ptr<tune::plugin::Tuner> tuner);

  // How a collective is done in a size class, from a root.
  Result<Entry*> FindEntry(Collective collective, std::size_t bytes, int root);
  // The call that came when one was left gets its way, which may be one on trial. Returns a job that has to be submitted before it,
  // or null. REQUIRES: `job` is filled in but for its way.
  exec::cpu::Job* Try(Entry& entry, exec::cpu::Job& job);
  // Of a group, whatever its sizes.
  const exec::cpu::PreparedPlan* FindTransferPlan(std::span<const Operation> operations);
  // As it is predicted to be best. With `tried` set, messages of its band are counted (TransferTrials).
  exec::cpu::Lane FindLane(std::size_t bytes);
  // Whether a send or receive with this lane goes by reference, unless it is on trial and as far as is known now. REQUIRES: a valid
  // operation.
  bool FindReference(const Operation& transfer, const exec::cpu::Lane& lane) const;
  // For groups with lanes that are tried.
  TransferTrials& transfers() const { return *transfers_; }
  // The cost model's estimate for operations that are called as one. REQUIRES: they are valid.
  Result<double> PredictUs(std::span<const Operation> operations);
  // What choices go by.
  const tune::Chooser& chooser() const { return *chooser_; }
  // "one_shot LL". REQUIRES: a valid operation.
  std::string Explain(const Operation& operation);

  // For measurements: all ways from which one is chosen, the best by prediction first; and the way that calls of this size class and
  // root take from now on, null: the chosen one, which is found out anew. kSendRecv speaks for sends and receives. All ranks have to do
  // alike, with nothing unfinished, and Preparer::Forget comes next.
  std::vector<tune::Choice> Candidates(Collective collective, std::size_t bytes) const;
  void Use(Collective collective, std::size_t bytes, int root, const tune::Choice* way);
  // After so many more calls the first three trials have been decided for sure. REQUIRES: it has not begun.
  std::uint64_t CallsUntilDecided(Collective collective, const Entry& entry) const;
  // The same of exchanges in which every rank sends to the next one and receives from the one before. 0: there is nothing to decide.
  std::uint64_t RingExchangesUntilDecided(std::size_t bytes);
  // Whether what this rank sends in such an exchange goes by reference, as far as is known now.
  bool RefersInRing(std::size_t bytes);
  // The way that the next calls take, as far as is known now. Not of sends and receives.
  Status FindCurrent(Collective collective, std::size_t bytes, int root, tune::Choice& way);

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
  Entry& EntryOf(Collective collective, int size_class, int root);
  // How a tuner wants a size done, since its sizes are no classes.
  Entry& TunedEntryOf(Collective collective, std::size_t bytes, int root);
  struct Decision;
  Result<Decision> Decide(Collective collective, std::size_t bytes);
  Result<tune::Choice> DecideWay(Collective collective, std::size_t bytes);
  // Whether a tuner has shortened the messages.
  bool LetTunerCut(Recipe& recipe, Collective collective, std::size_t bytes);
  std::uint64_t CallsBetween(const tune::Choice& choice, bool first) const;
  std::uint64_t CallsOfTurn(Collective collective, const tune::Choice& choice, bool first) const;
  std::unique_ptr<Trials> MakeTrials(const exec::cpu::Job& job, const Entry& entry);
  Recipe MakeRecipe(const tune::Choice& choice, Collective collective, int root);
  const plan::Footprint& FindFootprint(algo::Algorithm algorithm, Collective collective, int root);
  exec::cpu::Lane MakeLane(int size_class);
  // Whether messages of a band are tried.
  bool TriesBand(int band);
  void ForgetTransferTrials(std::size_t bytes);

  const int rank_;
  const int ranks_;
  const Jobs& jobs_;
  TransferTrials* const transfers_;
  std::unique_ptr<tune::Chooser> chooser_;
  const exec::cpu::ChunkRules* rules_ = nullptr;
  std::function<void(int)> open_;

  std::map<Wanted, std::unique_ptr<exec::cpu::PreparedPlan>> plans_;
  using Rooted = std::tuple<algo::Algorithm, Collective, int>;
  std::map<Rooted, std::unique_ptr<plan::Footprint>> footprints_;
  struct EntryTable;
  std::array<std::unique_ptr<EntryTable>, kCollectives> entries_;
  std::array<std::vector<std::unique_ptr<EntryTable>>, kCollectives> rooted_entries_;
  std::int64_t calls_before_trial_ = 0;
  std::unique_ptr<tune::plugin::TunedChooser> tuned_;
  std::map<std::tuple<Collective, std::size_t, int>, std::unique_ptr<Entry>> tuned_entries_;
  GroupPlans<exec::cpu::PreparedPlan> groups_;
  std::vector<int> ends_;                              // of the group in hand; kept for its memory
  std::set<std::string> said_;                         // by LogChoice
  std::vector<std::optional<exec::cpu::Lane>> lanes_;  // of sends and receives, by size class
};

}  // namespace tutti::comm

#endif  // TUTTI_COMM_HOST_PLANNER_H_
