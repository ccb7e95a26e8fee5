// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "watch/host_evidence.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "diag/evidence.h"
#include "diag/xid.h"
#include "sys/os/control_group.h"
#include "sys/os/kernel_log.h"
#include "watch/gpu_probe.h"

namespace tutti::watch {
namespace {

using diag::ProcessState;
using diag::RankLook;
using Kind = sys::KernelEvent::Kind;

constexpr std::size_t kMostEvents = 256;
constexpr std::size_t kMostXids = 8;  // of a GPU
constexpr std::size_t kMostGroups = 4096;
// The clock of the kernel's log goes by itself.
constexpr std::int64_t kSlackNs = 30 * diag::kSecond;
// A rank that has waited for so long has stopped: others begin to ask.
constexpr std::int64_t kLongWaitNs = diag::kSecond / 2;

bool HasEnded(const diag::ProcessLook& process) {
  return process.state == ProcessState::kZombie || process.state == ProcessState::kGone;
}

bool HasReason(const diag::Look& look) {
  const auto waits = [&](const RankLook& rank) {
    if (rank.state == diag::RankState::kFailed) return true;
    return rank.wait.kind != trace::WaitKind::kNothing && look.taken_ns - rank.wait.since_ns >= kLongWaitNs;
  };
  return std::ranges::any_of(look.processes, HasEnded) ||
         std::ranges::any_of(look.communicators, [&](const auto& c) { return std::ranges::any_of(c.seen, waits); });
}

// Of each process of the look.
std::vector<std::vector<const RankLook*>> RanksByProcess(const diag::Look& look) {
  std::vector<std::vector<const RankLook*>> ranks(look.processes.size());
  for (const diag::CommunicatorLook& c : look.communicators) {
    for (const RankLook& rank : c.seen) {
      if (rank.process >= 0) ranks[static_cast<std::size_t>(rank.process)].push_back(&rank);
    }
  }
  return ranks;
}

std::int64_t EarliestOf(const std::vector<const RankLook*>& ranks) {
  const auto earliest = std::ranges::min_element(ranks, {}, [](const RankLook* r) { return r->created_ns; });
  return earliest == ranks.end() ? 0 : (*earliest)->created_ns;
}

}  // namespace

struct HostEvidence::Parts {
  struct Group {
    sys::MemoryGroup group;
    std::int64_t kills = 0;  // when it was noted
  };

  Parts(EvidencePlaces given, Earlier before)
      : places(std::move(given)), earlier(before), knows_pids(sys::PidsAreTheKernels()), probe(places.nvml_library) {
    using From = sys::KernelLog::From;
    const From from = earlier == Earlier::kCounts ? From::kBeginning : From::kNow;
    if (!places.kernel_log.empty()) log = sys::KernelLog(places.kernel_log, from);
  }
  void ReadLog();
  // Whether it was after the moment from which on something can have happened to a rank.
  bool IsSince(const sys::KernelEvent& event, std::int64_t since_ns) const;
  diag::EndingLook EndingOf(const diag::ProcessLook& process, const std::vector<const RankLook*>& ranks) const;
  void AddXids(const diag::ProcessLook& process, std::int64_t since_ns, diag::GpuLook& gpu) const;
  void AddGpus(diag::Look& look, const std::vector<std::vector<const RankLook*>>& ranks);

