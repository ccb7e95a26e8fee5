// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "diag/reasons.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <utility>

#include "diag/what.h"
#include "diag/xid.h"

namespace tutti::diag {
namespace {

constexpr std::uint64_t kFewErrors = 100;  // that an NVLink mends without harm
constexpr std::int64_t kSlowAnswerNs = 3 * kSecond;
constexpr std::size_t kMostReasons = 4;
constexpr std::size_t kMostXids = 3;
constexpr double kNearlyBest = 0.9;  // of the clock
constexpr int kKilled = 9;           // SIGKILL

// How much a reason explains: the weightiest says what to do.
enum Weight : std::uint8_t {
  kNumbers,    // of a GPU that may well be sound
  kHeldDown,   // its clocks
  kAftermath,  // of something else
  kOld,        // was there before, perhaps
  kUnclear,
  kWarning,
  kCrash,
  kProgram,
  kNvLink,
  kMemory,
  kDriver,
  kKernel,
};

struct Reason {
  Weight weight = kNumbers;
  std::string text;
  std::string remedy;
};
using Reasons = std::vector<Reason>;

const char* NvLinkRemedy() { return FindXid(kNvLinkXid).next_step; }
constexpr const char* kMemoryRemedy =
    "Drain the host and reset the GPU (nvidia-smi --gpu-reset); if it comes back, replace the GPU";

const RankLook* RankOf(const Look& now, const Place& place) {
  const CommunicatorLook* c = now.Find(place.communicator);
  return c == nullptr ? nullptr : c->Find(place.rank);
}

const GpuLook* GpuOf(const Look& now, const RankLook& rank) {
  const ProcessLook* process = now.ProcessOf(rank);
  return process == nullptr || rank.gpu_bus_id.empty() ? nullptr : process->FindGpu(rank.gpu_bus_id);
}

std::string NameOf(const GpuLook& gpu) { return "GPU " + gpu.bus_id; }

std::string Bytes(std::int64_t bytes) {
  constexpr double kMi = 1 << 20, kGi = 1 << 30;
  const auto value = static_cast<double>(bytes);
  return value >= kGi ? fmt::format("{:.1f} GiB", value / kGi) : fmt::format("{:.1f} MiB", value / kMi);
}

// " at 02:16:30 UTC"; empty where it is not known.
std::string At(const Look& now, std::int64_t ns) {
  if (ns <= 0 || now.taken_unix_ns <= 0) return "";
  return " at " + TimeOfDay(now.taken_unix_ns - (now.taken_ns - ns));
}

Weight WeightOf(XidSign sign) {
  switch (sign) {
    case XidSign::kAftermath:
      return kAftermath;
    case XidSign::kUnknown:
      return kUnclear;
    case XidSign::kProgram:
      return kProgram;
    case XidSign::kWarning:
      return kWarning;
    case XidSign::kNvLink:
      return kNvLink;
    case XidSign::kGpu:
      return kDriver;
  }
  return kUnclear;
}

// Each number once, by when it first came.
void AddXids(const Look& now, const GpuLook& gpu, Reasons& reasons) {
  std::vector<std::int32_t> told;
  for (const XidLook& xid : gpu.xids) {
    if (told.size() == kMostXids || std::ranges::find(told, xid.number) != told.end()) continue;
    told.push_back(xid.number);
    const Xid& known = FindXid(xid.number);
    const std::string meaning = *known.meaning == '\0' ? "" : fmt::format(" ({})", known.meaning);
    reasons.push_back({WeightOf(known.sign),
                       fmt::format("Xid {} of {}{}{}", xid.number, NameOf(gpu), At(now, xid.at_ns), meaning),
                       known.next_step});
  }
}

void AddMemory(const GpuLook& gpu, Reasons& reasons) {
  const auto errors = [](std::uint64_t count) { return fmt::format("{} error{}", count, count == 1 ? "" : "s"); };
  if (gpu.uncorrected_rise.value_or(0) > 0) {
    reasons.push_back({kMemory,
                       fmt::format("{} has had {} of its memory, that could not be corrected, while it was looked at",
                                   NameOf(gpu), errors(*gpu.uncorrected_rise)),
                       kMemoryRemedy});
  } else if (gpu.uncorrected.value_or(0) > 0) {
    reasons.push_back(
        {kOld,
         fmt::format("{} has had {} of its memory, that could not be corrected, since the driver was loaded",
                     NameOf(gpu), errors(*gpu.uncorrected)),
         kMemoryRemedy});
  }
  if (gpu.rows_failed) {
    reasons.push_back({kMemory, NameOf(gpu) + " could not replace a bad row of its memory", "Replace the GPU"});
  } else if (gpu.rows_pending) {
    reasons.push_back({kOld, NameOf(gpu) + " waits for a reset to replace bad rows of its memory",
                       "Drain the host and reset the GPU (nvidia-smi --gpu-reset)"});
  }
}

// What is wrong with a link itself; empty: nothing.
std::string FaultOf(const GpuLook& gpu, const NvLinkLook& link) {
  const std::string to = link.to.empty() ? "" : " to GPU " + link.to;
  if (link.down) {
    const std::string up = gpu.nvlinks_usual > gpu.nvlinks_up && gpu.nvlinks_up >= 0
                               ? fmt::format(", {} of {} are up", gpu.nvlinks_up, gpu.nvlinks_usual)
                               : "";
    return fmt::format("NVLink {} of {}{} is down{}", link.number, NameOf(gpu), to, up);
  }
  if (link.recoveries == 0 && link.replays + link.check_errors < kFewErrors) return "";
  return fmt::format(
      "NVLink {} of {}{} has counted {} replays, {} recoveries and {} wrong check sums while it was looked at",
      link.number, NameOf(gpu), to, link.replays, link.recoveries, link.check_errors);
}

// Faults of a GPU's links that lead to `to`; empty: to switches, or it is not known where to.
std::vector<std::string> FaultsOf(const GpuLook& gpu, const std::string& to) {
  std::vector<std::string> faults;
  for (const NvLinkLook& link : gpu.nvlinks) {
    if (link.to != to) continue;
    if (std::string fault = FaultOf(gpu, link); !fault.empty()) faults.push_back(std::move(fault));
  }
  return faults;
}

// Of a GPU by itself: links that may lead to anybody, and what the driver has reported of them.
std::vector<std::string> FaultsOfItself(const Look& now, const GpuLook& gpu) {
  std::vector<std::string> faults = FaultsOf(gpu, "");
  const auto reported =
      std::ranges::find_if(gpu.xids, [](const XidLook& x) { return FindXid(x.number).sign == XidSign::kNvLink; });
  if (reported != gpu.xids.end()) {
    faults.push_back(fmt::format("Xid {} of {}{} ({})", reported->number, NameOf(gpu), At(now, reported->at_ns),
                                 FindXid(reported->number).meaning));
  }
  return faults;
}

std::vector<std::string> FaultsBetween(const GpuLook& one, const GpuLook& other) {
  std::vector<std::string> faults = FaultsOf(one, other.bus_id);
  for (std::string& fault : FaultsOf(other, one.bus_id)) faults.push_back(std::move(fault));
  return faults;
}

void AddNvLinks(const GpuLook& gpu, Reasons& reasons) {
  for (const NvLinkLook& link : gpu.nvlinks) {
    if (std::string fault = FaultOf(gpu, link); !fault.empty())
      reasons.push_back({kNvLink, std::move(fault), NvLinkRemedy()});
  }
}

struct Hold {
  Throttle bit;
  const char* text;
  const char* remedy;
};
constexpr const char* kCool = "Look at cooling and power of that host, and leave it out until then";
constexpr Hold kHolds[] = {
    {kPowerBrake, "its power supply brakes it", kCool},
    {kTooHot, "too hot", kCool},
    {kHeldByHardware, "held down by its hardware", kCool},
    {kNearlyTooHot, "nearly too hot", kCool},
    {kPowerCap, "at its power limit",
     "Its power limit holds it down: nvidia-smi -q -d POWER shows it, nvidia-smi -pl sets it"},
    {kSetByUser, "set by a user",
     "Somebody has set its clocks: nvidia-smi -q -d CLOCK shows it, nvidia-smi -rgc undoes it"},
};

// "GPU 0000:3b:00.0 runs at 345 of 1980 MHz (too hot), takes 310 of 700 W and has 92 C".
void AddClocks(const GpuLook& gpu, Reasons& reasons) {
  std::vector<std::string> parts, holds;
  Reason reason;
  const bool held = gpu.clock_mhz > 0 && gpu.clock_mhz < kNearlyBest * gpu.most_clock_mhz;
  for (const Hold& hold : kHolds) {
    if ((gpu.throttle & hold.bit) == 0) continue;
    holds.push_back(hold.text);
    if (held && reason.remedy.empty()) reason = {.weight = kHeldDown, .remedy = hold.remedy};
  }
  if (gpu.clock_mhz > 0) {
    parts.push_back(fmt::format("runs at {} of {} MHz{}", gpu.clock_mhz, gpu.most_clock_mhz,
                                holds.empty() ? "" : fmt::format(" ({})", fmt::join(holds, ", "))));
  }
  if (gpu.power_w > 0) {
    parts.push_back(gpu.power_limit_w > 0 ? fmt::format("takes {} of {} W", gpu.power_w, gpu.power_limit_w)
                                          : fmt::format("takes {} W", gpu.power_w));
  }
  if (gpu.temperature_c > 0) parts.push_back(fmt::format("has {} C", gpu.temperature_c));
  if (parts.empty()) return;
  const std::string last = parts.back();
  parts.pop_back();
  reason.text = parts.empty() ? fmt::format("{} {}", NameOf(gpu), last)
                              : fmt::format("{} {} and {}", NameOf(gpu), fmt::join(parts, ", "), last);
  reasons.push_back(std::move(reason));
}

Reasons ReasonsOf(const Look& now, const GpuLook& gpu) {
  Reasons reasons;
  AddXids(now, gpu, reasons);
  if (gpu.silent_ns >= kSlowAnswerNs) {
    reasons.push_back({kDriver, fmt::format("NVML has not answered for {}", Duration(gpu.silent_ns)),
                       "Its driver does not answer: look at dmesg | grep NVRM, then reset the GPU or reboot the host"});
  }
  if (gpu.lost) {
    reasons.push_back({kDriver, fmt::format("NVML does not reach {}", NameOf(gpu)), FindXid(79).next_step});
  }
  AddMemory(gpu, reasons);
  AddNvLinks(gpu, reasons);
  AddClocks(gpu, reasons);
  return reasons;
}

Reasons ReasonsOf(const ProcessLook& process) {
  const EndingLook& ending = process.ending;
  Reasons reasons;
  const std::string limit = ending.limit_bytes < 0 ? "" : "limit " + Bytes(ending.limit_bytes);
  const std::string had = ending.resident_bytes < 0 ? "" : "it had " + Bytes(ending.resident_bytes);
  std::string figures = ending.of_group || !ending.out_of_memory ? limit : "";
  if (ending.out_of_memory && !had.empty()) figures += (figures.empty() ? "" : "; ") + had;
  if (!figures.empty()) figures = fmt::format(" ({})", figures);
  constexpr const char* kMoreForGroup =
      "Give the control group more memory (memory.max, --memory of a container, limits.memory of a pod), or use less";
  const std::string group = ending.group.empty() ? "its control group" : "control group " + ending.group;
  const bool killed = !process.end || *process.end == 0 || (*process.end & 0x7f) == kKilled;
  if (ending.out_of_memory && ending.of_group) {
    reasons.push_back(
        {kKernel, fmt::format("the kernel ended it because {} lacked memory{}", group, figures), kMoreForGroup});
  } else if (ending.out_of_memory) {
    reasons.push_back({kKernel, fmt::format("the kernel ended it because the host lacked memory{}", figures),
                       "Use less memory on that host, or run fewer ranks there"});
  } else if (ending.group_kills > 0 && killed) {
    reasons.push_back({kKernel,
                       fmt::format("the kernel has ended {} process{} of {} for want of memory{}", ending.group_kills,
                                   ending.group_kills == 1 ? "" : "es", group, figures),
                       kMoreForGroup});
  }
  if (!ending.crash.empty()) {
    reasons.push_back(
        {kCrash, "the kernel's log has " + ending.crash, "Look at its core file and its output: gdb, tutti top FILE"});
  }
  return reasons;
}

// Adds those from `least` on. The weightiest are kept where they are many.
void Put(Verdict& v, Reasons reasons, Weight least) {
  std::erase_if(reasons, [&](const Reason& r) { return r.weight < least; });
  while (reasons.size() > kMostReasons) reasons.erase(std::ranges::min_element(reasons, {}, &Reason::weight));
  const auto weightiest = std::ranges::max_element(reasons, {}, &Reason::weight);
  // Clocks make a GPU slow, and never hang it.
  if (weightiest != reasons.end() && weightiest->weight > kHeldDown) v.remedy = weightiest->remedy;
  const auto held = std::ranges::find(reasons, kHeldDown, &Reason::weight);
  if (v.kind == Kind::kGpuSlow && held != reasons.end() && weightiest->weight < kProgram) v.remedy = held->remedy;
  for (Reason& reason : reasons) v.reasons.push_back(std::move(reason.text));
}

// Makes a verdict one on the way between two ranks.
void Accuse(Verdict& v, const Place& from, const Place& to, std::vector<std::string> faults) {
  v.without = v.kind;
  v.kind = Kind::kNvLinkFault;
  v.common = CommonOf(faults);
  if (v.links.empty()) v.links.push_back({.from = from, .to = to});
  v.culprits.clear();
  v.reasons = std::move(faults);
  if (v.reasons.size() > kMostReasons) v.reasons.resize(kMostReasons);
  v.remedy = NvLinkRemedy();
}

// Whether two ranks have GPUs of one host, of which something is known.
bool ShareHost(const Look& now, const RankLook& one, const RankLook& other) {
  const ProcessLook *a = now.ProcessOf(one), *b = now.ProcessOf(other);
  return a != nullptr && b != nullptr && a->host == b->host && one.gpu_bus_id != other.gpu_bus_id &&
         GpuOf(now, one) != nullptr && GpuOf(now, other) != nullptr;
}

// Of a GPU that is to blame: a link of it to another rank's, or one that leads to anybody, told with who waits for it.
bool BlameNvLink(const Look& now, Verdict& v) {
  const Place place = v.culprits.front();
  const RankLook* culprit = RankOf(now, place);
  if (culprit == nullptr || GpuOf(now, *culprit) == nullptr) return false;
  const auto place_of = [&](const RankLook& rank) {
    Place other = place;
    other.rank = rank.rank;
    other.gpu = rank.gpu;
    other.pid = now.ProcessOf(rank)->pid;
    return other;
  };
  const RankLook* nearest = nullptr;
  for (const RankLook& rank : now.Find(place.communicator)->seen) {
    if (rank.rank == place.rank || !ShareHost(now, *culprit, rank)) continue;
    std::vector<std::string> faults = FaultsBetween(*GpuOf(now, *culprit), *GpuOf(now, rank));
    if (!faults.empty()) return Accuse(v, place, place_of(rank), std::move(faults)), true;
    const bool waits = std::ranges::find(v.direct, place_of(rank)) != v.direct.end();
    if (nearest == nullptr || waits) nearest = &rank;
  }
  if (nearest == nullptr) return false;
  std::vector<std::string> faults = FaultsOfItself(now, *GpuOf(now, *culprit));
  if (faults.empty()) return false;
  Accuse(v, place, place_of(*nearest), std::move(faults));
  return true;
}

// Whether the GPU's own state explains all, so that its links are beside the point.
bool IsBrokenItself(const GpuLook& gpu) {
  return gpu.lost ||
         std::ranges::any_of(gpu.xids, [](const XidLook& x) { return FindXid(x.number).sign == XidSign::kGpu; });
}

}  // namespace

std::string CommonOf(const std::vector<std::string>& faults) {
  // It ends with the bus id of the first GPU that is named.
  const std::string& first = faults.front();
  return first.substr(0, first.find(' ', first.find("GPU ") + 4));
}

std::vector<std::string> NvLinkFaults(const Look& now, const RankLook& one, const RankLook& other) {
  if (!ShareHost(now, one, other)) return {};
  const GpuLook &a = *GpuOf(now, one), &b = *GpuOf(now, other);
  std::vector<std::string> faults = FaultsBetween(a, b);
  if (!faults.empty()) return faults;
  faults = FaultsOfItself(now, a);
  for (std::string& fault : FaultsOfItself(now, b)) faults.push_back(std::move(fault));
  return faults;
}

void AddReasons(const Look& now, Verdict& v) {
  if (v.kind == Kind::kLinkSlow && v.links.size() == 1) {
    const RankLook *from = RankOf(now, v.links[0].from), *to = RankOf(now, v.links[0].to);
    if (from == nullptr || to == nullptr) return;
    std::vector<std::string> faults = NvLinkFaults(now, *from, *to);
    if (!faults.empty()) Accuse(v, v.links[0].from, v.links[0].to, std::move(faults));
    return;
  }
  if (v.culprits.empty()) return;
  const RankLook* rank = RankOf(now, v.culprits.front());
  const GpuLook* gpu = rank == nullptr ? nullptr : GpuOf(now, *rank);
  Reasons reasons = v.kind == Kind::kDead && v.process ? ReasonsOf(*v.process) : Reasons();
  if (gpu != nullptr) {
    for (Reason& reason : ReasonsOf(now, *gpu)) reasons.push_back(std::move(reason));
  }
  switch (v.kind) {
    case Kind::kGpuHung:
    case Kind::kGpuSlow:
      if (gpu == nullptr || (!IsBrokenItself(*gpu) && BlameNvLink(now, v))) return;
      return Put(v, std::move(reasons), kNumbers);
    case Kind::kDead:
      // That a process's work was taken off the GPU follows from its end.
      return Put(v, std::move(reasons), kOld);
    case Kind::kLateHost:
    case Kind::kGpuLate:
    case Kind::kBroken:
      return Put(v, std::move(reasons), kProgram);
    default:
      return;
  }
}

}  // namespace tutti::diag
