// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "trace/recorder.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <new>

namespace tutti::trace {
namespace {

std::uint64_t PackPeer(int peer, WaitKind kind, int channel) {
  return static_cast<std::uint32_t>(peer) | static_cast<std::uint64_t>(kind) << 32 |
         static_cast<std::uint64_t>(channel) << 48;
}

void Store(WaitWords& w, std::uint64_t number, std::uint64_t peer_kind, std::int64_t since_ns, std::int64_t now_ns) {
  const std::uint64_t turn = w.turn.load(std::memory_order_relaxed);
  w.turn.store(turn + 1, std::memory_order_relaxed);
  w.number.store(number, std::memory_order_release);
  w.peer_kind.store(peer_kind, std::memory_order_release);
  w.since_ns.store(since_ns, std::memory_order_release);
  w.looked_ns.store(now_ns, std::memory_order_release);
  w.turn.store(turn + 2, std::memory_order_release);
}

// Zeros after it, where it is shorter.
template <std::size_t words>
void StoreText(Word (&to)[words], std::string_view text) {
  std::array<std::uint64_t, words> bytes{};
  std::memcpy(bytes.data(), text.data(), std::min(text.size(), sizeof(bytes)));
  for (std::size_t i = 0; i < words; ++i) to[i].store(bytes[i], std::memory_order_relaxed);
}

void End(WaitWords& w) {
  const std::int64_t waited_ns =
      w.looked_ns.load(std::memory_order_relaxed) - w.since_ns.load(std::memory_order_relaxed);
  if (waited_ns > w.longest_ns.load(std::memory_order_relaxed))
    w.longest_ns.store(waited_ns, std::memory_order_relaxed);
  Store(w, 0, ~std::uint32_t{0}, 0, 0);
}

}  // namespace

Recorder::Recorder(std::byte* memory, const Owner& owner)
    : header_(new (memory) BoxHeader{}),
      records_(reinterpret_cast<Record*>(memory + kRecordsOffset)),
      times_(reinterpret_cast<Times*>(memory + kTimesOffset)),
      links_(reinterpret_cast<LinkWords*>(memory + kLinksOffset)),
      ranks_(owner.ranks),
      on_(true) {
  header_->version = kBoxVersion;
  header_->header_bytes = sizeof(BoxHeader);
  header_->bytes = BoxBytes(owner.ranks, owner.channels);
  header_->communicator = owner.communicator;
  header_->rank = owner.rank;
  header_->ranks = owner.ranks;
  header_->channels = owner.channels;
  header_->pid = owner.pid;
  header_->records = kRecords;
  header_->created_ns = owner.created_ns;
  header_->created_unix_ns = owner.created_unix_ns;
  header_->start_ticks = owner.start_ticks;
  header_->thread = owner.thread;
  std::ranges::copy(owner.window, header_->window);
  owner.name.copy(header_->name, kNameBytes - 1);
  owner.gpu_bus_id.copy(header_->gpu_bus_id, kBusIdBytes - 1);
  header_->gpu = owner.gpu;
  header_->whole = owner.whole;
  header_->rank_of_whole = owner.rank_of_whole;
  std::atomic_ref(header_->magic).store(kBoxMagic, std::memory_order_release);
}

void Recorder::TimeEnqueued(std::uint64_t number, std::int64_t enqueued_ns, std::int64_t started_ns) {
  if (header_ == nullptr) return;
  Times& t = times_[(number - 1) % kRecords];
  t.number.store(0, std::memory_order_relaxed);
  t.enqueued_ns.store(enqueued_ns, std::memory_order_release);
  t.started_ns.store(started_ns, std::memory_order_release);
  t.finished_ns.store(0, std::memory_order_release);
  t.number.store(number, std::memory_order_release);
}

void Recorder::TimeStarted(std::uint64_t number, std::int64_t now_ns) {
  if (HasTimes(number)) times_[(number - 1) % kRecords].started_ns.store(now_ns, std::memory_order_relaxed);
}

void Recorder::TimeFinished(std::uint64_t number, std::int64_t now_ns) {
  if (HasTimes(number)) times_[(number - 1) % kRecords].finished_ns.store(now_ns, std::memory_order_relaxed);
}

void Recorder::Wait(std::uint64_t number, int peer, WaitKind kind, int channel, std::int64_t since_ns,
                    std::int64_t now_ns, const Waiting& who) {
  if (header_ == nullptr) return;
  header_->wait.thread.store(static_cast<std::uint32_t>(who.thread) | std::uint64_t{who.inside} << 32,
                             std::memory_order_relaxed);
  Store(header_->wait, number, PackPeer(peer, kind, channel), since_ns, now_ns);
}

void Recorder::EndWait() {
  if (header_ != nullptr) End(header_->wait);
}

void Recorder::NoteGpu(const GpuNote& note) {
  if (header_ == nullptr) return;
  // The page may be one that was never written.
  if (header_->gpu_begun.load(std::memory_order_relaxed) != note.begun)
    header_->gpu_begun.store(note.begun, std::memory_order_release);
  WaitWords& w = header_->gpu_wait;
  if (note.kind != WaitKind::kNothing) {
    Store(w, note.number, PackPeer(note.peer, note.kind, note.channel), note.since_ns, note.now_ns);
  } else if (w.since_ns.load(std::memory_order_relaxed) != 0) {
    End(w);
  }
}

void Recorder::NoteWhole(const std::optional<WholeCall>& call) {
  if (header_ == nullptr) return;
  WholeWords& w = header_->for_whole;
  const auto state = !call ? WholeWords::kNotKnown : call->in_graph ? WholeWords::kOfGraph : WholeWords::kCall;
  const WholeCall& it = call ? *call : WholeCall{};
  const bool same = w.state.load(std::memory_order_relaxed) == state &&
                    w.number.load(std::memory_order_relaxed) == it.number &&
                    w.call.load(std::memory_order_relaxed) == it.call.word;
  if (same) return;
  const std::uint64_t turn = w.turn.load(std::memory_order_relaxed);
  w.turn.store(turn + 1, std::memory_order_relaxed);
  w.state.store(state, std::memory_order_release);
  w.number.store(it.number, std::memory_order_release);
  w.sequence.store(it.sequence, std::memory_order_release);
  w.count.store(it.call.count, std::memory_order_release);
  w.call.store(it.call.word, std::memory_order_release);
  w.turn.store(turn + 2, std::memory_order_release);
}

void Recorder::Count(int channel, int peer, const Counters& counters) {
  // A link that is not used keeps its page untouched.
  if (header_ == nullptr || counters == Counters{}) return;
  LinkWords& link = links_[channel * ranks_ + peer];
  for (int p = 0; p < LinkWords::kProtocols; ++p) {
    link.sent[p].store(counters.sent[p], std::memory_order_relaxed);
    link.received[p].store(counters.received[p], std::memory_order_relaxed);
    link.credit[p].store(counters.credit[p], std::memory_order_relaxed);
  }
}

void Recorder::AddWaited(int channel, int peer, WaitKind kind, std::int64_t ns) {
  if (header_ == nullptr) return;
  LinkWords& link = links_[channel * ranks_ + peer];
  Time& sum = kind == WaitKind::kData ? link.data_wait_ns : link.credit_wait_ns;
  sum.store(sum.load(std::memory_order_relaxed) + ns, std::memory_order_relaxed);
}

void Recorder::Fail(Code code, std::string_view why) {
  if (header_ == nullptr || header_->failed.load(std::memory_order_relaxed) != 0) return;
  why.copy(header_->failure, kFailureBytes - 1);
  header_->failed.store(1 + static_cast<std::uint32_t>(code), std::memory_order_release);
}

void NoteElsewhere(std::byte* memory, std::uint64_t communicator, std::int32_t thread) {
  auto* header = reinterpret_cast<BoxHeader*>(memory);
  const bool same = header->elsewhere.load(std::memory_order_relaxed) == communicator &&
                    header->elsewhere_thread.load(std::memory_order_relaxed) == static_cast<std::uint32_t>(thread);
  if (same) return;  // the page may be one that was never written
  header->elsewhere_thread.store(static_cast<std::uint32_t>(thread), std::memory_order_release);
  header->elsewhere.store(communicator, std::memory_order_release);
}

void NotePace(std::byte* memory, int peer, const Pace& pace) {
  LinkWords& words = reinterpret_cast<LinkWords*>(memory + kLinksOffset)[peer];
  StoreText(words.card, pace.card);
  words.usual_pace.store(pace.usual_bytes_per_s, std::memory_order_relaxed);
  words.arrived_kib.store(static_cast<std::uint32_t>(pace.arrived_bytes_per_s >> 10), std::memory_order_relaxed);
  words.queued_percent.store(static_cast<std::uint32_t>(pace.queued_percent), std::memory_order_relaxed);
  words.pace.store(pace.bytes_per_s, std::memory_order_release);
}

void NoteFlow(std::byte* memory, int peer, int index, const FlowNote& flow) {
  auto& header = *reinterpret_cast<BoxHeader*>(memory);
  auto* const flows = reinterpret_cast<FlowWords*>(memory + FlowsOffset(header.ranks, header.channels));
  FlowWords& words = flows[static_cast<std::size_t>(peer) * kBoxFlows + static_cast<std::size_t>(index)];
  StoreText(words.card, flow.card);
  words.completed.store(flow.completed, std::memory_order_relaxed);
  words.stuck_ns.store(flow.stuck_ns, std::memory_order_relaxed);
  words.peer_is_full.store(flow.peer_is_full ? 1 : 0, std::memory_order_relaxed);
  words.carries.store(flow.carries_bytes_per_s, std::memory_order_relaxed);
  words.carries_little.store(flow.carries_little_bytes_per_s, std::memory_order_relaxed);
  words.posted.store(flow.posted, std::memory_order_release);
  header.has_flows.store(1, std::memory_order_release);
}

}  // namespace tutti::trace
