// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "sim/engine.h"

#include <fmt/format.h>

#include <algorithm>

namespace tutti::sim {
namespace {

Time Scale(double ps_per_byte, double bytes) { return static_cast<Time>(ps_per_byte * bytes + 0.5); }

}  // namespace

Engine::Engine(const Job& job, const Machine& machine, const Options& options)
    : job_(job),
      machine_(machine),
      options_(options),
      order_(job.tasks),
      active_(job.operations.size()),
      ranks_(machine.nodes.size()) {
  if (options.loggops) {
    loggops_.emplace(*options.loggops, static_cast<int>(machine.nodes.size()));
  } else {
    lines_.emplace(*machine.graph);
    router_.emplace(lines_->graph, machine.nodes, options.routing);
    network_.emplace(lines_->graph, *router_, messages_, queue_);
    if (options.costs.shares_core) receive_ps_per_byte_ = PsPerByte(options.costs.network_receive_gb_per_s);
  }
  outcome_.tasks.resize(job.tasks.size());
  outcome_.operations.resize(job.operations.size());
  outcome_.last_start.resize(job.operations.size(), kNever);
  outcome_.rank_end.resize(machine.nodes.size());
  members_.resize(job.communicators.size());
  for (std::size_t i = 0; i < job.communicators.size(); ++i) {
    const std::vector<int>& ranks = job.communicators[i].ranks;
    for (std::size_t member = 0; member < ranks.size(); ++member) {
      members_[i].emplace(ranks[member], static_cast<int>(member));
    }
  }
}

Outcome Engine::Execute() {
  std::vector<Time> late(ranks_.size(), 0);
  for (const LateRank& rank : options_.late) late[static_cast<std::size_t>(rank.rank)] = FromUs(rank.late_us);
  for (std::size_t i = 0; i < options_.faults.size(); ++i) {
    Push(FromUs(options_.faults[i].from_us), kFault, static_cast<std::uint32_t>(i));
  }
  for (const int task : order_.First()) {
    Push(late[static_cast<std::size_t>(job_.tasks[static_cast<std::size_t>(task)].rank)], kStart,
         static_cast<std::uint32_t>(task));
  }
  const auto arrange = [this](std::vector<Event>& events) {
    if (loggops_) ArrangeTurns(events);
  };
  for (Event event; queue_.Pop(event, arrange); ++outcome_.events) {
    now_ = event.time;
    Handle(event.what);
  }
  outcome_.stuck = FindStuck();
  if (network_) outcome_.links = UsesOfLinks();
  if (loggops_) {
    for (std::size_t rank = 0; rank < ranks_.size(); ++rank) {
      outcome_.rank_end[rank] = std::max(outcome_.rank_end[rank], loggops_->Done(static_cast<int>(rank)));
    }
  }
  for (const Time end : outcome_.rank_end) outcome_.end = std::max(outcome_.end, end);
  return std::move(outcome_);
}

void Engine::Handle(std::uint64_t what) {
  const std::uint32_t index = IndexOf(what);
  switch (KindOf(what)) {
    case Network::kHop:
      if (!network_->Advance(index, now_)) SendAgain(index);
      break;
    case Network::kArrived:
      Deliver(index);
      break;
    case Network::kMet:
      Meet(index);
      break;
    case kDepart:
      Depart(index);
      break;
    case kLogSend:
      LogSend(index);
      break;
    case kLogArrive:
      LogArrive(index);
      break;
    case kLogPost:
      LogPost(active_[sim::OperationOf(what)], index);
      break;
    case kWake:
      GoOn(active_[sim::OperationOf(what)], index);
      break;
    case kStart:
      StartTask(static_cast<int>(index));
      break;
    case kBegin:
      BeginOperation(static_cast<int>(index));
      break;
    case kTaskEnd:
      EndTask(static_cast<int>(index));
      break;
    default:
      Strike(options_.faults[index]);
  }
}

void Engine::StartTask(int index) {
  const Task& task = job_.tasks[static_cast<std::size_t>(index)];
  outcome_.tasks[static_cast<std::size_t>(index)].start = now_;
  if (task.operation < 0) {
    Push(now_ + FromUs(task.compute_us), kTaskEnd, static_cast<std::uint32_t>(index));
    return;
  }
  Span& span = outcome_.operations[static_cast<std::size_t>(task.operation)];
  if (span.start == kNever) span.start = now_;
  outcome_.last_start[static_cast<std::size_t>(task.operation)] = now_;
  Push(now_ + FromUs(options_.costs.launch_us), kBegin, static_cast<std::uint32_t>(index));
}

void Engine::BeginOperation(int index) {
  const Task& task = job_.tasks[static_cast<std::size_t>(index)];
  Active& active = active_[static_cast<std::size_t>(task.operation)];
  if (active.run == nullptr) Activate(active);
  const int member = members_[static_cast<std::size_t>(active.operation->communicator)].at(task.rank);
  active.tasks[static_cast<std::size_t>(member)] = index;
  active.run->Begin(member);
  for (int channel = 0; channel < active.run->channels(); ++channel) {
    const std::uint32_t lane = active.run->LaneOf(member, channel);
    active.run->lanes()[lane].free_at = now_;
    if (EnterNextStep(active, lane)) GoOn(active, lane);
  }
}

void Engine::Activate(Active& active) {
  const Operation& operation = job_.operations[OperationOf(active)];
  const std::vector<int>& ranks = job_.communicators[static_cast<std::size_t>(operation.communicator)].ranks;
  active.operation = &operation;
  active.run = std::make_unique<Run>(*operation.plans, ranks,
                                     Run::Shape{.ranks = static_cast<int>(ranks.size()),
                                                .channels = operation.channels,
                                                .bytes = operation.bytes,
                                                .chunk_bytes = operation.chunk_bytes,
                                                .granule_bytes = operation.granule_bytes,
                                                .merge = operation.merge,
                                                .link_messages = options_.costs.link_messages});
  active.lanes_left.assign(ranks.size(), static_cast<std::uint16_t>(operation.channels));
  active.tasks.assign(ranks.size(), -1);
  active.ends.assign(ranks.size(), 0);
  active.members_left = static_cast<int>(ranks.size());
  SetCosts(active);
}

void Engine::SetCosts(Active& active) const {
  const Costs& costs = options_.costs;
  const WayCosts& way = costs.ways[static_cast<std::size_t>(active.operation->protocol)];
  active.step = FromUs(way.step_us);
  active.end = FromUs(way.end_us);
  active.hop = FromUs(way.hop_us);
  active.network_hop = FromUs(way.network_hop_us);
  active.write = PsPerByte(way.write_gb_per_s);
  active.read = PsPerByte(way.read_gb_per_s);
  active.fold = PsPerByte(costs.fold_gb_per_s) * (costs.shares_core ? 1 : active.operation->channels);
  active.copy = PsPerByte(costs.copy_gb_per_s);
  active.rank = PsPerByte(way.rank_gb_per_s);
  active.one_copy = way.one_copy_for_all;
  active.folds_in_place = way.folds_in_place;
}

void Engine::EndTask(int index) {
  const Task& task = job_.tasks[static_cast<std::size_t>(index)];
  outcome_.tasks[static_cast<std::size_t>(index)].end = now_;
  Time& rank_end = outcome_.rank_end[static_cast<std::size_t>(task.rank)];
  rank_end = std::max(rank_end, now_);
  if (task.operation >= 0) {
    Active& active = active_[static_cast<std::size_t>(task.operation)];
    if (--active.members_left == 0) {
      outcome_.operations[static_cast<std::size_t>(task.operation)].end = now_;
      active.run.reset();
      active.routes = {};
    }
  }
  order_.Complete(index, [this](int next) { StartTask(next); });
}

void Engine::GoOn(Active& active, std::uint32_t index) {
  Lane& lane = active.run->lanes()[index];
  while (active.run->IsReady(lane)) {
    lane.state = Lane::State::kRuns;
    Time at = lane.free_at;
    if (options_.costs.shares_core) at = std::max(at, ranks_[static_cast<std::size_t>(lane.rank)].core_free);
    if (at > now_) {
      Push(at, kWake, index, OperationOf(active));
      return;
    }
    if (loggops_) {
      lane.free_at = now_;
      FreeRoom(active, lane);
      if (LogSendNext(active, lane)) return;  // it goes on when its messages are sent
    } else {
      DoStep(active, lane);
    }
    if (!EnterNextStep(active, index)) return;
  }
}

// False: it cannot go on for now, or has ended.
bool Engine::EnterNextStep(Active& active, std::uint32_t index) {
  Lane& lane = active.run->lanes()[index];
  if (!active.run->Advance(lane)) {
    EndLane(active, lane);
    return false;
  }
  if (!loggops_ || active.run->StepOf(lane).receives == 0) return true;
  lane.state = Lane::State::kRuns;
  lane.posts = ++turns_;
  Push(std::max(now_, loggops_->Done(lane.rank)), kLogPost, index, OperationOf(active));
  return false;
}

void Engine::DoStep(Active& active, Lane& lane) {
  lane.free_at = SendAll(active, lane, Work(active, lane));
  ranks_[static_cast<std::size_t>(lane.rank)].core_free = lane.free_at;
  FreeRoom(active, lane);
}

// When the lane has done what its step asks of it, beside waiting for links.
Time Engine::Work(const Active& active, const Lane& lane) {
  const Program::Step& step = active.run->StepOf(lane);
  const sim::Work& work = active.run->WorkOf(lane);
  const auto bytes = static_cast<double>(lane.bytes);
  const double read = work.moved_in + (active.folds_in_place ? 0 : work.folded_in);
  Time ends = now_ + active.step + static_cast<Time>(step.receives + step.sends) * active.end +
              Scale((active.one_copy ? work.posted : work.written) * active.write + read * active.read +
                        work.folded * active.fold + work.copied * active.copy,
                    bytes);
  if (work.written > 0 && active.rank > 0) {
    Time& free = ranks_[static_cast<std::size_t>(lane.rank)].writes_free;
    free = std::max(now_, free) + Scale(work.written * active.rank, bytes);
    ends = std::max(ends, free);
  }
  return ends;
}

// What the step has received makes room for more.
void Engine::FreeRoom(Active& active, const Lane& lane) {
  const Program::Step& step = active.run->StepOf(lane);
  const Program::End* const ends = lane.program->ends.data() + step.first_end;
  for (std::uint32_t i = 0; i < step.receives; ++i) {
    const std::uint32_t index = active.run->WireOf(lane, ends[i]);
    Wire& wire = active.run->wires()[index];
    ++wire.freed;
    wire.free_at = lane.free_at + FromUs(options_.costs.credit_us);
    Lane& sender = active.run->lanes()[wire.from];
    if (sender.state != Lane::State::kWaitsForRoom || sender.waits_for != index) continue;
    sender.state = Lane::State::kRuns;
    Push(std::max(wire.free_at, now_), kWake, wire.from, OperationOf(active));
  }
}

void Engine::EndLane(Active& active, const Lane& lane) {
  const auto member = static_cast<std::size_t>(lane.member);
  Time& end = active.ends[member];
  end = std::max({end, lane.free_at, now_});
  if (--active.lanes_left[member] > 0) return;
  Push(end + FromUs(options_.costs.finish_us), kTaskEnd, static_cast<std::uint32_t>(active.tasks[member]));
}

void Engine::Strike(const LinkFault& fault) {
  if (!network_) return;
  for (int line = lines_->first(fault.link); line < lines_->end(fault.link); ++line) {
    network_->Slow(line, fault.factor);
    if (fault.factor > 0) continue;
    topo::Link& dead = lines_->graph.link(line);
    dead.rated_gb_per_s = dead.measured_gb_per_s = 0;
  }
  if (fault.factor > 0) return;
  router_->Forget();
  ForgetSwitches();
  for (Active& active : active_) std::ranges::fill(active.routes, kUnknownRoute);
}

// Lines of a link together; it was busy as long as the one that was most.
std::vector<LinkUse> Engine::UsesOfLinks() const {
  const std::vector<LinkUse> lines = network_->Uses();
  std::vector<LinkUse> links(2 * machine_.graph->links().size());
  for (std::size_t i = 0; i < links.size(); ++i) {
    const int link = static_cast<int>(i / 2);
    for (int line = lines_->first(link); line < lines_->end(link); ++line) {
      const LinkUse& use = lines[2 * static_cast<std::size_t>(line) + i % 2];
      links[i].busy = std::max(links[i].busy, use.busy);
      links[i].bytes += use.bytes;
      links[i].messages += use.messages;
    }
  }
  return links;
}

std::string Engine::DescribeWait(Active& active, const Lane& lane) const {
  const Run& run = *active.run;
  const Wire& wire = active.run->wires()[lane.waits_for];
  const bool message = lane.state == Lane::State::kWaitsForMessage;
  const Lane& other = active.run->lanes()[message ? wire.from : wire.to];
  return fmt::format("rank {} waits in {} (step {} of {}, round {}, channel {}) for {} rank {}{}", lane.rank,
                     active.operation->name, lane.step, lane.program->steps.size(), lane.round,
                     run.channel_of(static_cast<std::uint32_t>(&lane - active.run->lanes().data())),
                     message ? "a message of" : "room in its link to", other.rank,
                     other.state == Lane::State::kNotBegun ? ", which never begins that" : "");
}

// Why tasks have not ended although nothing is going to happen any more.
Status Engine::FindStuck() {
  if (!no_switch_.ok()) return no_switch_;
  const auto open = std::ranges::find_if(outcome_.tasks, [](const Span& span) { return span.end == kNever; });
  std::string cause;
  if (!lost_.empty()) {
    const Message& message = messages_[lost_.front()];
    Active& active = active_[message.run];
    const Wire& wire = active.run->wires()[message.wire];
    cause = fmt::format("no link leads on from rank {} to rank {}, so {} of their messages of {} {} lost; ",
                        active.run->lanes()[wire.from].rank, active.run->lanes()[wire.to].rank, lost_.size(),
                        active.operation->name, lost_.size() == 1 ? "is" : "are");
  }
  for (Active& active : active_) {
    if (active.run == nullptr) continue;
    for (const Lane& lane : active.run->lanes()) {
      if (lane.state != Lane::State::kWaitsForMessage && lane.state != Lane::State::kWaitsForRoom) continue;
      return Status(Code::kRemote, cause + DescribeWait(active, lane), lane.rank);
    }
  }
  if (open == outcome_.tasks.end() && cause.empty()) return Status::Ok();
  return Status(Code::kRemote, cause + "tasks wait for each other");
}

}  // namespace tutti::sim
