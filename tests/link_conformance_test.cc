// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
// What every link must do, whatever its transport and protocol: messages of any size arrive whole and in order, however
// many are in flight, through any number of passes of its rings; and its set-up refuses what is not a link.
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <deque>
#include <random>
#include <span>
#include <thread>

#include "exec/cpu/wire.h"
#include "proto/protocol.h"
#include "sys/os/mappings.h"
#include "sys/os/process.h"
#include "transport/shm/fabric.h"

namespace tutti {
namespace {

using exec::cpu::ReadLl;
using exec::cpu::ReadLl128;
using proto::Protocol;
using transport::shm::Fabric;
using transport::shm::RankState;
using transport::shm::Segment;

// Two ranks of this process with all their links.
struct Pair {
  Pair() {
    for (int r = 0; r < 2; ++r) {
      Result<Fabric> f = Fabric::Create({.rank = r, .ranks = 2, .channels = 2, .shared_bytes = 1 << 20});
      EXPECT_TRUE(f.ok()) << f.status().message();
      fabrics.push_back(std::move(*f));
    }
    for (int r = 0; r < 2; ++r) {
      for (int peer = 0; peer < 2; ++peer) {
        EXPECT_TRUE(fabrics[r].Connect(peer, fabrics[peer].own().fd(), sys::Self()).ok());
      }
    }
    for (Fabric& f : fabrics) f.FinishConnecting();
  }
  std::deque<Fabric> fabrics;
};

constexpr std::uint64_t kMark = 0x123456789abcdef0;  // of some call

// A message of `bytes` bytes that says which one it is.
std::vector<std::byte> Message(std::size_t index, std::size_t bytes) {
  std::vector<std::byte> data(bytes);
  for (std::size_t i = 0; i < bytes; ++i) data[i] = static_cast<std::byte>(index * 31 + i * 7 + (i >> 8));
  return data;
}

bool TryWrite(Fabric& f, int channel, int peer, Protocol protocol, const std::vector<std::byte>& data,
              std::uint64_t mark = kMark) {
  transport::Outgoing& tx = f.out(channel, peer);
  const transport::RingSizes& rings = f.rings();
  const bool awaited = data.size() % 2 == 0;
  if (protocol == Protocol::kLl) {
    if (!exec::cpu::RoomLl(tx, rings, data.size(), 2)) return false;
    exec::cpu::WriteLl(tx, rings, mark, data.data(), data.size(), awaited);
  } else if (protocol == Protocol::kLl128) {
    if (!exec::cpu::RoomLl128(tx, rings, data.size(), 2)) return false;
    exec::cpu::WriteLl128(tx, rings, mark, data.data(), data.size(), awaited);
  } else {
    // Of the pool, one ring of 64 slots of 1 KiB per channel.
    if (!exec::cpu::RoomPost(tx, rings)) return false;
    const std::uint64_t offset = (channel * 64 + tx.post_head % 64) * 1024;
    std::copy(data.begin(), data.end(), f.own().pool() + offset);
    exec::cpu::WritePost(tx, rings, mark, proto::PostKind::kPool, offset, data.size());
  }
  return true;
}

bool TryRead(Fabric& f, int channel, int peer, Protocol protocol, std::vector<std::byte>& data, std::size_t& progress,
             std::uint64_t mark = kMark) {
  transport::Incoming& rx = f.in(channel, peer);
  if (protocol == Protocol::kLl) return ReadLl(rx, f.rings(), mark, data.data(), data.size(), progress, 10);
  if (protocol == Protocol::kLl128) return ReadLl128(rx, f.rings(), mark, data.data(), data.size(), progress, 10);
  const proto::Post* post = exec::cpu::ReadPost(rx, f.rings(), mark, 10);
  if (post == nullptr) return false;
  EXPECT_EQ(post->bytes, data.size());
  std::copy_n(rx.PoolData(post->address, data.size(), data.size()), data.size(), data.begin());
  exec::cpu::ReleasePosts(rx);
  return true;
}

class Link : public testing::TestWithParam<Protocol> {};

// One writer and one reader thread, sizes from 0 bytes to the largest, thousands of passes of the ring.
TEST_P(Link, KeepsOrderAndContentUnderLoad) {
  Pair pair;
  constexpr int kMessages = 20000;
  const auto size_of = [](int i) { return std::size_t{i % 97 == 0 ? 1000u : static_cast<unsigned>(i * 7 % 131)}; };
  std::thread writer([&] {
    for (int i = 0; i < kMessages; ++i) {
      const std::vector<std::byte> data = Message(i, size_of(i));
      while (!TryWrite(pair.fabrics[0], i % 2, 1, GetParam(), data)) std::this_thread::yield();
    }
  });
  int wrong = 0;
  for (int i = 0; i < kMessages; ++i) {
    std::vector<std::byte> got(size_of(i));
    std::size_t progress = 0;
    while (!TryRead(pair.fabrics[1], i % 2, 0, GetParam(), got, progress)) std::this_thread::yield();
    wrong += got != Message(i, size_of(i));
  }
  writer.join();
  EXPECT_EQ(wrong, 0);
}

// Without a reader the link fills, refuses, and goes on exactly where it stopped once it is read.
TEST_P(Link, FillsUpRefusesAndResumes) {
  Pair pair;
  const std::vector<std::byte> data = Message(1, 100);
  int in_flight = 0;
  while (TryWrite(pair.fabrics[0], 0, 1, GetParam(), data)) ASSERT_LT(++in_flight, 100000);
  EXPECT_GE(in_flight, 2);
  EXPECT_FALSE(TryWrite(pair.fabrics[0], 0, 1, GetParam(), data));
  for (int i = 0; i < in_flight; ++i) {
    std::vector<std::byte> got(100);
    std::size_t progress = 0;
    ASSERT_TRUE(TryRead(pair.fabrics[1], 0, 0, GetParam(), got, progress));
    EXPECT_EQ(got, data);
  }
  std::vector<std::byte> got(100);
  std::size_t progress = 0;
  EXPECT_FALSE(TryRead(pair.fabrics[1], 0, 0, GetParam(), got, progress));
  EXPECT_TRUE(TryWrite(pair.fabrics[0], 0, 1, GetParam(), data));
}

// Up to 56 bytes come in one cache line of the two.
TEST(LinkLl128, ShortDataLieBesideTheFlag) {
  for (const std::size_t bytes : {1u, 8u, 55u, 56u, 57u, 119u, 120u, 121u, 176u, 177u}) {
    SCOPED_TRACE(bytes);
    Pair pair;
    const proto::Ll128Line* const lines = pair.fabrics[1].in(0, 0).ll128;
    const std::vector<std::byte> data = Message(3, bytes);
    ASSERT_TRUE(TryWrite(pair.fabrics[0], 0, 1, Protocol::kLl128, data));
    const std::size_t last = (bytes - 1) / 120, rest = bytes - last * 120;
    const bool untouched = std::ranges::all_of(std::span(lines[last].data).first(64), [](auto b) { return b == 0; });
    EXPECT_EQ(untouched, rest <= 56);
    std::vector<std::byte> got(bytes);
    std::size_t progress = 0;
    ASSERT_TRUE(TryRead(pair.fabrics[1], 0, 0, Protocol::kLl128, got, progress));
    EXPECT_EQ(got, data);
  }
}

// A sender that has run into the receiver goes on as soon as a quarter of the ring is free, not sooner.
TEST(LinkLl, RoomComesInBatches) {
  Pair pair;
  const std::vector<std::byte> data = Message(1, 8);
  while (TryWrite(pair.fabrics[0], 0, 1, Protocol::kLl, data)) {
  }
  const std::size_t units = pair.fabrics[0].rings().ll_units();
  for (std::size_t i = 1; i <= units / 4; ++i) {
    EXPECT_FALSE(TryWrite(pair.fabrics[0], 0, 1, Protocol::kLl, data)) << i;
    std::vector<std::byte> got(8);
    std::size_t progress = 0;
    ASSERT_TRUE(TryRead(pair.fabrics[1], 0, 0, Protocol::kLl, got, progress));
  }
  EXPECT_TRUE(TryWrite(pair.fabrics[0], 0, 1, Protocol::kLl, data));
}

// The two directions and the channels do not see each other.
TEST_P(Link, DirectionsAndChannelsAreSeparate) {
  Pair pair;
  ASSERT_TRUE(TryWrite(pair.fabrics[0], 0, 1, GetParam(), Message(1, 40)));
  ASSERT_TRUE(TryWrite(pair.fabrics[0], 1, 1, GetParam(), Message(2, 40)));
  ASSERT_TRUE(TryWrite(pair.fabrics[1], 0, 0, GetParam(), Message(3, 40)));
  for (const auto& [reader, channel, index] : {std::tuple{1, 1, 2}, {0, 0, 3}, {1, 0, 1}}) {
    std::vector<std::byte> got(40);
    std::size_t progress = 0;
    ASSERT_TRUE(TryRead(pair.fabrics[reader], channel, 1 - reader, GetParam(), got, progress));
    EXPECT_EQ(got, Message(index, 40));
  }
}

// The 8 bits of a flag that count passes wrap: the pass before and the pass after must still be told apart.
TEST(LinkLl, FlagWrapsAround) {
  Pair pair;
  const transport::RingSizes& rings = pair.fabrics[0].rings();
  const std::uint64_t start = (std::uint64_t{0xffffffff} << rings.log2_ll_units) - rings.ll_units();
  transport::Outgoing& tx = pair.fabrics[0].out(0, 1);
  transport::Incoming& rx = pair.fabrics[1].in(0, 0);
  tx.ll_head = tx.ll_consumed = rx.ll_head = start;
  rx.credit->ll_units = start;
  for (std::size_t i = 0; i < 4 * rings.ll_units(); ++i) {
    std::vector<std::byte> got(8);
    std::size_t progress = 0;
    ASSERT_FALSE(TryRead(pair.fabrics[1], 0, 0, Protocol::kLl, got, progress)) << i;
    ASSERT_TRUE(TryWrite(pair.fabrics[0], 0, 1, Protocol::kLl, Message(i, 8)));
    ASSERT_TRUE(TryRead(pair.fabrics[1], 0, 0, Protocol::kLl, got, progress)) << i;
    ASSERT_EQ(got, Message(i, 8));
  }
}

// What another call sent is not taken, however often it is looked for, through any number of passes; it can be told from
// nothing, and the call that it belongs to can take it.
TEST_P(Link, TakesNoMessageOfAnotherCall) {
  Pair pair;
  transport::Incoming& rx = pair.fabrics[1].in(0, 0);
  const transport::RingSizes& rings = pair.fabrics[0].rings();
  for (std::uint64_t i = 0; i < 3 * rings.ll128_lines() * 256; ++i) {
    const std::uint64_t mark = kMark + i * 0x9e3779b97f4a7c15u, other = mark + 0x9e3779b97f4a7c15u;
    const bool look = i < 2000 || i % 97 == 0;
    std::vector<std::byte> got(8);
    std::size_t progress = 0;
    if (look) {
      ASSERT_FALSE(exec::cpu::PeekNext(rx, rings, GetParam()).arrived) << i;
    }
    ASSERT_TRUE(TryWrite(pair.fabrics[0], 0, 1, GetParam(), Message(i, 8), mark));
    if (look) {
      ASSERT_FALSE(TryRead(pair.fabrics[1], 0, 0, GetParam(), got, progress, other)) << i;
      const exec::cpu::Next next = exec::cpu::PeekNext(rx, rings, GetParam());
      ASSERT_TRUE(next.arrived);
      ASSERT_EQ(next.mark, mark & next.bits);
      ASSERT_NE(next.mark, other & next.bits);
    }
    ASSERT_TRUE(TryRead(pair.fabrics[1], 0, 0, GetParam(), got, progress, mark)) << i;
    ASSERT_EQ(got, Message(i, 8));
  }
}

INSTANTIATE_TEST_SUITE_P(Protocols, Link, testing::Values(Protocol::kLl, Protocol::kLl128, Protocol::kSimple),
                         [](const auto& test) { return std::string(proto::Name(test.param)); });

TEST(Segment, SaysWhatItsOwnerSaid) {
  Pair pair;
  EXPECT_TRUE(pair.fabrics[0].EveryoneConnected());
  EXPECT_TRUE(pair.fabrics[0].EveryoneCanRefer());
  EXPECT_EQ(pair.fabrics[0].StateOf(1), RankState::kReady);
  pair.fabrics[1].own().PublishFailure(Code::kTimeout, std::string(2000, 'x'), 0);
  pair.fabrics[1].own().PublishFailure(Code::kInternal, "later", 1);
  const transport::shm::PeerState said = pair.fabrics[0].Describe(1);
  EXPECT_EQ(said.state, RankState::kFailed);
  EXPECT_EQ(said.code, Code::kTimeout);
  EXPECT_EQ(said.culprit, 0);
  EXPECT_EQ(said.reason, std::string(transport::shm::kReasonBytes - 1, 'x'));
}

TEST(Segment, RefusesWhatIsNotOne) {
  const transport::shm::Geometry geometry = transport::shm::MakeGeometry(2, 1, 1 << 20);
  Result<sys::Fd> zeros = sys::CreateSharedMemory("test", geometry.bytes);
  Result<sys::Fd> small = sys::CreateSharedMemory("test", 4096);
  ASSERT_TRUE(zeros.ok() && small.ok());
  EXPECT_FALSE(Segment::Open(geometry, 1, *zeros).ok());
  EXPECT_FALSE(Segment::Open(geometry, 1, *small).ok());
  Result<Segment> other = Segment::Create(geometry, 0);
  ASSERT_TRUE(other.ok());
  const Result<Segment> wrong_rank = Segment::Open(geometry, 1, other->fd());
  ASSERT_FALSE(wrong_rank.ok());
  EXPECT_NE(wrong_rank.status().message().find("rank 1"), std::string::npos);
}

// The mapping of this process that holds `address`.
sys::Mapping MappingOf(const std::byte* address) {
  const Result<std::vector<sys::Mapping>> all = sys::ReadMappings(getpid());
  const auto where = reinterpret_cast<std::uint64_t>(address);
  for (const sys::Mapping& mapping : all.ok() ? *all : std::vector<sys::Mapping>{}) {
    if (mapping.begin <= where && where < mapping.end) return mapping;
  }
  return {};
}

// A rank's segment as a process sees it in which the rank is not: what this one had mapped of it has gone.
sys::Fd OfARankElsewhere(const transport::shm::Geometry& geometry) {
  Result<Segment> own = Segment::Create(geometry, 1);
  EXPECT_TRUE(own.ok());
  own->pool()[5] = std::byte{42};
  return std::move(*own->fd().Duplicate());
}

TEST(Segment, APeersPoolIsMappedASecondTimeToReadLongMessages) {
  const transport::shm::Geometry geometry = transport::shm::MakeGeometry(2, 1, 1 << 20);
  const sys::Fd fd = OfARankElsewhere(geometry);
  Result<Segment> peer = Segment::Open(geometry, 1, fd);
  ASSERT_TRUE(peer.ok()) << peer.status().ToString();
  const std::byte* again = peer->pool_for_long_messages();
  ASSERT_NE(again, peer->pool());
  EXPECT_EQ(std::to_integer<int>(peer->pool()[5]), 42);
  EXPECT_EQ(std::to_integer<int>(again[5]), 42);
  EXPECT_FALSE(MappingOf(reinterpret_cast<std::byte*>(peer->header())).writable);
  EXPECT_FALSE(MappingOf(peer->pool()).writable);
  EXPECT_TRUE(MappingOf(again).writable);
  EXPECT_EQ(MappingOf(again).end - MappingOf(again).begin, geometry.pool_bytes);
  // All ranks of this process share both.
  Result<Segment> same = Segment::Open(geometry, 1, fd);
  ASSERT_TRUE(same.ok());
  EXPECT_EQ(same->pool(), peer->pool());
  EXPECT_EQ(same->pool_for_long_messages(), again);
  *peer = Segment();
  *same = Segment();
  EXPECT_FALSE(MappingOf(again).writable);
}

TEST(Segment, OneMappingHasToDoWhereTheSecondFails) {
  const transport::shm::Geometry geometry = transport::shm::MakeGeometry(2, 1, 1 << 20);
  const sys::Fd fd = OfARankElsewhere(geometry);
  const Result<sys::Fd> read_only = sys::ReopenReadOnly(fd);
  ASSERT_TRUE(read_only.ok());
  const Result<Segment> peer = Segment::Open(geometry, 1, *read_only);
  ASSERT_TRUE(peer.ok()) << peer.status().ToString();
  EXPECT_EQ(peer->pool_for_long_messages(), peer->pool());
}

TEST(Segment, ARankOfThisProcessIsMappedOnce) {
  const transport::shm::Geometry geometry = transport::shm::MakeGeometry(2, 1, 1 << 20);
  const Result<Segment> own = Segment::Create(geometry, 1);
  ASSERT_TRUE(own.ok());
  const Result<Segment> peer = Segment::Open(geometry, 1, own->fd());
  ASSERT_TRUE(peer.ok());
  EXPECT_EQ(peer->pool(), own->pool());
  EXPECT_EQ(peer->pool_for_long_messages(), own->pool());
}

TEST(Segment, OnlyLongMessagesAreReadThroughTheSecondMapping) {
  const std::byte pools[2] = {};
  transport::Incoming rx;
  rx.short_pool = &pools[0];
  rx.long_pool = &pools[1];
  const std::size_t border = transport::kShortPoolMessageBytes;
  EXPECT_EQ(rx.PoolData(0, 0, 8192), &pools[0]);
  EXPECT_EQ(rx.PoolData(0, border, 8192), &pools[0]);
  EXPECT_EQ(rx.PoolData(0, border + 1, 8192), &pools[1]);
  EXPECT_EQ(rx.PoolData(0, 8192, 8192), &pools[1]);
  EXPECT_EQ(rx.PoolData(0, 8193, 8192), &pools[0]);
}

// However many ranks: everything lies inside, aligned, and the shared pages stay within what is promised.
TEST(Geometry, FitsItsBudget) {
  for (int ranks = 2; ranks <= 1024; ranks = ranks * 3 / 2 + 1) {
    for (const int channels : {1, 2}) {
      const transport::shm::Geometry g = transport::shm::MakeGeometry(ranks, channels, 6 << 20);
      EXPECT_LE(g.rings_offset + g.lane_bytes * ranks * channels, g.pool_offset);
      EXPECT_EQ(g.pool_offset + g.pool_bytes, g.bytes);
      EXPECT_EQ(g.rings_offset % 128, 0u);
      EXPECT_EQ(g.lane_bytes % 128, 0u);
      EXPECT_GE(std::min({g.rings.posts(), g.rings.ll_units(), g.rings.ll128_lines()}), 32u);
      if (ranks * channels <= 512) {
        EXPECT_LE(g.bytes, std::size_t{8} << 20) << ranks;
      }
    }
  }
}

}  // namespace
}  // namespace tutti
