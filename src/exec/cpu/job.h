// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_EXEC_CPU_JOB_H_
#define TUTTI_EXEC_CPU_JOB_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "exec/cpu/fold_types.h"
#include "exec/cpu/lane.h"
#include "plan/plan.h"
#include "proto/protocol.h"
#include "tutti/status.h"

namespace tutti::exec::cpu {

struct Brief;
struct PreparedPlan;
}  // namespace tutti::exec::cpu

namespace tutti::proto {
struct Post;
}

namespace tutti::exec::cpu {

// Memory that begins where a cache line does: the system call that reads a peer's memory takes up to a fifth longer to other places, and
// vectors of a fold would lie in two lines.
struct alignas(64) CacheLine {
  std::byte bytes[64];
};
constexpr std::size_t LinesOf(std::size_t bytes) { return (bytes + sizeof(CacheLine) - 1) / sizeof(CacheLine); }

// What one channel does of a collective: its own plan and links, its own part of the data, its own position.
struct Part {
  const PreparedPlan* plan = nullptr;
  int channel = 0;
  std::size_t first = 0;  // elements [first, first + count) of every piece
  std::size_t count = 0;

  // Cut by the engine.
  plan::BlockCut in_cut, out_cut;
  std::size_t chunk = 0;  // elements
  int rounds = 0;

  // Where it is.
  int slot = 0;  // time slot
  int turn = 0;  // among the steps of a slot
  int step = 0;
  int operand = 0;
  std::size_t progress = 0;  // units of the message that is being received
  bool computed = false;     // the step's value is there; it remains to be sent
  std::size_t sent = 0;      // targets that it has been sent to
  bool done = false;
  // The next step that has not been looked at by Engine::AwaitAhead.
  int ahead_slot = 0;
  int ahead_step = 0;

  // The step being run: where its operands lie, its pages of the pool (-1: none), its value once computed.
  std::vector<const void*> operands;
  std::vector<CacheLine> scratch;
  int pool_slot = -1;
  const std::byte* value = nullptr;
  // Where its value goes in the outputs of those who get it and offer them, so many bytes behind their start; kNowhere: they read it.
  static constexpr std::size_t kNowhere = ~std::size_t{0};
  std::size_t place = kNowhere;
  // Of a step whose value goes to the root's output alone: where that is, as the root knows it, null: its pages of the pool instead; and
  // as known here, null where only the system can write there.
  std::byte* at_root = nullptr;
  std::byte* at_root_here = nullptr;
};

// What one send or receive moves: an in-block or out-block of its group's plan.
template <typename Byte>
struct TransferBlock {
  Byte* address = nullptr;
  std::size_t bytes = 0;
  Lane lane;
  std::uint64_t mark = 0;  // of its messages (trace/call.h)
};

using SendBlock = TransferBlock<const std::byte>;
using ReceiveBlock = TransferBlock<std::byte>;

// Sends and receives that proceed together. The plan's own sizes are not used, so that one plan serves all sizes.
struct TransferGroup {
  const PreparedPlan* plan = nullptr;
  std::vector<SendBlock> sends;        // by in-block
  std::vector<ReceiveBlock> receives;  // by out-block

  // How far each step of the plan is, and how many steps have not ended.
  struct Progress {
    std::size_t moved = 0;    // bytes
    std::size_t arrived = 0;  // units of the message that is being received
    std::size_t awaited = 0;  // bytes of which the links have been told where they go
    bool done = false;
  };
  std::vector<Progress> steps;
  int left = 0;
  std::int64_t began_ns = 0;  // as those of its sends say that are on trial
  bool refused = false;       // something came that is no part of it: the job ends with an error at once
};

struct Job;

// Whoever wants to know of a job.
class JobWatcher {
 public:
  virtual ~JobWatcher() = default;
  // It is the first of the engine's jobs now. Its way may still be changed.
  virtual void Starts(Job& job) = 0;
  virtual void Ended(Job& job) = 0;  // not called where it has failed
  // The first post of a receive whose lane is tried, step `step` of its group, is there. This may be said several times.
  virtual void Arrives(const Job& /*job*/, int /*step*/, const proto::Post& /*first*/) {}
};

// The calls that a job runs, as the black box and messages know them (trace/call.h): one collective, or all sends and
// receives of a group.
struct JobCalls {
  // What the black box is told of a collective.
  std::uint32_t word = 0;
  std::uint64_t elements = 0;
  std::uint64_t signature = 0;
  std::uint16_t how = 0;        // trace::How
  std::uint64_t mark = 0;       // of a collective's messages
  std::uint64_t next_mark = 0;  // where it is called again at once: known before the call, which waits for it
  // Their numbers in the black box: [first(), last]. No call: the job belongs to the one that `last` names, and goes before it.
  std::uint64_t count = 1;
  std::uint64_t last = 0;
  std::uint64_t first() const { return last + 1 - count; }
  static constexpr std::uint64_t kNoRun = ~std::uint64_t{0};
  std::uint64_t run = kNoRun;     // trace::Recorder::run when it was last written down; kNoRun: for another call
  bool timed = false;             // their times are taken
  JobWatcher* watcher = nullptr;  // outlives them
  std::uint64_t watched = 0;      // the watcher's number for them
};

// One operation on its way through the executor. Filled by the communicator, then owned by the engine until done.
struct Job {
  // What to do.
  Collective collective = Collective::kAllReduce;
  const std::byte* in = nullptr;
  std::byte* out = nullptr;
  std::size_t count = 0;    // elements per piece (plan.h, "Blocks")
  std::size_t element = 1;  // bytes
  DataType type = DataType::kUint8;
  FoldFn fold = nullptr;
  bool scale_inputs = false;  // multiply every input element by `scale` before it is used
  ScaleFactor scale{1, 1.0};
  int divisor = 1;  // divide the finished output by this (integer averages)
  proto::Protocol protocol = proto::Protocol::kSimple;
  bool by_reference = false;
  std::size_t chunk_bytes = 0;  // ChunkRules::ForPlan of all this; 0 for groups
  // Non-temporal where the output is far larger than the caches (docs/decisions/0022).
  Stores stores = Stores::kCached;
  // What the engine finds out of it.
  struct Found {
    bool awaits = false;  // the links to other hosts are told where what comes may be put
    // The parts are cut for this job, and what it does when it is brief is known (brief.h). A job that runs again with other buffers keeps
    // that.
    bool cut = false;
    std::shared_ptr<const Brief> brief;
  } found;
  // One plan per channel; `channels` of the parts are in use, the others keep their storage for later.
  std::vector<Part> parts;
  int channels = 1;

  TransferGroup group;  // where the collective is kSendRecv

  const PreparedPlan& first_plan() const { return collective == Collective::kSendRecv ? *group.plan : *parts[0].plan; }

  // Whether ranks wait for each other's messages, so that it counts how soon these come and not how many follow each
  // other.
  bool mutual() const {
    return collective == Collective::kSendRecv ? !group.sends.empty() && !group.receives.empty() : !HasRoot(collective);
  }

  JobCalls calls;

  bool done = false;
  Status status;
  Job* next = nullptr;  // in the engine's queue

  // What it waits for, for messages; -1: nothing.
  int waits_for = -1;
  // kPages: pages of the pool; waits_for is then a rank that may hold them, not the one that does.
  enum class WaitsFor : std::uint8_t { kNothing, kData, kRoom, kReaders, kPages } waits_what = WaitsFor::kNothing;
  int waiting_part = 0;
};

}  // namespace tutti::exec::cpu

#endif  // TUTTI_EXEC_CPU_JOB_H_
