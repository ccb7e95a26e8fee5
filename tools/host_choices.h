// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_TOOLS_HOST_CHOICES_H_
#define TUTTI_TOOLS_HOST_CHOICES_H_

// What communicators of host memory would choose on a machine that need not be there, and how long that takes.

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "algo/algorithm.h"
#include "sim/job.h"
#include "tools/prediction.h"
#include "tune/chooser.h"
#include "tune/machine.h"
#include "tutti/settings.h"
#include "tutti/status.h"

namespace tutti::tools {

// What choices in host memory go by.
struct HostFacts {
  tune::Machine machine;
  bool can_refer = true;  // ranks of a host may read each other's memory
  int cpus = 0;           // usable by all ranks of a host together; 0: a core for each rank
  std::string source;     // of the constants, for people
};

class HostChoices {
 public:
  // As a communicator with these settings would choose among such ranks. Fails where the settings name what does not exist.
  static Result<HostChoices> Create(const algo::Hosts& hosts, const Settings& settings, const HostFacts& facts);
  HostChoices(HostChoices&&) noexcept;
  HostChoices& operator=(HostChoices&&) noexcept;
  ~HostChoices();

  const algo::Hosts& hosts() const { return hosts_; }
  tune::Chooser& chooser() { return chooser_; }
  // Whether ranks outnumber cores.
  bool crowded() const { return hosts_.most() > chooser_.options().cpus; }

  // All ways of a collective of so many bytes, the chosen one first, then the others, best first. kSendRecv speaks for one send and one
  // receive of every rank. Fails where the settings leave none.
  Result<std::vector<PredictedWay>> Ways(Collective collective, std::size_t bytes);
  Result<tune::Choice> Choose(Collective collective, std::size_t bytes);

  // The operation as it would run, for the simulator. `peers`: for kSendRecv, whom each rank sends to.
  sim::Operation OperationFor(const tune::Choice& way, Collective collective, std::size_t bytes, int root = 0);
  // Sends and receives of so many bytes each.
  struct Pair {
    int from = 0, to = 0;
  };
  sim::Operation TransfersFor(const tune::Choice& way, const std::vector<Pair>& pairs, std::size_t bytes);
  // What ranks need beside links, by the constants of a way.
  sim::Costs CostsFor(const tune::Choice& way, Collective collective) const;

 private:
  struct Rules;
  HostChoices(algo::Hosts hosts, tune::Chooser chooser, std::unique_ptr<Rules> rules);

  algo::Hosts hosts_;
  tune::Chooser chooser_;
  std::unique_ptr<Rules> rules_;
};

}  // namespace tutti::tools

#endif  // TUTTI_TOOLS_HOST_CHOICES_H_
