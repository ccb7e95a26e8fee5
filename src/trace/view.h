// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_TRACE_VIEW_H_
#define TUTTI_TRACE_VIEW_H_

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "trace/call.h"
#include "trace/layout.h"
#include "tutti/status.h"

namespace tutti::trace {

// One call as it was written down.
struct CallRecord {
  std::uint64_t number = 0;
  std::uint64_t sequence = 0;  // layout.h, "Record"
  Call call;
  How how;
  // Of CLOCK_MONOTONIC; 0: no clock was read. enqueued_at_most: it was called at enqueued_ns or before.
  std::int64_t enqueued_ns = 0;
  std::int64_t started_ns = 0;
  std::int64_t finished_ns = 0;
  bool enqueued_at_most = false;
};

struct WaitView {
  WaitKind kind = WaitKind::kNothing;
  bool on_gpu = false;       // its kernels wait, and no thread
  std::uint64_t number = 0;  // 0: of a call that is not written down, as those of graphs
  int peer = -1;
  int channel = 0;
  std::int64_t since_ns = 0;
  std::int64_t looked_ns = 0;
};

// Where its process waits in another communicator (layout.h, "elsewhere"); communicator 0: nowhere.
struct ElsewhereView {
  std::uint64_t communicator = 0;
  std::int32_t thread = 0;
};

// Who waited last, also where that is over, the longest wait that has ended (layout.h, "WaitWords"), and where else.
struct WaiterView {
  std::int32_t thread = 0;
  bool inside = false;
  std::int64_t longest_ns = 0;
  ElsewhereView elsewhere;
};

// The GPU that it uses.
struct GpuView {
  std::string bus_id;       // "0000:1b:00.0"; empty: none
  int number = -1;          // in the process; -1: none
  std::uint64_t begun = 0;  // every call up to this one has begun there; 0: not known
};

// What the library does here for itself (layout.h).
struct OwnView {
  std::uint64_t stream = 0;       // of the latest call on the GPU (BoxHeader::stream)
  std::uint64_t collectives = 0;  // so many of the first
  // Of a part: the communicator that it was made from, and the rank there. 0, -1: it is none.
  std::uint64_t whole = 0;
  int rank_of_whole = -1;
  std::optional<WholeCall> waits_in;  // the whole's call; none: it waits in none, or it is not known
};

// Collectives in a row that are alike: `first` and those after it, up to sequence `last`.
struct CollectiveRun {
  CallRecord first;
  std::uint64_t last = 0;
};

// What goes to a peer by one card, as FlowWords has it.
struct FlowView {
  std::uint64_t posted = 0, completed = 0;  // the latter at most the former
  std::int64_t stuck_ns = 0;
  bool peer_is_full = false;
  std::uint64_t carries = 0, carries_little = 0;
  std::string card;
};

struct LinkView {
  std::array<std::uint64_t, LinkWords::kProtocols> sent{}, received{}, credit{};
  std::int64_t data_wait_ns = 0;
  std::int64_t credit_wait_ns = 0;
  std::uint64_t pace = 0, usual_pace = 0, arrived = 0;  // of channel 0, in bytes/s
  int queued_percent = 0;
  std::string card;
  std::vector<FlowView> flows;  // likewise, to a peer on another host
};

// The reading side of a black box. Its memory may change while it is read, and may hold anything: nothing beyond it is
// read, and no word in it is trusted further than that. Values, not pointers, come out.
class View {
 public:
  // Checks the header. `memory` is aligned to 8 bytes and outlives the view. kInvalidArgument, with a sentence, for
  // what is not a black box of this version.
  static Result<View> Open(const std::byte* memory, std::size_t bytes);
  // Bytes of the whole black box whose first bytes (at least sizeof(BoxHeader)) lie at `memory`: what to read before
  // Open.
  static Result<std::size_t> BytesOf(const std::byte* memory, std::size_t bytes);

