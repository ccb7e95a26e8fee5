// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_COMM_HOST_TRANSFER_TRIALS_H_
#define TUTTI_COMM_HOST_TRANSFER_TRIALS_H_

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "exec/cpu/job.h"
#include "proto/simple.h"
#include "sys/os/clock.h"

namespace tutti::comm {

// Large sends between ranks of one host go through shared pages, or the receiver reads the sender's buffer: by reference. Which is
// faster depends on which caches the two cores share and where the pages lie, so it is found out by the program's own sends. Sizes
// within a band are tried together; those to which something comes back in the same group are tried apart from the others, since a
// sender with nothing else to do helps to copy what it refers to.
//
// Only two ranks know of a send. The sender decides how it goes, call by call, and the receiver follows what comes. The sender counts
// its messages of a band, and those of a trial take the two ways in turn. Their posts say so, and when the sender's call began. The
// receiver measures how long they take, and says which way was the better one in its credit of the link. The sender looks there
// for some messages after a trial, not for ever: the receiver writes to that line all the time.
//
//   sender     | as predicted | trial: pages, reference, reference, pages, pages, ... | reads the verdict ...
//   receiver   | follows      | measures                                              ^ verdict
//
// In a program whose ranks exchange messages both directions are so in trials at the same time, and try the same way. Nothing but
// the figures depends on that.
//
// A second trial, of longer turns, comes soon after the first one, and decides by itself: in the first one pages are touched for the first time,
// and where ranks share cores messages through pages take up to twice as long for some milliseconds after those by reference.
//
// A message takes as long as from the later begin of both calls to their later end, by one clock. A sender through pages may end and
// begin its next call while its receiver still reads, and then looks as if it took half of what it takes; so the post of the next
// message says when the sender's call ended. Only messages that are alone between their ranks in their groups are measured.
//
// Threads: as the Submitter's.
class TransferTrials final : public exec::cpu::JobWatcher {
 public:
  // How messages of one band are tried. The first way of a trial is the one through pages on all ranks.
  struct Rules {
    std::uint64_t begin = 0;       // messages before the first trial
    std::uint64_t second = 0;      // from its end to the second one
    std::uint64_t period = 0;      // from the end of a later one to the next one
    std::uint64_t turn = 2;        // of a way one after the other, 2 at least
    std::uint64_t later_turn = 2;  // the same in trials after the first one
    bool by_reference = false;     // the way by prediction
  };
  // This rank's credit of the link from a peer, and that peer's of the link to it.
  struct Link {
    proto::Credit* own = nullptr;
    const proto::Credit* peers = nullptr;
  };
  // `link` is asked once for each peer.
  TransferTrials(int ranks, std::function<Link(int peer)> link, std::int64_t (*now_ns)() = sys::NowNs);
  ~TransferTrials() override;

  // One for each power of two, from 8 KiB on. What is shorter goes through pages in any case, in about a microsecond, of which the counting
  // would be a part.
  static constexpr int kBands = 32;
  static constexpr std::size_t kLeastBytes = std::size_t{8} << 10;
  static constexpr int BandOf(std::size_t bytes) {
    return std::clamp(static_cast<int>(std::bit_width(bytes / kLeastBytes)) - 1, 0, kBands - 1);
  }
  static constexpr std::size_t SmallestOfBand(int band) { return kLeastBytes << band; }

  // Lets messages of a band be tried, from the first one on. Once for each band.
  void Try(int band, const Rules& rules) { bands_[static_cast<std::size_t>(band)] = rules; }
  bool Tries(int band) const { return bands_[static_cast<std::size_t>(band)].has_value(); }
  const Rules& RulesOf(int band) const { return *bands_[static_cast<std::size_t>(band)]; }

  // Messages of a band are counted anew, and what has been found out about them is forgotten. All ranks have to do alike, with nothing
  // unfinished.
  void Forget(int band);

  // After so many messages of one slot the second trial has been decided, and its sender knows. REQUIRES: Tries their band.
  std::uint64_t MessagesUntilDecided(std::size_t bytes) const;

