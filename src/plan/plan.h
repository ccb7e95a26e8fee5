// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_PLAN_PLAN_H_
#define TUTTI_PLAN_PLAN_H_

// A collective as data: what one rank sends, receives, folds and stores. No sockets, no pointers, no device.
//
//   algorithms write plans  ->  RankPlan  ->  executors, the checker, the cost model, the tools read them
//
// There is one kind of step. Its value is the fold, from left to right, of its operands under the reduction
// (a single operand: a plain move). The value goes to every peer in `to` and, if `out` names a block, is stored
// there. Send, receive, copy, receive-reduce-send and the N-way fold of a one-shot all-reduce are all this step
// with different lists.
//
//   in0 -> >1 >2                send my block 0 to ranks 1 and 2
//   <1 -> out1                  receive from rank 1 into block 1 of the output
//   <0 + in0 + <2 -> out0 >3    fold in this order, store, and send the result on
//
// Switches. Some switches copy and fold what passes them: NVSwitches from Hopper on (NVLS), network switches with SHARP. A step
// may say that its value takes such a way, and take one that does:
//
//   in0 -> >>1 >>2              a multicast: the value leaves once, and a switch copies it for ranks 1 and 2
//   in0 -> >>out0 >>1 >>2       the same, and back to the rank itself: its own copy is what it stores
//   in0 -> ^1                   an offer: rank 1 reads it, folded with what others offer
//   in0 -> ^^1 ^^2              an offer that leaves once: the switch folds it once, for all of these readers
//   ^0 + ^1 + in0 -> out0       a reducing read: a switch folds the offers of ranks 0 and 1, and one value arrives
//
// What a multicast brings is received like any message. All offers that a step takes are one reducing read, and one operand of
// the step's fold, at the place of the first of them. A switch folds in an order of its own, so nothing is promised of the
// result's last bits. A rank may offer to itself, since a switch folds for all that belong to it alike. Executors do not run
// such plans (switches.h); they are for the checker, the cost model and the simulator.
//
// Blocks. A buffer holds one piece of `count` elements, or one such piece per rank: the output of all-gather and
// gather, the input of reduce-scatter and scatter, both buffers of all-to-all. A plan cuts every piece into the
// same number of equal blocks, the last ones shorter or empty when the count does not divide (see BlockCut), and
// numbers the blocks of a buffer from 0 in memory order. With 4 ranks, in_blocks = 2 and out_blocks = 8 an
// all-gather moves halves: rank r's in1 ends up in everybody's out(2r+1). A plan of grouped sends and receives
// lists each block's own size instead (in_sizes, out_sizes).
//
// What each collective computes, with piece p of a buffer written b[p] and root R:
//   all_reduce      out = fold over ranks of in          reduce    the same, on R only
//   reduce_scatter  out on rank r = fold of in[r]        broadcast out = R's in (R stores it to its out too)
//   all_gather      out[r] = rank r's in                 gather    the same, on R only
//   scatter         out on rank r = R's in[r]            all_to_all  out[s] on rank r = rank s's in[r]
//   barrier         an all_reduce of one element; no rank finishes before every rank has begun
//
// Rounds and stages. A block larger than a link can hold is cut into chunks, and the executor repeats the plan
// once per chunk: round k moves chunk k of every block. Rounds overlap as in a software pipeline: in time slot t
// a rank runs, in the order of the list, each step s for round t - stage(s), where that round exists. Stages
// only shift work in time; they never change what is computed. A step of stage 0 everywhere means: one round
// after the other. Twice the stages (Deepen) put twice as many rounds between what one rank sends and what another
// does with it, so more is under way at once, in links that hold more messages. For every link the difference (stage
// of the receiving step - stage of the sending step) must be the same, non-negative number for all messages of that
// link; the checker enforces it.
//
// Links are FIFO per (sender, receiver, channel): the i-th value sent meets the i-th `recv` operand for that peer,
// where a rank's order is: time slot, then step, then operand. Empty chunks are neither sent nor received.
//
// A rank builds its own part in O(its steps); whole plans exist only in the checker, the simulator and the tools.

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <vector>

#include "tutti/types.h"

namespace tutti::plan {

struct Operand {
  enum class Kind : std::uint8_t { kIn, kOut, kRecv, kOffered };
  Kind kind;
  std::int32_t index;  // block for kIn and kOut; rank for kRecv and kOffered

  bool local() const { return kind == Kind::kIn || kind == Kind::kOut; }
  bool operator==(const Operand&) const = default;
};

inline constexpr Operand In(int block) { return {Operand::Kind::kIn, block}; }
inline constexpr Operand Out(int block) { return {Operand::Kind::kOut, block}; }
inline constexpr Operand Recv(int peer) { return {Operand::Kind::kRecv, peer}; }
inline constexpr Operand Offered(int rank) { return {Operand::Kind::kOffered, rank}; }

inline constexpr int kNoBlock = -1;

// How a step's value gets to the ranks in `to`; all but the first through a switch.
enum class Sending : std::uint8_t {
  kEach,           // a message to each
  kMulticast,      // once; a switch copies it
  kMulticastBack,  // once; a switch copies it, also for the rank itself, which stores that copy
  kOffer,          // to each, for a reducing read of its own
  kOfferOnce,      // once, for a reducing read that they share
};
constexpr bool IsMulticast(Sending s) { return s == Sending::kMulticast || s == Sending::kMulticastBack; }
constexpr bool IsOffer(Sending s) { return s == Sending::kOffer || s == Sending::kOfferOnce; }

// One step, a view into its RankPlan.
struct Step {
  std::span<const Operand> operands;  // never empty
  std::span<const std::int32_t> to;   // ranks, without repetition, never the rank itself but for offers
  int out;                            // block of the output, or kNoBlock
  int stage;                          // see "Rounds and stages" above; >= 0
  Sending sending = Sending::kEach;

