// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "sim/network.h"

#include <algorithm>

#include "sim/events.h"
#include "sim/messages.h"
#include "sim/routes.h"

namespace tutti::sim {
namespace {

Time Duration(double ps_per_byte, std::uint64_t bytes) {
  return static_cast<Time>(ps_per_byte * static_cast<double>(bytes) + 0.5);
}

// Whether a message can begin its way at a node.
bool IsPlace(topo::NodeKind kind) { return kind == topo::NodeKind::kGpu || kind == topo::NodeKind::kNumaNode; }

}  // namespace

Network::Network(const topo::Graph& graph, Router& router, Messages& messages, EventQueue& queue)
    : graph_(graph), router_(router), messages_(messages), queue_(queue) {
  directions_.reserve(2 * graph.links().size());
  for (const topo::Link& link : graph.links()) {
    for (const int source : {link.from, link.to}) {
      alone_.push_back(graph.NeighboursOf(source).size() == 2 && !IsPlace(graph.node(source).kind));
      directions_.push_back({.ps_per_byte = PsPerByte(link.gb_per_s()),
                             .latency = FromUs(link.latency_us),
                             .dead = link.gb_per_s() <= 0,
                             .pci = link.kind == topo::LinkKind::kPci});
    }
  }
}

void Network::Route(Message& message, std::uint32_t route) const {
  message.route = route;
  message.hop = router_.route(route).first;
  message.last_hop = message.hop + router_.route(route).count;
  message.node = -1;
  message.pci_charge = router_.route(route).pci_charge;
}

bool Network::Advance(std::uint32_t index, Time head) { return Step(messages_[index], head) && GoOn(index, head); }

bool Network::Begin(std::uint32_t index, Time head, Time& left) {
  Message& message = messages_[index];
  left = message.tail;
  if (message.hop == message.last_hop) return GoOn(index, head);
  const topo::Arc first = router_.hop(message.hop);
  if (!Step(message, head)) return false;
  if (first != Router::kChosen) left = message.tail - At(first).latency;
  return GoOn(index, head);
}

bool Network::Step(Message& message, Time& head) {
  const topo::Arc planned = router_.hop(message.hop);
  const topo::Arc direction = planned == Router::kChosen ? Choose(message) : planned;
  if (direction == Router::kChosen || At(direction).dead) return false;
  head = Cross(message, direction, head);
  if (planned != Router::kChosen) {
    ++message.hop;
    return true;
  }
  const topo::Link& link = graph_.link(topo::LinkOf(direction));
  message.node = direction % 2 == 0 ? link.to : link.from;
  if (message.node == router_.route(message.route).to_port) ++message.hop;
  return true;
}

// Over links where no other message can come between, up to the next one where that is possible, or to the end.
bool Network::GoOn(std::uint32_t index, Time head) {
  Message& message = messages_[index];
  while (message.hop < message.last_hop) {
    const topo::Arc next = router_.hop(message.hop);
    if (next == Router::kChosen || !alone_[static_cast<std::size_t>(next)]) {
      queue_.Push(head, EventCode(kHop, index));
      return true;
    }
    if (!Step(message, head)) return false;
  }
  if (message.way == Message::Way::kSwitched) {
    queue_.Push(head, EventCode(kMet, index));
    return true;
  }
  queue_.Push(message.tail + message.after, EventCode(kArrived, index));
  return true;
}

// Of those that lead on, the direction that is free first; kChosen: none does.
topo::Arc Network::Choose(const Message& message) {
  const sim::Route& route = router_.route(message.route);
  const int node = message.node < 0 ? route.from_port : message.node;
  topo::Arc best = Router::kChosen;
  for (const topo::Neighbour& next : router_.Next(node, route.to_port)) {
    const topo::Arc direction = 2 * next.link + (graph_.link(next.link).to == next.node ? 0 : 1);
    if (best == Router::kChosen || At(direction).free < At(best).free) best = direction;
  }
  return best;
}

// Returns when the head is before the link after this one.
Time Network::Cross(Message& message, topo::Arc arc, Time head) {
  Link& direction = At(arc);
  const Time start = std::max(head, direction.free);
  const Time end = start + Duration(direction.ps_per_byte * (direction.pci ? message.pci_charge : message.charge),
                                    message.wire_bytes);
  direction.use.busy += end - start;
  direction.use.bytes += message.wire_bytes;
  ++direction.use.messages;
  direction.free = end;
  message.tail = std::max(end, message.tail) + direction.latency;
  return start + direction.latency;
}

void Network::Slow(int link, double factor) {
  for (const int direction : {2 * link, 2 * link + 1}) {
    Link& slowed = At(direction);
    slowed.dead = slowed.dead || factor <= 0;
    if (factor > 0) slowed.ps_per_byte /= factor;
  }
}

std::vector<LinkUse> Network::Uses() const {
  std::vector<LinkUse> uses;
  uses.reserve(directions_.size());
  for (const Link& direction : directions_) uses.push_back(direction.use);
  return uses;
}

}  // namespace tutti::sim