  const EvidencePlaces places;
  const Earlier earlier;
  const bool knows_pids;  // those of the kernel's log
  sys::KernelLog log;
  std::vector<sys::KernelEvent> events;                 // the last ones that the log had
  std::map<std::int32_t, std::optional<Group>> groups;  // by pid; nullopt: its group does not count
  GpuProbe probe;
};

HostEvidence::HostEvidence(EvidencePlaces places, Earlier earlier)
    : parts_(std::make_unique<Parts>(std::move(places), earlier)) {}
HostEvidence::~HostEvidence() = default;

bool HostEvidence::is_asking() const { return parts_->probe.is_asking(); }

void HostEvidence::Remember(std::int32_t pid) {
  auto& groups = parts_->groups;
  if (pid <= 0 || groups.contains(pid)) return;
  if (groups.size() >= kMostGroups) groups.clear();
  const EvidencePlaces& places = parts_->places;
  const auto group = sys::FindMemoryGroup(fmt::format("{}/{}", places.proc, pid), places.cgroup);
  const std::optional<std::int64_t> kills = group ? sys::ReadMemoryKills(*group) : std::nullopt;
  groups[pid] = kills ? std::optional(Parts::Group{.group = *group, .kills = *kills}) : std::nullopt;
}

void HostEvidence::Parts::ReadLog() {
  for (const sys::KernelLine& line : log.More()) {
    if (std::optional<sys::KernelEvent> event = sys::ParseKernelEvent(line)) events.push_back(std::move(*event));
  }
  if (events.size() > kMostEvents) events.erase(events.begin(), events.end() - kMostEvents);
}

bool HostEvidence::Parts::IsSince(const sys::KernelEvent& event, std::int64_t since_ns) const {
  if (event.at_ns < 0) return earlier == Earlier::kDoesNotCount;
  return event.at_ns >= since_ns - kSlackNs;
}

diag::EndingLook HostEvidence::Parts::EndingOf(const diag::ProcessLook& process,
                                               const std::vector<const RankLook*>& ranks) const {
  diag::EndingLook ending;
  if (const auto known = groups.find(process.pid); known != groups.end() && known->second) {
    const Group& group = *known->second;
    const std::int64_t kills = sys::ReadMemoryKills(group.group).value_or(group.kills);
    if (kills > group.kills) {
      ending.group = group.group.name;
      ending.limit_bytes = group.group.limit_bytes;
      ending.group_kills = kills - group.kills;
    }
  }
  // The log has threads that crash by their own ids: those are known that make a rank's calls.
  const auto is_its = [&](const sys::KernelEvent& event) {
    if (event.pid == process.pid) return true;
    return event.kind == Kind::kCrash && std::ranges::any_of(ranks, [&](const RankLook* r) {
             return event.pid == r->thread || event.pid == r->wait.thread;
           });
  };
  const std::int64_t since_ns = EarliestOf(ranks);
  for (const sys::KernelEvent& event : events) {
    if (!knows_pids || event.kind == Kind::kXid || !is_its(event) || !IsSince(event, since_ns)) continue;
    if (event.kind == Kind::kCrash) {
      ending.crash = event.text;
      continue;
    }
    ending.out_of_memory = true;
    ending.of_group = event.of_group.value_or(ending.of_group);
    if (!event.group.empty()) ending.group = event.group;
    ending.resident_bytes = std::max(ending.resident_bytes, event.resident_bytes);
  }
  return ending;
}

void HostEvidence::Parts::AddXids(const diag::ProcessLook& process, std::int64_t since_ns, diag::GpuLook& gpu) const {
  for (const sys::KernelEvent& event : events) {
    if (event.kind != Kind::kXid || event.bus_id != gpu.bus_id || !IsSince(event, since_ns)) continue;
    const diag::XidSign sign = diag::FindXid(event.xid).sign;
    const bool of_program = sign == diag::XidSign::kProgram || sign == diag::XidSign::kAftermath;
    // What another program on the same GPU did wrong.
    if (of_program && knows_pids && event.pid != 0 && event.pid != process.pid) continue;
    if (gpu.xids.size() < kMostXids)
      gpu.xids.push_back({.number = event.xid, .at_ns = std::max<std::int64_t>(event.at_ns, 0)});
  }
}

void HostEvidence::Parts::AddGpus(diag::Look& look, const std::vector<std::vector<const RankLook*>>& ranks) {
  std::vector<std::string> bus_ids;
  for (const std::vector<const RankLook*>& of_process : ranks) {
    for (const RankLook* rank : of_process) {
      if (!rank->gpu_bus_id.empty() && std::ranges::find(bus_ids, rank->gpu_bus_id) == bus_ids.end())
        bus_ids.push_back(rank->gpu_bus_id);
    }
  }
  if (bus_ids.empty()) return;
  const std::vector<diag::GpuLook> gpus = probe.Latest(bus_ids, look.taken_ns);
  for (std::size_t p = 0; p < ranks.size(); ++p) {
    diag::ProcessLook& process = look.processes[p];
    for (const RankLook* rank : ranks[p]) {
      if (rank->gpu_bus_id.empty() || process.FindGpu(rank->gpu_bus_id) != nullptr) continue;
      process.gpus.push_back(*std::ranges::find(gpus, rank->gpu_bus_id, &diag::GpuLook::bus_id));
      AddXids(process, EarliestOf(ranks[p]), process.gpus.back());
    }
  }
}

void HostEvidence::AddTo(diag::Look& look, Reason reason) {
  for (const diag::ProcessLook& process : look.processes) {
    if (!HasEnded(process)) Remember(process.pid);
  }
  if (reason == Reason::kOfTheLook && !HasReason(look)) return;
  parts_->ReadLog();
  const std::vector<std::vector<const RankLook*>> ranks = RanksByProcess(look);
  for (std::size_t p = 0; p < ranks.size(); ++p) {
    diag::ProcessLook& process = look.processes[p];
    if (HasEnded(process)) process.ending = parts_->EndingOf(process, ranks[p]);
  }
  parts_->AddGpus(look, ranks);
}

}  // namespace tutti::watch