  // Offers that it takes, which are one reducing read.
  int offers() const {
    int count = 0;
    for (const Operand& operand : operands) count += operand.kind == Operand::Kind::kOffered ? 1 : 0;
    return count;
  }
  // Values that arrive for it: a message each, or one of a reducing read.
  int received() const {
    int messages = 0;
    for (const Operand& operand : operands) messages += operand.kind == Operand::Kind::kRecv ? 1 : 0;
    return messages + (offers() > 0 ? 1 : 0);
  }
  // Values that the rank itself folds.
  int values() const {
    const int count = offers();
    return static_cast<int>(operands.size()) - (count > 0 ? count - 1 : 0);
  }
  // How often its value leaves the rank.
  int sent() const { return sending == Sending::kEach || sending == Sending::kOffer ? static_cast<int>(to.size()) : 1; }
};

// One rank's part of a plan on one channel.
class RankPlan {
 public:
  RankPlan() = default;
  RankPlan(Collective collective, int rank, int ranks) : collective(collective), rank(rank), ranks(ranks) {}

  // Appends a step. Order is execution order within a time slot. A value that goes nowhere is taken as Sending::kEach, and one that
  // comes back but is not stored as kMulticast.
  void Add(std::span<const Operand> operands, std::span<const std::int32_t> to, int out, int stage = 0,
           Sending sending = Sending::kEach);
  void Add(std::initializer_list<Operand> operands, std::initializer_list<std::int32_t> to, int out, int stage = 0,
           Sending sending = Sending::kEach) {
    Add(std::span(operands.begin(), operands.size()), std::span(to.begin(), to.size()), out, stage, sending);
  }

  // Multiplies all stages and the messages that a link holds. REQUIRES: times >= 1.
  void Deepen(int times);

  int step_count() const { return static_cast<int>(steps_.size()); }
  Step step(int index) const {
    const Packed& p = steps_[index];
    return {std::span(operands_).subspan(p.first_operand, p.operand_count),
            std::span(targets_).subspan(p.first_target, p.target_count), p.out, p.stage, p.sending};
  }

  bool operator==(const RankPlan&) const = default;

  Collective collective = Collective::kAllReduce;
  int rank = 0;
  int ranks = 1;
  int root = 0;        // meaningful where HasRoot(collective)
  int in_blocks = 1;   // number of blocks in the whole input; 0: this rank has no input (a scatter's leaf)
  int out_blocks = 1;  // number of blocks in the whole output; 0: this rank has no output (a gather's leaf)
  // Messages that a link must be able to hold at once for this plan never to wait for ever. The same on all
  // ranks. The checker runs the plan with exactly this many.
  int link_slots = 1;
  // Element counts of each block, for plans of unequal blocks (grouped send and receive). Empty: equal blocks.
  std::vector<std::size_t> in_sizes;
  std::vector<std::size_t> out_sizes;

 private:
  struct Packed {
    std::uint32_t first_operand, operand_count, first_target, target_count;
    std::int32_t out, stage;
    Sending sending;
    bool operator==(const Packed&) const = default;
  };
  std::vector<Packed> steps_;
  std::vector<Operand> operands_;
  std::vector<std::int32_t> targets_;
};

// How many pieces of `count` elements the input and the output of a collective hold: 1, or one per rank.
constexpr int InPieces(Collective c, int ranks) {
  return c == Collective::kReduceScatter || c == Collective::kScatter || c == Collective::kAllToAll ? ranks : 1;
}
constexpr int OutPieces(Collective c, int ranks) {
  return c == Collective::kAllGather || c == Collective::kGather || c == Collective::kAllToAll ? ranks : 1;
}

// How one piece of `count` elements is cut into `blocks` equal blocks: each has `block` elements, a multiple of
// `granule` except where the elements run out; block b covers [Begin(b), End(b)) of its piece.
struct BlockCut {
  std::size_t count = 0;
  std::size_t block = 0;

  // granule: elements; a block's length is rounded up to a multiple of it, so that blocks start aligned.
  static BlockCut Equal(std::size_t count, int blocks, std::size_t granule = 1) {
    if (blocks <= 1) return {count, count};
    std::size_t block = (count + blocks - 1) / blocks;
    block = (block + granule - 1) / granule * granule;
    return {count, block};
  }
  std::size_t Begin(int b) const { return b * block < count ? b * block : count; }
  std::size_t End(int b) const { return (b + 1) * block < count ? (b + 1) * block : count; }
  std::size_t Size(int b) const { return End(b) - Begin(b); }
};

}  // namespace tutti::plan

#endif  // TUTTI_PLAN_PLAN_H_
