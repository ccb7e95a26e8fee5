// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_SIM_ENGINE_H_
#define TUTTI_SIM_ENGINE_H_

// One simulation while it runs: takes events in order and lets tasks, lanes and messages go on. simulator.h says by which rules.

#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "sim/events.h"
#include "sim/job.h"
#include "sim/lines.h"
#include "sim/loggops.h"
#include "sim/messages.h"
#include "sim/network.h"
#include "sim/routes.h"
#include "sim/run.h"
#include "sim/tasks.h"

namespace tutti::sim {

class SwitchTraffic;

class Engine {
 public:
  // REQUIRES: the inputs are valid. They must outlive it.
  Engine(const Job& job, const Machine& machine, const Options& options);
  Outcome Execute();

 private:
  // Of events, beside those of Network, and what they are about.
  enum Kind : std::uint32_t {
    kDepart = Network::kKinds,  // a message is before its first link
    kLogSend,                   // LogGOPS: a message would like to be sent
    kLogArrive,                 // it would like to be received
    kLogPost,                   // a lane posts the receives of its step
    kWake,                      // a lane of an operation goes on
    kStart,                     // a task is free to start
    kBegin,                     // an operation begins at a rank, after its launch: a task
    kTaskEnd,
    kFault,
  };

  // An operation from its first rank's begin to its last rank's end.
  struct Active {
    std::unique_ptr<Run> run;  // null: not begun, or over
    const Operation* operation = nullptr;
    std::vector<std::uint16_t> lanes_left;  // by member of the communicator
    std::vector<int> tasks;                 // by member: its task, -1: it has not begun
    std::vector<Time> ends;                 // by member: of its lanes that have ended
    int members_left = 0;
    // Picoseconds: of a step, of a message at either end, from its arrival until it is received, inside and between hosts.
    Time step = 0, end = 0, hop = 0, network_hop = 0;
    // Picoseconds for a byte.
    double write = 0, read = 0, fold = 0, copy = 0, rank = 0;
    bool one_copy = false, folds_in_place = false;
    // By wire and flow, where they are known.
    std::vector<std::uint32_t> routes;
  };
  // In Active::routes: not asked for yet.
  static constexpr std::uint32_t kUnknownRoute = Router::kNoRoute - 1;

  struct Rank {
    Time core_free = 0;  // Costs::shares_core
    Time writes_free = 0;
    Time nic_free = 0;
  };

  void Push(Time time, Kind kind, std::uint32_t index, std::uint32_t operation = 0) {
    queue_.Push(time, EventCode(kind, index, operation));
  }
  void Handle(std::uint64_t what);

  // Tasks.
  void StartTask(int task);
  void BeginOperation(int task);
  void EndTask(int task);
  void Activate(Active& active);
  void SetCosts(Active& active) const;

  // Lanes.
  void GoOn(Active& active, std::uint32_t lane);
  void DoStep(Active& active, Lane& lane);
  bool EnterNextStep(Active& active, std::uint32_t lane);
  Time Work(const Active& active, const Lane& lane);
  void FreeRoom(Active& active, const Lane& lane);
  void EndLane(Active& active, const Lane& lane);
  std::uint32_t OperationOf(const Active& active) const { return static_cast<std::uint32_t>(&active - active_.data()); }

  // Messages.
  std::uint32_t AddMessage(Active& active, const Lane& lane, const Program::End& end);
  Time SendAll(Active& active, const Lane& lane, Time work_ends);
  Time SendOne(Active& active, std::uint32_t message, Time work_ends);
  std::uint32_t RouteOf(Active& active, const Message& message);
  void Depart(std::uint32_t message);
  void SendAgain(std::uint32_t message);
  void Deliver(std::uint32_t message);
  void Log(const Message& message, const Wire& wire);
  // The same of what goes through switches that copy or fold (engine_switches.cc).
  SwitchTraffic& Switches();
  Time SendThroughSwitches(Active& active, const Lane& lane, Time work_ends);
  Time SendToGroup(Active& active, const Lane& lane, std::uint32_t group, std::span<const Program::End> ends,
                   Time work_ends);
  Time Launch(std::uint32_t message, int rank, bool network, Time step, Time work_ends);
  void Meet(std::uint32_t message);
  void DeliverSwitched(std::uint32_t message);
  void ForgetSwitches();
  void LogSend(std::uint32_t message);
  void LogArrive(std::uint32_t message);
  static bool IsPosted(const Run& run, const Lane& lane, const Message& message);
  void LogPost(Active& active, std::uint32_t lane);
  bool LogSendNext(Active& active, Lane& lane);
  void ArrangeTurns(std::vector<Event>& events);

  void Strike(const LinkFault& fault);
  std::vector<LinkUse> UsesOfLinks() const;
  Status FindStuck();
  std::string DescribeWait(Active& active, const Lane& lane) const;

  const Job& job_;
  const Machine& machine_;
  const Options& options_;
  EventQueue queue_;
  Time now_ = 0;
  Messages messages_;
  std::optional<Lines> lines_;
  std::optional<Router> router_;
  std::optional<Network> network_;
  std::optional<LogGopsRanks> loggops_;
  TaskOrder order_;
  std::vector<Active> active_;  // by operation
  std::vector<Rank> ranks_;
  std::vector<std::unordered_map<int, int>> members_;  // by communicator: a rank's place in it
  // Messages that have arrived before earlier ones of their wire: operation, wire, order.
  std::set<std::pair<std::uint64_t, std::uint32_t>> early_;
  std::vector<std::uint32_t> lost_;          // messages without a way
  std::shared_ptr<SwitchTraffic> switches_;  // null: not needed so far
  Status no_switch_;                         // why a switch that a plan asks for is not there
  double receive_ps_per_byte_ = 0;           // of the core that channels share, for what comes over the network
  std::uint64_t turns_ = 0;
  Outcome outcome_;
};

}  // namespace tutti::sim

#endif  // TUTTI_SIM_ENGINE_H_