  // Fills in the lanes of a group that is ready but for this, and watches it. REQUIRES: one of them is tried.
  void Prepare(exec::cpu::Job& job);
  // Whether messages to or from a peer go by reference outside of trials, as far as is known now. REQUIRES: Tries their band.
  enum class Direction : std::uint8_t { kTo, kFrom };
  bool ByReference(int peer, Direction direction, std::size_t bytes, bool answered);

  void Starts(exec::cpu::Job& job) override;
  void Arrives(const exec::cpu::Job& job, int step, const proto::Post& first) override;
  void Ended(exec::cpu::Job& job) override;

 private:
  static constexpr std::size_t kTurns = 3;  // of a way in a trial
  static constexpr std::size_t kWays = 2;   // through pages, by reference
  static constexpr std::size_t kSlots = std::size_t{2} * kBands;

  // What a sender knows of a slot.
  struct Sent {
    std::uint64_t messages = 0;
    std::uint64_t trial = 0;    // the first message of the trial in hand, or of the next one
    std::uint64_t trials = 0;   // that have ended
    std::uint64_t looks = 0;    // messages before which it has still to look for a verdict
    std::int64_t ended_ns = 0;  // the call of the message before, where that was on trial
    bool by_reference = false;  // outside of trials
  };
  // A message of a trial.
  struct Place {
    std::size_t way;
    std::size_t turn;
    bool counts;  // the first of a turn find the caches as the other way left them, and do not
  };
  // A turn's times.
  struct Mean {
    double sum = 0;  // ns per byte
    int count = 0;
  };
  // Of a trial, and what is left of those before it.
  struct Tally {
    std::uint64_t trials = 0;  // that have decided
    double pages_longer = 1;   // times as long as by reference, in the last one
    std::array<std::array<Mean, kTurns>, kWays> means{};
    // The last message, until it is known when its sender's call ended.
    Mean* open = nullptr;
    std::int64_t began_ns = 0, ended_ns = 0;
    std::size_t bytes = 0;
  };
  struct Peer {
    Link link;
    std::array<Sent, kSlots> sent;
    std::array<std::unique_ptr<Tally>, kSlots> received;
    std::uint64_t on_trial = 0;  // slots whose last message that has come was on trial
  };
  // A receive of the job that runs.
  struct Receive {
    int peer = -1;  // none: it is not tried
    std::size_t bytes = 0;
    bool alone = false;
    bool by_reference = false;
    proto::OnTrial on_trial;
  };

  static std::size_t SlotOf(std::size_t bytes, bool answered) {
    return static_cast<std::size_t>(BandOf(bytes) + (answered ? kBands : 0));
  }
  static std::uint64_t TurnOf(const Rules& rules, std::uint64_t trial) {
    return trial == 0 ? rules.turn : rules.later_turn;
  }
  // Of a trial, in messages.
  static std::uint64_t LengthOf(const Rules& rules, std::uint64_t trial) {
    return kWays * kTurns * TurnOf(rules, trial);
  }
  Peer& PeerOf(int peer);
  bool VerdictOf(const proto::Verdicts& verdicts, std::size_t slot) const;
  static Place PlaceOf(std::uint64_t turn_length, std::uint64_t position);
  bool StartSend(exec::cpu::SendBlock& block, int peer, bool alone);
  bool StartReceive(const exec::cpu::ReceiveBlock& block, int step, int peer, bool alone);
  template <typename Visit>
  void ForSendsOnTrial(exec::cpu::Job& job, Visit visit);
  void EndReceive(const Receive& receive, std::int64_t now_ns);
  static void Close(Tally& tally, const proto::OnTrial& next);
  static std::optional<double> FigureOf(const std::array<Mean, kTurns>& turns);
  void Decide(Peer& peer, std::size_t slot);

  const std::function<Link(int peer)> link_;
  std::int64_t (*const now_ns_)();
  std::array<std::optional<Rules>, kBands> bands_;
  std::vector<std::unique_ptr<Peer>> peers_;

  // Of the job that runs.
  std::vector<Receive> receives_;  // by step
  std::int64_t began_ns_ = 0;      // 0: not known, and nothing is measured
};

}  // namespace tutti::comm

#endif  // TUTTI_COMM_HOST_TRANSFER_TRIALS_H_
