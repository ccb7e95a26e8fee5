// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "exec/gpu/format/transfer.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <span>
#include <vector>

#include "algo/algorithm.h"
#include "exec/gpu/lower/compile.h"
#include "proto/protocol.h"
#include "tests/gpu/cuts.h"
#include "transport/p2p/segment.h"

// How groups of sends and receives are cut, and the segments that their rings lie in.

namespace tutti::exec::gpu {
namespace {

using transport::p2p::Geometry;
using transport::p2p::Layout;

TEST(Transfers, OtherBuffersChangeNothingButAddresses) {
  std::vector<std::byte> memory(4096);
  const Layout layout = Layout::Fit(4, 64, std::size_t{64} << 20);
  std::vector<algo::Transfer> to, from;
  GroupData data;
  for (int i = 0; i < 7; ++i) {
    to.push_back({.peer = 2 + i % 2, .count = 1});
    from.push_back({.peer = 3 * (i % 2), .count = 1});
    data.in.push_back({memory.data() + i, 100 + (std::size_t{1} << (3 * i))});
    data.out.push_back({memory.data() + 2 * i, 200 + (std::size_t{1} << (3 * i))});
  }
  const PreparedPlan plan = PrepareGroup(algo::BuildSendRecv(1, 4, to, from));
  std::vector<TransferRequest> sends, receives;
  ListRequests(plan, data, sends, receives);
  const auto group = std::make_unique<Group>(), expected = std::make_unique<Group>();
  OwnCopies beside;
  const GroupLimits limits{.cuts = Cuts(), .most_blocks = 64};
  ASSERT_TRUE(CompileGroup(sends, receives, 1, layout, limits, *group, beside).ok());
  std::memcpy(expected.get(), group.get(), sizeof(Group));
  for (std::size_t i = 0; i < data.in.size(); ++i) {
    data.in[i].at = memory.data() + 300 + 3 * i;
    data.out[i].at = memory.data() + 500 + 5 * i;
  }
  ListRequests(plan, data, sends, receives);
  ASSERT_TRUE(CompileGroup(sends, receives, 1, layout, limits, *expected, beside).ok());
  EXPECT_NE(std::memcmp(expected.get(), group.get(), sizeof(Group)), 0);
  ASSERT_TRUE(ChangeBuffers(plan, data, *group));
  EXPECT_EQ(std::memcmp(expected.get(), group.get(), sizeof(Group)), 0);
  // What moves nothing, or stays here, has a place of its own in the group.
  data.in[3].bytes = 0;
  EXPECT_FALSE(ChangeBuffers(plan, data, *group));
  data.in[3].bytes = 1;
  to[3].peer = from[3].peer = 1;
  EXPECT_FALSE(ChangeBuffers(PrepareGroup(algo::BuildSendRecv(1, 4, to, from)), data, *group));
}

void ExpectWithinBlocks(int ranks, std::size_t bytes) {
  std::vector<std::byte> in(bytes), out(bytes);
  const Layout layout = Layout::Fit(ranks, 64, std::size_t{64} << 20);
  for (int most_blocks : {1, 2, 3, 7, 8, 31, 64, 132}) {
    std::vector<TransferRequest> sends, receives;
    for (int peer = 0; peer < ranks; ++peer) {
      sends.push_back({.peer = peer, .in = in.data(), .bytes = bytes});
      receives.push_back({.peer = peer, .out = out.data(), .bytes = bytes});
    }
    const auto group = std::make_unique<Group>();
    OwnCopies beside;
    const GroupLimits limits{.cuts = Cuts(), .most_blocks = most_blocks};
    ASSERT_TRUE(CompileGroup(sends, receives, 0, layout, limits, *group, beside).ok());
    const auto what = testing::Message() << ranks << " ranks, " << most_blocks << " blocks, " << bytes << " bytes";
    EXPECT_EQ(beside.count, 0) << what;
    EXPECT_GE(group->blocks, 1) << what;
    EXPECT_LE(group->blocks, most_blocks) << what;
    EXPECT_GE(group->blocks * group->teams_per_block, group->teams) << what;
    EXPECT_LE(group->teams_per_block << group->log2_team_threads, kWideThreads) << what;
    const bool heralds = group->kernel == GroupKernel::kLarge;
    EXPECT_EQ(group->log2_team_threads, group->teams_per_block > kUsualTeams ? 5
                                        : heralds                            ? Log2TeamThreads(group->teams_per_block)
                                                                             : kLog2TeamThreads)
        << what;
    EXPECT_LE(group->teams_per_block * ((1 << group->log2_team_threads) + (heralds ? 32 : 0)),
              heralds ? kLargeThreads : kWideThreads)
        << what;
    int teams = 0;
    for (int l = 0; l < group->lanes; ++l) {
      EXPECT_EQ(group->lane[l].first_team, teams) << what;
      teams += group->lane[l].channels;
    }
    EXPECT_EQ(group->teams, teams) << what;
    const bool large = bytes > std::size_t{1} << 20;
    const auto kernel = group->teams_per_block > kUsualTeams ? GroupKernel::kWide
                        : large                              ? GroupKernel::kLarge
                                                             : GroupKernel::kUsual;
    EXPECT_EQ(group->kernel, kernel) << what;
  }
}

TEST(Transfers, NeverHaveMoreBlocksThanAllowed) {
  for (int ranks : {1, 2, 3, 8, 16}) {
    ExpectWithinBlocks(ranks, std::size_t{1} << 20);
    ExpectWithinBlocks(ranks, (std::size_t{3} << 20) + 5);
  }
}

TEST(Transfers, LeaveLargeCopiesToSelfToCopyEngines) {
  std::vector<std::byte> buffer(2000);
  const Layout layout = Layout::Fit(2, 64, std::size_t{64} << 20);
  const GroupLimits limits{.cuts = Cuts(), .most_blocks = 8, .own_beside_bytes = 100};
  std::byte* at = buffer.data();
  const std::vector<TransferRequest> sends = {{.peer = 0, .in = at, .bytes = 99},
                                              {.peer = 0, .in = at + 100, .bytes = 100},
                                              {.peer = 1, .in = at, .bytes = 500},
                                              {.peer = 0, .in = at + 300, .bytes = 200}};  // in place
  const std::vector<TransferRequest> receives = {{.peer = 0, .out = at + 1000, .bytes = 99},
                                                 {.peer = 0, .out = at + 1100, .bytes = 100},
                                                 {.peer = 0, .out = at + 300, .bytes = 200}};
  const auto group = std::make_unique<Group>();
  OwnCopies beside;
  ASSERT_TRUE(CompileGroup(sends, receives, 0, layout, limits, *group, beside).ok());
  ASSERT_EQ(beside.count, 1);
  EXPECT_EQ(beside.copies[0].from, at + 100);
  EXPECT_EQ(beside.copies[0].to, at + 1100);
  EXPECT_EQ(beside.copies[0].bytes, 100u);
  ASSERT_EQ(group->transfers, 2);  // one to rank 1, one to self
  EXPECT_EQ(group->transfer[0].bytes, 500u);
  EXPECT_EQ(group->transfer[1].bytes, 99u);

  // More than there are places for stay in the kernel.
  std::vector<TransferRequest> many, back;
  for (int i = 0; i <= kMostOwnCopies; ++i) {
    many.push_back({.peer = 0, .in = at + i, .bytes = 100});
    back.push_back({.peer = 0, .out = at + 1000 + i, .bytes = 100});
  }
  ASSERT_TRUE(CompileGroup(many, back, 0, layout, limits, *group, beside).ok());
  EXPECT_EQ(beside.count, kMostOwnCopies);
  EXPECT_EQ(group->transfers, 1);
}

// Groups of long transfers leave the rest of the GPU to others.
TEST(Transfers, LongOnesTakeAPartOfTheBlocks) {
  const std::size_t long_bytes = Cuts().short_bytes + 1;
  std::vector<std::byte> buffer(1);  // only its address is used
  std::byte* at = buffer.data();
  const Layout layout = Layout::Fit(2, 128, std::size_t{64} << 20);
  const GroupLimits limits{.cuts = Cuts(), .most_blocks = 128, .team_blocks = 32};
  const auto group = std::make_unique<Group>();
  OwnCopies beside;
  const auto blocks = [&](std::size_t bytes, bool receives, bool copies) -> int {
    std::vector<TransferRequest> sends = {{.peer = 1, .in = at, .bytes = bytes}}, all;
    if (receives) all.push_back({.peer = 1, .out = at, .bytes = bytes});
    if (copies) sends.push_back({.peer = 0, .in = at + 2 * long_bytes, .bytes = bytes});
    if (copies) all.push_back({.peer = 0, .out = at + 4 * long_bytes, .bytes = bytes});
    EXPECT_TRUE(CompileGroup(sends, all, 0, layout, limits, *group, beside).ok());
    return group->blocks;
  };
  EXPECT_EQ(blocks(long_bytes, true, false), 32);
  // Of 4 teams in a block one is for copies, two directions share the others.
  EXPECT_EQ(group->transfer[0].channels, 48);
  EXPECT_EQ(blocks(long_bytes, true, true), 32);
  EXPECT_EQ(blocks(long_bytes, false, true), 64);  // the root of a scatter
  EXPECT_EQ(blocks(Cuts().short_bytes, true, false), 128);
  EXPECT_EQ(group->transfer[0].channels, 128);
  EXPECT_GT(blocks(std::size_t{2} << 20, true, false), 64);
}

// Among more ranks too, a link to one peer has the channels that it needs.
TEST(Transfers, LongOnesToOnePeerHaveManyChannels) {
  std::vector<std::byte> buffer(1);
  const auto group = std::make_unique<Group>();
  OwnCopies beside;
  for (const int ranks : {4, 8}) {
    const Layout layout = Layout::Fit(ranks, 128, std::size_t{64} << 20);
    const TransferRequest send{.peer = 1, .in = buffer.data(), .bytes = std::size_t{64} << 20};
    const TransferRequest receive{.peer = ranks - 1, .out = buffer.data(), .bytes = std::size_t{64} << 20};
    GroupLimits limits{.cuts = Cuts(), .most_blocks = 128, .team_blocks = 32};
    ASSERT_TRUE(CompileGroup(std::span(&send, 1), std::span(&receive, 1), 0, layout, limits, *group, beside).ok());
    EXPECT_EQ(group->transfer[0].channels, ranks == 4 ? 48 : 27) << ranks;
    EXPECT_EQ(group->blocks, 32) << ranks;
    limits.lanes = 2 * (ranks - 1);  // an all_gather: the links of all peers together
    ASSERT_TRUE(CompileGroup(std::span(&send, 1), std::span(&receive, 1), 0, layout, limits, *group, beside).ok());
    EXPECT_EQ(group->transfer[0].channels, 96 / limits.lanes) << ranks;
  }
}

TEST(Transfers, ASendOfWhatTheRankKeepsStoresItToo) {
  std::vector<std::byte> in(4000), out(4000);
  const Layout layout = Layout::Fit(3, 64, std::size_t{64} << 20);
  const auto group = std::make_unique<Group>();
  OwnCopies beside;
  std::vector<TransferRequest> sends;
  for (const int peer : {1, 2, 0}) sends.push_back({.peer = peer, .in = in.data(), .bytes = 1000});
  const TransferRequest receive{.peer = 0, .out = out.data(), .bytes = 1000};
  ASSERT_TRUE(
      CompileGroup(sends, std::span(&receive, 1), 0, layout, {.cuts = Cuts(), .most_blocks = 8}, *group, beside).ok());
  ASSERT_EQ(group->transfers, 2);
  EXPECT_EQ(group->lanes, 2);
  EXPECT_EQ(group->transfer[0].out, out.data());
  EXPECT_EQ(group->transfer[1].out, nullptr);

  // A rank that only sends may have another limit from which on it leaves that to a copy engine.
  GroupLimits limits{.cuts = Cuts(), .most_blocks = 8, .own_beside_bytes = 100};
  ASSERT_TRUE(CompileGroup(sends, std::span(&receive, 1), 0, layout, limits, *group, beside).ok());
  EXPECT_EQ(beside.count, 0);
  EXPECT_EQ(group->transfer[0].out, out.data());
  limits.sent_beside_bytes = 1000;
  ASSERT_TRUE(CompileGroup(sends, std::span(&receive, 1), 0, layout, limits, *group, beside).ok());
  EXPECT_EQ(beside.count, 1);
  EXPECT_EQ(group->transfer[0].out, nullptr);
  limits.sent_beside_bytes = SIZE_MAX;
  const std::vector<TransferRequest> two = {receive, {.peer = 1, .out = in.data() + 3000, .bytes = 8}};
  ASSERT_TRUE(CompileGroup(sends, two, 0, layout, limits, *group, beside).ok());
  EXPECT_EQ(beside.count, 1);

  // Other data, or more of it, is copied apart.
  sends[2].in = in.data() + 16;
  ASSERT_TRUE(
      CompileGroup(sends, std::span(&receive, 1), 0, layout, {.cuts = Cuts(), .most_blocks = 8}, *group, beside).ok());
  ASSERT_EQ(group->transfers, 3);
  EXPECT_EQ(group->transfer[0].out, nullptr);
  EXPECT_EQ(group->transfer[2].out, out.data());
  EXPECT_EQ(group->lanes, 3);
}

TEST(Transfers, LinksThatAreKnownToBeUsedGetAllTeams) {
  std::vector<std::byte> buffer(std::size_t{8} << 20);
  const Layout layout = Layout::Fit(2, 8, std::size_t{64} << 20);
  const TransferRequest send{.peer = 1, .in = buffer.data(), .bytes = buffer.size()};
  const auto group = std::make_unique<Group>();
  OwnCopies beside;
  int teams[2];
  for (const int lanes : {1, 2}) {
    const GroupLimits limits{.cuts = Cuts(), .most_blocks = 8, .lanes = lanes};
    ASSERT_TRUE(CompileGroup(std::span(&send, 1), {}, 0, layout, limits, *group, beside).ok());
    teams[lanes - 1] = group->teams;
    EXPECT_EQ(group->blocks, 8);
  }
  EXPECT_EQ(teams[0], 24);  // 4 in each block, but for one that copies to self
  EXPECT_EQ(teams[1], 12);
}

TEST(Transfers, AreCutIntoPartsThatCoverThem) {
  const Layout layout = Layout::Fit(2, 128, std::size_t{64} << 20);
  const auto group = std::make_unique<Group>();
  OwnCopies beside;
  std::vector<std::byte> data(1);
  for (const std::size_t bytes :
       {1ul, 3840ul, 3841ul, 100'000ul, 262'144ul, 262'145ul, 1ul << 20, 3ul << 30, 5ul << 40}) {
    const TransferRequest send{.peer = 1, .in = data.data(), .bytes = bytes};
    ASSERT_TRUE(
        CompileGroup(std::span(&send, 1), {}, 0, layout, {.cuts = Cuts(), .most_blocks = 128}, *group, beside).ok());
    const GroupTransfer& transfer = group->transfer[0];
    const std::size_t part = transfer.part_lines * kPartLine;
    EXPECT_GE(part * transfer.channels, bytes);
    EXPECT_LT(part * transfer.channels, bytes + (kPartLine + 1) * transfer.channels);
    if (bytes <= 262'144) {
      EXPECT_LE(part, 3840) << bytes;  // a unit for each of four warps
    }
  }
}

TEST(Transfers, GoWithoutLinesWhereThoseComeInParts) {
  std::vector<std::byte> buffer(std::size_t{2} << 20);
  const Layout layout = Layout::Fit(2, 64, std::size_t{64} << 20);
  for (const bool whole_lines : {false, true}) {
    for (const std::size_t bytes : {std::size_t{1}, std::size_t{5000}, buffer.size()}) {
      const TransferRequest send{.peer = 1, .in = buffer.data(), .bytes = bytes};
      const auto group = std::make_unique<Group>();
      const GroupLimits limits{.cuts = Cuts(), .most_blocks = 8, .whole_lines = whole_lines};
      OwnCopies beside;
      ASSERT_TRUE(CompileGroup(std::span(&send, 1), {}, 0, layout, limits, *group, beside).ok());
      EXPECT_EQ(group->transfer[0].IsSimple(), !whole_lines || bytes == buffer.size()) << bytes;
    }
  }
}

TEST(Transfers, LongPartsHaveLongMessages) {
  EXPECT_EQ(MostOfMessage(Cuts(), 1, 8192), 2048u);  // the smallest ring
  EXPECT_EQ(MostOfMessage(Cuts(), std::uint64_t{1} << 40, 8192), 2048u);
  EXPECT_EQ(MostOfMessage(Cuts(), 100'000, 262'144), 32768u);
  EXPECT_EQ(MostOfMessage(Cuts(), 400'000, 262'144), 49152u);
  EXPECT_EQ(MostOfMessage(Cuts(), std::uint64_t{1} << 40, 262'144), 65536u);
  EXPECT_EQ(MostOfMessage(Cuts(), 100'000, 524'288), 65536u);
  std::vector<std::byte> data(1);
  for (int ranks : {2, 4, 8, 16}) {
    for (int channels : {1, 8, 132}) {
      const auto layout = Layout::Fit(ranks, channels, std::size_t{64} << 20);
      const std::size_t ring = layout.transfers.RingBytes(static_cast<int>(proto::Protocol::kSimple));
      for (const std::size_t bytes : {2ul << 20, 100ul << 20, 5ul << 40}) {
        const TransferRequest send{.peer = 1, .in = data.data(), .bytes = bytes};
        const auto group = std::make_unique<Group>();
        OwnCopies beside;
        ASSERT_TRUE(
            CompileGroup(std::span(&send, 1), {}, 0, layout, {.cuts = Cuts(), .most_blocks = channels}, *group, beside)
                .ok());
        const std::size_t message = group->transfer[0].MessageBytes();
        EXPECT_EQ(message,
                  MostOfMessage(Cuts(), group->transfer[0].part_lines * kPartLine, static_cast<std::uint32_t>(ring)));
        EXPECT_LE(4 * message, ring);
      }
    }
  }
}

TEST(Segments, RingsOfTransfersGrowWhereThereAreFew) {
  for (int ranks : {1, 2, 3, 4, 8, 16}) {
    for (int channels : {1, 2, 8, 32, 128}) {
      for (const std::size_t most : {std::size_t{16} << 20, std::size_t{64} << 20}) {
        const auto layout = Layout::Fit(ranks, channels, most);
        EXPECT_LE(layout.Bytes(), most) << ranks << " ranks, " << channels << " channels";
        EXPECT_LE(layout.transfers.channels, channels * 4) << ranks;
        EXPECT_EQ((layout.Transfers() + layout.transfers.Ring(1, 0, 0)) % 128, 0u) << ranks << " ranks, " << channels;
      }
    }
  }
  const auto ring = [](int channels) { return Layout::Fit(2, channels, std::size_t{64} << 20).transfers.RingBytes(2); };
  EXPECT_EQ(ring(128), std::size_t{256} << 10);
  EXPECT_EQ(ring(8), std::size_t{512} << 10);
}

TEST(Segments, ChainsHaveTheRingsOfTransfers) {
  for (int ranks : {2, 3, 4, 5, 8, 16}) {
    for (int channels : {1, 8, 128}) {
      const auto layout = Layout::Fit(ranks, channels, std::size_t{64} << 20);
      const auto& chain = layout.chain;
      const Geometry& g = layout.transfers;
      EXPECT_EQ(chain.channels == 0, ranks == 2) << ranks;
      EXPECT_LE(chain.channels, 255) << ranks;
      const std::size_t ring = chain.rings * g.RingBytes(2);
      EXPECT_LE(chain.channels * ring, static_cast<std::size_t>(g.peers()) * g.channels * g.RingBytes(2)) << ranks;
      EXPECT_GE(layout.ChainFlags(0), layout.Transfers() + g.Bytes());
      EXPECT_GE(layout.ChainCredit(0), layout.ChainFlags(chain.channels));
      EXPECT_GE(layout.TransferState(0, 0, 0, 0), layout.ChainCredit(chain.channels));
      EXPECT_GE(layout.Counts(), layout.ChainState(1, chain.channels));
    }
  }
  const auto four = Layout::Fit(4, 128, std::size_t{64} << 20);
  EXPECT_EQ(four.chain.channels, 96);
  EXPECT_EQ(four.chain.rings * four.transfers.RingBytes(2), std::size_t{256} << 10);
}

TEST(Segments, KeepWithinTheirBytes) {
  for (int ranks : {1, 2, 4, 8, 16}) {
    const Geometry g = Geometry::Fit(ranks, 64, std::size_t{64} << 20);
    EXPECT_LE(g.Bytes(), std::size_t{64} << 20) << ranks;
    EXPECT_GE(g.channels, 16) << ranks;
    EXPECT_EQ(g.State(0, 0) % 128, 0u);
    EXPECT_GE(g.State(0, 0), g.Credit(2, std::max(g.peers() - 1, 0), g.channels - 1));
  }
}

}  // namespace
}  // namespace tutti::exec::gpu
