// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "comm/host/transfer_trials.h"

#include <atomic>
#include <utility>

#include "comm/host/turns.h"
#include "exec/cpu/prepared_plan.h"
#include "plan/plan.h"

namespace tutti::comm {
namespace {

using exec::cpu::Job;
using exec::cpu::ReceiveBlock;
using exec::cpu::SendBlock;

constexpr double kBetter = 0.98;  // of the current way's time: the other one takes its place after the second trial
constexpr std::size_t kThroughPages = 0, kByReference = 1;
// A sender may be ahead of its receiver by as many messages as the link and its pages hold.
constexpr std::uint64_t kLooks = 64;

// proto::OnTrial::trial. The way itself is the post's kind.
//
//   bit  0    1        2      3          4      8                                                       32
//        +----+--------+------+----------+------+-------------------------------------------------------+
//        | 1  | counts | ends | answered | turn | since the sender's call before ended, in units of 16 ns |
//        +----+--------+------+----------+------+-------------------------------------------------------+
constexpr std::uint32_t kOn = 1;
constexpr std::uint32_t kCounts = 2;
constexpr std::uint32_t kEnds = 4;      // comes after the last of the trial, and only says when that ended
constexpr std::uint32_t kAnswered = 8;  // as Lane::answered
constexpr int kTurnShift = 4, kGapShift = 8;
constexpr std::uint32_t kTurnMask = 15;
constexpr std::int64_t kGapUnitNs = 16, kMostGap = (1 << 24) - 1;

// 0: not known.
std::uint32_t GapWord(std::int64_t gap_ns) {
  const std::int64_t units = gap_ns / kGapUnitNs + 1;
  return gap_ns < 0 || units > kMostGap ? 0 : static_cast<std::uint32_t>(units) << kGapShift;
}

}  // namespace

TransferTrials::TransferTrials(int ranks, std::function<Link(int peer)> link, std::int64_t (*now_ns)())
    : link_(std::move(link)), now_ns_(now_ns), peers_(static_cast<std::size_t>(ranks)) {}

TransferTrials::~TransferTrials() = default;

TransferTrials::Peer& TransferTrials::PeerOf(int peer) {
  std::unique_ptr<Peer>& known = peers_[static_cast<std::size_t>(peer)];
  if (known == nullptr) [[unlikely]] {
    known = std::make_unique<Peer>();
    known->link = link_(peer);
  }
  return *known;
}

void TransferTrials::Forget(int band) {
  for (const std::unique_ptr<Peer>& peer : peers_) {
    if (peer == nullptr) continue;
    for (const bool answered : {false, true}) {
      const std::size_t slot = SlotOf(SmallestOfBand(band), answered);
      const std::uint64_t bit = std::uint64_t{1} << slot;
      peer->sent[slot] = {};
      peer->received[slot].reset();
      peer->on_trial &= ~bit;
      std::atomic<std::uint64_t>& found = peer->link.own->verdicts.found;
      found.store(found.load(std::memory_order_relaxed) & ~bit, std::memory_order_release);
    }
  }
}

std::uint64_t TransferTrials::MessagesUntilDecided(std::size_t bytes) const {
  const Rules& rules = RulesOf(BandOf(bytes));
  return rules.begin + LengthOf(rules, 0) + rules.second + LengthOf(rules, 1) + 1 + kLooks;
}

// What a receiver has found out, or what is predicted.
bool TransferTrials::VerdictOf(const proto::Verdicts& verdicts, std::size_t slot) const {
  const std::uint64_t bit = std::uint64_t{1} << slot;
  if ((verdicts.found.load(std::memory_order_acquire) & bit) == 0) return bands_[slot % kBands]->by_reference;
  return (verdicts.by_reference.load(std::memory_order_relaxed) & bit) != 0;
}

bool TransferTrials::ByReference(int peer, Direction direction, std::size_t bytes, bool answered) {
  const Peer& known = PeerOf(peer);
  const std::size_t slot = SlotOf(bytes, answered);
  if (direction == Direction::kFrom) return VerdictOf(known.link.own->verdicts, slot);
  const Sent& sent = known.sent[slot];
  return sent.messages > 0 ? sent.by_reference : RulesOf(BandOf(bytes)).by_reference;
}

void TransferTrials::Prepare(Job& job) {
  const exec::cpu::PreparedPlan& prepared = *job.group.plan;
  job.calls.watcher = this;
  // What only sends must not begin to wait for its reader because of a trial: a program may send first on both sides.
  const bool only_sends = job.group.receives.empty();
  for (int i = 0; i < prepared.plan.step_count(); ++i) {
    const plan::Step step = prepared.plan.step(i);
    const plan::Operand& source = step.operands[0];
    if (step.to.empty() && source.local()) continue;
    exec::cpu::Lane& lane = step.to.empty() ? job.group.receives[static_cast<std::size_t>(step.out)].lane
                                            : job.group.sends[static_cast<std::size_t>(source.index)].lane;
    lane.answered = prepared.answered[static_cast<std::size_t>(i)];
    if (!only_sends || !lane.tried || step.to.empty()) continue;
    const SendBlock& block = job.group.sends[static_cast<std::size_t>(source.index)];
    lane.tried = RulesOf(BandOf(block.bytes)).by_reference;
  }
}

// Pages, reference; reference, pages; pages, reference: a machine that changes its pace meanwhile favours none.
TransferTrials::Place TransferTrials::PlaceOf(std::uint64_t turn_length, std::uint64_t position) {
  const std::size_t turn = position / (kWays * turn_length), at = position / turn_length % kWays;
  return {
      .way = turn % 2 == 0 ? at : kWays - 1 - at, .turn = turn, .counts = position % turn_length >= turn_length / 2};
}

// Whether the time is needed.
bool TransferTrials::StartSend(SendBlock& block, int peer, bool alone) {
  exec::cpu::Lane& lane = block.lane;
  const Rules& rules = RulesOf(BandOf(block.bytes));
  const std::size_t slot = SlotOf(block.bytes, lane.answered);
  Peer& to = PeerOf(peer);
  Sent& sent = to.sent[slot];
  const std::uint64_t message = sent.messages++;
  if (message == 0) {
    sent.trial = rules.begin;
    sent.by_reference = rules.by_reference;
  }
  const std::uint32_t answered = lane.answered ? kAnswered : 0;
  if (message < sent.trial) [[likely]] {
    if (sent.looks > 0) {
      --sent.looks;
      sent.by_reference = VerdictOf(to.link.peers->verdicts, slot);
    }
    lane.by_reference = sent.by_reference;
    lane.trial = 0;
    return false;
  }
  const std::uint64_t length = LengthOf(rules, sent.trials);
  if (message == sent.trial + length) {
    sent.trial += length + (sent.trials++ == 0 ? rules.second : rules.period);
    sent.looks = kLooks;
    lane.by_reference = sent.by_reference;
    lane.trial = kOn | kEnds | answered;
    return true;
  }
  if (message == sent.trial) sent.ended_ns = 0;
  const Place place = PlaceOf(TurnOf(rules, sent.trials), message - sent.trial);
  lane.by_reference = place.way == kByReference;
  lane.trial =
      kOn | (place.counts && alone ? kCounts : 0) | answered | static_cast<std::uint32_t>(place.turn) << kTurnShift;
  return true;
}

// The same. That the next message is on trial is known from the one before; a turn's first does not count.
bool TransferTrials::StartReceive(const ReceiveBlock& block, int step, int peer, bool alone) {
  receives_[static_cast<std::size_t>(step)] = {.peer = peer, .bytes = block.bytes, .alone = alone};
  constexpr std::uint64_t kBoth = std::uint64_t{1} << kBands | 1;
  return alone && (PeerOf(peer).on_trial >> BandOf(block.bytes) & kBoth) != 0;
}

// With a block and what is known of its slot.
template <typename Visit>
void TransferTrials::ForSendsOnTrial(Job& job, Visit visit) {
  const plan::RankPlan& plan = job.group.plan->plan;
  for (int i = 0; i < plan.step_count(); ++i) {
    const plan::Step step = plan.step(i);
    if (step.to.empty()) continue;
    SendBlock& block = job.group.sends[static_cast<std::size_t>(step.operands[0].index)];
    if (block.lane.trial != 0) visit(block, PeerOf(step.to[0]).sent[SlotOf(block.bytes, block.lane.answered)]);
  }
}

void TransferTrials::Starts(Job& job) {
  const exec::cpu::PreparedPlan& prepared = *job.group.plan;
  const int steps = prepared.plan.step_count();
  receives_.assign(static_cast<std::size_t>(steps), {});
  bool timed = false, says = false;
  for (int i = 0; i < steps; ++i) {
    const plan::Step step = prepared.plan.step(i);
    const plan::Operand& source = step.operands[0];
    const bool alone = prepared.alone[static_cast<std::size_t>(i)];
    if (!step.to.empty()) {
      SendBlock& block = job.group.sends[static_cast<std::size_t>(source.index)];
      if (block.lane.tried) says |= StartSend(block, step.to[0], alone);
    } else if (!source.local()) {
      const ReceiveBlock& block = job.group.receives[static_cast<std::size_t>(step.out)];
      if (block.lane.tried) timed |= StartReceive(block, i, source.index, alone);
    }
  }
  const std::int64_t now_ns = timed || says ? now_ns_() : 0;
  job.group.began_ns = began_ns_ = now_ns;
  if (!says) return;
  ForSendsOnTrial(job, [&](SendBlock& block, const Sent& sent) {
    if (sent.ended_ns != 0) block.lane.trial |= GapWord(now_ns - sent.ended_ns);
  });
}

void TransferTrials::Arrives(const Job& /*job*/, int step, const proto::Post& first) {
  if ((first.trial & kOn) == 0) [[likely]]
    return;
  Receive& receive = receives_[static_cast<std::size_t>(step)];
  receive.by_reference = first.kind != proto::PostKind::kPool;
  receive.on_trial = {.trial = first.trial, .began_ns = first.began_ns};
  Peer& peer = PeerOf(receive.peer);
  const std::size_t slot = SlotOf(receive.bytes, (first.trial & kAnswered) != 0);
  const std::uint64_t bit = std::uint64_t{1} << slot;
  std::unique_ptr<Tally>& tally = peer.received[slot];
  if (tally == nullptr) tally = std::make_unique<Tally>();
  Close(*tally, receive.on_trial);
  peer.on_trial |= bit;
  if ((first.trial & kEnds) == 0) return;
  peer.on_trial &= ~bit;
  Decide(peer, slot);
}

void TransferTrials::Ended(Job& job) {
  if (began_ns_ == 0) [[likely]]
    return;
  const std::int64_t now_ns = now_ns_();
  ForSendsOnTrial(job, [&](const SendBlock&, Sent& sent) { sent.ended_ns = now_ns; });
  for (const Receive& receive : receives_) {
    if ((receive.on_trial.trial & kCounts) != 0 && receive.alone) EndReceive(receive, now_ns);
  }
}

void TransferTrials::EndReceive(const Receive& receive, std::int64_t now_ns) {
  const std::uint32_t word = receive.on_trial.trial, turn = word >> kTurnShift & kTurnMask;
  if (turn >= kTurns) return;
  Tally& tally = *PeerOf(receive.peer).received[SlotOf(receive.bytes, (word & kAnswered) != 0)];
  tally.open = &tally.means[receive.by_reference ? kByReference : kThroughPages][turn];
  tally.began_ns = std::max(receive.on_trial.began_ns, began_ns_);
  tally.ended_ns = now_ns;
  tally.bytes = receive.bytes;
}

// `next`: what the message after the open one says.
void TransferTrials::Close(Tally& tally, const proto::OnTrial& next) {
  if (tally.open == nullptr) return;
  const std::int64_t units = next.trial >> kGapShift;
  const std::int64_t sender_ns = units == 0 ? 0 : next.began_ns - (units - 1) * kGapUnitNs;
  // A begin after the end is by another clock than this rank's.
  if (tally.began_ns <= tally.ended_ns) {
    const std::int64_t ns = std::max(tally.ended_ns, sender_ns) - tally.began_ns;
    tally.open->sum += static_cast<double>(ns) / static_cast<double>(tally.bytes);
    ++tally.open->count;
  }
  tally.open = nullptr;
}

// ns per byte, of the two faster turns. A turn's is the mean of its messages, not their median: of those that only go one way, many are sent
// before one is received. None where a turn had no message that counts.
std::optional<double> TransferTrials::FigureOf(const std::array<Mean, kTurns>& turns) {
  std::array<double, kTurns> means;
  for (std::size_t turn = 0; turn < kTurns; ++turn) {
    if (turns[turn].count == 0) return std::nullopt;
    means[turn] = turns[turn].sum / turns[turn].count;
  }
  return MeanButSlowest(means);
}

// The second trial counts without the first, and what that one has decided has no advantage in it. Each later one counts as much as the
// one before it.
void TransferTrials::Decide(Peer& peer, std::size_t slot) {
  Tally& tally = *peer.received[slot];
  const Tally trial = std::exchange(tally, {.trials = tally.trials, .pages_longer = tally.pages_longer});
  const std::optional<double> pages = FigureOf(trial.means[kThroughPages]);
  const std::optional<double> reference = FigureOf(trial.means[kByReference]);
  if (!pages || !reference) return;
  tally.pages_longer = *pages / std::max(*reference, 1e-6);
  ++tally.trials;
  proto::Verdicts& verdicts = peer.link.own->verdicts;
  const std::uint64_t bit = std::uint64_t{1} << slot, found = verdicts.found.load(std::memory_order_relaxed);
  const std::uint64_t by_reference = verdicts.by_reference.load(std::memory_order_relaxed);
  // The product of two trials.
  const double longer = tally.pages_longer * (trial.trials < 2 ? tally.pages_longer : trial.pages_longer);
  const double enough = trial.trials == 1 ? 1 : kBetter * kBetter;
  const bool refers = VerdictOf(verdicts, slot) ? longer >= enough : longer > 1 / enough;
  verdicts.by_reference.store(refers ? by_reference | bit : by_reference & ~bit, std::memory_order_relaxed);
  verdicts.found.store(found | bit, std::memory_order_release);
}

}  // namespace tutti::comm
