// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_SIM_NETWORK_H_
#define TUTTI_SIM_NETWORK_H_

// Links that carry messages. Each direction of a link serves messages in the order in which their heads arrive; a message goes on to
// the next link while its tail is still under way (cut-through). For a message of w bytes whose head is before link i at time h, in a
// direction of rate R and latency L that is free from time f on:
//
//   start  = max(h, f)                          the direction takes the next message from start + w / R on
//   head   = start + L                          before link i + 1
//   tail_i = max(start + w / R, tail_(i-1)) + L
//
// so a message occupies every link for its own bytes (on PCI times Message::pci_charge) and that link's rate, and its tail is as
// late as its slowest link makes it. It has arrived with the tail of the last link. Switches hold as much as comes.
//
// A message takes one event for each link, since another message may come between; none for a link into which only the link before it
// leads, where the order is that of the link before.
//
// Faults: a direction of rate r becomes one of r * factor, for messages that start on it from then on. With factor 0 it is dead: a
// message that comes to it is handed back.

#include <cstdint>
#include <vector>

#include "sim/link_use.h"
#include "sim/time.h"
#include "topo/graph.h"
#include "topo/network_ways.h"

namespace tutti::sim {

class EventQueue;
class Messages;
class Router;
struct Message;

class Network {
 public:
  // The kinds of events that it pushes for itself and for its user, of messages. Other kinds begin at kKinds.
  // kMet: the head of one that goes to the end of a segment is there.
  enum Kind : std::uint32_t { kHop, kArrived, kMet, kKinds };

  // All of these must outlive it.
  Network(const topo::Graph& graph, Router& router, Messages& messages, EventQueue& queue);

  // Puts a message at the beginning of a route.
  void Route(Message& message, std::uint32_t route) const;
  // A message has its head before its next link at `head`: it begins its way, or there was an event of kind kHop. Pushes one of kind
  // kHop or, Message::after its arrival, kArrived. False: the link is dead. The caller sends it again, or drops it.
  bool Advance(std::uint32_t message, Time head);
  // The same of a message that begins its way. `left`: when its last byte is on the first link, if that is alive.
  bool Begin(std::uint32_t message, Time head, Time& left);

  // From now on. REQUIRES: 0 <= factor.
  void Slow(int link, double factor);

  // By topo::Arc.
  std::vector<LinkUse> Uses() const;

 private:
  struct alignas(64) Link {  // in one direction; a cache line
    Time free = 0;
    double ps_per_byte = 0;
    Time latency = 0;
    LinkUse use;
    bool dead = false;
    bool pci = false;
  };
  Link& At(topo::Arc arc) { return directions_[static_cast<std::size_t>(arc)]; }
  topo::Arc Choose(const Message& message);
  Time Cross(Message& message, topo::Arc arc, Time head);
  // Over the next link.
  bool Step(Message& message, Time& head);
  bool GoOn(std::uint32_t message, Time head);

  const topo::Graph& graph_;
  Router& router_;
  Messages& messages_;
  EventQueue& queue_;
  std::vector<Link> directions_;
  // By arc: only one link leads into it. Apart from the links, since it is asked for long before they are needed.
  std::vector<bool> alone_;
};

}  // namespace tutti::sim

#endif  // TUTTI_SIM_NETWORK_H_
