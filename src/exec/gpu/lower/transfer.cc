// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "exec/gpu/format/transfer.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "exec/gpu/lower/compile.h"
#include "proto/protocol.h"

namespace tutti::exec::gpu {
namespace {

using transport::p2p::Layout;

// The last transfer added for each peer in one direction, and where its chain begins.
struct Chains {
  std::array<std::uint8_t, kSeats> first, last;
  std::array<std::uint16_t, kSeats> channels{};
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

int TeamBlocks(const GroupLimits& limits) { return std::min(limits.team_blocks, limits.most_blocks); }

// The most channels of a transfer. All teams of all ranks must be there at once, whatever the group: so a link's share of them
// is fixed.
struct LinkChannels {
  int most, of_long;  // of_long: of transfers beyond Cuts::short_bytes

  LinkChannels(const Layout& layout, const GroupLimits& limits) {
    const int lanes = limits.lanes > 0 ? limits.lanes : 2 * (layout.transfers.ranks - 1);
    const auto share = [&](int blocks, int among) {
      const int copies = blocks;  // one in each block, so that none has more to do than others
      return std::clamp((blocks * kUsualTeams - copies) / std::max(among, 1), 1, layout.transfers.channels);
    };
    // A group of any kind usually sends to one peer and receives from one. With more it takes more blocks (SetBlocks).
    constexpr int kUsualLanes = 2;
    most = share(limits.most_blocks, lanes);
    of_long = std::min(most, share(TeamBlocks(limits), limits.lanes > 0 ? lanes : kUsualLanes));
  }
  // Of copies to self.
  explicit LinkChannels(const GroupLimits& limits) : most(limits.most_blocks), of_long(TeamBlocks(limits)) {}
};

// ring_bytes: of Simple.
void Cut(GroupTransfer& transfer, std::size_t bytes, const LinkChannels& most, const GroupLimits& limits,
         std::uint32_t ring_bytes) {
  const plan::Cuts& cuts = limits.cuts;
  const bool lines = limits.whole_lines && bytes <= cuts.lines_bytes;
  transfer.bytes = bytes;
  const std::size_t each = !lines                      ? cuts.simple_channel_bytes
                           : bytes <= cuts.small_bytes ? cuts.small_channel_bytes
                                                       : cuts.lines_channel_bytes;
  const std::size_t channels =
      std::clamp<std::size_t>((bytes + each - 1) / each, 1, bytes > cuts.short_bytes ? most.of_long : most.most);
  transfer.channels = static_cast<std::uint16_t>(channels);
  transfer.part_lines = static_cast<std::uint32_t>(((bytes + channels - 1) / channels + kPartLine - 1) / kPartLine);
  if (lines) return;
  const std::uint64_t part = std::uint64_t{transfer.part_lines} * kPartLine;
  transfer.message_units = static_cast<std::uint8_t>(MostOfMessage(cuts, part, ring_bytes) / kMessageUnit);
}

// The first send to a peer of what this rank also sends to itself; null: there is none.
GroupTransfer* SendOfTheSame(const TransferRequest& own, Group& group) {
  for (GroupTransfer& send : std::span(group.transfer, group.transfers)) {
    if (send.in == own.in && send.bytes == own.bytes && send.out == nullptr) return &send;
  }
  return nullptr;
}

// After the sends to peers.
void AddCopies(std::span<const TransferRequest> sends, std::span<const TransferRequest> receives, int rank,
               const GroupLimits& limits, Group& group, Chains& chains, OwnCopies& beside) {
  std::size_t r = 0;
  for (const TransferRequest& send : sends) {
    if (send.peer != rank) continue;
    while (receives[r].peer != rank) ++r;
    void* out = receives[r++].out;
    if (send.bytes == 0 || out == send.in) continue;
    const auto* from = static_cast<const std::byte*>(send.in);
    auto* to = static_cast<std::byte*>(out);
    GroupTransfer* same = SendOfTheSame(send, group);
    const bool only_sends = same != nullptr && receives.size() == 1;
    const std::size_t most_bytes = only_sends ? limits.sent_beside_bytes : limits.own_beside_bytes;
    if (send.bytes >= most_bytes && beside.count < kMostOwnCopies) {
      beside.copies[beside.count++] = {from, to, send.bytes};
      continue;
    }
    if (same != nullptr) {
      same->out = to;
      continue;
    }
    GroupTransfer& copy = Append(group, chains, rank);
    Cut(copy, send.bytes, LinkChannels(limits), limits, group.ring_bytes[kSimple]);
    copy.in = from;
    copy.out = to;
    chains.channels[rank] = std::max(chains.channels[rank], copy.channels);
  }
}

// The most blocks of a group: a part of them where a transfer is long and the teams fit there.
int BlocksOf(const GroupLimits& limits, const Group& group) {
  const int part = TeamBlocks(limits);
  const bool is_long = std::ranges::any_of(std::span(group.transfer, group.transfers),
                                           [&](const GroupTransfer& t) { return t.bytes > limits.cuts.short_bytes; });
  if (!is_long || group.teams > part * kUsualTeams) return limits.most_blocks;
  // A rank that sends beside a copy of its own, as a scatter's root, would be slower with less.
  const auto is = [&](GroupLane::Kind kind) {
    return std::ranges::any_of(std::span(group.lane, group.lanes), [&](const GroupLane& l) { return l.kind == kind; });
  };
  const bool copies_beside = is(GroupLane::kCopy) && !is(GroupLane::kReceive);
  return copies_beside ? std::min(2 * part, limits.most_blocks) : part;
}

// The transfers of a group with peers, in their order there.
template <typename F>
void ForEachWithAPeer(std::span<const TransferRequest> sends, std::span<const TransferRequest> receives, int rank,
                      F f) {
  for (const GroupLane::Kind kind : {GroupLane::kSend, GroupLane::kReceive}) {
    for (const TransferRequest& request : kind == GroupLane::kSend ? sends : receives) {
      if (request.peer != rank && request.bytes != 0) f(kind, request);
    }
  }
}

// As few teams in a block as the limit allows: blocks that are small start sooner.
void SetBlocks(const GroupLimits& limits, Group& group) {
  const std::span<const GroupTransfer> transfers(group.transfer, group.transfers);
  const bool large = std::ranges::any_of(transfers, [](const GroupTransfer& transfer) { return transfer.IsSimple(); });
  const int most_blocks = BlocksOf(limits, group);
  int teams = 1;
  while (teams < kMostTeams && group.teams > most_blocks * teams) {
    teams = teams >= kUsualTeams ? kMostTeams : large ? teams + 1 : 2 * teams;
  }
  group.kernel = teams > kUsualTeams ? GroupKernel::kWide : large ? GroupKernel::kLarge : GroupKernel::kUsual;
  group.teams_per_block = static_cast<std::uint8_t>(teams);
  group.log2_team_threads = group.kernel == GroupKernel::kLarge  ? Log2TeamThreads(teams)
                            : group.kernel == GroupKernel::kWide ? 5
                                                                 : kLog2TeamThreads;
  group.blocks =
      static_cast<std::uint16_t>(large ? std::min<int>(group.teams, most_blocks) : (group.teams + teams - 1) / teams);
}

}  // namespace

std::uint32_t MostOfMessage(const plan::Cuts& cuts, std::uint64_t part, std::uint32_t ring_bytes) {
  const std::uint64_t share = part / static_cast<std::uint64_t>(cuts.messages) / kMessageUnit * kMessageUnit;
  const std::uint32_t limit = ring_bytes / 4;
  const std::uint64_t least =
      std::max<std::uint64_t>(cuts.message_least_bytes / kMessageUnit * kMessageUnit, limit / 2);
  return static_cast<std::uint32_t>(std::min<std::uint64_t>(limit, std::max(share, least)));
}

void SetOffsets(const Layout& layout, int rank, Links& links) {
  const transport::p2p::Geometry& g = layout.transfers;
  for (int p = 0; p < transport::p2p::kProtocols; ++p) {
    links.rings[p] = layout.Transfers() + g.Ring(p, 0, 0);
    links.credits[p] = layout.Transfers() + g.Credit(p, 0, 0);
    links.states[p] = layout.TransferState(p, 0, 0, 0);
    links.ring_bytes[p] = static_cast<std::uint32_t>(g.RingBytes(p));
    links.log2_ring_units[p] = static_cast<std::uint8_t>(g.log2_units[p]);
  }
  links.counts = layout.Counts();
  links.flags = layout.Transfers() + g.Flags(0, 0);
  links.rank = static_cast<std::uint8_t>(rank);
  links.ranks = static_cast<std::uint8_t>(g.ranks);
  links.peers = static_cast<std::uint8_t>(g.peers());
  links.channels = static_cast<std::uint8_t>(g.channels);
}

void ListRequests(const PreparedPlan& plan, const Work& work, std::vector<TransferRequest>& sends,
                  std::vector<TransferRequest>& receives) {
  const std::size_t element = SizeOf(work.type);
  const plan::BlockCut cut =
      plan::BlockCut::Equal(work.count, plan.blocks_per_piece, std::max<std::size_t>(kPartLine / element, 1));
  const auto offset = [&](int block) {
    const auto piece = static_cast<std::size_t>(block / plan.blocks_per_piece);
    return (piece * work.count + cut.Begin(block % plan.blocks_per_piece)) * element;
  };
  const auto bytes = [&](int block) { return cut.Size(block % plan.blocks_per_piece) * element; };
  const auto in = [&](int block) { return static_cast<const std::byte*>(work.in) + offset(block); };
  const auto out = [&](int block) { return static_cast<std::byte*>(work.out) + offset(block); };
  sends.clear();
  receives.clear();
  for (const auto& send : plan.moves.sends) {
    sends.push_back({.peer = send.peer, .in = in(send.in), .bytes = bytes(send.in), .step = send.step});
  }
  for (const auto& copy : plan.moves.copies) {
    sends.push_back({.peer = plan.rank, .in = in(copy.in), .bytes = bytes(copy.in)});
    receives.push_back({.peer = plan.rank, .out = out(copy.out), .bytes = bytes(copy.out)});
  }
  for (const auto& receive : plan.moves.receives) {
    receives.push_back(
        {.peer = receive.peer, .out = out(receive.out), .bytes = bytes(receive.out), .step = receive.step});
  }
}

void ListRequests(const PreparedPlan& plan, const GroupData& data, std::vector<TransferRequest>& sends,
                  std::vector<TransferRequest>& receives) {
  const auto in = [&](int block) { return data.in[static_cast<std::size_t>(block)]; };
  const auto out = [&](int block) { return data.out[static_cast<std::size_t>(block)]; };
  sends.clear();
  receives.clear();
  for (const auto& send : plan.moves.sends) {
    sends.push_back({.peer = send.peer, .in = in(send.in).at, .bytes = in(send.in).bytes, .step = send.step});
  }
  for (const auto& copy : plan.moves.copies) {
    sends.push_back({.peer = plan.rank, .in = in(copy.in).at, .bytes = in(copy.in).bytes});
    receives.push_back({.peer = plan.rank, .out = out(copy.out).at, .bytes = out(copy.out).bytes});
  }
  for (const auto& receive : plan.moves.receives) {
    receives.push_back(
        {.peer = receive.peer, .out = out(receive.out).at, .bytes = out(receive.out).bytes, .step = receive.step});
  }
}

Status CompileGroup(std::span<const TransferRequest> sends, std::span<const TransferRequest> receives, int rank,
                    const Layout& layout, const GroupLimits& limits, Group& group, OwnCopies& beside) {
  if (sends.size() + receives.size() > kMaxTransfers) return TooLarge(sends.size() + receives.size());
  SetOffsets(layout, rank, group);
  group.transfers = 0;
  group.lanes = 0;
  group.teams = 0;
  beside.count = 0;
  const int ranks = layout.transfers.ranks;
  const LinkChannels most_channels(layout, limits);
  Chains chains[3];
  ForEachWithAPeer(sends, receives, rank, [&](GroupLane::Kind kind, const TransferRequest& request) {
    GroupTransfer& transfer = Append(group, chains[kind], request.peer);
    Cut(transfer, request.bytes, most_channels, limits, group.ring_bytes[kSimple]);
    transfer.in = static_cast<const std::byte*>(request.in);
    transfer.out = kind == GroupLane::kReceive ? static_cast<std::byte*>(request.out) : nullptr;
    chains[kind].channels[request.peer] = std::max(chains[kind].channels[request.peer], transfer.channels);
  });
  AddCopies(sends, receives, rank, limits, group, chains[GroupLane::kCopy], beside);
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
  SetBlocks(limits, group);
  return Status::Ok();
}

std::vector<std::uint16_t> ListSteps(std::span<const TransferRequest> sends, std::span<const TransferRequest> receives,
                                     int rank) {
  std::vector<std::uint16_t> steps;
  ForEachWithAPeer(sends, receives, rank, [&](GroupLane::Kind, const TransferRequest& request) {
    steps.push_back(static_cast<std::uint16_t>(request.step));
  });
  return steps;
}

bool ChangeBuffers(const PreparedPlan& plan, const GroupData& data, Group& group) {
  const auto nothing = [](const auto& block) { return block.bytes == 0; };
  if (!plan.moves.copies.empty() || std::ranges::any_of(data.in, nothing) || std::ranges::any_of(data.out, nothing)) {
    return false;
  }
  GroupTransfer* transfer = group.transfer;  // sends first, then receives, in the order of blocks
  for (const GroupData::In& in : data.in) (transfer++)->in = static_cast<const std::byte*>(in.at);
  for (const GroupData::Out& out : data.out) (transfer++)->out = static_cast<std::byte*>(out.at);
  return true;
}

}  // namespace tutti::exec::gpu
