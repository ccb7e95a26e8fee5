// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_TRANSPORT_P2P_SEGMENT_H_
#define TUTTI_TRANSPORT_P2P_SEGMENT_H_

// Where everything lies in a rank's segment of device memory, which its peers have mapped and write to. Also compiled
// for the device.
//
//   segment := rings of LL | rings of LL128 | rings of Simple | flags of Simple | credits | state | handshake | counts
//
// Rings are for what a rank receives: one per protocol, sender and channel, counted in units:
//
//   LL       unit 16 bytes: a line of 8 bytes of data (proto/ll.h)
//   LL128    unit 1024 bytes: 8 lines of 120 bytes, what a warp stores with two instructions (proto/ll128.h)
//   Simple   unit 16 bytes, all data; whether a message has come says its word in `flags`
//
// Credits are for what a rank sends: a peer writes there up to where it has consumed, one word per protocol, channel
// and peer. State is the rank's own: its position, the same for all of a channel's rings of a protocol (see
// exec/gpu/format/program.h); it lives in device memory, so that a replayed CUDA graph goes on where the last launch ended.

#include <cstddef>
#include <cstdint>

namespace tutti::transport::p2p {

inline constexpr int kSeats = 16;  // ranks that a kernel can name (transport/p2p/sections.h)
inline constexpr int kProtocols = 3;
inline constexpr std::size_t kUnitBytes[kProtocols] = {16, 1024, 16};
inline constexpr std::size_t kUnitPayloadBytes[kProtocols] = {8, 960, 16};
// Flag of the unit with running number `unit`: how often the ring has been filled, from 1. The 32 bits of LL repeat after
// 2^32 passes; a unit that was not written in any of them (shorter messages leave units out) is not to be feared.
constexpr std::uint32_t LlFlag(std::uint64_t unit, std::uint32_t log2_units) {
  return static_cast<std::uint32_t>(unit >> log2_units) + 1;
}
constexpr std::uint64_t Ll128Flag(std::uint64_t unit, std::uint32_t log2_units) { return (unit >> log2_units) + 1; }

// Messages of a link that Simple can have under way, and the flags of each: groups of threads deal with parts of it
// (exec/gpu/device/step_simple.cuh).
inline constexpr int kLog2Flags = 7;
inline constexpr int kFlagGroups = 4;

// Position of one channel's rings of a protocol. All counts only grow.
struct alignas(32) ChannelState {
  std::uint64_t base;       // units that earlier operations have passed, on every link
  std::uint64_t safe;       // units up to which all rings are known to have room
  std::uint64_t published;  // the credit that peers were last given
  std::uint64_t messages;   // Simple: messages that earlier operations have passed
};

// Blocks of kernels and teams of groups, so that who frees memory knows that its own kernels have ended. Those of graphs are counted apart,
// because the host does not see how often they are launched.
struct alignas(32) LaunchCounts {
  std::uint64_t ended;  // not of graphs
  std::uint64_t captured_begun, captured_ended;
  std::uint64_t begun;  // no count, but the number of the last call that has begun (exec::gpu::CallMark)
};

// A rank's place among the peers of another: ranks without oneself, in order.
constexpr int Place(int self, int peer) { return peer < self ? peer : peer - 1; }

// Sizes of a segment; the same on all ranks of a communicator.
struct Geometry {
  int ranks = 1;
  int channels = 1;
  int simple_channels = 0;                 // that have rings of Simple; 0: all
  int log2_units[kProtocols] = {0, 0, 0};  // of one ring

  constexpr std::size_t RingBytes(int protocol) const {
    return (std::size_t{1} << log2_units[protocol]) * kUnitBytes[protocol];
  }
  constexpr int peers() const { return ranks - 1; }
  constexpr int Channels(int protocol) const {
    return protocol == 2 && simple_channels != 0 ? simple_channels : channels;
  }
  // In whole units of LL128, so that its lines lie at multiples of 128 bytes: only there they arrive whole.
  constexpr std::size_t RingsBytes(int protocol) const {
    const std::size_t bytes = static_cast<std::size_t>(peers()) * Channels(protocol) * RingBytes(protocol);
    return (bytes + kUnitBytes[1] - 1) / kUnitBytes[1] * kUnitBytes[1];
  }
  // `place`: Place(self, peer).
  constexpr std::size_t Ring(int protocol, int place, int channel) const {
    std::size_t at = 0;
    for (int p = 0; p < protocol; ++p) at += RingsBytes(p);
    return protocol == kProtocols ? at
                                  : at + (static_cast<std::size_t>(channel) * peers() + place) * RingBytes(protocol);
  }
  constexpr std::size_t Flags(int place, int channel) const {
    const std::size_t link = static_cast<std::size_t>(channel) * peers() + place;
    return Ring(kProtocols, 0, 0) + (link << kLog2Flags) * kFlagGroups * 8;
  }
  constexpr std::size_t Credit(int protocol, int place, int channel) const {
    return Flags(0, Channels(2)) + ((static_cast<std::size_t>(protocol) * channels + channel) * peers() + place) * 8;
  }
  constexpr std::size_t State(int protocol, int channel) const {
    const std::size_t begin = (Credit(kProtocols, 0, 0) + 127) / 128 * 128;
    return begin + (static_cast<std::size_t>(protocol) * channels + channel) * sizeof(ChannelState);
  }
  // One word per peer, for the trial at init.
  constexpr std::size_t Handshake(int place) const {
    return State(kProtocols, 0) + static_cast<std::size_t>(place) * 8;
  }
  constexpr std::size_t Bytes() const { return Handshake(peers()); }

