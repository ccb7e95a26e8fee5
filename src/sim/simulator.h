// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_SIM_SIMULATOR_H_
#define TUTTI_SIM_SIMULATOR_H_

// Predicts how long ranks take for operations and computations, on a machine that need not be there: discrete events over the same
// plans that executors run, and the graph of the machine.
//
// Ranks. A rank is on a GPU or, in host memory, on a NUMA node of the graph. It has streams of tasks: computations and its parts of
// operations. A stream does one task after the other; a task may also wait for others of its rank. An operation begins at a rank
// `launch_us` after its task, whatever its other ranks do, and runs there on `channels` channels, each on its part of the data.
//
// Steps. A channel runs its plan's steps in the order and rounds of plan.h. A step waits until all that it receives has arrived, and all
// links that it sends on (of the plan: wires, to tell them from those of the graph) have room: a wire holds as many messages as the
// plan asks for or `link_messages`. Then the channel is busy for the time that Costs says, which ends no earlier than the last byte is
// on the first link, since stores into another GPU's memory wait for the link. A received message makes room when the step ends; a
// waiting sender learns it `credit_us` later.
//
// Messages. A step's messages leave when it begins, as the channel writes them; those that go over a network leave when the step ends
// and the rank's NIC has taken them, each after `nic_message_us` and its bytes at `network_send_gb_per_s`; where channels share a core,
// they are received when it has taken them at `network_receive_gb_per_s`, too. They travel as network.h says, with the bytes that the protocol
// makes of them, and are received `hop_us` after their last byte has arrived. Between ranks on the same node of the graph no link
// counts.
//
// Switches. What a plan multicasts, offers or reads from a switch goes over a tree of switches (switch_trees.h, switch_traffic.h), each of
// whose links carries it once, with the share of the link's rate that SwitchCosts says. A sender of a multicast is busy as with a message;
// an offer costs it nothing but its step. A reading arrives when all offers have met, as one value, SwitchCosts::read_us later where
// NVSwitches fold. Such values take no other way when they meet a dead link; they are lost.
//
// All numbers follow from the inputs and the seed alone: the same inputs give the same bits.
//
// Memory: some 100 bytes for each rank and channel of an operation under way, 40 for each wire, 85 for each message under way, 80 and 4
// for each link of a way for each route, 350 for each node of the graph and 160 for each link of it; programs of ranks as program.h has
// them. Time: some 100 ns for each message and each link that it takes, more where memory is far, and 5 us for each route.

#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "sim/job.h"
#include "topo/graph.h"
#include "topo/network_ways.h"
#include "tutti/status.h"

namespace tutti::sim {

// Fails for inputs that make no sense, with a sentence that names them.
Result<Outcome> Simulate(const Job& job, const Machine& machine, const Options& options);

// Which link, in which direction, was busy for the largest part of a time, and how large that is. Nothing: no link was used.
struct Binding {
  topo::Arc arc = 0;
  double share = 0;
};
std::optional<Binding> FindBinding(std::span<const LinkUse> links, Time during);
// "host 2: GPU 3 -> NVSwitch".
std::string NameOf(const topo::Graph& graph, topo::Arc arc);

}  // namespace tutti::sim

#endif  // TUTTI_SIM_SIMULATOR_H_
