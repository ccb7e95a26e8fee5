// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "tools/record_calls.h"

#include <algorithm>
#include <cstddef>

#include "proto/protocol.h"

namespace tutti::tools {
namespace {

using trace::CallRecord;

constexpr std::uint8_t kNoAlgorithm = 0xff;

// Ascending, from the latest back to the first gap.
std::vector<HeldCall> LatestCalls(const trace::View& box) {
  std::vector<HeldCall> calls;
  (void)box.FindLatest([&](const CallRecord& r) {
    if (!calls.empty() && r.number + 1 != calls.back().record.number) return true;
    calls.push_back({.record = r});
    return false;
  });
  std::ranges::reverse(calls);
  return calls;
}

// The earliest moment that is known to be no earlier than the call was made.
std::int64_t NoLaterThan(const CallRecord& r, std::int64_t bound_ns) {
  for (const std::int64_t ns : {r.enqueued_ns, r.started_ns, r.finished_ns}) {
    if (ns > 0) bound_ns = std::min(bound_ns, ns);
  }
  return bound_ns;
}

// Calls that wait now had been made when the wait began.
void NoteWait(const trace::View& box, std::vector<HeldCall>& calls) {
  const trace::WaitView wait = box.wait();
  if (wait.kind == trace::WaitKind::kNothing || wait.since_ns <= 0) return;
  const std::uint64_t finished = box.finished();
  for (HeldCall& c : calls) {
    CallRecord& r = c.record;
    if (r.number <= finished || r.number > wait.number || r.enqueued_ns != 0) continue;
    r.enqueued_ns = wait.since_ns;
    r.enqueued_at_most = true;
  }
}

}  // namespace

HeldCalls ReadHeldCalls(const trace::View& box, std::int64_t taken_ns) {
  HeldCalls held{.calls = LatestCalls(box)};
  held.whole = held.calls.empty() ? box.newest() == 0 : held.calls.front().record.number == 1;
  NoteWait(box, held.calls);
  std::int64_t bound_ns = box.created_ns();
  for (HeldCall& c : held.calls) {
    c.at_least_ns = bound_ns;
    if (c.exact()) bound_ns = std::max(bound_ns, c.record.enqueued_ns);
  }
  bound_ns = taken_ns;
  for (std::size_t i = held.calls.size(); i-- > 0;) {
    HeldCall& c = held.calls[i];
    bound_ns = NoLaterThan(c.record, bound_ns);
    c.at_most_ns = bound_ns;
    if (c.exact()) c.at_least_ns = c.at_most_ns = c.record.enqueued_ns;
  }
  return held;
}

CallState StateOf(const CallRecord& call, const trace::View& box) {
  const bool moves = call.call.count > 0 || call.call.function() == Collective::kBarrier;
  const bool on_gpu = call.how.algorithm == kNoAlgorithm && call.how.protocol >= proto::kProtocols && moves;
  const std::uint64_t finished = box.finished();
  if (call.number <= finished) return on_gpu ? CallState::kInStream : CallState::kEnded;
  if (on_gpu) return CallState::kQueued;
  const trace::WaitView wait = box.wait();
  // Of a group that waits all are under way.
  const bool waits = wait.kind != trace::WaitKind::kNothing && call.number <= wait.number;
  return call.number == finished + 1 || call.started_ns > 0 || waits ? CallState::kRunning : CallState::kQueued;
}

}  // namespace tutti::tools
