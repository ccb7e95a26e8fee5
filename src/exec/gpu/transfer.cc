// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "exec/gpu/transfer.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "proto/protocol.h"

namespace tutti::exec::gpu {
namespace {

using transport::p2p::Layout;

// Up to here LL128, beyond it Simple; and what one channel should have to do at least, bytes.
constexpr std::size_t kMostLl128Bytes = std::size_t{1} << 20;
constexpr std::size_t kLl128ChannelBytes = 7680;
constexpr std::size_t kSimpleChannelBytes = std::size_t{16} << 10;

// The last transfer added for each peer in one direction, and where its chain begins.
struct Chains {
  std::array<std::uint8_t, kMaxRanks> first, last;
  std::array<std::uint16_t, kMaxRanks> channels{};
  Chains() {
    first.fill(kNoTransfer);
    last.fill(kNoTransfer);
  }
};

Status TooLarge(std::size_t transfers) {
  return Status(Code::kUnsupported,
                fmt::format("a group of {} sends and receives is too large for one kernel ({} transfers); make it two "
                            "groups",
                            transfers, kMaxTransfers));
}

GroupTransfer& Append(Group& group, Chains& chains, int peer) {
  const auto index = static_cast<std::uint8_t>(group.transfers++);
  if (chains.last[peer] == kNoTransfer) {
    chains.first[peer] = index;
  } else {
    group.transfer[chains.last[peer]].next = index;
  }
  chains.last[peer] = index;
  GroupTransfer& transfer = group.transfer[index];
  transfer = {};
  transfer.next = kNoTransfer;
  return transfer;
}

void Cut(GroupTransfer& transfer, std::size_t bytes, int most_channels, bool whole_lines) {
  const bool small = whole_lines && bytes <= kMostLl128Bytes;
  transfer.bytes = bytes;
  transfer.protocol = static_cast<std::uint8_t>(small ? proto::Protocol::kLl128 : proto::Protocol::kSimple);
  const std::size_t each = small ? kLl128ChannelBytes : kSimpleChannelBytes;
  transfer.channels = static_cast<std::uint16_t>(std::clamp<std::size_t>((bytes + each - 1) / each, 1, most_channels));
}

void SetOffsets(const Layout& layout, int rank, Group& group) {
  const transport::p2p::Geometry& g = layout.transfers;
  for (int p = 0; p < transport::p2p::kProtocols; ++p) {
    group.rings[p] = layout.Transfers() + g.Ring(p, 0, 0);
    group.credits[p] = layout.Transfers() + g.Credit(p, 0, 0);
    group.states[p] = layout.TransferState(p, 0, 0, 0);
    group.ring_bytes[p] = static_cast<std::uint32_t>(g.RingBytes(p));
    group.log2_ring_units[p] = static_cast<std::uint8_t>(g.log2_units[p]);
  }
  group.counts = layout.Counts();
  group.flags = layout.Transfers() + g.Flags(0, 0);
  group.rank = static_cast<std::uint8_t>(rank);
  group.ranks = static_cast<std::uint8_t>(g.ranks);
  group.channels = static_cast<std::uint8_t>(g.channels);
}

Status AddCopies(std::span<const TransferRequest> sends, std::span<const TransferRequest> receives, int rank,
                 int most_channels, bool whole_lines, Group& group, Chains& chains) {
  std::size_t r = 0;
  const auto next_receive = [&] {
    while (r < receives.size() && receives[r].peer != rank) ++r;
    return r < receives.size();
  };
  for (const TransferRequest& send : sends) {
    if (send.peer != rank) continue;
    if (!next_receive() || receives[r].bytes != send.bytes) {
      return Status(Code::kInvalidUsage,
                    fmt::format("rank {} sends to itself without a matching receive in the same group; put both into "
                                "one group, with equal counts",
                                rank),
                    rank);
    }
    void* out = receives[r++].out;
    if (send.bytes == 0) continue;
    GroupTransfer& copy = Append(group, chains, rank);
    Cut(copy, send.bytes, most_channels, whole_lines);
    copy.in = static_cast<const std::byte*>(send.in);
    copy.out = static_cast<std::byte*>(out);
    chains.channels[rank] = std::max(chains.channels[rank], copy.channels);
  }
  if (!next_receive()) return Status::Ok();
  return Status(Code::kInvalidUsage,
                fmt::format("rank {} receives from itself without a matching send in the same group", rank), rank);
}

// As few teams in a block as the limit allows: blocks that are small start sooner.
void SetBlocks(int most_blocks, Group& group) {
  int teams = 1;
  while (teams < kMostTeams && group.teams > most_blocks * teams) teams = teams < kUsualTeams ? 2 * teams : kMostTeams;
  group.teams_per_block = static_cast<std::uint8_t>(teams);
  group.log2_team_threads = teams <= kUsualTeams ? kLog2TeamThreads : 5;
  group.blocks = static_cast<std::uint16_t>((group.teams + teams - 1) / teams);
}

}  // namespace

Status CompileGroup(std::span<const TransferRequest> sends, std::span<const TransferRequest> receives, int rank,
                    const Layout& layout, int most_blocks, bool whole_lines, Group& group) {
  if (sends.size() + receives.size() > kMaxTransfers) return TooLarge(sends.size() + receives.size());
  SetOffsets(layout, rank, group);
  group.transfers = 0;
  group.lanes = 0;
  group.teams = 0;
  const int ranks = layout.transfers.ranks;
  // All teams of all ranks must be there at once, whatever the group: so a link's share is fixed.
  const int share = most_blocks * kUsualTeams / (2 * ranks - 1);
  const int most_channels = std::clamp(share, 1, layout.transfers.channels);
  Chains chains[3];
  TUTTI_RETURN_IF_ERROR(AddCopies(sends, receives, rank, most_channels, whole_lines, group, chains[GroupLane::kCopy]));
  for (const GroupLane::Kind kind : {GroupLane::kSend, GroupLane::kReceive}) {
    for (const TransferRequest& request : kind == GroupLane::kSend ? sends : receives) {
      if (request.peer == rank || request.bytes == 0) continue;
      GroupTransfer& transfer = Append(group, chains[kind], request.peer);
      Cut(transfer, request.bytes, most_channels, whole_lines);
      transfer.in = static_cast<const std::byte*>(request.in);
      transfer.out = static_cast<std::byte*>(request.out);
      chains[kind].channels[request.peer] = std::max(chains[kind].channels[request.peer], transfer.channels);
    }
  }
  for (int hops = 0; hops < ranks; ++hops) {
    for (const GroupLane::Kind kind : {GroupLane::kSend, GroupLane::kReceive, GroupLane::kCopy}) {
      const int peer = (kind == GroupLane::kReceive ? rank - hops + ranks : rank + hops) % ranks;
      if ((peer == rank) != (kind == GroupLane::kCopy)) continue;
      const std::uint16_t channels = chains[kind].channels[peer];
      if (channels == 0) continue;
      group.lane[group.lanes++] = {.kind = kind,
                                   .peer = static_cast<std::uint8_t>(peer),
                                   .first = chains[kind].first[peer],
                                   .first_team = group.teams,
                                   .channels = channels};
      group.teams = static_cast<std::uint16_t>(group.teams + channels);
    }
  }
  SetBlocks(most_blocks, group);
  return Status::Ok();
}

}  // namespace tutti::exec::gpu
