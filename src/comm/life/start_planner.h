// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_COMM_LIFE_START_PLANNER_H_
#define TUTTI_COMM_LIFE_START_PLANNER_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <span>

#include "tutti/settings.h"
#include "tutti/status.h"

namespace tutti {
namespace exec::cpu {
struct ChunkRules;
}
namespace tune {
struct Machine;
namespace plugin {
class Tuner;
}
class Chooser;
}  // namespace tune
}  // namespace tutti

namespace tutti::comm {

class Planner;

// What choices go by, besides the settings. The same on all ranks, but for `rank`.
struct ChoiceInputs {
  int rank;
  int ranks;
  int cpus;  // of a host
  const tune::Machine& machine;
  int channels;    // that the links have
  bool can_refer;  // whether ranks of a host may read each other's memory, and all can, on all hosts
  const exec::cpu::ChunkRules& chunks;  // must outlive the planner
  // By rank, numbers that tell hosts apart. Empty: all ranks are on one.
  std::span<const std::int32_t> host_of = {};
  // Makes the links with a rank ready: Planner::Start.
  std::function<void(int peer)> open = [](int) {};
  // A plugin that may choose instead; null: there is none.
  std::shared_ptr<tune::plugin::Tuner> tuner = nullptr;
};

// What a planner's choices are made by. An error where the settings leave nothing to choose. Also for tools that say what a
// communicator would choose.
Result<tune::Chooser> MakeChooser(const Settings& settings, const ChoiceInputs& inputs);

// Starts the planner of a communicator's operations in host memory. An error where the settings leave nothing to choose.
// Rank 0 warns of algorithms that the settings name and Tutti does not have.
Status StartPlanner(Planner& planner, const Settings& settings, const ChoiceInputs& inputs);

}  // namespace tutti::comm

#endif  // TUTTI_COMM_LIFE_START_PLANNER_H_