  std::uint64_t communicator() const { return header()->communicator; }
  std::string name() const;
  GpuView gpu() const;
  OwnView own() const;
  int rank() const { return rank_; }
  int ranks() const { return ranks_; }
  int channels() const { return channels_; }
  std::int32_t pid() const { return header()->pid; }
  std::int64_t created_ns() const { return header()->created_ns; }
  std::int64_t created_unix_ns() const { return header()->created_unix_ns; }
  std::uint64_t start_ticks() const { return header()->start_ticks; }
  std::int32_t thread() const { return header()->thread; }
  // Room of each link, in the unit of each protocol; 0: not known.
  std::array<std::uint32_t, kBoxProtocols> window() const { return std::to_array(header()->window); }
  // Whether its calls are written down; its waits are in any case.
  bool records_calls() const { return header()->silent.load(std::memory_order_acquire) == 0; }

  // All calls up to this one have ended.
  std::uint64_t finished() const { return header()->finished.load(std::memory_order_acquire); }
  // The latest call; 0: none.
  std::uint64_t newest() const { return header()->called.load(std::memory_order_acquire); }
  // How many calls of each function there were, also of those that are recorded no more, by Collective. Their sum is newest(), as it was
  // at a moment while this ran; where the owner does not hold still long enough for that it may be more or less.
  std::array<std::uint64_t, kFunctions> CallsByFunction() const;
  // Whether some calls are recorded no more.
  bool forgets() const { return header()->runs.load(std::memory_order_acquire) > kRecords; }
  // nullopt where call `number` is not (or no longer) there, or is being overwritten.
  std::optional<CallRecord> Find(std::uint64_t number) const;
  // The latest call for which `wanted` holds among the last kRecords calls; stops early where `enough` says so.
  std::optional<CallRecord> FindLatest(const std::function<bool(const CallRecord&)>& wanted,
                                       const std::function<bool(const CallRecord&)>& enough = {}) const;
  // The collective with this sequence number; the last one, called before call `number`.
  std::optional<CallRecord> FindCollective(std::uint64_t sequence) const;
  std::optional<CallRecord> LastCollective(std::uint64_t before = ~std::uint64_t{0}) const;
  // The last runs of collectives, at most so many, the latest first.
  std::vector<CollectiveRun> CollectiveRuns(std::size_t most) const;

  // What it waits for now; kNothing where it does not, or not for long. Where no thread of the rank waits, what its GPU waits for.
  WaitView wait() const;
  WaiterView waiter() const;
  LinkView link(int channel, int peer) const;  // REQUIRES: both in range
  // The error that broke the communicator, "" where there is none.
  std::string failure() const;
  Code failure_code() const;  // kOk where there is none

 private:
  const BoxHeader* header() const { return reinterpret_cast<const BoxHeader*>(memory_); }
  // Goes through the runs from the latest backwards, as far as they can be read, with the last call of each that is
  // known to be of it; until `visit(run as its first call, number of its last call)` returns false.
  void EachRun(const std::function<bool(const CallRecord& first, std::uint64_t last)>& visit) const;
  std::vector<FlowView> ReadFlows(int peer) const;
  std::optional<CallRecord> ReadRecord(std::uint64_t run) const;
  WaitView ReadWait(const WaitWords& words) const;
  std::optional<WholeCall> ReadWholeCall() const;
  // Call `number` of a run.
  CallRecord CallOf(const CallRecord& first, std::uint64_t number) const;

  const std::byte* memory_ = nullptr;
  int rank_ = 0;
  int ranks_ = 0;
  int channels_ = 0;
};

// Makes a copy out of another process whole, which was taken by something that copies in no particular order while the
// owner went on. `before`: a copy of the header that had ended before `first` was begun; `second`: a copy that was begun
// after the first had ended. Calls after `before` are forgotten, and records that were being written are blanked: one
// stays where it is the same in both copies, or where it had been complete before (a number not beyond `called`) and was
// not yet being overwritten after (the same number in both). Both copies hold `bytes` bytes, aligned to 8, at least
// BoxBytes(1, 1).
void DropTornRecords(const BoxHeader& before, std::byte* first, const std::byte* second, std::size_t bytes);

}  // namespace tutti::trace

#endif  // TUTTI_TRACE_VIEW_H_
