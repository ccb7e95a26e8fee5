// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "tools/top_look.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <utility>

#include "diag/verdict.h"
#include "sys/os/clock.h"
#include "sys/os/mappings.h"
#include "sys/os/process.h"
#include "sys/os/process_activity.h"
#include "trace/layout.h"
#include "transport/shm/segment.h"
#include "watch/process_look.h"

namespace tutti::tools {
namespace {

using diag::ProcessState;
using transport::shm::kBoxOffset;

// A rank's pages, seen in a process.
struct Sighting {
  std::uint64_t communicator = 0;
  std::int32_t rank = 0;
  std::int64_t created_ns = 0;
  std::int32_t said_pid = 0;  // as its process knows itself
  std::uint64_t start_ticks = 0;
  transport::RankState state = transport::RankState::kStarting;
  std::int32_t culprit = -1;
  std::int32_t pid = 0;  // of the process that it was seen in
  std::uint64_t address = 0;
  std::size_t bytes = 0;
  bool own = false;  // in the process of the rank itself

  auto Key() const { return std::tuple(communicator, rank, created_ns); }
};

bool IsSegment(const sys::Mapping& m) {
  return m.IsSharedMemory(transport::shm::kSegmentName) && m.offset == 0 && m.end - m.begin >= kBeginningBytes;
}

// What the beginning of such pages says; nullopt where they are something else.
std::optional<Sighting> ReadBeginning(std::int32_t pid, const sys::Mapping& m) {
  alignas(4096) std::byte page[kBeginningBytes];
  if (!sys::ReadProcessMemory(pid, reinterpret_cast<const void*>(m.begin), page, sizeof(page)).ok())
    return std::nullopt;
  if (!IsBeginning(page)) return std::nullopt;
  const auto* segment = reinterpret_cast<const transport::shm::Header*>(page);
  const auto* box = reinterpret_cast<const trace::BoxHeader*>(page + kBoxOffset);
  return Sighting{.communicator = box->communicator,
                  .rank = box->rank,
                  .created_ns = box->created_ns,
                  .said_pid = box->pid,
                  .start_ticks = box->start_ticks,
                  .state = segment->state.load(std::memory_order_acquire),
                  .culprit = segment->culprit,
                  .pid = pid,
                  .address = m.begin,
                  .bytes = m.end - m.begin};
}

class Looker {
 public:
  explicit Looker(std::vector<BoxCopy>* boxes) : boxes_(boxes) {}

  diag::Look Run(const std::vector<std::int32_t>& pids) {
    look_.taken_ns = sys::NowNs();
    look_.taken_unix_ns = sys::UnixNs();
    look_.hosts.push_back({.name = host_});
    for (const std::int32_t pid : pids) Visit(pid);
    ReadAll(Whose::kOwn);
    ReadAll(Whose::kOthers);
    for (diag::CommunicatorLook& c : look_.communicators) {
      std::ranges::sort(c.seen, {}, &diag::RankLook::rank);
      FindIslands(c);
    }
    return std::move(look_);
  }

 private:
  void Visit(std::int32_t pid) {
    const Result<std::vector<sys::Mapping>> mappings = sys::ReadMappings(pid);
    const std::optional<sys::ProcessActivity> activity = sys::ReadActivity(pid);
    if (!mappings.ok() || !activity) return;
    bool any = false;
    for (const sys::Mapping& m : *mappings) {
      if (!IsSegment(m)) continue;
      std::optional<Sighting> s = ReadBeginning(pid, m);
      if (!s) continue;
      // A forked child has its parent's pages too.
      s->own = m.writable && (s->start_ticks == 0 || s->start_ticks == activity->start_ticks);
      any |= s->own;
      knows_own_pid_[pid] |= s->own && s->said_pid == pid;
      seen_.push_back(*s);
    }
    if (!any) return;
    place_of_[pid] = static_cast<int>(look_.processes.size());
    look_.processes.push_back(watch::Convert(*activity, host_));
  }

  // kOthers: ranks that no living process calls its own. Copies come first, one right after another: so they show much the same moment.
  enum class Whose { kOwn, kOthers };
  void ReadAll(Whose whose) {
    std::vector<std::pair<const Sighting*, BoxCopy>> copies;
    for (const Sighting& s : seen_) {
      if (s.own != (whose == Whose::kOwn) || read_.contains(s.Key())) continue;
      Result<BoxCopy> box = BoxCopy::Take(s.pid, s.address + kBoxOffset, s.bytes - kBoxOffset);
      if (!box.ok()) continue;
      read_[s.Key()] = true;
      copies.emplace_back(&s, std::move(*box));
    }
    for (auto& [s, box] : copies) Read(*s, std::move(box));
  }

