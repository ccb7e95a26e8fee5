// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_TRACE_RECORDER_H_
#define TUTTI_TRACE_RECORDER_H_

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

#include "trace/call.h"
#include "trace/layout.h"
#include "tutti/status.h"

namespace tutti::trace {

// Whose black box it is.
struct Owner {
  std::uint64_t communicator = 0;
  std::string_view name;
  int rank = 0;
  int ranks = 1;
  int channels = 1;
  std::int32_t pid = 0;
  std::int64_t created_ns = 0;
  std::int64_t created_unix_ns = 0;
  std::uint64_t start_ticks = 0;  // of the process
  std::int32_t thread = 0;        // that makes the communicator
  std::array<std::uint32_t, kBoxProtocols> window{};
  std::string_view gpu_bus_id;  // empty: host memory
  std::int32_t gpu = -1;
  std::uint64_t whole = 0;  // of a part (layout.h); 0: it is none
  std::int32_t rank_of_whole = -1;
};

// Which thread waits, and whether it can do nothing else until the wait is over (layout.h, "WaitWords").
struct Waiting {
  std::int32_t thread = 0;
  bool inside = false;
};

// What a rank's GPU does.
struct GpuNote {
  std::uint64_t begun = 0;             // number of the last call that has begun there; 0: not known
  WaitKind kind = WaitKind::kNothing;  // what its kernels wait for; then the rest counts
  std::uint64_t number = 0;            // of the call that waits; 0: one of a graph
  int peer = -1, channel = 0;
  std::int64_t since_ns = 0, now_ns = 0;
};

// The writing side of a black box. Without memory it records nothing. Threads: those of the communicator, one at a time;
// Fail may come from any, and NoteGpu and NoteWhole from another one.
class Recorder {
 public:
  Recorder() = default;
  // Formats `memory`: BoxBytes(owner.ranks, owner.channels) zeros, aligned to 128 bytes, which outlive the recorder.
  Recorder(std::byte* memory, const Owner& owner);

  // Writes a call down, which begins a run, and returns its number; 0 where nothing is recorded. `how` is How::Pack's.
  std::uint64_t Add(CallWord call, std::uint64_t count, std::uint64_t sequence, std::uint16_t how) {
    if (!on_) return 0;
    const std::uint64_t number = ++last_;
    Record& r = records_[run_++ % kRecords];
    r.number.store(number, std::memory_order_relaxed);
    r.sequence_how.store(sequence << 16 | how, std::memory_order_release);
    r.count.store(count, std::memory_order_release);
    r.call_end.store(std::uint64_t{call} | number << 32, std::memory_order_release);
    const std::uint64_t earlier = earlier_[run_function_] += number - run_first_;
    header_->earlier[run_function_].store(earlier, std::memory_order_release);
    run_function_ = call & 0xf;
    run_first_ = number;
    __builtin_prefetch(&records_[(run_ + 1) % kRecords], 1);
    header_->runs.store(run_, std::memory_order_release);
    header_->called.store(number, std::memory_order_release);
    return number;
  }
  // The same for one more call of run `run()`, the latest: its sequence is that of the call before, plus one.
  // REQUIRES: run() > 0.
  std::uint64_t Repeat() {
    header_->called.store(++last_, std::memory_order_release);
    return last_;
  }
  // Runs so far. A call that was the latest when this was n, and is made again while it still is n, is one more of it.
  std::uint64_t run() const { return run_; }
  // Every call up to `number` has ended.
  void Finish(std::uint64_t number) {
    if (on_) header_->finished.store(number, std::memory_order_relaxed);
  }
  std::uint64_t last() const { return last_; }
  // Whether calls are written down: yes, where there is memory, unless switched off. Waits and failures always are.
  bool on() const { return on_; }
  void Switch(bool on) {
    on_ = on && header_ != nullptr;
    if (header_ != nullptr) header_->silent.store(on ? 0 : 1, std::memory_order_relaxed);
  }

  // Clocks, where they were read. TimeEnqueued comes first for a call.
  void TimeEnqueued(std::uint64_t number, std::int64_t enqueued_ns, std::int64_t started_ns);
  void TimeStarted(std::uint64_t number, std::int64_t now_ns);
  void TimeFinished(std::uint64_t number, std::int64_t now_ns);
  // Whether call `number` has times already.
  bool HasTimes(std::uint64_t number) const {
    return header_ != nullptr && times_[(number - 1) % kRecords].number.load(std::memory_order_relaxed) == number;
  }

  // What call `number` waits for; peer -1 where it is nobody in particular.
  void Wait(std::uint64_t number, int peer, WaitKind kind, int channel, std::int64_t since_ns, std::int64_t now_ns,
            const Waiting& who = {});
  void EndWait();
  void NoteGpu(const GpuNote& note);
  // The stream of the calls from now on, by a number of the process's that is not 0.
  void NoteStream(std::uint64_t stream) {
    if (header_ != nullptr) header_->stream.store(stream, std::memory_order_relaxed);
  }
  // Of a part: the whole's call that it waits in; nullopt: none, or not known.
  void NoteWhole(const std::optional<WholeCall>& call);
  // The collectives so far are the library's own.
  void NoteOwn(std::uint64_t collectives) {
    if (header_ != nullptr) header_->own_collectives.store(collectives, std::memory_order_release);
  }
  // The counters of a link, and time waited on it.
  struct Counters {
    std::array<std::uint64_t, LinkWords::kProtocols> sent{}, received{}, credit{};
    bool operator==(const Counters&) const = default;
  };
  void Count(int channel, int peer, const Counters& counters);
  void AddWaited(int channel, int peer, WaitKind kind, std::int64_t ns);

  // The communicator is broken. The first failure stays.
  void Fail(Code code, std::string_view why);

 private:
  BoxHeader* header_ = nullptr;
  Record* records_ = nullptr;
  Times* times_ = nullptr;
  LinkWords* links_ = nullptr;
  int ranks_ = 0;
  bool on_ = false;
  std::uint64_t last_ = 0;
  std::uint64_t run_ = 0;
  // The latest run: its function and first call. Before the first run: one without calls.
  std::uint32_t run_function_ = 0;
  std::uint64_t run_first_ = 1;
  std::array<std::uint64_t, kFunctions> earlier_{};  // BoxHeader's
};

// Notes in the black box at `memory`, of this process, where else the process waits (layout.h, "elsewhere"); communicator 0: nowhere.
// Threads: one at a time, beside those of the communicator.
void NoteElsewhere(std::byte* memory, std::uint64_t communicator, std::int32_t thread);

// Notes there how fast data go to a rank of another host (LinkWords::pace). Threads: likewise. REQUIRES: the box has links with `peer`.
struct Pace {
  std::uint64_t bytes_per_s = 0;  // 0: there was not enough to send
  std::uint64_t usual_bytes_per_s = 0;
  std::uint64_t arrived_bytes_per_s = 0;
  int queued_percent = 0;
  std::string_view card;
};
void NotePace(std::byte* memory, int peer, const Pace& pace);

// Notes there what is on its way to a rank of another host by the `index`-th card that data go to it by (FlowWords). Threads: likewise.
// REQUIRES: the box has links with `peer`; index < kBoxFlows.
struct FlowNote {
  std::uint64_t posted = 0, completed = 0;
  std::int64_t stuck_ns = 0;
  bool peer_is_full = false;
  std::uint64_t carries_bytes_per_s = 0, carries_little_bytes_per_s = 0;
  std::string_view card;
};
void NoteFlow(std::byte* memory, int peer, int index, const FlowNote& flow);

}  // namespace tutti::trace

#endif  // TUTTI_TRACE_RECORDER_H_
