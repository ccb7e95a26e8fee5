// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "comm/host/ledger.h"

#include "comm/host/core.h"
#include "comm/host/planner.h"
#include "exec/cpu/engine.h"
#include "sys/os/clock.h"

namespace tutti::comm {
namespace {

using exec::cpu::Job;
using exec::cpu::JobCalls;

// Times are taken of calls that move so much, where two looks at the clock do not show, and of every so many-th call.
constexpr std::size_t kTimedBytes = 1 << 20;
constexpr std::uint64_t kTimedEvery = 1024;

}  // namespace

Ledger::Ledger(Core& core, Planner& planner)
    : core_(core), planner_(planner), sends_(core.ranks), receives_(core.ranks) {}

std::uint64_t Ledger::collectives() const { return core_.recorder.last() - transfers_; }

void Ledger::EndOwn() {
  own_collectives_ = collectives();
  core_.recorder.NoteOwn(own_collectives_);
}

void Ledger::Record(const Operation& o, Job& job) {
  if (IsTransfer(o.kind)) {
    RecordGroup(std::span(&o, 1), job);
  } else {
    RecordCollective(job);
  }
}

void Ledger::RecordCollective(Job& job) {
  JobCalls& calls = job.calls;
  calls.timed = false;
  if (!core_.recorder.on()) {
    calls.mark = 0;
    return;
  }
  if (calls.run == core_.recorder.run()) [[likely]] {
    calls.mark = mark_ = calls.next_mark;
    calls.last = core_.recorder.Repeat();
  } else {
    calls.mark = mark_ = trace::NextMark(mark_, calls.signature);
    calls.count = 1;
    calls.last = core_.recorder.Add(calls.word, calls.elements, collectives() + 1, calls.how);
    calls.run = core_.recorder.run();
  }
  calls.next_mark = trace::NextMark(mark_, calls.signature);
  if (calls.elements * job.element >= kTimedBytes || calls.last % kTimedEvery == 0) [[unlikely]]
    TimeCalls(calls);
}

void Ledger::Accompany(const Job& job, Job& ahead) {
  ahead.calls.count = 0;
  ahead.calls.last = job.calls.last;
  // As of a call that no program makes.
  ahead.calls.mark = job.calls.mark == 0 ? 0 : trace::NextMark(job.calls.mark, trace::Signature(0xf, ahead.count));
}

std::uint64_t Ledger::NumberTransfer(const Operation& o) {
  ++transfers_;
  return ++(o.kind == Collective::kSend ? sends_ : receives_)[o.root];
}

std::uint64_t Ledger::RecordTransfer(const Operation& o, const exec::cpu::Lane& lane, std::uint64_t* its_mark) {
  const std::uint64_t index = NumberTransfer(o);
  const std::size_t bytes = o.count * SizeOf(o.type);
  *its_mark = trace::TransferMark(bytes, index);
  const trace::How how{.protocol = static_cast<std::uint8_t>(lane.protocol),
                       .by_reference = planner_.FindReference(o, lane)};
  return core_.recorder.Add(trace::PackCall(o), o.count, index, how.Pack());
}

void Ledger::RecordGroup(std::span<const Operation> operations, Job& job) {
  const bool recorded = core_.recorder.on();
  JobCalls& calls = job.calls;
  calls.count = operations.size();
  calls.timed = false;
  std::size_t bytes = 0, sends = 0, receives = 0;
  for (const Operation& o : operations) {
    const auto record = [&](auto& block) {
      block.mark = 0;
      if (recorded) calls.last = RecordTransfer(o, block.lane, &block.mark);
    };
    if (o.kind == Collective::kSend) {
      record(job.group.sends[sends++]);
    } else {
      record(job.group.receives[receives++]);
    }
    bytes += o.count * SizeOf(o.type);
  }
  if (!recorded) return;
  if (bytes >= kTimedBytes || (calls.last - calls.count) / kTimedEvery != calls.last / kTimedEvery) [[unlikely]]
    TimeCalls(calls);
}

void Ledger::RecordEmpty(const Operation& o) {
  if (!core_.recorder.on()) return;
  const trace::CallWord word = trace::PackCall(o);
  mark_ = trace::NextMark(mark_, trace::Signature(word, 0));
  const std::uint64_t number = core_.recorder.Add(word, 0, collectives() + 1, trace::How{}.Pack());
  if (core_.engine->idle()) core_.recorder.Finish(number);
}

std::uint64_t Ledger::RecordGpuCall(const Operation& o) {
  if (!core_.recorder.on() || (o.count == 0 && IsTransfer(o.kind))) return 0;
  const trace::CallWord word = trace::PackCall(o);
  const std::uint64_t count = o.kind == Collective::kBarrier ? 0 : o.count;
  std::uint64_t number;
  if (IsTransfer(o.kind)) {
    number = core_.recorder.Add(word, count, NumberTransfer(o), trace::How{}.Pack());
  } else if (gpu_call_.run == core_.recorder.run() && gpu_call_.run > 0 && gpu_call_.word == word &&
             gpu_call_.count == count) {
    number = core_.recorder.Repeat();
    gpu_mark_ = trace::NextMark(gpu_mark_, gpu_call_.signature);
  } else {
    number = core_.recorder.Add(word, count, collectives() + 1, trace::How{}.Pack());
    gpu_call_ = {.word = word, .count = count, .run = core_.recorder.run(), .signature = trace::Signature(word, count)};
    gpu_mark_ = trace::NextMark(gpu_mark_, gpu_call_.signature);
  }
  if (core_.engine->idle()) core_.recorder.Finish(number);
  return number;
}

void Ledger::TimeCalls(JobCalls& calls) {
  const std::int64_t now_ns = sys::NowNs();
  calls.timed = true;
  for (std::uint64_t call = calls.first(); call <= calls.last; ++call) {
    core_.recorder.TimeEnqueued(call, now_ns, core_.engine->idle() ? now_ns : 0);
  }
}

}  // namespace tutti::comm
