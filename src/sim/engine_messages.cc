// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
// What the engine does with messages.

#include <algorithm>

#include "sim/engine.h"
#include "sim/message_log.h"

namespace tutti::sim {
namespace {

Time Scale(double ps_per_byte, std::uint64_t bytes) {
  return static_cast<Time>(ps_per_byte * static_cast<double>(bytes) + 0.5);
}

}  // namespace

std::uint32_t Engine::AddMessage(Active& active, const Lane& lane, const Program::End& end) {
  const std::uint32_t index = active.run->WireOf(lane, end);
  const std::uint64_t bytes = lane.bytes * end.count;
  ++outcome_.messages;
  return messages_.Add({.run = OperationOf(active),
                        .wire = index,
                        .order = active.run->wires()[index].sent++,
                        .wire_bytes = loggops_ ? bytes : WireBytes(active.operation->protocol, bytes),
                        .sent = now_});
}

// The messages of a lane's step. Returns when the lane is free: when its work ends and all that it writes itself is on the way.
Time Engine::SendAll(Active& active, const Lane& lane, Time work_ends) {
  if (lane.program->SendsThroughSwitches(lane.step)) return SendThroughSwitches(active, lane, work_ends);
  const Program::Step& step = active.run->StepOf(lane);
  const Program::End* const ends = lane.program->ends.data() + step.first_end;
  Time free = work_ends;
  for (std::uint32_t i = step.receives; i < step.receives + step.sends; ++i) {
    free = std::max(free, SendOne(active, AddMessage(active, lane, ends[i]), work_ends));
  }
  return free;
}

Time Engine::SendOne(Active& active, std::uint32_t index, Time work_ends) {
  Message& message = messages_[index];
  const std::uint32_t route = RouteOf(active, message);
  if (route == Router::kNoRoute) {
    lost_.push_back(index);
    return work_ends;
  }
  network_->Route(message, route);
  const bool network = router_->route(message.route).network;
  message.after = network ? active.network_hop : active.hop;
  message.tail = work_ends;
  if (network) {
    Time& free =
        ranks_[static_cast<std::size_t>(active.run->lanes()[active.run->wires()[message.wire].from].rank)].nic_free;
    const Time handed = Scale(PsPerByte(options_.costs.network_send_gb_per_s), message.wire_bytes);
    free = std::max(free, work_ends) + FromUs(options_.costs.nic_message_us) + handed;
    Push(free, kDepart, index);
    return handed > 0 && options_.costs.shares_core ? free : work_ends;
  }
  Time left = work_ends;
  if (!network_->Begin(index, now_ + active.step, left)) {
    SendAgain(index);
    return work_ends;
  }
  return left;
}

std::uint32_t Engine::RouteOf(Active& active, const Message& message) {
  const auto flows = static_cast<std::size_t>(options_.routing.flows);
  const std::size_t place = message.wire * flows + message.order % flows;
  if (place >= active.routes.size()) active.routes.resize(active.run->wires().size() * flows, kUnknownRoute);
  std::uint32_t& route = active.routes[place];
  if (route != kUnknownRoute) return route;
  const Wire& wire = active.run->wires()[message.wire];
  const int from = active.run->lanes()[wire.from].rank, to = active.run->lanes()[wire.to].rank;
  const int channel = active.run->channel_of(wire.from);
  std::uint64_t number =
      Mix(static_cast<std::uint64_t>(active.operation->communicator) << 32 | static_cast<std::uint32_t>(channel));
  number = Mix(number + (static_cast<std::uint64_t>(from) << 32 | static_cast<std::uint32_t>(to)));
  const auto [out, in] = active.run->PortsOf(wire);
  route = router_->Find({.from = machine_.nodes[static_cast<std::size_t>(from)],
                         .to = machine_.nodes[static_cast<std::size_t>(to)],
                         .channel = channel,
                         .number = Mix(number + message.order % flows),
                         .from_port = out,
                         .to_port = in});
  return route;
}

void Engine::Depart(std::uint32_t message) {
  messages_[message].tail = now_;
  Time left = 0;
  if (!network_->Begin(message, now_, left)) SendAgain(message);
}

void Engine::SendAgain(std::uint32_t index) {
  Message& message = messages_[index];
  if (message.way != Message::Way::kRouted) {  // its tree is the only way
    lost_.push_back(index);
    return;
  }
  const std::uint32_t route = RouteOf(active_[message.run], message);
  if (route == Router::kNoRoute) {
    lost_.push_back(index);
    return;
  }
  network_->Route(message, route);
  ++outcome_.resent;
  Push(now_ + FromUs(options_.costs.resend_us), kDepart, index);
}

// A message that is there now.
void Engine::Log(const Message& message, const Wire& wire) {
  if (options_.log == nullptr) return;
  Run& run = *active_[message.run].run;
  options_.log->Add({.operation = static_cast<int>(message.run),
                     .channel = run.channel_of(wire.from),
                     .from = run.lanes()[wire.from].rank,
                     .to = run.lanes()[wire.to].rank,
                     .wire_bytes = message.wire_bytes,
                     .sent = message.sent,
                     .arrived = now_});
}

void Engine::Deliver(std::uint32_t index) {
  if (messages_[index].way == Message::Way::kSwitchedLast) return DeliverSwitched(index);
  const Message message = messages_[index];
  messages_.Remove(index);
  Active& active = active_[message.run];
  if (active.run == nullptr) return;  // nobody reads it
  Wire& wire = active.run->wires()[message.wire];
  Log(message, wire);
  const std::uint64_t key = static_cast<std::uint64_t>(message.run) << 32 | message.wire;
  if (message.order != wire.arrived) {  // an earlier one takes another way
    early_.emplace(key, message.order);
    return;
  }
  ++wire.arrived;
  while (!early_.empty() && early_.erase({key, wire.arrived}) > 0) ++wire.arrived;
  Lane& receiver = active.run->lanes()[wire.to];
  if (receive_ps_per_byte_ > 0 && router_->route(message.route).network) {
    Time& core = ranks_[static_cast<std::size_t>(receiver.rank)].core_free;
    core = std::max(core, now_) + Scale(receive_ps_per_byte_, message.wire_bytes);
  }
  if (receiver.state != Lane::State::kWaitsForMessage || receiver.waits_for != message.wire) return;
  receiver.state = Lane::State::kRuns;
  GoOn(active, wire.to);
}

// LogGOPS: the next message of a lane's step, as soon as the core takes it. False: there is none.
bool Engine::LogSendNext(Active& active, Lane& lane) {
  const Program::Step& step = active.run->StepOf(lane);
  if (lane.sent == step.sends) {
    lane.sent = 0;
    return false;
  }
  const std::uint32_t message =
      AddMessage(active, lane, lane.program->ends[step.first_end + step.receives + lane.sent++]);
  messages_[message].turn = ++turns_;
  Push(std::max(now_, loggops_->MaySend(lane.rank)), kLogSend, message);
  return true;
}

void Engine::LogSend(std::uint32_t index) {
  Message& message = messages_[index];
  Active& active = active_[message.run];
  const std::uint32_t sender = active.run->wires()[message.wire].from;
  Lane& lane = active.run->lanes()[sender];
  Time time = now_;
  if (!loggops_->Send(lane.rank, message.wire_bytes, now_, time)) {
    Push(time, kLogSend, index);
    return;
  }
  message.turn = ++turns_;
  Push(time, kLogArrive, index);
  if (!LogSendNext(active, lane) && EnterNextStep(active, sender)) GoOn(active, sender);
}

void Engine::LogArrive(std::uint32_t index) {
  const Message& message = messages_[index];
  Run& run = *active_[message.run].run;
  const Wire& wire = run.wires()[message.wire];
  Time time = now_;
  if (!loggops_->Receive(run.lanes()[wire.to].rank, message.wire_bytes, now_, time)) {
    Push(time, kLogArrive, index);
    return;
  }
  if (IsPosted(run, run.lanes()[wire.to], message)) {
    loggops_->Match(run.lanes()[wire.from].rank, message.wire_bytes, now_);
  }
  Deliver(index);
}

// Whether the lane is at the step that receives the message.
bool Engine::IsPosted(const Run& run, const Lane& lane, const Message& message) {
  if (lane.state != Lane::State::kWaitsForMessage) return false;
  const Program::Step& step = run.StepOf(lane);
  for (std::uint32_t i = 0; i < step.receives; ++i) {
    const Program::End& end = lane.program->ends[step.first_end + i];
    if (run.WireOf(lane, end) == message.wire) return true;
  }
  return false;
}

// LogGOPS: what has arrived before meets its receive now.
void Engine::LogPost(Active& active, std::uint32_t index) {
  const Lane& lane = active.run->lanes()[index];
  const Program::Step& step = active.run->StepOf(lane);
  for (std::uint32_t i = 0; i < step.receives; ++i) {
    const Program::End& end = lane.program->ends[step.first_end + i];
    const Wire& wire = active.run->wires()[active.run->WireOf(lane, end)];
    if (wire.arrived - wire.freed < end.count) continue;
    loggops_->Match(active.run->lanes()[wire.from].rank, lane.bytes, now_);
  }
  GoOn(active, index);
}

// What waits for a core at the same time is served in the order in which it began to want something of one, as LogGOPSim does.
void Engine::ArrangeTurns(std::vector<Event>& events) {
  std::ranges::stable_sort(events, {}, [this](const Event& event) {
    const std::uint32_t kind = KindOf(event.what), index = IndexOf(event.what);
    if (kind == kLogPost) return active_[sim::OperationOf(event.what)].run->lanes()[index].posts;
    return kind == kLogSend || kind == kLogArrive ? messages_[index].turn : 0;
  });
}

}  // namespace tutti::sim
