// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_TRANSPORT_P2P_SECTIONS_H_
#define TUTTI_TRANSPORT_P2P_SECTIONS_H_

// How a segment serves more ranks than a kernel can name. A kernel knows kSeats ranks, by numbers that are called seats. Among
// so many ranks or fewer a rank's seat is its number, and a segment is one Layout. Among more it is several, one behind the
// other, its sections. Each is the segment of a small communicator, in which the ranks that a rank meets have seats:
//
//   rounds   Of sends and receives. Ranks come in groups of half as many as there are seats, and every two groups meet in one
//            round, as the teams of a tournament; a group meets itself in one of its rounds too. So each pair of ranks has
//            links in one round. All ranks take rounds in the same order, so none waits for one that waits for it.
//   links    Of collectives, one for each kind of links that plans go by (algo::Entry::few_links): ring, tree, double tree.
//            A rank meets few others there, the same whatever the collective and its root, so that what has gone through a
//            ring of one operation is known to the next.
//
// No kernel uses two sections.

#include <cstddef>
#include <cstdint>
#include <initializer_list>

#include "transport/p2p/segment.h"

namespace tutti::transport::p2p {

inline constexpr int kMaxRanks = 72;  // of a communicator: the GPUs of an NVL72
inline constexpr int kGroupRanks = kSeats / 2;

constexpr int GroupOf(int rank) { return rank / kGroupRanks; }
// Rounds in which all groups meet.
constexpr int RoundsOf(int ranks) {
  const int groups = (ranks + kGroupRanks - 1) / kGroupRanks;
  return ranks <= kSeats ? 1 : groups % 2 == 0 ? groups - 1 : groups;
}

// What a round looks like from one rank.
class Round {
 public:
  // REQUIRES: ranks > kSeats; round < RoundsOf(ranks).
  constexpr Round(int ranks, int round, int rank) : ranks_(ranks), rank_(rank) {
    const int groups = (ranks + kGroupRanks - 1) / kGroupRanks, rounds = RoundsOf(ranks), own = GroupOf(rank);
    // Groups a and b meet in round a + b; with an even number of them, the last one meets whoever would meet itself.
    const int last = groups % 2 == 0 ? groups - 1 : -1;
    partner_ = own == last ? round * ((rounds + 1) / 2) % rounds : (round + rounds - own % rounds) % rounds;
    meets_itself_ = own == last ? round == 0 : partner_ == own;
    if (partner_ == own) partner_ = last;  // or nobody
  }

  // Whether this rank's transfers with `peer` take place in this round. Those with itself do in one round.
  constexpr bool Has(int peer) const {
    const int group = GroupOf(peer);
    return group == partner_ || (group == GroupOf(rank_) && meets_itself_);
  }
  // REQUIRES: Has(rank), or the rank itself.
  constexpr int SeatOf(int rank) const {
    const int group = GroupOf(rank), other = group == GroupOf(rank_) ? partner_ : GroupOf(rank_);
    return rank % kGroupRanks + (group > other && other >= 0 ? kGroupRanks : 0);
  }
  // -1: nobody's.
  constexpr int RankAt(int seat) const {
    for (const int group : {GroupOf(rank_), partner_}) {
      const int rank = group * kGroupRanks + seat % kGroupRanks;
      if (group >= 0 && rank < ranks_ && SeatOf(rank) == seat) return rank;
    }
    return -1;
  }

 private:
  int ranks_, rank_, partner_;
  bool meets_itself_;
};

// Kinds of links of collectives, and for how many seats sections of them have room.
enum class LinkKind : std::uint8_t { kRing, kTree, kDoubleTree };
inline constexpr int kLinkKinds = 3;
inline constexpr int kLinkSeats[kLinkKinds] = {5, 4, 8};

// How far what a rank writes for itself lies from where the layout has it, modulo 2^64: the positions of collectives; those of
// transfers, and the counts.
struct StateShift {
  std::uint64_t collectives = 0, transfers = 0;
};

// Sizes of all sections; the same on all ranks of a communicator.
struct Sections {
  int ranks = 1;
  Layout round;  // of every round. Up to kSeats ranks: of the only section, collectives included
  Layout links[kLinkKinds];

