// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_SIM_PROGRAM_H_
#define TUTTI_SIM_PROGRAM_H_

// A rank's plan on one channel as the simulator runs it: what each step receives, sends and works, in as few bytes as will do.
//
// One program serves one rank, or, where plans are alike (PlanSource::Period), all ranks that stand at the same place of a period. Its
// wires (a wire is a link of the plan: a sender, a receiver and a channel) are numbered so that each rank finds its own by adding.

#include <cstdint>
#include <vector>

namespace tutti::sim {

// Of one step, in units of its block: what Costs charges.
struct Work {
  float written =
      0;  // once for each target, or once where a switch copies; not what is offered, which its reader fetches
  float posted = 0;     // once for all targets
  float moved_in = 0;   // received by steps that fold nothing
  float folded_in = 0;  // received by steps that fold
  float folded = 0;     // operands of folds
  float copied = 0;     // from the rank's own input, by steps that send nothing
  bool operator==(const Work&) const = default;
};

struct Program {
  struct Wire {
    std::uint32_t place = 0;  // of the wire among those of its sender's period
    std::uint32_t turns = 0;  // how many periods after this rank's the sender's is
  };
  struct End {
    std::uint32_t wire = 0;  // in `wires`
    // Of what is received: how many messages of this wire the step wants up to here, from 1. Of what is sent: how many blocks the
    // message carries.
    std::uint32_t count = 1;
  };
  struct Step {
    std::uint32_t first_end = 0;  // those that it receives, then those that it sends
    std::uint32_t receives = 0, sends = 0;
    std::uint32_t work = 0;   // in `works`
    std::uint32_t block = 0;  // in `blocks`
    std::int32_t stage = 0;
  };
  // How a step's value goes through a switch.
  struct Switching {
    enum class Kind : std::uint8_t {
      kNone,       // it does not
      kMulticast,  // to all ends
      kOffers,     // of each end an offer, for a reading of its own
      kOfferOnce,  // one for a reading that all ends share
    };
    Kind kind = Kind::kNone;
    std::uint32_t first_group = 0;  // in `groups`: one of each end of offers, one of all others
  };
  std::vector<Step> steps;
  std::vector<End> ends;
  std::vector<Wire> wires;
  std::vector<Work> works;
  std::vector<std::uint64_t> blocks;  // bytes
  std::vector<Switching> switching;   // by step; empty where none goes through a switch
  std::vector<std::uint32_t> groups;  // of SwitchGroups
  int rounds = 0;
  int last_stage = 0;
  int link_slots = 1;
  // Of programs that several ranks share: their periods, and the wires of each.
  std::uint32_t turns = 1, wires_per_turn = 0;

  bool SendsThroughSwitches(int step) const {
    return !switching.empty() && switching[static_cast<std::size_t>(step)].kind != Switching::Kind::kNone;
  }
};

// What is cut how: a piece of the collective on one channel.
struct Cut {
  std::uint64_t bytes = 0;        // of a piece's part on this channel
  std::uint64_t granule = 1;      // that blocks are multiples of, where the bytes suffice
  std::uint64_t chunk_bytes = 0;  // most bytes of a block in one round; 0: all
  // Blocks count as equal, as parts of whole bytes, although the last ones of a piece may be shorter.
  bool equal_blocks = false;
};

}  // namespace tutti::sim

#endif  // TUTTI_SIM_PROGRAM_H_
