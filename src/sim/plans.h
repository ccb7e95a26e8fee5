// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_SIM_PLANS_H_
#define TUTTI_SIM_PLANS_H_

// Where the simulator gets the plans of an operation: rank by rank, when it needs them, since those of 100,000 ranks fit no memory.

#include <cstdint>
#include <memory>
#include <vector>

#include "algo/algorithm.h"
#include "plan/plan.h"

namespace tutti::sim {

// Ports, as nodes of the graph.
struct Ports {
  int out = -1, in = -1;
  bool operator==(const Ports&) const = default;
};

// A plan is that of a position; which rank of the communicator stands there may differ by channel.
class PlanSource {
 public:
  virtual ~PlanSource() = default;
  // REQUIRES: 0 <= position < ranks, 0 <= channel.
  virtual plan::RankPlan Build(int position, int channel) const = 0;
  virtual int RankAt(int position, int /*channel*/) const { return position; }
  virtual int PositionOf(int rank, int /*channel*/) const { return rank; }
  // By which ports messages from one position to another one leave a box and enter the next one; -1: as the policy of the machine has
  // it.
  virtual Ports PortsOf(int /*from*/, int /*to*/, int /*channel*/) const { return {}; }
  // p > 0: the plan of position r is that of position r % p with all peers p * (r / p) farther, modulo the number of ranks, which p
  // divides. The steps are the same, in the same order, in every round whose blocks are of equal size. So p plans stand for all of
  // them. 0: no such thing is known.
  virtual int Period(int /*channel*/) const { return 0; }
  // Whether plans have values that switches copy or fold. They have no period then.
  virtual bool UsesSwitches() const { return false; }
};

// In which order ranks stand on a channel.
enum class Order : std::uint8_t {
  kByRank,
  // Host by host; on channels 2 c and 2 c + 1, which go round a ring in opposite directions, each host's ranks begin with the c-th one,
  // and one farther each time round. So all GPUs have their turns as the ones where rings enter hosts and leave them, with all NICs that
  // each has. REQUIRES: hosts of equal size.
  kTurnedInHosts,
};

// The plans of an algorithm of the registry. REQUIRES: as algo::Entry::build.
class RegistryPlans : public PlanSource {
 public:
  RegistryPlans(algo::Algorithm algorithm, Collective collective, algo::Hosts hosts, int root = 0,
                Order order = Order::kByRank);
  plan::RankPlan Build(int position, int channel) const override;
  int RankAt(int position, int channel) const override;
  int PositionOf(int rank, int channel) const override;
  int Period(int channel) const override;
  // Whether what a rank sends another one together can be one message (Merge::kTogether).
  bool Merges() const;
  bool UsesSwitches() const override { return algo::NeedsSwitches(algorithm_); }

 private:
  algo::Algorithm algorithm_;
  Collective collective_;
  algo::Hosts hosts_;
  int root_;
  Order order_;
};

// Whether no step is put off to a later time slot (plan.h).
bool HasOneStage(const plan::RankPlan& plan);

// A group of sends and receives among a few ranks: algo::BuildSendRecv's plans.
class TransferPlans : public PlanSource {
 public:
  struct Transfer {
    int from = 0, to = 0;
    std::size_t bytes = 0;
  };
  TransferPlans(int ranks, std::vector<Transfer> transfers);
  plan::RankPlan Build(int position, int channel) const override;

 private:
  int ranks_;
  std::vector<Transfer> transfers_;
};

}  // namespace tutti::sim

#endif  // TUTTI_SIM_PLANS_H_