  // The largest rings, and then the most channels, for which a segment stays within `most_bytes`.
  static constexpr Geometry Fit(int ranks, int most_channels, std::size_t most_bytes) {
    constexpr std::size_t kLeastBytes = std::size_t{64} << 10, kLeastLlBytes = std::size_t{16} << 10;
    constexpr int kMostSimpleChannels = 24;  // its rings are large, and what is large goes by other links
    Geometry g{.ranks = ranks,
               .channels = most_channels,
               .simple_channels = most_channels < kMostSimpleChannels ? most_channels : kMostSimpleChannels,
               .log2_units = {12, 7, 14}};
    while (g.Bytes() > most_bytes && (g.channels > 1 || g.RingBytes(2) > kLeastBytes)) {
      if (g.RingBytes(2) > kLeastBytes && g.RingsBytes(2) >= g.RingsBytes(1)) {
        --g.log2_units[2];
      } else if (g.RingBytes(0) > kLeastLlBytes) {
        --g.log2_units[0];
      } else if (g.RingBytes(1) > kLeastBytes) {
        --g.log2_units[1];
      } else {
        g.channels = (3 * g.channels + 1) / 4;
        if (g.simple_channels > g.channels) g.simple_channels = g.channels;
      }
    }
    return g;
  }
};

// A segment holds two such sets: one for collectives, and behind it one for sends and receives, whose links are used by
// two ranks at a time and so have a position of their own at each end.
//
// In a chain every rank has one peer to receive from, and lends all rings of Simple of the second set, by several, to the
// channels of that one link (exec/gpu/format/relay.h), which has flags, credits and states of its own.
struct Layout {
  Geometry collectives;
  Geometry transfers;  // without LL
  struct Chain {
    int channels = 0;  // 0: there is none
    int rings = 1;     // that are lent to each, a power of two
  } chain;

  constexpr std::size_t Transfers() const { return (collectives.Bytes() + 1023) / 1024 * 1024; }
  constexpr std::size_t ChainFlags(int channel) const {
    const std::size_t begin = (Transfers() + transfers.Bytes() + 127) / 128 * 128;
    return begin + (static_cast<std::size_t>(channel) << kLog2Flags) * kFlagGroups * 8;
  }
  constexpr std::size_t ChainCredit(int channel) const {
    return ChainFlags(chain.channels) + static_cast<std::size_t>(channel) * 8;
  }
  // Position of one end of a link of the second set. direction 0: of what this rank sends to the peer.
  constexpr std::size_t TransferState(int protocol, int direction, int place, int channel) const {
    const std::size_t begin = (ChainCredit(chain.channels) + 127) / 128 * 128;
    const int link = (protocol * 2 + direction) * transfers.peers() + place;
    return begin + (static_cast<std::size_t>(link) * transfers.channels + channel) * sizeof(ChannelState);
  }
  constexpr std::size_t ChainState(int direction, int channel) const {
    return TransferState(kProtocols, 0, 0, 0) +
           (static_cast<std::size_t>(direction) * chain.channels + channel) * sizeof(ChannelState);
  }
  constexpr std::size_t Counts() const { return ChainState(2, 0); }
  constexpr std::size_t Bytes() const { return Counts() + sizeof(LaunchCounts); }

  static constexpr Layout Fit(int ranks, int most_channels, std::size_t most_bytes) {
    Layout layout;
    layout.transfers = {.ranks = ranks,
                        .channels = ranks <= 2   ? 128
                                    : ranks <= 4 ? 64
                                    : ranks <= 8 ? 32
                                                 : 16,
                        .log2_units = {0, 5, 9}};
    // Few blocks get large messages instead of many channels. Up to four ranks fill a link with messages of 64 KiB.
    constexpr int kTeamsOfBlock = 4;
    constexpr std::size_t kMostRingBytes = std::size_t{512} << 10;
    const std::size_t simple_bytes = (ranks <= 2 ? std::size_t{32} : std::size_t{48}) << 20;
    Geometry& g = layout.transfers;
    if (g.channels > most_channels * kTeamsOfBlock) g.channels = most_channels * kTeamsOfBlock;
    while (g.Bytes() > most_bytes / 2 && g.channels > kTeamsOfBlock) g.channels /= 2;
    while (g.RingBytes(2) < kMostRingBytes && 2 * g.RingsBytes(2) <= simple_bytes &&
           4 * g.RingsBytes(2) <= most_bytes) {
      ++g.log2_units[2];
    }
    // A chain's rings hold four messages of 64 KiB.
    constexpr std::size_t kChainRingBytes = std::size_t{256} << 10;
    constexpr int kMostChainChannels = 128;
    Chain& chain = layout.chain;
    while (chain.rings * g.RingBytes(2) < kChainRingBytes && 2 * chain.rings <= g.peers()) chain.rings *= 2;
    if (ranks > 2) chain.channels = g.peers() * g.channels / chain.rings;
    if (chain.channels > kMostChainChannels) chain.channels = kMostChainChannels;
    constexpr std::size_t kSlack = std::size_t{64} << 10;                 // alignment and the positions
    const std::size_t taken = layout.TransferState(0, 0, 0, 0) + kSlack;  // collectives are empty yet
    constexpr std::size_t kMostForCollectives = std::size_t{40} << 20;
    const std::size_t rest = most_bytes > taken ? most_bytes - taken : 0;
    layout.collectives = Geometry::Fit(ranks, most_channels, rest < kMostForCollectives ? rest : kMostForCollectives);
    return layout;
  }
};

}  // namespace tutti::transport::p2p

#endif  // TUTTI_TRANSPORT_P2P_SEGMENT_H_
