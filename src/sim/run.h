// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_SIM_RUN_H_
#define TUTTI_SIM_RUN_H_

// An operation under way: its lanes (a lane is one channel of one rank, a core or a block of a GPU that does steps) and its wires.
// It knows which step each lane is at and what that waits for; how long things take is the engine's (engine.h).

#include <cstdint>
#include <memory>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "sim/merge.h"
#include "sim/program.h"
#include "sim/time.h"

namespace tutti::sim {

class PlanSource;
class SwitchGroups;
struct SharedPrograms;

// From one lane to another one, in order.
struct Wire {
  std::uint32_t from = 0, to = 0;  // lanes
  std::uint32_t sent = 0, arrived = 0;
  std::uint32_t freed = 0;  // messages whose room may be used again, the last one of them from free_at on
  Time free_at = 0;
};

struct Lane {
  enum class State : std::uint8_t {
    kNotBegun,
    kRuns,             // or has an event to come
    kWaitsForMessage,  // of Lane::waits_for
    kWaitsForRoom,     // in it
    kEnded,
  };
  const Program* program = nullptr;
  std::uint32_t turn = 0;       // which period it stands in
  std::uint32_t waits_for = 0;  // wire
  std::uint32_t ready = 0;      // ends of its step that are ready
  std::uint32_t sent = 0;       // LogGOPS: messages of its step
  std::uint64_t posts = 0;      // LogGOPS: its turn to post receives
  int slot = 0, step = 0, round = 0;
  std::uint64_t bytes = 0;  // of its step's block, in this round
  Time free_at = 0;         // when it may begin its step
  int rank = 0;             // of the simulation
  int member = 0;           // of the communicator
  State state = State::kNotBegun;
};

class Run {
 public:
  struct Shape {
    int ranks = 1;  // of the communicator
    int channels = 1;
    std::uint64_t bytes = 0, chunk_bytes = 0, granule_bytes = 1;
    Merge merge = Merge::kNo;
    int link_messages = 1;
  };
  // `ranks`: those of the communicator, in the simulation. They and the plans must outlive it.
  Run(const PlanSource& plans, const std::vector<int>& ranks, const Shape& shape);
  ~Run();
  Run(const Run&) = delete;
  Run& operator=(const Run&) = delete;

  // A rank of the communicator takes part from now on. Its lanes are those of all channels: LaneOf.
  void Begin(int rank);
  std::uint32_t LaneOf(int rank, int channel) const;
  // To the next step of a round that has bytes. False: there is none, and what the lane had is given back.
  bool Advance(Lane& lane);
  // Whether the lane's step can begin; it waits for a wire otherwise, which is noted in the lane. Where room is made later,
  // Lane::free_at is not before that.
  bool IsReady(Lane& lane);

  const Program::Step& StepOf(const Lane& lane) const {
    return lane.program->steps[static_cast<std::size_t>(lane.step)];
  }
  const Work& WorkOf(const Lane& lane) const { return lane.program->works[StepOf(lane).work]; }
  // The wire of one end of a program.
  std::uint32_t WireOf(const Lane& lane, const Program::End& end) const {
    const Program::Wire& wire = lane.program->wires[end.wire];
    const std::uint32_t turn = lane.turn + wire.turns;
    return wire.place + lane.program->wires_per_turn * (turn < lane.program->turns ? turn : turn - lane.program->turns);
  }

  // Of PlanSource::PortsOf, for a wire: out and in.
  std::pair<int, int> PortsOf(const Wire& wire) const;
  // REQUIRES: the plans use switches.
  const SwitchGroups& switch_groups(int channel) const;

  int ranks() const { return shape_.ranks; }
  int channels() const { return shape_.channels; }
  int channel_of(std::uint32_t lane) const { return static_cast<int>(lane) / shape_.ranks; }
  std::vector<Lane>& lanes() { return lanes_; }
  std::vector<Wire>& wires() { return wires_; }

 private:
  Cut CutOf(int channel) const;
  bool UsesShared(int channel) const;
  void AddShared(int channel);
  void AddSwitchGroups(int channel);
  std::uint32_t WireBetween(std::uint32_t from, std::uint32_t to);
  // Bytes of a block in a round.
  std::uint64_t BytesOf(std::uint64_t block, int round) const;

  const PlanSource& plans_;
  const std::vector<int>& ranks_;
  Shape shape_;
  std::vector<Lane> lanes_;  // channel by channel, by position
  std::vector<Wire> wires_;
  std::vector<std::shared_ptr<const SwitchGroups>> switch_groups_;   // by channel, where plans use switches
  std::vector<std::unique_ptr<SharedPrograms>> shared_;              // by channel
  std::unordered_map<std::uint32_t, std::unique_ptr<Program>> own_;  // by lane
  std::unordered_map<std::uint64_t, std::uint32_t> wire_between_;  // lanes -> wire, of lanes with programs of their own
};

}  // namespace tutti::sim

#endif  // TUTTI_SIM_RUN_H_
