// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "comm/life/creation.h"
#include "comm/life/start_planner.h"
#include "exec/cpu/engine.h"
#include "transport/shm/fabric.h"

namespace tutti::comm {
namespace {

// How long a wait for a peer on another core spins. With a core for each rank longer than another program that comes by keeps a peer from
// its core (docs/decisions/0025). Ranks of several hosts wait for threads of their own, which want to run. Where ranks share cores, about
// what it costs to switch to another rank and back.
constexpr std::int64_t kSpinNs = 10'000'000;
constexpr std::int64_t kAcrossSpinNs = 10'000;
constexpr std::int64_t kCrowdedSpinNs = 700;

int LocalRanks(const Communicator::Impl& c) {
  int ranks = 0;
  for (int rank = 0; rank < c.ranks; ++rank) ranks += c.fabric == nullptr || !c.fabric->IsRemote(rank) ? 1 : 0;
  return ranks;
}

}  // namespace

Status Creation::Start() {
  made.recorder.Switch(made.settings.black_box);
  made.engine = std::make_shared<exec::cpu::Engine>(made.fabric.get(), &made.recorder, made.rank, made.ranks);
  if (can_refer && made.settings.huge_pages) made.engine->UseHugePages();
  SetSpins();
  TUTTI_RETURN_IF_ERROR(OpenBlackBoxes());
  return StartPlanner(made.planner, made.settings,
                      {.rank = made.rank,
                       .ranks = made.ranks,
                       .cpus = common_cpus,
                       .machine = *made.machine,
                       .channels = made.fabric == nullptr || made.several_hosts ? 1 : made.fabric->channels(),
                       .can_refer = can_refer,
                       .chunks = made.engine->chunks(),
                       .host_of = HostOf(),
                       .open = LinkOpener(),
                       .tuner = made.tuner});
}

void Creation::SetSpins() {
  made.crowded = LocalRanks(made) > made.cpus;
  const std::int64_t own_ns = made.crowded ? kCrowdedSpinNs : made.several_hosts ? kAcrossSpinNs : kSpinNs;
  made.spin_ns = made.settings.spin_us >= 0 ? made.settings.spin_us * 1000 : own_ns;
  if (made.crowded) made.engine->set_spins(0);  // a wait decides first whether anything is worth polling for
}

}  // namespace tutti::comm
