// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "diag/what.h"

#include <fmt/format.h>

#include <algorithm>

namespace tutti::diag {
namespace {

std::string ThreadActivity(const ThreadLook& thread) {
  if (!thread.system_call.empty()) {
    const std::string on = thread.object.empty() ? "" : " on " + thread.object;
    const bool has_name = thread.system_call.find(' ') == std::string::npos;
    return fmt::format("is in {}{}{}", thread.system_call, has_name ? "()" : "", on);
  }
  switch (thread.state) {
    case ProcessState::kRunning:
      return "runs, outside Tutti's waits";
    case ProcessState::kUninterruptible:
      return thread.kernel_place.empty() ? "waits for a device" : "waits in the kernel's " + thread.kernel_place;
    case ProcessState::kSleeping:
      return thread.kernel_place.empty() ? "sleeps" : "sleeps in the kernel's " + thread.kernel_place;
    default:
      return "";
  }
}

std::string Joined(const std::vector<std::string>& texts) {
  std::string all;
  for (const std::string& text : texts) all += (all.empty() ? "" : "; ") + text;
  return all;
}

// What the system says of why, behind `mark`; empty: nothing.
std::string Reasons(const Verdict& v, const char* mark = ": ") {
  return v.reasons.empty() ? "" : mark + Joined(v.reasons);
}

std::string LateText(const Verdict& v) {
  const bool one = v.culprits.size() == 1;
  std::string text = fmt::format("{} {}", Who(v.culprits), one ? "has" : "have");
  const bool known = !v.calls.empty() && v.calls.front().call.valid();
  const std::string what = known ? Describe(v.calls.front()) : "what others wait in";
  if (v.in_graph) {
    text += " not come to an operation of a CUDA graph that others wait in";
  } else if (v.called) {
    text += fmt::format(" called {} and {} not go on with it", what, one ? "does" : "do");
  } else {
    text += " not called " + what;
  }
  for (std::size_t i = 1; i < v.calls.size(); ++i) {
    if (v.calls[i].call.valid()) text += ", nor " + Describe(v.calls[i]);
  }
  if (v.kind == Kind::kStarved) {
    // What it lacks, and one of those who wait for it.
    const std::size_t shown = std::min<std::size_t>(v.evidence.size(), 2);
    return text + ": " + Joined({v.evidence.begin(), v.evidence.begin() + static_cast<std::ptrdiff_t>(shown)});
  }
  if (!v.process) return text + Reasons(v, "; ");
  const std::string activity = Activity(*v.process);
  if (!activity.empty()) text += (one ? "; " : fmt::format("; of pid {} ", v.process->pid)) + activity;
  if (!v.excuse.empty()) text += ": it " + v.excuse;
  return text + Reasons(v, "; ");
}

std::string LinkName(const Verdict& v) {
  const auto end = [](const Place& place, const std::string& nic) {
    return nic.empty() ? Who(place) : fmt::format("{} by card {}", Who(place), nic);
  };
  const LinkPlace& l = v.links.front();
  const std::string one = fmt::format("link from {} to {}", end(l.from, l.nic_from), end(l.to, l.nic_to));
  if (v.links.size() == 1) return fmt::format("the {}, channel {}", one, l.channel);
  return fmt::format("{} links of {}, as the {}", v.links.size(), v.common, one);
}

std::string MismatchText(const Verdict& v) {
  if (v.calls.size() < 2) return v.quote;
  const CallOf &odd = v.calls[0], &usual = v.calls[1];
  return fmt::format("the calls of the ranks do not match: {} called {} where {} called {}", Who(odd.who),
                     Describe(odd), Who(usual.who), usual.call.ToString());
}

std::string DeadlockText(const Verdict& v) {
  std::vector<std::string> parts;
  for (std::size_t i = 0; i < v.calls.size(); ++i) {
    parts.push_back(fmt::format("{}{} is in {} and has not {} {}", v.on_gpu ? "the GPU of " : "", Who(v.calls[i].who),
                                Describe(v.calls[i]), v.on_gpu ? "begun" : "called", Describe(v.owed[i])));
  }
  return fmt::format("deadlock: {}", Joined(parts));
}

std::string InitText(const Verdict& v) {
  const std::string name = v.direct.empty() ? "a communicator" : CommunicatorName(v.direct.front());
  if (!v.missing.empty() && !v.quote.empty()) {
    return fmt::format(
        "where the hosts of {} meet, {}, nobody answers, so it is not known here whether {} of {} {} come", name,
        v.quote, RankList(v.missing), v.ranks, v.missing.size() == 1 ? "has" : "have");
  }
  if (v.missing.empty()) return fmt::format("the {} ranks of {} have come, and have not connected", v.ranks, name);
  return fmt::format("{} waits for {} of {}, which cannot be seen on this host", name, RankList(v.missing), v.ranks);
}

std::string UnknownText(const Verdict& v) {
  return fmt::format("what holds {} up is not known: {}",
                     v.direct.empty() && v.indirect.empty()
                         ? "a communicator"
                         : CommunicatorName(v.direct.empty() ? v.indirect.front() : v.direct.front()),
                     Joined(v.evidence));
}

// " 77 81"
std::string Pids(const std::vector<Place>& places) {
  std::vector<std::int32_t> pids;
  for (const Place& p : places) {
    if (std::ranges::find(pids, p.pid) == pids.end()) pids.push_back(p.pid);
  }
  std::string text;
  for (const std::int32_t pid : pids) text += fmt::format(" {}", pid);
  return text;
}

bool IsSilent(const Verdict& v) { return v.process && v.process->state == ProcessState::kSilent; }

std::string Rate(const Verdict& v) {
  if (v.rated_bytes_per_s >= 1e9)
    return fmt::format("{:.2f} of {:.2f} GB/s", v.bytes_per_s * 1e-9, v.rated_bytes_per_s * 1e-9);
  return fmt::format("{:.1f} of {:.1f} MB/s", v.bytes_per_s * 1e-6, v.rated_bytes_per_s * 1e-6);
}

std::string NvLinkText(const Verdict& v) {
  const LinkPlace& l = v.links.front();
  const std::string more = v.links.size() == 1 ? "" : fmt::format(" and {} others", v.links.size() - 1);
  const std::string effect = v.rated_bytes_per_s > 0 ? "data move at " + Rate(v) : "nothing moves";
  return fmt::format("NVLink fault between {} and {}{}: {}; {}", Who(l.from), Who(l.to), more, Joined(v.reasons),
                     effect);
}

// "host a with rank 3 (pid 77)": its name is told once.
std::string HostGoneText(const Verdict& v) {
  std::vector<Place> places = v.culprits;
  for (Place& place : places) place.host.clear();
  return fmt::format("host {} with {} does not answer", v.culprits.front().host, Who(places));
}

}  // namespace

std::string CommunicatorName(const Place& place) {
  return place.communicator_name.empty() ? fmt::format("communicator {:#x}", place.communicator)
                                         : "communicator " + place.communicator_name;
}

std::string Who(const Place& place) {
  std::string where = place.host.empty() ? "" : "host " + place.host;
  if (place.pid != 0) where += fmt::format("{}pid {}", where.empty() ? "" : ", ", place.pid);
  if (place.gpu >= 0) where += fmt::format("{}GPU {}", where.empty() ? "" : ", ", place.gpu);
  return where.empty() ? fmt::format("rank {}", place.rank) : fmt::format("rank {} ({})", place.rank, where);
}

std::string Who(const std::vector<Place>& places) {
  if (places.size() == 1) return Who(places.front());
  std::vector<int> ranks;
  for (const Place& p : places) ranks.push_back(p.rank);
  return RankList(ranks);
}

std::string Describe(const CallOf& call) {
  return fmt::format("{}, {} {} of {}", call.call.ToString(),
                     call.call.valid() && call.call.is_transfer() ? "number" : "operation", call.sequence,
                     CommunicatorName(call.who));
}

std::string Activity(const ProcessLook& process) {
  if (process.threads.empty()) return "";
  const std::string main = ThreadActivity(process.threads.front());
  std::string text = main.empty() ? "" : "its main thread " + main;
  for (std::size_t i = 1; i < process.threads.size(); ++i) {
    const ThreadLook& other = process.threads[i];
    if (other.state != ProcessState::kUninterruptible) continue;
    text +=
        fmt::format("{}thread {} ({}) {}", text.empty() ? "its " : ", ", other.id, other.name, ThreadActivity(other));
  }
  return text;
}

std::string EndOf(const ProcessLook& process) {
  if (!process.end || *process.end == 0) return "has ended";
  const int signal = *process.end & 0x7f;
  if (signal != 0) return fmt::format("was ended by signal {}", signal);
  return fmt::format("has ended with exit code {}", *process.end >> 8 & 0xff);
}

std::string What(const Verdict& v) {
  switch (v.kind) {
    case Kind::kLateHost:
    case Kind::kStarved:
      return LateText(v);
    case Kind::kStopped:
      if (IsSilent(v)) {
        return fmt::format("{} {} not answer, and {} host does", Who(v.culprits),
                           v.culprits.size() == 1 ? "does" : "do", v.culprits.size() == 1 ? "its" : "their");
      }
      return fmt::format("{} {} {}", Who(v.culprits), v.culprits.size() == 1 ? "is" : "are",
                         v.process ? Name(v.process->state) : "stopped");
    case Kind::kTraced:
      return fmt::format("{} is held by a debugger", Who(v.culprits));
    case Kind::kDead:
      return fmt::format("{} is gone: its process {}{}", Who(v.culprits), v.process ? EndOf(*v.process) : "has ended",
                         Reasons(v));
    case Kind::kHostGone:
      return HostGoneText(v);
    case Kind::kGpuLate:
      return fmt::format("{} has called {}, and its GPU still runs earlier work{}", Who(v.culprits),
                         Describe(v.calls.front()), Reasons(v));
    case Kind::kGpuSlow:
      return fmt::format("the GPU of {} moves {}{}", Who(v.culprits), Rate(v), Reasons(v));
    case Kind::kGpuHung:
      return fmt::format("the GPU of {} makes no progress in {} and waits for nobody{}", Who(v.culprits),
                         Describe(v.calls.front()), Reasons(v));
    case Kind::kLinkSlow:
      return fmt::format("data move slowly on {}: {}{}", LinkName(v), Rate(v),
                         v.beside_others ? " that links of other hosts carry, and it was never faster" : "");
    case Kind::kLinkStalled:
      return fmt::format("nothing moves on {}: {}", LinkName(v), Joined(v.evidence));
    case Kind::kNvLinkFault:
      return NvLinkText(v);
    case Kind::kMismatch:
      return MismatchText(v);
    case Kind::kDeadlock:
      return DeadlockText(v);
    case Kind::kInitIncomplete:
      return InitText(v);
    case Kind::kBroken:
      return (v.direct.empty()
                  ? v.quote
                  : fmt::format("{} was ended by an error: {}", CommunicatorName(v.direct.front()), v.quote)) +
             Reasons(v, "; ");
    case Kind::kUnknown:
      return UnknownText(v);
  }
  return "";
}

std::string NextStep(const Verdict& v) {
  const std::int32_t pid = v.culprits.empty() ? 0 : v.culprits.front().pid;
  if (!v.remedy.empty()) return v.remedy;
  switch (v.kind) {
    case Kind::kLateHost:
      if (!v.excuse.empty()) return "That looks like a pause that the program wants";
      return pid == 0 ? "See what that process does"
                      : fmt::format("See what that process does: gdb -p {0}, py-spy dump --pid {0}", pid);
    case Kind::kStarved:
      return "Give it cores: look at cpu.max of its control group and at what else runs on its cores";
    case Kind::kStopped:
      if (IsSilent(v)) return "See there whether it is stopped or gets no time on a core";
      if (v.process && v.process->state == ProcessState::kFrozen) return "Thaw its control group, or end it";
      return fmt::format("Continue {} with kill -CONT{}, or end {}", v.culprits.size() == 1 ? "it" : "them",
                         Pids(v.culprits), v.culprits.size() == 1 ? "it" : "them");
    case Kind::kTraced:
      return "Let it go on in the debugger";
    case Kind::kDead:
      return "Look at its output and exit status, and in the kernel's log for a lack of memory or a fault of its GPU";
    case Kind::kHostGone:
      return "Look at its power, its network and the switch";
    case Kind::kGpuLate:
      return "Look for other work in that stream";
    case Kind::kGpuSlow:
      return "Look at clocks, power and temperature, and for other programs: nvidia-smi -q";
    case Kind::kGpuHung:
      return "Look for its faults: dmesg | grep Xid, nvidia-smi -q";
    case Kind::kLinkSlow:
    case Kind::kLinkStalled:
      return "Look at cable, port and switch between them, and at their error counters";
    case Kind::kNvLinkFault:
      return "Look at nvidia-smi nvlink --status";
    case Kind::kMismatch:
      return "All ranks must make the same calls in the same order";
    case Kind::kDeadlock:
      return v.on_gpu ? "Make these calls in the same order everywhere, or in streams of their own"
                      : "Make these calls in the same order everywhere, or from threads of their own";
    case Kind::kInitIncomplete:
      if (!v.missing.empty() && !v.quote.empty())
        return "Look whether that process goes on, and whether this host reaches it";
      return "Look at the output of these ranks, and whether they were started and reach this host";
    case Kind::kBroken:
      return "The sentence says what to do; the communicator is of no use any more";
    case Kind::kUnknown:
      return "tutti top --json has all that is known";
  }
  return "";
}

std::string TimeOfDay(std::int64_t unix_ns) {
  const std::int64_t second = unix_ns / kSecond % 86400;
  return fmt::format("{:02}:{:02}:{:02} UTC", second / 3600, second / 60 % 60, second % 60);
}

std::string Duration(std::int64_t ns) {
  const double s = static_cast<double>(ns) * 1e-9;
  if (s < 120) return fmt::format("{:.1f} s", s);
  if (s < 7200) return fmt::format("{:.1f} min", s / 60);
  return fmt::format("{:.1f} h", s / 3600);
}

std::string RankList(std::vector<int> ranks) {
  std::ranges::sort(ranks);
  ranks.erase(std::unique(ranks.begin(), ranks.end()), ranks.end());
  std::vector<std::string> parts;
  for (std::size_t i = 0; i < ranks.size();) {
    std::size_t end = i + 1;
    while (end < ranks.size() && ranks[end] == ranks[end - 1] + 1) ++end;
    // Two in a row are two numbers.
    if (end - i > 2) {
      parts.push_back(fmt::format("{}-{}", ranks[i], ranks[end - 1]));
    } else {
      for (std::size_t k = i; k < end; ++k) parts.push_back(fmt::to_string(ranks[k]));
    }
    i = end;
  }
  std::string text = ranks.size() == 1 ? "rank " : "ranks ";
  for (std::size_t i = 0; i < parts.size(); ++i) {
    if (i > 0) text += i + 1 == parts.size() ? " and " : ", ";
    text += parts[i];
  }
  return text;
}

}  // namespace tutti::diag