  void Read(const Sighting& s, BoxCopy box) {
    diag::RankLook rank = ReadRankLook(box.view(), s.state, s.culprit);
    rank.process = s.own ? place_of_[s.pid] : ProcessOf(s);
    CommunicatorOf(box.view()).seen.push_back(std::move(rank));
    if (boxes_ != nullptr) boxes_->push_back(std::move(box));
  }

  diag::CommunicatorLook& CommunicatorOf(const trace::View& box) {
    const auto found = std::ranges::find(look_.communicators, box.communicator(), &diag::CommunicatorLook::id);
    if (found != look_.communicators.end()) return *found;
    return look_.communicators.emplace_back(diag::ReadCommunicator(box));
  }

  // The process of a rank that was seen in others' memory only: alive, if it has given its own pages back, or gone. -1 where its
  // pid means something else here.
  int ProcessOf(const Sighting& s) {
    if (!knows_own_pid_[s.pid] || s.said_pid <= 0) return -1;
    if (const auto found = place_of_.find(s.said_pid); found != place_of_.end()) return found->second;
    std::optional<sys::ProcessActivity> activity = sys::ReadActivity(s.said_pid);
    if (activity && s.start_ticks != 0 && activity->start_ticks != s.start_ticks) activity.reset();
    place_of_[s.said_pid] = static_cast<int>(look_.processes.size());
    look_.processes.push_back(activity
                                  ? watch::Convert(*activity, host_)
                                  : diag::ProcessLook{.host = host_, .pid = s.said_pid, .state = ProcessState::kGone});
    return place_of_[s.said_pid];
  }

  // Ranks whose pages are mapped by one process share memory.
  void FindIslands(diag::CommunicatorLook& c) const {
    for (diag::RankLook& rank : c.seen) rank.island = rank.rank;
    const auto merge = [&](int one, int other) {
      for (diag::RankLook& rank : c.seen) {
        if (rank.island == one) rank.island = other;
      }
    };
    std::map<std::int32_t, int> first;  // by process: the first rank seen in it
    for (const Sighting& s : seen_) {
      if (s.communicator != c.id) continue;
      const diag::RankLook* rank = c.Find(s.rank);
      if (rank == nullptr) continue;
      const auto [there, is_new] = first.try_emplace(s.pid, s.rank);
      const diag::RankLook* with = c.Find(there->second);
      if (!is_new && rank->island != with->island) merge(rank->island, with->island);
    }
  }

  std::vector<BoxCopy>* const boxes_;
  const std::string host_ = sys::HostName();
  diag::Look look_;
  std::vector<Sighting> seen_;
  std::map<std::tuple<std::uint64_t, std::int32_t, std::int64_t>, bool> read_;
  std::map<std::int32_t, int> place_of_;  // of a process, in the look
  std::map<std::int32_t, bool> knows_own_pid_;
};

}  // namespace

Processes FindProcesses() {
  Processes found;
  for (const std::int32_t pid : sys::ListProcesses()) {
    const Result<std::vector<sys::Mapping>> mappings = sys::ReadMappings(pid);
    if (!mappings.ok()) {
      found.denied += mappings.status().code() == Code::kSystem ? 1 : 0;
      continue;
    }
    if (std::ranges::any_of(*mappings, IsSegment)) found.pids.push_back(pid);
  }
  std::ranges::sort(found.pids);
  return found;
}

bool IsBeginning(const std::byte* page) {
  const auto* segment = reinterpret_cast<const transport::shm::Header*>(page);
  return segment->magic == transport::shm::kSegmentMagic && segment->version == transport::shm::kSegmentVersion &&
         trace::View::BytesOf(page + kBoxOffset, sizeof(trace::BoxHeader)).ok();
}

diag::RankLook ReadRankLook(const trace::View& box, transport::RankState state, std::int32_t culprit) {
  diag::RankLook rank = diag::ReadRank(box);
  if (rank.state != diag::RankState::kFailed) rank.state = watch::StateOf(state);
  const bool blames = state == transport::RankState::kFailed && culprit >= 0 && culprit < box.ranks();
  if (blames) rank.blamed = culprit;
  return rank;
}

diag::Look TakeLook(const std::vector<std::int32_t>& pids, std::vector<BoxCopy>* boxes) {
  return Looker(boxes).Run(pids);
}

std::int64_t ApartNs(const diag::Look& look, std::int64_t least_ns) {
  for (const diag::CommunicatorLook& c : look.communicators) least_ns = std::max(least_ns, diag::ApartNs(c.ranks));
  return least_ns;
}

std::string NothingHere(int denied) {
  std::string why = "no process here has a Tutti communicator of two or more ranks";
  if (denied > 0) why += fmt::format("; {} processes of others may not be looked at: run this as root", denied);
  return why;
}

}  // namespace tutti::tools
