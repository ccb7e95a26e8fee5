// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "tools/record_spans.h"

#include <algorithm>
#include <cstddef>
#include <span>
#include <utility>

namespace tutti::tools {
namespace {

using Begin = CallSpan::Begin;

bool AnyClock(const HeldCall& call) { return call.record.enqueued_ns != 0; }

class Placer {
 public:
  Placer(const trace::View& box, std::int64_t taken_ns)
      : box_(box), taken_ns_(taken_ns), held_(ReadHeldCalls(box, taken_ns)), until_ns_(box.created_ns()) {}

  std::vector<CallSpan> Run() {
    std::span<const HeldCall> left = held_.calls;
    const auto clock = std::ranges::find_if(left, AnyClock);
    if (!held_.whole && clock != left.end()) left = left.subspan(static_cast<std::size_t>(clock - left.begin()));
    while (!left.empty()) {
      std::size_t calls = 1;
      if (StateOf(left.front().record, box_) == CallState::kQueued) {
        calls = PlaceQueued(left);
      } else if (AnyClock(left.front())) {
        PlaceByClock(left);
      } else {
        const auto next = std::ranges::find_if(
            left, [&](const HeldCall& c) { return AnyClock(c) || StateOf(c.record, box_) == CallState::kQueued; });
        calls = static_cast<std::size_t>(next - left.begin());
        PlaceBetween(left, calls);
      }
      left = left.subspan(calls);
    }
    std::ranges::stable_sort(spans_, [](const CallSpan& a, const CallSpan& b) {
      return a.from_ns != b.from_ns ? a.from_ns < b.from_ns : a.to_ns > b.to_ns;
    });
    return std::move(spans_);
  }

 private:
  void Add(CallSpan span) {
    span.to_ns = std::max(span.to_ns, span.from_ns + 1);
    spans_.push_back(span);
  }

  // When the first of these calls was begun, else made. Calls whose clocks agree at both ends are of one group, which begins as one;
  // only its last call has that moment written down.
  static std::int64_t BeginOf(std::span<const HeldCall> calls) {
    const trace::CallRecord& first = calls.front().record;
    for (const HeldCall& c : calls) {
      if (c.record.enqueued_ns != first.enqueued_ns || c.record.finished_ns != first.finished_ns) break;
      if (c.record.started_ns > 0) return c.record.started_ns;
    }
    return first.enqueued_ns;
  }

  // The latest moment at which the first of these calls, begun at from_ns, can have ended: a later one had begun or ended.
  std::int64_t EndOf(std::span<const HeldCall> calls, std::int64_t from_ns) const {
    for (const HeldCall& c : calls.subspan(1)) {
      if (c.record.started_ns > from_ns) return c.record.started_ns;
      if (c.record.finished_ns > from_ns) return c.record.finished_ns;
    }
    return taken_ns_;
  }

  void PlaceByClock(std::span<const HeldCall> calls) {
    const HeldCall& call = calls.front();
    const trace::CallRecord& r = call.record;
    CallSpan span{.first = call, .state = StateOf(r, box_), .begin = call.exact() ? Begin::kExact : Begin::kAtMost};
    span.from_ns = BeginOf(calls);
    span.ends = r.finished_ns != 0;
    const bool over = span.state == CallState::kEnded;
    span.to_ns = span.ends ? r.finished_ns : over ? EndOf(calls, span.from_ns) : taken_ns_;
    Add(span);
    until_ns_ = std::max(until_ns_, span.to_ns);
  }

  // The first `count` of these calls. Those that are alike share a span; the time between the clocks on both sides is shared by number.
  void PlaceBetween(std::span<const HeldCall> calls, std::size_t count) {
    const bool clock = count < calls.size() && AnyClock(calls[count]);
    const std::int64_t end_ns = clock ? BeginOf(calls.subspan(count)) : taken_ns_;
    const std::int64_t begin_ns = std::min(until_ns_, end_ns);
    const auto moment = [&](std::size_t call) {
      const double share = static_cast<double>(call) / static_cast<double>(count);
      return begin_ns + static_cast<std::int64_t>(static_cast<double>(end_ns - begin_ns) * share);
    };
    for (std::size_t i = 0; i < count;) {
      const std::size_t alike = CountAlike(calls.subspan(i, count - i));
      Add({.first = calls[i],
           .calls = alike,
           .state = StateOf(calls[i].record, box_),
           .begin = Begin::kBetween,
           .from_ns = moment(i),
           .to_ns = moment(i + alike)});
      i += alike;
    }
    until_ns_ = std::max(until_ns_, end_ns);
  }

  // All of these calls that wait for their turn; how many they are.
  std::size_t PlaceQueued(std::span<const HeldCall> calls) {
    const HeldCall& first = calls.front();
    const auto next =
        std::ranges::find_if(calls, [&](const HeldCall& c) { return StateOf(c.record, box_) != CallState::kQueued; });
    const auto count = static_cast<std::size_t>(next - calls.begin());
    const Begin begin = first.exact() ? Begin::kExact : AnyClock(first) ? Begin::kAtMost : Begin::kBetween;
    Add({.first = first,
         .calls = count,
         .state = CallState::kQueued,
         .begin = begin,
         .from_ns = begin == Begin::kBetween ? first.at_least_ns : first.record.enqueued_ns,
         .to_ns = taken_ns_});
    return count;
  }

  // How many calls from the first on are like it: without a clock, the same, and as far as it.
  std::size_t CountAlike(std::span<const HeldCall> calls) const {
    const trace::CallRecord& first = calls.front().record;
    const CallState state = StateOf(first, box_);
    std::size_t count = 1;
    while (count < calls.size()) {
      const trace::CallRecord& r = calls[count].record;
      const bool alike = r.call == first.call && r.how.Pack() == first.how.Pack() &&
                         r.sequence == first.sequence + count && r.enqueued_ns == 0;
      if (!alike || StateOf(r, box_) != state) break;
      ++count;
    }
    return count;
  }

  const trace::View& box_;
  const std::int64_t taken_ns_;
  const HeldCalls held_;
  std::int64_t until_ns_;  // where the spans of calls that are not queued end so far
  std::vector<CallSpan> spans_;
};

}  // namespace

std::vector<CallSpan> MakeSpans(const trace::View& box, std::int64_t taken_ns) { return Placer(box, taken_ns).Run(); }

}  // namespace tutti::tools
