// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_EXEC_GPU_FORMAT_RELAY_H_
#define TUTTI_EXEC_GPU_FORMAT_RELAY_H_

// A large collective as one kernel of teams reads it, where every message is folded or passed on at most once. Also compiled
// for the device.
//
// A rank's part of such a plan has up to three roles, and teams of their own play each of them, so that nobody waits for
// data while he could send:
//
//   send      stores blocks of the input into peers' rings
//   owner     folds one block from peers' messages and the own input (or takes a message), stores it and passes it on
//   receive   stores what owners have passed on
//
// A chain (plan::Forms::chain) is a relay in which every rank has one role, one source and one target at most. Its links have
// longer rings and more channels: those of all sends and receives.
//
// A block of a reduce_scatter begins anywhere where the count is odd, or the ranks are 3. There a block has in front what lies between
// the last multiple of 16 bytes of the input and its own beginning. That is sent and folded with it, but not stored.
//
// In every role, channel c deals with the c-th slice of each block, in steps of one message per link, and waits at each step
// for all of the role's links. Messages go by the links of sends and receives (transfer.h), with Simple. Where a plan sends
// two messages per link, the second ones have channels of their own; so each link's end has one team.

#include <cstddef>
#include <cstdint>

#include "exec/gpu/format/program.h"
#include "exec/gpu/format/transfer.h"
#include "transport/p2p/segment.h"

namespace tutti::exec::gpu {

struct PreparedPlan;  // compile.h
struct Work;

inline constexpr int kMaxRelayPeers = kSeats - 1;

struct RelayRole {
  enum Kind : std::uint8_t { kSend, kOwner, kReceive };
  Kind kind;
  std::uint8_t sources, targets;  // peers whose messages are read, and to whom messages are sent
  std::uint8_t reserved;
  std::uint16_t source_channel, target_channel;  // that of channel 0
  std::uint8_t source[kMaxRelayPeers], target[kMaxRelayPeers];
};
inline constexpr int kMaxRelayRoles = 3;

// A block of user memory, or none.
struct RelayBlock {
  const std::byte* in;  // what a sender and an owner read
  std::byte* out;       // where it is stored; null: nowhere
  std::uint64_t bytes;
};

// The rings of sends and receives that a chain borrows. Every rank takes one message as long as its ring from each of them and
// gives credit for it at the end, so that no later send begins before.
struct LentRings {
  std::uint64_t credits, states;  // offsets in a segment, as of Links
  std::uint32_t units;            // of each
  std::uint16_t rings;            // in all; 0: nothing is borrowed
  std::uint8_t each;              // that a channel borrows
  std::uint8_t channels;          // of sends and receives
};

struct Relay : Links, Scaling {
  std::uint32_t element;  // bytes
  std::uint32_t message;  // bytes at most, a multiple of 16
  std::uint32_t units;    // of a ring, for a message
  std::uint32_t steps;
  std::uint64_t slice;   // bytes of a block that a channel deals with
  std::uint16_t slices;  // channels that take part
  // A block's teams: number t has warps first_warp[t] to first_warp[t + 1] - 1. Behind the last one are their heralds.
  std::uint8_t first_warp[kUsualTeams + 1];
  std::uint8_t roles;
  std::uint8_t own;   // the own input's place among the operands of the owner's fold; kNoInput: there is none
  std::uint8_t skip;  // first bytes of the owner's block that are not stored, less than 16
  RelayRole role[kMaxRelayRoles];
  RelayBlock send[kMaxRelayPeers];     // by target of the sender
  RelayBlock owned;                    // of the owner
  RelayBlock receive[kMaxRelayPeers];  // by source of the receiver
  LentRings lent;                      // of chains
};
inline constexpr std::uint8_t kNoInput = 255;
static_assert(sizeof(Relay) <= 4096);

// The most blocks that a relay's kernel does well with, by `limits`: their cuts, team_blocks, least_team_blocks and most_blocks. The
// same on all ranks where those are.
int RelayBlocks(const PreparedPlan& plan, const Work& work, const GroupLimits& limits);

// Fills in the relay, but for segments, host, timeout_ns and the mark. most_blocks: of the kernel. It and the cuts are the same on
// all ranks. REQUIRES: plan.forms.relay; work.count > 0.
void CompileRelay(const PreparedPlan& plan, const Work& work, const transport::p2p::Layout& layout,
                  const plan::Cuts& cuts, int most_blocks, Relay& relay);

}  // namespace tutti::exec::gpu

#endif  // TUTTI_EXEC_GPU_FORMAT_RELAY_H_
