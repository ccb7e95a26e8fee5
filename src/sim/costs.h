// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_SIM_COSTS_H_
#define TUTTI_SIM_COSTS_H_

// What ranks need beside the links of the graph: all constants of the simulator, with their units. They come from the tables that
// choices go by (tune/gpu_machine.h, tune/machine.h), so that a prediction and a choice never differ in a constant.
//
// A channel of a rank does one step of its plan after the other. A step of b bytes with r received operands, k targets and m operands
// that are folded (0, where it has one operand) keeps the channel busy for
//
//   step_us + (r + k) * end_us + b * (copies / write rate + read / read rate + m / fold rate + local / copy rate)
//
// where copies = k, or 1 where one copy serves all targets; read = r, or 0 where received operands are folded where they lie; and
// local = 1 for a step that copies the rank's own block and sends nothing. Besides, what all channels of a rank write goes through it at
// `rank_gb_per_s`, one step after the other. A rate of 0 is none that would bind.
//
// Bytes here are those of the data. On links they are more (WireBytes).

#include <array>
#include <cstdint>

#include "proto/protocol.h"

namespace tutti::tune {
struct GpuMachine;
struct Machine;
}  // namespace tutti::tune

namespace tutti::sim {

// One protocol, by which the channels of a rank send and receive.
struct WayCosts {
  double step_us = 0;             // of a channel for a step, whatever its size
  double end_us = 0;              // of a channel for a message that it sends or receives, whatever its size
  double hop_us = 0;              // from a message's last byte until its receiver goes on, inside a host
  double network_hop_us = 0;      // the same of a message that came over the network
  double write_gb_per_s = 0;      // of a channel, into a link's buffer
  double read_gb_per_s = 0;       // of a channel, out of it
  double rank_gb_per_s = 0;       // of all channels of a rank together, written
  bool one_copy_for_all = false;  // a value for several targets is written once
  bool folds_in_place = false;    // received operands are folded where they lie
};

// What switches do that copy and fold (plan.h, "Switches"), beside the rates and latencies of their links, which the graph has.
struct SwitchCosts {
  // Of the rate of NVLinks, and of links to network switches, that multicasts and reducing reads get. 0: there are no such switches.
  double nvlink_share = 0, network_share = 0;
  // From asking an NVSwitch for a fold until its first byte is there, beside links. Network switches are not asked.
  double read_us = 0;
};

struct Costs {
  std::array<WayCosts, proto::kProtocols> ways;  // by proto::Protocol
  double launch_us = 0;      // from the call until channels begin: a kernel's launch, a call's price on a host
  double finish_us = 0;      // from the last channel's end until the call is over
  double fold_gb_per_s = 0;  // operands folded, all channels of a rank together
  double copy_gb_per_s = 0;  // of a channel, from the input to the output of its rank
  // That a rank's NIC, or the thread that serves it, needs for a message that it sends, beside its bytes.
  double nic_message_us = 0;
  // At which a rank hands bytes of messages to the network and takes them from it, as they are on the wire. Where its channels share a
  // core, that core does it.
  double network_send_gb_per_s = 0, network_receive_gb_per_s = 0;
  double credit_us = 0;   // until a waiting sender learns that its link has room again
  double resend_us = 0;   // until a message that met a dead link is sent again, where there is another way
  int link_messages = 1;  // that a link holds at least; a plan may ask for more (RankPlan::link_slots)
  SwitchCosts switches;
  // All channels of a rank share one core (ranks of host memory), instead of working side by side (blocks of a GPU).
  bool shares_core = false;
};

// From the constants of GPUs that write to each other's memory. Their tables know no network between hosts: network_hop_us is that inside
// a host and nic_message_us 0, until who knows better sets them.
Costs CostsOf(const tune::GpuMachine& machine);
// From the constants of host memory and of its network. Bytes are copied and folded by a rank's one core.
Costs CostsOf(const tune::Machine& machine);

// Of GPUs of this compute capability (90 is 9.0; 0: not known) and the switches that go with them. Which networks reduce is said by the
// graph (topo::Port::collectives).
//
// The share of NVLinks is fitted to the bus bandwidth that others have measured of NCCL's NVLS all_reduce of 8 GiB, by a rank's bytes on
// its link, S (1 + 1/n), with links as the graph counts them. On 5 to 8 H200, 414, 436, 460 and 473 GB/s, 0.825 is 2 % off at most; on 7
// and 8 B200, 811 and 838 GB/s, 0.75 is 1 % off. That of networks is the one of tune/nccl_model.h, of one cluster with SHARP. A read
// is what nvbandwidth measures of a GPU's load from a peer of an HGX H200.
SwitchCosts SwitchCostsOf(int compute_capability);

// Bytes on links of a message of `bytes`, by the forms of proto/: LL puts 8 of them into a line of 16, in units of 64; LL128 120 into one
// of 128; Simple adds nothing.
std::uint64_t WireBytes(proto::Protocol protocol, std::uint64_t bytes);

}  // namespace tutti::sim

#endif  // TUTTI_SIM_COSTS_H_
