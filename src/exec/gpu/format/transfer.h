// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_EXEC_GPU_FORMAT_TRANSFER_H_
#define TUTTI_EXEC_GPU_FORMAT_TRANSFER_H_

// A group of sends and receives as one kernel reads it. Also compiled for the device.
//
// Every link in use gets teams of threads of its own, one per channel and direction, which deal with the link's transfers
// in the order of the group; so no order of calls can make ranks wait for each other. A block has one team or several,
// so that a group needs no more blocks than it is allowed. Both ends know from the byte count alone how a transfer is
// cut: channel c moves its c-th part, with a protocol that depends on the length.

#include <climits>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "exec/gpu/format/program.h"
#include "plan/cuts.h"
#include "proto/protocol.h"
#include "transport/p2p/segment.h"
#include "tutti/status.h"

namespace tutti::exec::gpu {

inline constexpr int kMaxTransfers = 80;
inline constexpr int kMaxLanes = 2 * kSeats - 1;
inline constexpr int kLog2TeamThreads = 7, kTeamThreads = 1 << kLog2TeamThreads;  // unless a block has more teams than
inline constexpr int kUsualTeams = 4;
inline constexpr int kUsualThreads = kUsualTeams * kTeamThreads;
// Where there are large transfers, as many threads as a block's teams leave to each; and a herald for each.
constexpr std::uint8_t Log2TeamThreads(int teams) {
  return static_cast<std::uint8_t>(kLog2TeamThreads + (teams == 1 ? 2 : teams == 2 ? 1 : 0));
}
inline constexpr int kMostTeamWarps = kUsualThreads / 32;
inline constexpr int kLargeThreads = kUsualThreads + kUsualTeams * 32;
// Where that is not enough for a team per link and direction: blocks of as many teams of one warp as there can be.
inline constexpr int kWideThreads = 1024;
inline constexpr int kMostTeams = kWideThreads / 32;

// Which kernel runs a group: that for usual teams, the one with heralds for large transfers, or that for wide blocks.
enum class GroupKernel : std::uint8_t { kUsual, kLarge, kWide };
inline constexpr int kGroupKernels = 3;

// What messages of Simple are a multiple of, bytes. The smallest ring has four.
inline constexpr std::uint32_t kMessageUnit = 2048;

struct GroupTransfer {
  const std::byte* in;  // sends, and copies to self
  std::byte* out;       // receives, and copies to self; of a send: where the data goes too, or null
  std::uint64_t bytes;
  std::uint16_t channels;
  std::uint8_t message_units;  // of Simple, kMessageUnit each; 0: it goes by LL128
  std::uint8_t next;           // of the same link and direction, or kNoTransfer
  std::uint32_t part_lines;    // what a channel moves, lines of kPartLine bytes; the last one moves what is left

  constexpr bool IsSimple() const { return message_units != 0; }
  constexpr std::uint32_t MessageBytes() const { return message_units * kMessageUnit; }
};
inline constexpr std::uint8_t kNoTransfer = 255;
inline constexpr std::size_t kPartLine = 128;
// The longest message of Simple, bytes, where a channel moves `part` bytes: long parts have long ones, because each takes the
// time of a fence; of short ones enough are under way at once. A multiple of kMessageUnit.
std::uint32_t MostOfMessage(const plan::Cuts& cuts, std::uint64_t part, std::uint32_t ring_bytes);

// What the teams of one link and direction do: teams first_team, first_team + 1, ... for channels 0, 1, ...
struct GroupLane {
  enum Kind : std::uint8_t { kSend, kReceive, kCopy };
  std::uint8_t kind;
  std::uint8_t peer;
  std::uint8_t first;  // transfer
  std::uint8_t reserved;
  std::uint16_t first_team;
  std::uint16_t channels;
};

// The place of Simple in what there is by protocol.
inline constexpr int kSimple = static_cast<int>(proto::Protocol::kSimple);

// What a kernel of teams needs to know of the links: see transport/p2p/segment.h.
struct Links : CallMark {
  std::byte* segments[kSeats];
  HostWords* host;
  std::uint64_t timeout_ns;
  // Offsets in a segment, by protocol.
  std::uint64_t rings[transport::p2p::kProtocols];
  std::uint64_t credits[transport::p2p::kProtocols];
  std::uint64_t states[transport::p2p::kProtocols];
  std::uint64_t flags;
  std::uint64_t counts;  // LaunchCounts
  std::uint32_t ring_bytes[transport::p2p::kProtocols];
  std::uint8_t log2_ring_units[transport::p2p::kProtocols];
  std::uint8_t rank, ranks;
  std::uint8_t peers;     // that a channel has links to, in each direction
  std::uint8_t channels;  // of a link, as laid out
  std::uint8_t teams_per_block;
  std::uint16_t teams;  // in all
  std::uint16_t blocks;
};
// Fills in the offsets, and what is said of ranks and channels.
void SetOffsets(const transport::p2p::Layout& layout, int rank, Links& links);

struct Group : Links {
  std::uint16_t lanes;
  std::uint16_t transfers;
  GroupKernel kernel;
  std::uint8_t log2_team_threads;
  GroupLane lane[kMaxLanes];
  GroupTransfer transfer[kMaxTransfers];
};
static_assert(sizeof(Group) <= 4096);

// One send or receive of a plan of moves (compile.h), with its data.
struct TransferRequest {
  int peer = 0;
  const void* in = nullptr;  // of a send
  void* out = nullptr;       // of a receive
  std::size_t bytes = 0;
  int step = 0;  // of the plan
};

// What decides how transfers are cut. The same on all ranks, but for the last two.
struct GroupLimits {
  plan::Cuts cuts{};
  int most_blocks = 1;                      // at least 1
  int team_blocks = INT_MAX;                // of groups whose transfers are long (Cuts::short_bytes), and of relays
  int least_team_blocks = 1;                // of relays: as the user asks, at most team_blocks
  bool whole_lines = true;                  // LL128 may be used
  int lanes = 0;                            // the most links and directions that any rank uses; 0: any
  std::size_t own_beside_bytes = SIZE_MAX;  // copies to self of so many bytes are left to copy engines
  // The same of a rank that has nothing to receive, and sends the same to a peer, so that the kernel could do both at once.
  std::size_t sent_beside_bytes = SIZE_MAX;
};
inline constexpr int kMostOwnCopies = 8;
struct OwnCopies {
  OwnCopy copies[kMostOwnCopies];
  int count = 0;
};

// Fills in the group, but for segments, host, timeout_ns and the mark, and the copies that are left to copy engines.
// Sends to self meet receives from self in order; where the same data goes to a peer too, both is done at once. kUnsupported
// where the group is too large for one launch. REQUIRES: as many sends to self as receives from self, of the same bytes.
Status CompileGroup(std::span<const TransferRequest> sends, std::span<const TransferRequest> receives, int rank,
                    const transport::p2p::Layout& layout, const GroupLimits& limits, Group& group, OwnCopies& beside);
// The steps of the plan by the group's transfers, of those with peers.
std::vector<std::uint16_t> ListSteps(std::span<const TransferRequest> sends, std::span<const TransferRequest> receives,
                                     int rank);

}  // namespace tutti::exec::gpu

#endif  // TUTTI_EXEC_GPU_FORMAT_TRANSFER_H_
