// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_PLAN_FORMS_H_
#define TUTTI_PLAN_FORMS_H_

#include <cstdint>
#include <span>
#include <vector>

#include "plan/plan.h"

namespace tutti::plan {

// For each step the block of the output that it stores, or kNoBlock. A step that stores what an earlier one of its stage sends
// becomes part of that one, so that the block is read once: kMergedStore.
inline constexpr int kMergedStore = -2;
std::vector<int> StoredBlocks(const RankPlan& plan);

// Flat lists of what a rank does in a plan: what it sends, what it takes, what it passes on. An executor may have a form of them
// that is quicker than the plan's steps (exec/gpu/format/program.h), with so much room.
inline constexpr int kMostFlatSends = 7, kMostFlatTakes = 8;

// How long the lists of a rank are, or the longest of several ranks.
struct FlatLists {
  // Its part can be put so: it passes on one value at most, made of inputs and of what others send of theirs, and reads no block of
  // its output, nor blocks of other numbers than those that it makes of them.
  bool exist = false;
  bool passes_on = false;
  int sends = 0;   // messages with inputs
  int passed = 0;  // messages with the value that is passed on
  int takes = 0;   // operands of values; where a value is passed on, of that one
  int late = 0;    // operands of the others, which have been passed on to this rank
  int copies = 0;  // of takes, or of late: inputs that are stored as they are, and which in place lie there already
  int blocks = 1;  // of a piece

  bool operator==(const FlatLists&) const = default;
};

// What lists of a protocol can do, by its number (proto::Protocol): of LL128 all, of LL whole pieces that nobody passes on, of
// Simple nothing.
enum class FlatForm : std::uint8_t { kWholePieces, kAll, kNone };
inline constexpr FlatForm kFlatForms[] = {FlatForm::kWholePieces, FlatForm::kAll, FlatForm::kNone};

// Whether inputs that a plan stores as they are lie there already, in place.
enum class Copied : std::uint8_t { kStays, kIsStored };
// Whether there is such a form, as far as it follows from the plan.
constexpr bool HasFlatForm(const FlatLists& lists, int protocol, Copied copied) {
  const FlatForm form = kFlatForms[protocol];
  if (!lists.exist || form == FlatForm::kNone) return false;
  if (form == FlatForm::kWholePieces && (lists.blocks > 1 || lists.passes_on)) return false;
  const int less = copied == Copied::kStays ? lists.copies : 0;
  const int takes = lists.takes - (lists.passes_on ? 0 : less), late = lists.late - (lists.passes_on ? less : 0);
  return lists.sends <= kMostFlatSends && lists.passed <= kMostFlatSends && takes <= kMostFlatTakes &&
         late <= kMostFlatSends;
}

// Other ways to run a plan than step by step, which an executor may have where the plan's shape allows them. What a plan
// allows, it allows on all its ranks, so ranks that choose by it choose alike.
struct Forms {
  // Nothing is folded or passed on: a rank sends its input, and stores what it receives. Such a plan is a group of sends and
  // receives (exec/gpu/format/transfer.h), and copy engines can do it.
  bool moves = false;

  // Every message is folded or passed on at most once (exec/gpu/format/relay.h). A rank has up to three roles: it sends blocks
  // of its input; it deals with one block, its own, which it does not send, and passes on what comes of it; it stores what
  // others pass on. Not where all of that is moves, nor where nothing is folded and everybody's input goes to all.
  bool relay = false;
  // A relay in which more than two ranks pass the same on, one to the next: each has one role.
  bool chain = false;
  int most_roles = 0;  // of a rank

  // The longest flat lists of any rank, where all have some.
  FlatLists lists;

  // What copy engines can do of it, whole pieces or blocks at a time (exec/gpu/lower/copies.h): all of it, if it is moves; or, if it
  // is two shots, the second one. Those are plans in which every rank folds the block of its own number from everybody's inputs and
  // sends it to all others, who do nothing but store it: what comes before those sends is a reduce_scatter, the rest is moves.
  enum class Copies : std::uint8_t { kNone, kAll, kSecondShot };
  Copies copies = Copies::kNone;
  // Every rank has an output, and none has one that may be a piece of its input, as in place it is: then it would lie
  // elsewhere in its buffer than those of other ranks. Where this holds, each rank knows from its own output where all lie.
  bool outputs_alike = false;

  // Whether teams of threads with one direction each can do it, instead of an interpreter of its steps.
  bool ForTeams() const { return moves || relay; }

  bool operator==(const Forms&) const = default;
};

// `plans`: every rank's, in rank order.
Forms FindForms(std::span<const RankPlan> plans);

// The lists of a rank. `blocks_per_piece`: of all plans.
FlatLists ListFlat(const RankPlan& plan, int blocks_per_piece);

// What a rank does in a plan of moves. Blocks and steps are those of the plan.
struct Moves {
  struct Send {
    int peer;
    int in;   // block; of the output, in a second shot
    int out;  // block of the peer's output; kNoBlock where that is not known
    int step;
    bool operator==(const Send&) const = default;
  };
  struct Receive {
    int peer;
    int out;
    int step;
    bool operator==(const Receive&) const = default;
  };
  struct Copy {  // to itself
    int in, out;
    bool operator==(const Copy&) const = default;
  };
  std::vector<Send> sends;
  std::vector<Receive> receives;
  std::vector<Copy> copies;
  int most_directions = 0;  // of any rank: 1 where it sends or receives only; 0 where that is not known
};
// Sends in the order of the peers behind the rank, receives in the order of all ranks. REQUIRES: FindForms(plans).moves.
Moves ListMoves(std::span<const RankPlan> plans, int rank);
// The same of what follows the folds of a plan in two shots. REQUIRES: FindForms(plans).copies is kSecondShot.
Moves ListSecondShot(std::span<const RankPlan> plans, int rank);
// Of a group of sends and receives, of which a rank knows its own plan only: sends and receives in the order of their blocks.
// REQUIRES: the plan's collective is kSendRecv.
Moves ListMoves(const RankPlan& group);

}  // namespace tutti::plan

#endif  // TUTTI_PLAN_FORMS_H_
