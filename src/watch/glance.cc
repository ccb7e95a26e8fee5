// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "watch/glance.h"

#include <algorithm>
#include <array>
#include <vector>

#include "sys/os/clock.h"
#include "trace/recorder.h"
#include "transport/remote.h"
#include "transport/shm/segment.h"
#include "watch/paces.h"
#include "watch/registry.h"
#include "watch/ways_out.h"

namespace tutti::watch {
namespace {

using transport::RankState;

constexpr std::int64_t kLongWaitNs = 500 * sys::kNsPerMs;
constexpr std::int64_t kLongBeginningNs = sys::kNsPerSecond;
// Looks at a broken communicator: enough to tell why.
constexpr int kLooksBroken = 4;
// Threads of a program, that wait at a time, of which the peers of its other communicators are told.
constexpr std::size_t kMostHeld = 16;

RankState StateOf(const Subject& subject) {
  const auto* header = reinterpret_cast<const transport::shm::Header*>(subject.own.begin);
  return header->state.load(std::memory_order_acquire);
}

// For how long it has waited, or been made; 0: it does neither.
std::int64_t WaitsFor(const Subject& subject, std::int64_t now_ns) {
  switch (StateOf(subject)) {
    case RankState::kStarting:
      return now_ns - subject.view.created_ns();
    case RankState::kReady: {
      if (!subject.made.load(std::memory_order_acquire)) return now_ns - subject.view.created_ns();
      const trace::WaitView wait = subject.view.wait();
      return wait.kind == trace::WaitKind::kNothing ? 0 : now_ns - wait.since_ns;
    }
    default:
      return 0;
  }
}

void WritePaces(const Subject& subject) {
  for (const Paces::Way& way : subject.paces->ways()) {
    trace::NotePace(subject.terms.box, way.peer,
                    {.bytes_per_s = static_cast<std::uint64_t>(way.bytes_per_s),
                     .usual_bytes_per_s = static_cast<std::uint64_t>(way.usual_bytes_per_s),
                     .arrived_bytes_per_s = static_cast<std::uint64_t>(way.arrived_bytes_per_s),
                     .queued_percent = static_cast<int>(100 * way.queued),
                     .card = way.card});
  }
}

void WriteFlows(const Subject& subject) {
  const Paces& paces = *subject.paces;
  int peer = -1, index = 0;
  for (const auto& [key, way] : subject.ways_out->ways()) {
    index = key.first == peer ? index + 1 : 0;
    peer = key.first;
    if (index >= trace::kBoxFlows) continue;
    trace::NoteFlow(subject.terms.box, peer, index,
                    {.posted = way.posted,
                     .completed = way.completed,
                     .stuck_ns = way.stuck_ns,
                     .peer_is_full = way.peer_is_full,
                     .carries_bytes_per_s = static_cast<std::uint64_t>(paces.Carries(peer, key.second, true)),
                     .carries_little_bytes_per_s = static_cast<std::uint64_t>(paces.Carries(peer, key.second, false)),
                     .card = key.second});
  }
}

// What goes to other hosts, for all who look at its black box: once a second, and at each glance where the rank has waited for long.
void NoteFlows(Subject& subject, std::int64_t now_ns) {
  const bool due = subject.paces->due(now_ns);
  if (!due && WaitsFor(subject, now_ns) < kLongWaitNs) return;
  std::lock_guard lock(subject.mutex);
  if (subject.closed || subject.paces_of == nullptr) return;
  const std::vector<transport::FlowPace> flows = subject.paces_of();
  subject.ways_out->Note(flows, now_ns);
  if (due && subject.paces->Note(flows, now_ns)) WritePaces(subject);
  WriteFlows(subject);
}

bool WantsALook(const Subject& subject, std::int64_t now_ns) {
  if (subject.ended) return false;
  if (subject.paces->any_is_slow()) return true;
  const RankState state = StateOf(subject);
  if (state == RankState::kFailed) return subject.looks_broken < kLooksBroken;
  const std::int64_t waited_ns = WaitsFor(subject, now_ns);
  if (subject.made.load(std::memory_order_acquire)) return waited_ns >= kLongWaitNs;
  return waited_ns >= kLongBeginningNs && subject.sees.load(std::memory_order_acquire);
}

// The thread that makes, or would make, the rank's calls.
std::int32_t ThreadOf(const Subject& subject) {
  const std::int32_t waited = subject.view.waiter().thread;
  return waited != 0 ? waited : subject.view.thread();
}

// Whether it holds a thread of the program up.
bool IsHeld(const Subject& subject, std::int64_t now_ns) {
  const bool inside =
      !subject.made.load(std::memory_order_acquire) || (subject.view.waiter().inside && !subject.view.wait().on_gpu);
  return inside && WaitsFor(subject, now_ns) >= kLongWaitNs;
}

// Tells the peers of each communicator where else its thread is held up.
void NoteElsewhere(const std::vector<std::shared_ptr<Subject>>& subjects, std::int64_t now_ns) {
  std::array<const Subject*, kMostHeld> held{};
  std::size_t count = 0;
  for (const std::shared_ptr<Subject>& subject : subjects) {
    if (count < held.size() && IsHeld(*subject, now_ns)) held[count++] = subject.get();
  }
  for (const std::shared_ptr<Subject>& subject : subjects) {
    const Subject* holder = nullptr;
    const std::int32_t thread = count == 0 ? 0 : ThreadOf(*subject);
    for (std::size_t i = 0; i < count; ++i) {
      if (held[i] != subject.get() && ThreadOf(*held[i]) == thread) holder = held[i];
    }
    trace::NoteElsewhere(subject->terms.box, holder == nullptr ? 0 : holder->terms.communicator,
                         holder == nullptr ? 0 : thread);
  }
}

}  // namespace

Due Glance(const std::vector<std::shared_ptr<Subject>>& subjects, std::int64_t now_ns) {
  NoteElsewhere(subjects, now_ns);
  for (const std::shared_ptr<Subject>& subject : subjects) NoteFlows(*subject, now_ns);
  if (std::ranges::any_of(subjects, [&](const auto& subject) { return WantsALook(*subject, now_ns); }))
    return Due::kTrouble;
  const auto compares = [](const auto& subject) { return !subject->ended && subject->paces->wants_comparing(); };
  return std::ranges::any_of(subjects, compares) ? Due::kComparing : Due::kNothing;
}

}  // namespace tutti::watch
