// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_PLAN_EXECUTION_H_
#define TUTTI_PLAN_EXECUTION_H_

// Runs a whole plan on symbolic values, over links of bounded capacity; check.h says by which rules. Finds
// what goes wrong on the way; what the outputs hold in the end is for the caller to judge.

#include <cstdint>
#include <deque>
#include <span>
#include <vector>

#include "plan/causality.h"
#include "plan/check_options.h"
#include "plan/check_shape.h"
#include "plan/early.h"
#include "plan/plan.h"
#include "plan/symbolic.h"

namespace tutti::plan {

// One block's worth of a rank's memory, in one round.
struct Cell {
  Value value;
  std::int32_t stored_by = -1;  // the step that stored it, -1: there from the start
  std::int32_t sender = -1;     // where that step got it: the peer, or -1, and the peer's step
  std::int32_t sender_step = -1;
};

// Where a rank's buffers lie in its memory, in blocks.
struct Layout {
  Layout(const RankPlan& plan, const Shape& shape, bool in_place);
  int in = 0, out = 0, size = 0;
};

class Execution {
 public:
  // REQUIRES: CheckShape(plans) gave `shape`; options.placement is not kBoth; options.link_slots > 0.
  Execution(std::span<const RankPlan> plans, const Shape& shape, const CheckOptions& options);

  // Runs all ranks to their ends.
  Status Run();
  // After that: whether all that was sent has been received.
  Status CheckAllRead() const;

  int rounds() const { return rounds_; }
  // Whether a block exists in a round: the elements may have run out before.
  bool Exists(const RankPlan& plan, bool in, int block, int round) const;
  const Cell& Output(int rank, int round, int block) const {
    return cells_[rank][static_cast<std::size_t>(round) * layouts_[rank].size + layouts_[rank].out + block];
  }
  Folds& folds() { return folds_; }
  const Causality& causality() const { return causality_; }

 private:
  static constexpr std::int32_t kNoOffer = -2, kOfferAlone = -1;
  struct Message {
    Value value;
    std::int32_t round, stage, step;   // of the sender
    std::int32_t attached, reference;  // of causality_
    std::int32_t offer = kNoOffer;     // kOfferAlone: for one reader; else of offers_
  };
  // A value that leaves once, for readers that share a reducing read, and that read once it has been made.
  struct Offer {
    std::int32_t read = -1;  // of reads_
  };
  struct Read {
    int rank;                          // the first reader
    std::vector<std::int32_t> offers;  // of offers_, ascending
    Value value;
  };
  struct Link {
    std::int32_t from, to;
    std::int32_t difference = -1;  // stages, once known
    bool reader_waits = false, writer_waits = false;
    std::size_t head = 0;
    std::vector<Message> messages;
    std::size_t size() const { return messages.size() - head; }
  };
  struct Process {
    int slot = 0;
    int step = -1;
    int round = 0;
    int last_slot = 0;
    std::size_t ready = 0;  // operands and targets of the step that are known to be ready
    bool ended = false;
    std::vector<std::size_t> first_wire;  // by step
    // The links of all operands and targets in order. nth: how many messages of the link the step wants up to
    // here.
    struct Wire {
      std::int32_t link, nth;
    };
    std::vector<Wire> wires;
  };

  void FillInputs();
  void ConnectLinks();
  std::int32_t LinkBetween(int from, int to);

  bool StepExists(int rank, int step, int round) const;
  void Advance(int rank);
  bool IsReady(int rank);
  Status RunStep(int rank);
  Status Load(int rank, const Operand& operand, Value* value);
  Status Receive(int rank, const Operand& operand, std::int32_t link, Value* value, Cell* origin);
  Status CheckEarly(int rank, const Message& message) const;
  Status CheckKind(int rank, const Operand& operand, const Message& message) const;
  Status ReadOffers(int rank);
  Status FindSharedRead(int rank, std::int32_t* read);
  Status FoldValues(int rank, std::span<const Value> values, std::span<const Operand> operands, Folds::By by,
                    Value* result);
  Status Store(int rank, const Step& step, const Cell& cell);
  void Send(int rank, const Step& step, const Value& value, std::size_t first_wire);
  void Wake(int rank, bool* waits);

  std::int64_t PlaceOf(int rank, bool in, int block, int round) const;
  Status Deadlock() const;
  // The rank that `rank` waits for, and a sentence that says so.
  int WaitsFor(int rank, std::string* sentence) const;

  std::span<const RankPlan> plans_;
  Shape shape_;
  CheckOptions options_;
  int rounds_;
  std::size_t chunk_ = 0;  // elements per round, where blocks have sizes of their own
  std::vector<Layout> layouts_;
  std::vector<std::vector<Early>> early_;  // by rank
  std::vector<std::vector<Cell>> cells_;   // by rank; round by round
  std::vector<Process> processes_;
  std::vector<std::int32_t> link_table_;  // from * ranks + to -> index in links_, or -1
  std::vector<Link> links_;
  std::deque<int> runnable_;
  // Of the step at hand: its operands, their values, and which offers it takes.
  std::vector<Operand> operands_;
  std::vector<Value> values_;
  std::vector<std::int32_t> offered_;
  std::vector<Offer> offers_;
  std::vector<Read> reads_;
  Folds folds_;
  Causality causality_;
};

}  // namespace tutti::plan

#endif  // TUTTI_PLAN_EXECUTION_H_
