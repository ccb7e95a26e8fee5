// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_EXEC_GPU_LOWER_COMPILE_H_
#define TUTTI_EXEC_GPU_LOWER_COMPILE_H_

// From plans to programs. PreparePlan is done once for a plan, Compile once for an operation; Compile allocates nothing.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "exec/gpu/format/program.h"
#include "exec/gpu/format/transfer.h"
#include "plan/cuts.h"
#include "plan/forms.h"
#include "plan/plan.h"
#include "proto/protocol.h"
#include "tutti/status.h"
#include "tutti/types.h"

namespace tutti::exec::gpu {

// One rank's plan with what depends on all ranks' plans.
struct PreparedPlan {
  Program program{};  // the code is filled, and what is said of the plan as a whole; no code where there is no seating
  int rank = 0, ranks = 1;
  int section = 0;           // of the segment (transport/p2p/sections.h), for the program
  std::vector<int> rank_of;  // by seat, -1 where this rank meets nobody; empty: seats are ranks
  int code_words = 0;
  Collective collective = Collective::kAllReduce;
  int blocks_per_piece = 1;
  bool has_output = true;                 // this rank stores a result
  bool copies = false;                    // none of this rank's steps folds
  std::vector<std::uint16_t> plan_steps;  // of the plan, by the program's steps
  plan::Forms forms;                      // other ways to run it
  plan::FlatLists lists;                  // of this rank
  plan::Moves moves;                      // where that is one of them; of two shots, the second one
};

// Where a kernel finds the ranks of a plan, of more ranks than there are seats.
struct Seating {
  int section = 0;            // of the segment
  int seats = 0;              // for which it has room
  std::vector<int> seats_of;  // by rank (plan::SeatRanks)
};
// `plans`: every rank's, of one algorithm, in rank order. kUnsupported where the plan does not fit a program, or needs switches
// (plan/switches.h). Among more ranks
// than kSeats a plan has no other form than that of a program by its seating, or without one that of moves.
Result<PreparedPlan> PreparePlan(std::span<const plan::RankPlan> plans, int rank, const Seating* seating = nullptr);

// The same for a group of sends and receives, of which a rank knows its own plan only; its one form is that of moves. Sizes in the
// plan do not matter.
PreparedPlan PrepareGroup(const plan::RankPlan& own);

// Lets a program find the ranks that a plan with a seating meets. `segments`: every rank's; the plan's section is at `begin`
// there. Where nobody sits there is this rank itself, which gives its own word credit for rings of that seat; nobody writes them.
void ConnectSeats(const PreparedPlan& plan, std::span<std::byte* const> segments, std::size_t begin, Program& program);

// Whether a plan can be run step by step: it has a program, and the rings hold its messages that are under way at a time. The same
// on all ranks.
Status CanRunSteps(const PreparedPlan& plan, proto::Protocol protocol, const transport::p2p::Geometry& geometry);

// How an operation is cut.
struct Shape {
  proto::Protocol protocol = proto::Protocol::kSimple;
  int channels = 1;
  int threads = 256;            // of a block
  std::size_t chunk_bytes = 0;  // of operations of several rounds; 0: as much as a ring takes
};

// What an operation is about. `count` elements per piece.
struct Work {
  const void* in = nullptr;
  void* out = nullptr;
  std::size_t count = 0;
  DataType type = DataType::kUint8;
  ReduceOp op = ReduceOp::kSum;
  double scalar = 1.0;
  std::optional<std::int64_t> integer_scalar = std::nullopt;  // exactly, for integers; else `scalar` is converted
  const void* device_scalar = nullptr;  // where set, the factor lies there when the kernel runs, an element of `type`
};

// Fills in the rest of the program, except segments, host and timeout_ns, which a launcher keeps in `program` for all.
// REQUIRES: count > 0; shape.channels within the geometry's.
void Compile(const PreparedPlan& plan, const Work& work, const Shape& shape, const transport::p2p::Geometry& geometry,
             const plan::Cuts& cuts, Program& program);

// The last part of Compile: the short form, where there is one (short_form.cc).
void AddShortForm(const PreparedPlan& plan, const Shape& shape, const transport::p2p::Geometry& geometry,
                  const plan::Cuts& cuts, Program& program);

// The sends and receives that a plan of moves comes to. REQUIRES: plan.forms.moves; work.count > 0.
void ListRequests(const PreparedPlan& plan, const Work& work, std::vector<TransferRequest>& sends,
                  std::vector<TransferRequest>& receives);

// The data of a group of sends and receives, by the blocks of its plan.
struct GroupData {
  struct In {
    const void* at;
    std::size_t bytes;
  };
  struct Out {
    void* at;
    std::size_t bytes;
  };
  std::vector<In> in;
  std::vector<Out> out;
};
// The same of a group. REQUIRES: PrepareGroup made the plan.
void ListRequests(const PreparedPlan& plan, const GroupData& data, std::vector<TransferRequest>& sends,
                  std::vector<TransferRequest>& receives);

// Gives a program that Compile has filled in other buffers. `ranks`: of the communicator. False where that needs more: compile
// it again.
bool ChangeBuffers(const void* in, void* out, int ranks, Program& program);
// Gives a group of kernels other buffers: of blocks of as many bytes as those that it was compiled for. False where it does
// not know which is whose: compile it again.
bool ChangeBuffers(const PreparedPlan& plan, const GroupData& data, Group& group);

// Scaling of inputs and division of results that the operator asks for.
void SetScaling(Collective collective, const Work& work, int ranks, Scaling& scaling);

// Both parts of Compile. What operations that follow the same plan have in common:
void CompileCommon(const PreparedPlan& plan, const Work& work, const Shape& shape,
                   const transport::p2p::Geometry& geometry, Program& program);
// and the data of one, cut for shape.channels. Returns how many channels have something to do.
int CompileItem(const PreparedPlan& plan, const Work& work, const Shape& shape,
                const transport::p2p::Geometry& geometry, ProgramItem& item);

}  // namespace tutti::exec::gpu

#endif  // TUTTI_EXEC_GPU_LOWER_COMPILE_H_