  constexpr bool many() const { return ranks > kSeats; }
  constexpr int rounds() const { return RoundsOf(ranks); }
  constexpr int count() const { return many() ? rounds() + kLinkKinds : 1; }
  constexpr int SectionOf(LinkKind kind) const { return rounds() + static_cast<int>(kind); }
  constexpr const Layout& At(int section) const { return section < rounds() ? round : links[section - rounds()]; }
  // Where a section begins.
  constexpr std::size_t Begin(int section) const {
    std::size_t at = 0;
    for (int s = 0; s < section; ++s) at += (At(s).Bytes() + 1023) / 1024 * 1024;
    return at;
  }
  // Of all launches, whatever their sections: those of the last one.
  constexpr std::size_t Counts() const { return Begin(count() - 1) + At(count() - 1).Counts(); }
  constexpr std::size_t Bytes() const { return Begin(count() - 1) + At(count() - 1).Bytes(); }

  // Among more than kSeats ranks, within twice `most_bytes`: three eighths for rounds, the rest for collectives.
  static constexpr Sections Fit(int ranks, int most_channels, std::size_t most_bytes) {
    Sections sections;
    sections.ranks = ranks;
    if (!sections.many()) {
      sections.round = Layout::Fit(ranks, most_channels, most_bytes);
      return sections;
    }
    const std::size_t eighth = 2 * most_bytes / 8;
    sections.round = FitRound(most_channels, 3 * eighth / static_cast<std::size_t>(sections.rounds()));
    for (int kind = 0; kind < kLinkKinds; ++kind) {
      sections.links[kind].collectives = FitLinks(static_cast<LinkKind>(kind), most_channels, 5 * eighth / kLinkKinds);
    }
    return sections;
  }

 private:
  // Channels first, since rings of few messages serve as well, then rings.
  static constexpr Layout FitRound(int most_channels, std::size_t bytes) {
    constexpr int kMostChannels = 16, kTeamsOfBlock = 4, kMostLog2Units = 15;
    Layout layout;
    layout.collectives = {.ranks = kSeats, .channels = 0};  // words for the trial at init
    Geometry& g = layout.transfers;
    g = {.ranks = kSeats, .channels = kMostChannels, .log2_units = {0, 5, 9}};
    if (g.channels > most_channels * kTeamsOfBlock) g.channels = most_channels * kTeamsOfBlock;
    while (layout.Bytes() > bytes && g.channels > 1) g.channels /= 2;
    while (g.log2_units[2] < kMostLog2Units) {
      ++g.log2_units[2];
      if (layout.Bytes() <= bytes) continue;
      --g.log2_units[2];
      break;
    }
    return layout;
  }

  // Long rings: a link of a ring or tree carries a message of nearly every rank in a round, and holds two rounds.
  static constexpr Geometry FitLinks(LinkKind kind, int most_channels, std::size_t bytes) {
    constexpr int kMostChannels = 24, kFewChannels = 8;
    const bool double_tree = kind == LinkKind::kDoubleTree;
    const int least[kProtocols] = {double_tree ? 10 : 12, double_tree ? 7 : 8, 13};
    Geometry g{.ranks = kLinkSeats[static_cast<int>(kind)],
               .channels = most_channels < kMostChannels ? most_channels : kMostChannels,
               .log2_units = {12, 8, 14}};
    const auto shorten = [&] {
      for (const int protocol : {2, 0, 1}) {
        if (g.log2_units[protocol] == least[protocol]) continue;
        --g.log2_units[protocol];
        return true;
      }
      return false;
    };
    while (g.Bytes() > bytes && g.channels > 1) {
      if (g.channels > kFewChannels || !shorten()) --g.channels;
    }
    return g;
  }
};

}  // namespace tutti::transport::p2p

#endif  // TUTTI_TRANSPORT_P2P_SECTIONS_H_
