// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "trace/view.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <numeric>

namespace tutti::trace {
namespace {

// A 0-terminated text of another process: printable ASCII stays, the rest becomes '?'.
std::string CleanText(const char* text, std::size_t capacity) {
  std::string clean(text, strnlen(text, capacity));
  for (char& c : clean) {
    if (c < ' ' || c > '~') c = '?';
  }
  return clean;
}

template <std::size_t words>
std::string LoadText(const Word (&from)[words]) {
  char text[sizeof(from)];
  for (std::size_t i = 0; i < words; ++i) {
    const std::uint64_t part = from[i].load(std::memory_order_relaxed);
    std::memcpy(text + i * sizeof(part), &part, sizeof(part));
  }
  return CleanText(text, sizeof(text));
}

Status NotABox(std::string why) { return Status(Code::kInvalidArgument, "not a black box: " + std::move(why)); }

}  // namespace

Result<std::size_t> View::BytesOf(const std::byte* memory, std::size_t bytes) {
  if (bytes < sizeof(BoxHeader)) return NotABox(fmt::format("{} bytes are less than its header", bytes));
  const auto* h = reinterpret_cast<const BoxHeader*>(memory);
  // Stored last by the owner, which may be a thread of this process.
  if (__atomic_load_n(&h->magic, __ATOMIC_ACQUIRE) != kBoxMagic) return NotABox("it does not begin as one");
  if (h->version != kBoxVersion || h->header_bytes != sizeof(BoxHeader) || h->records != kRecords) {
    return NotABox(
        fmt::format("its format is version {}, this program reads version {}; use the `tutti` that belongs "
                    "to the library in that process",
                    h->version, kBoxVersion));
  }
  const int rank = h->rank, ranks = h->ranks, channels = h->channels;
  if (ranks < 1 || ranks > kMaxRanks || channels < 1 || channels > kMaxChannels || rank < 0 || rank >= ranks) {
    return NotABox(fmt::format("rank {} of {} with {} channels can not be", rank, ranks, channels));
  }
  const std::size_t needed = BoxBytes(ranks, channels);
  if (h->bytes != needed) return NotABox(fmt::format("it says {} bytes, and must have {}", h->bytes, needed));
  return needed;
}

Result<View> View::Open(const std::byte* memory, std::size_t bytes) {
  const Result<std::size_t> needed = BytesOf(memory, bytes);
  if (!needed.ok()) return needed.status();
  // The header may change while it is read: what bounds later reads is read once, and checked against `bytes`.
  const auto* h = reinterpret_cast<const BoxHeader*>(memory);
  View view;
  view.memory_ = memory;
  view.rank_ = h->rank;
  view.ranks_ = h->ranks;
  view.channels_ = h->channels;
  if (view.ranks_ < 1 || view.ranks_ > kMaxRanks || view.channels_ < 1 || view.channels_ > kMaxChannels ||
      BoxBytes(view.ranks_, view.channels_) > bytes) {
    return NotABox(fmt::format("{} bytes are too few for {} ranks", bytes, view.ranks_));
  }
  return view;
}

std::string View::name() const { return CleanText(header()->name, kNameBytes); }
OwnView View::own() const {
  OwnView own{.stream = header()->stream.load(std::memory_order_relaxed),
              .collectives = header()->own_collectives.load(std::memory_order_acquire),
              .waits_in = ReadWholeCall()};
  if (header()->whole == 0) return own;
  own.whole = header()->whole;
  own.rank_of_whole = std::clamp(header()->rank_of_whole, -1, kMaxRanks - 1);
  return own;
}
std::optional<WholeCall> View::ReadWholeCall() const {
  const WholeWords& w = header()->for_whole;
  constexpr int kTries = 4;
  for (int i = 0; i < kTries; ++i) {
    const std::uint64_t turn = w.turn.load(std::memory_order_acquire);
    if (turn % 2 != 0) continue;
    const std::uint64_t state = w.state.load(std::memory_order_acquire);
    const std::uint64_t word = w.call.load(std::memory_order_acquire);
    const WholeCall call{
        .in_graph = state == WholeWords::kOfGraph,
        .number = w.number.load(std::memory_order_acquire),
        .sequence = w.sequence.load(std::memory_order_acquire),
        .call = {.word = static_cast<CallWord>(word), .count = w.count.load(std::memory_order_acquire)}};
    if (w.turn.load(std::memory_order_relaxed) != turn) continue;
    if (call.in_graph) return WholeCall{.in_graph = true};
    if (state == WholeWords::kCall && call.number > 0 && call.call.valid()) return call;
    return std::nullopt;
  }
  return std::nullopt;
}
GpuView View::gpu() const {
  return {.bus_id = CleanText(header()->gpu_bus_id, kBusIdBytes),
          .number = std::max(header()->gpu, -1),
          .begun = header()->gpu_begun.load(std::memory_order_acquire)};
}

// nullopt for a place that was blanked, is being overwritten, or holds no call that can be.
std::optional<CallRecord> View::ReadRecord(std::uint64_t run) const {
  const Record& r = reinterpret_cast<const Record*>(memory_ + kRecordsOffset)[run % kRecords];
  const std::uint64_t call_end = r.call_end.load(std::memory_order_acquire);
  const std::uint64_t count = r.count.load(std::memory_order_acquire);
  const std::uint64_t sequence_how = r.sequence_how.load(std::memory_order_acquire);
  const std::uint64_t number = r.number.load(std::memory_order_acquire);
  if (number == 0 || call_end >> 32 != (number & 0xffffffffu)) return std::nullopt;
  CallRecord record;
  record.number = number;
  record.sequence = sequence_how >> 16;
  record.call = {.word = static_cast<CallWord>(call_end), .count = count};
  record.how = How::Unpack(static_cast<std::uint16_t>(sequence_how));
  if (!record.call.valid()) return std::nullopt;
  return record;
}

void View::EachRun(const std::function<bool(const CallRecord& first, std::uint64_t last)>& visit) const {
  // Runs are counted before a call is: those of all calls up to this one are there.
  const std::uint64_t called = newest();
  const std::uint64_t runs = header()->runs.load(std::memory_order_acquire);
  const std::uint64_t oldest = runs > kRecords ? runs - kRecords : 0;
  std::uint64_t next = called == UINT64_MAX ? called : called + 1;  // where the run after begins
  bool next_known = true;
  for (std::uint64_t run = runs; run > oldest; --run) {
    const std::optional<CallRecord> first = ReadRecord(run - 1);
    if (!first) {
      next_known = false;
      continue;
    }
    if (first->number >= next) {
      if (first->number > called && next == called + 1) continue;  // begun after `called` was read
      return;                                                      // a later lap: all before are gone
    }
    if (!visit(*first, next_known ? next - 1 : first->number)) return;
    next = first->number;
    next_known = true;
  }
}

CallRecord View::CallOf(const CallRecord& first, std::uint64_t number) const {
  CallRecord record = first;
  record.number = number;
  record.sequence += number - first.number;
  const Times& t = reinterpret_cast<const Times*>(memory_ + kTimesOffset)[(number - 1) % kRecords];
  if (t.number.load(std::memory_order_acquire) != number) return record;
  const std::int64_t enqueued = t.enqueued_ns.load(std::memory_order_acquire);
  const std::int64_t started = t.started_ns.load(std::memory_order_acquire);
  const std::int64_t finished = t.finished_ns.load(std::memory_order_acquire);
  if (t.number.load(std::memory_order_acquire) != number) return record;
  record.enqueued_at_most = enqueued < 0;
  record.enqueued_ns = enqueued >= 0 ? enqueued : enqueued == INT64_MIN ? 0 : -enqueued;
  record.started_ns = started;
  record.finished_ns = finished;
  return record;
}

std::array<std::uint64_t, kFunctions> View::CallsByFunction() const {
  constexpr int kTries = 64;
  const auto read = [&] {
    std::array<std::uint64_t, kFunctions> earlier{};
    for (int i = 0; i < kFunctions; ++i) earlier[i] = header()->earlier[i].load(std::memory_order_acquire);
    return earlier;
  };
  std::array<std::uint64_t, kFunctions> calls{};
  for (int tries = 0; tries < kTries; ++tries) {
    calls = read();
    // They only grow: what is the same twice was so at one moment.
    if (read() != calls) continue;
    const std::uint64_t sum = std::accumulate(calls.begin(), calls.end(), std::uint64_t{0});
    bool whole = sum == newest();
    EachRun([&](const CallRecord& first, std::uint64_t last) {
      if (first.number <= sum) return false;
      calls[static_cast<std::size_t>(first.call.function())] += last - first.number + 1;
      whole = first.number == sum + 1;
      return !whole;
    });
    if (whole) return calls;
  }
  return calls;
}

std::optional<CallRecord> View::Find(std::uint64_t number) const {
  std::optional<CallRecord> found;
  EachRun([&](const CallRecord& first, std::uint64_t last) {
    if (number >= first.number && number <= last) found = CallOf(first, number);
    return number < first.number;
  });
  return found;
}

std::optional<CallRecord> View::FindLatest(const std::function<bool(const CallRecord&)>& wanted,
                                           const std::function<bool(const CallRecord&)>& enough) const {
  std::optional<CallRecord> found;
  std::uint64_t left = kRecords;
  EachRun([&](const CallRecord& first, std::uint64_t last) {
    for (std::uint64_t number = last; number >= first.number && left > 0; --number, --left) {
      const CallRecord record = CallOf(first, number);
      if (wanted(record)) {
        found = record;
        return false;
      }
      if (enough && enough(record)) return false;
    }
    return left > 0;
  });
  return found;
}

std::optional<CallRecord> View::FindCollective(std::uint64_t sequence) const {
  std::optional<CallRecord> found;
  EachRun([&](const CallRecord& first, std::uint64_t last) {
    if (first.call.is_transfer() || first.sequence > sequence) return true;
    const std::uint64_t number = first.number + (sequence - first.sequence);
    if (number >= first.number && number <= last) found = CallOf(first, number);
    return false;
  });
  return found;
}

std::optional<CallRecord> View::LastCollective(std::uint64_t before) const {
  std::optional<CallRecord> found;
  EachRun([&](const CallRecord& first, std::uint64_t last) {
    if (first.call.is_transfer() || first.number >= before) return true;
    found = CallOf(first, std::min(last, before - 1));
    return false;
  });
  return found;
}

std::vector<CollectiveRun> View::CollectiveRuns(std::size_t most) const {
  std::vector<CollectiveRun> runs;
  EachRun([&](const CallRecord& first, std::uint64_t last) {
    if (first.call.is_transfer()) return runs.size() < most;
    runs.push_back({.first = first, .last = first.sequence + (last - first.number)});
    return runs.size() < most;
  });
  return runs;
}

WaiterView View::waiter() const {
  const WaitWords& w = header()->wait;
  const std::uint64_t thread = w.thread.load(std::memory_order_acquire);
  const std::uint64_t elsewhere = header()->elsewhere.load(std::memory_order_acquire);
  const std::uint64_t elsewhere_thread = header()->elsewhere_thread.load(std::memory_order_acquire);
  return {
      .thread = static_cast<std::int32_t>(thread & 0xffffffffu),
      .inside = (thread >> 32 & 1) != 0,
      .longest_ns = std::max<std::int64_t>({w.longest_ns.load(std::memory_order_acquire),
                                            header()->gpu_wait.longest_ns.load(std::memory_order_acquire), 0}),
      .elsewhere = {.communicator = elsewhere, .thread = static_cast<std::int32_t>(elsewhere_thread & 0xffffffffu)}};
}

WaitView View::wait() const {
  const WaitView own = ReadWait(header()->wait);
  if (own.kind != WaitKind::kNothing) return own;
  WaitView kernels = ReadWait(header()->gpu_wait);
  kernels.on_gpu = true;
  return kernels.kind != WaitKind::kNothing ? kernels : own;
}

WaitView View::ReadWait(const WaitWords& w) const {
  for (int tries = 0; tries < 8; ++tries) {
    const std::uint64_t turn = w.turn.load(std::memory_order_acquire);
    WaitView view;
    view.number = w.number.load(std::memory_order_acquire);
    const std::uint64_t peer_kind = w.peer_kind.load(std::memory_order_acquire);
    view.since_ns = w.since_ns.load(std::memory_order_acquire);
    view.looked_ns = w.looked_ns.load(std::memory_order_acquire);
    if (turn % 2 != 0 || w.turn.load(std::memory_order_acquire) != turn) continue;
    const auto kind = static_cast<std::uint32_t>(peer_kind >> 32 & 0xffff);
    view.kind = kind <= static_cast<std::uint32_t>(WaitKind::kPages) ? static_cast<WaitKind>(kind) : WaitKind::kNothing;
    view.peer = static_cast<std::int32_t>(peer_kind & 0xffffffffu);
    if (view.peer < 0 || view.peer >= ranks_) view.peer = -1;
    view.channel = static_cast<int>(peer_kind >> 48);
    return view;
  }
  return {};
}

LinkView View::link(int channel, int peer) const {
  const LinkWords& words =
      reinterpret_cast<const LinkWords*>(memory_ + kLinksOffset)[static_cast<std::size_t>(channel) * ranks_ + peer];
  LinkView view;
  for (int p = 0; p < LinkWords::kProtocols; ++p) {
    view.sent[p] = words.sent[p].load(std::memory_order_relaxed);
    view.received[p] = words.received[p].load(std::memory_order_relaxed);
    view.credit[p] = words.credit[p].load(std::memory_order_relaxed);
  }
  view.data_wait_ns = words.data_wait_ns.load(std::memory_order_relaxed);
  view.credit_wait_ns = words.credit_wait_ns.load(std::memory_order_relaxed);
  view.pace = words.pace.load(std::memory_order_acquire);
  view.usual_pace = words.usual_pace.load(std::memory_order_relaxed);
  view.arrived = std::uint64_t{words.arrived_kib.load(std::memory_order_relaxed)} << 10;
  view.queued_percent = static_cast<int>(std::min(words.queued_percent.load(std::memory_order_relaxed), 100u));
  if (view.usual_pace != 0) view.card = LoadText(words.card);
  if (channel == 0 && header()->has_flows.load(std::memory_order_acquire) != 0) view.flows = ReadFlows(peer);
  return view;
}

std::vector<FlowView> View::ReadFlows(int peer) const {
  const auto* const all = reinterpret_cast<const FlowWords*>(memory_ + FlowsOffset(ranks_, channels_));
  std::vector<FlowView> found;
  for (int i = 0; i < kBoxFlows; ++i) {
    const FlowWords& words = all[static_cast<std::size_t>(peer) * kBoxFlows + static_cast<std::size_t>(i)];
    FlowView flow{.posted = words.posted.load(std::memory_order_acquire)};
    if (flow.posted == 0) continue;
    flow.completed = std::min(words.completed.load(std::memory_order_relaxed), flow.posted);
    flow.stuck_ns = std::max<std::int64_t>(words.stuck_ns.load(std::memory_order_relaxed), 0);
    flow.peer_is_full = words.peer_is_full.load(std::memory_order_relaxed) != 0;
    flow.carries = words.carries.load(std::memory_order_relaxed);
    flow.carries_little = words.carries_little.load(std::memory_order_relaxed);
    flow.card = LoadText(words.card);
    found.push_back(std::move(flow));
  }
  return found;
}

Code View::failure_code() const {
  const std::uint32_t failed = header()->failed.load(std::memory_order_acquire);
  if (failed == 0) return Code::kOk;
  return failed - 1 <= static_cast<std::uint32_t>(Code::kUnsupported) ? static_cast<Code>(failed - 1) : Code::kInternal;
}

std::string View::failure() const {
  if (header()->failed.load(std::memory_order_acquire) == 0) return "";
  const std::string text = CleanText(header()->failure, kFailureBytes);
  return text.empty() ? "it failed" : text;
}

void DropTornRecords(const BoxHeader& before, std::byte* first, const std::byte* second, std::size_t bytes) {
  static_assert(sizeof(Record) == sizeof(Times));
  const std::uint64_t called = before.called.load(std::memory_order_relaxed);
  auto* header = reinterpret_cast<BoxHeader*>(first);
  header->called.store(called, std::memory_order_relaxed);
  header->finished.store(std::min(before.finished.load(std::memory_order_relaxed), called), std::memory_order_relaxed);
  for (int i = 0; i < kFunctions; ++i)
    header->earlier[i].store(before.earlier[i].load(std::memory_order_relaxed), std::memory_order_relaxed);
  const std::size_t places = std::min<std::size_t>(2 * kRecords, (bytes - kRecordsOffset) / sizeof(Record));
  for (std::size_t i = 0; i < places; ++i) {
    const std::size_t offset = kRecordsOffset + i * sizeof(Record);
    if (std::memcmp(first + offset, second + offset, sizeof(Record)) == 0) continue;
    std::uint64_t number, later;
    std::memcpy(&number, first + offset, sizeof(number));
    std::memcpy(&later, second + offset, sizeof(later));
    const bool stable = i < kRecords && number == later && number <= called;
    if (!stable) std::memset(first + offset, 0, sizeof(Record));
  }
}

}  // namespace tutti::trace
