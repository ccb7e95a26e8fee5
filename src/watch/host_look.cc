// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "watch/host_look.h"

#include <algorithm>
#include <utility>

#include "diag/verdict.h"
#include "sys/os/clock.h"
#include "trace/view.h"
#include "transport/shm/segment.h"
#include "watch/process_look.h"

namespace tutti::watch {

HostLook::HostLook() {
  look_.taken_ns = sys::NowNs();
  look_.taken_unix_ns = sys::UnixNs();
  look_.hosts.push_back({.name = host_});
}

void HostLook::Add(std::span<const RankPages> pages, std::span<const int> missing, const std::string& silent_place) {
  for (const RankPages& one : pages) AddRank(one);
  if (pages.empty()) return;
  const Result<trace::View> box =
      trace::View::Open(pages.front().begin + transport::shm::kBoxOffset, pages.front().box_bytes);
  if (box.ok()) AddThoseThatHaveCome(box->communicator(), missing, silent_place);
}

void HostLook::AddRank(const RankPages& pages) {
  const Result<trace::View> box = trace::View::Open(pages.begin + transport::shm::kBoxOffset, pages.box_bytes);
  if (!box.ok() || box->rank() != pages.rank) return;
  auto c = std::ranges::find(look_.communicators, box->communicator(), &diag::CommunicatorLook::id);
  if (c == look_.communicators.end()) {
    c = look_.communicators.insert(c, diag::ReadCommunicator(*box));
  }
  const auto there = std::ranges::find(c->seen, pages.rank, &diag::RankLook::rank);
  if (box->ranks() != c->ranks || there != c->seen.end()) return;
  const auto* header = reinterpret_cast<const transport::shm::Header*>(pages.begin);
  const transport::RankState state = header->state.load(std::memory_order_acquire);
  diag::RankLook rank = diag::ReadRank(*box);
  if (rank.state != diag::RankState::kFailed) rank.state = StateOf(state);
  if (state == transport::RankState::kFailed) rank.blamed = header->culprit;
  rank.process = PlaceOf(pages);
  // One that does not renew what it says of its wait may be frozen.
  const std::int64_t old_ns = 3 * diag::ApartNs(c->ranks);
  const bool thread_waits = rank.inside() && rank.wait.kind != trace::WaitKind::kNothing && !rank.wait.on_gpu;
  if (thread_waits && look_.taken_ns - rank.wait.looked_ns < old_ns)
    processes_[static_cast<std::size_t>(rank.process)].waits = true;
  c->seen.push_back(std::move(rank));
}

void HostLook::AddThoseThatHaveCome(std::uint64_t communicator, std::span<const int> missing,
                                    const std::string& silent_place) {
  const auto c = std::ranges::find(look_.communicators, communicator, &diag::CommunicatorLook::id);
  if (c == look_.communicators.end()) return;
  const auto begins = std::ranges::find(c->seen, diag::RankState::kStarting, &diag::RankLook::state);
  if (begins == c->seen.end()) return;
  const std::int64_t created_ns = begins->created_ns;
  c->silent_place = silent_place;
  std::vector<bool> known(static_cast<std::size_t>(c->ranks));
  for (const diag::RankLook& rank : c->seen) known[static_cast<std::size_t>(rank.rank)] = true;
  for (const int rank : missing) {
    if (rank >= 0 && rank < c->ranks) known[static_cast<std::size_t>(rank)] = true;
  }
  for (int rank = 0; rank < c->ranks; ++rank) {
    if (known[static_cast<std::size_t>(rank)]) continue;
    c->seen.push_back({.rank = rank, .state = diag::RankState::kStarting, .created_ns = created_ns});
  }
}

int HostLook::PlaceOf(const RankPages& pages) {
  const auto [found, is_new] =
      place_of_.try_emplace(std::tuple(pages.process.pid, pages.process.start_ticks, pages.handle.get()),
                            static_cast<int>(processes_.size()));
  // Nothing tells processes of other name spaces from each other that have no handle.
  if (!is_new && (pages.process.pid != 0 || pages.handle != nullptr)) return found->second;
  processes_.push_back({.id = pages.process, .handle = pages.handle});
  return static_cast<int>(processes_.size()) - 1;
}

diag::Look HostLook::Finish() {
  for (const Process& process : processes_) {
    if (process.id.pid != 0) {
      look_.processes.push_back(LookAt(process.id, host_, process.waits ? Depth::kState : Depth::kActivity));
      continue;
    }
    const bool gone = process.handle != nullptr && sys::ProbeHandle(*process.handle) == sys::Liveness::kDead;
    look_.processes.push_back(
        {.host = host_, .state = gone ? diag::ProcessState::kGone : diag::ProcessState::kUnknown});
  }
  for (diag::CommunicatorLook& c : look_.communicators) std::ranges::sort(c.seen, {}, &diag::RankLook::rank);
  return std::move(look_);
}

}  // namespace tutti::watch
