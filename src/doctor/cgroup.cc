// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "doctor/cgroup.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/words.h"

namespace tutti::doctor {
namespace {

constexpr int kMostLevels = 16;
constexpr double kOftenThrottled = 0.05, kAlwaysThrottled = 0.5;  // of the periods
constexpr std::int64_t kFewPeriods = 20;
constexpr std::int64_t kLittleMemory = 512 << 20, kVeryLittleMemory = 128 << 20;
constexpr std::int64_t kFewTasks = 128;
constexpr std::int64_t kNoLimit = std::int64_t{1} << 60;  // version 1 writes a number of about this size for none

void Tighten(std::optional<std::int64_t>& bound, std::optional<std::int64_t> value) {
  if (value && *value < kNoLimit && (!bound || *value < *bound)) bound = value;
}

class Reader {
 public:
  explicit Reader(const Root& root) : root_(root) {}

  CgroupLimits Read() {
    const std::optional<std::string> own = root_.Text("/proc/self/cgroup");
    if (!own) return limits_;
    std::string_view rest = *own;
    while (!rest.empty()) {
      const std::string_view line = TakeLine(rest);
      const std::size_t first = line.find(':'), second = line.find(':', first + 1);
      if (first == std::string_view::npos || second == std::string_view::npos) continue;
      const std::string controllers = "," + std::string(line.substr(first + 1, second - first - 1)) + ",";
      const std::string group(line.substr(second + 1));
      if (controllers == ",,") Climb("/sys/fs/cgroup", group, [&](const std::string& at) { ReadTwo(at); });
      if (controllers.find(",cpu,") != controllers.npos)
        Climb("/sys/fs/cgroup/cpu", group, [&](const std::string& at) { ReadOneCpu(at); });
      if (controllers.find(",memory,") != controllers.npos)
        Climb("/sys/fs/cgroup/memory", group, [&](const std::string& at) { ReadOneMemory(at); });
    }
    return limits_;
  }

 private:
  // From the group up. What a container sees as another group's folder may lie at the mount's root.
  template <typename F>
  void Climb(const std::string& mount, std::string group, F read) {
    if (limits_.group.empty()) limits_.group = group;
    while (group.ends_with('/')) group.pop_back();
    for (int level = 0; level < kMostLevels; ++level) {
      if (!group.empty() && group.find("..") == group.npos) read(mount + group);
      if (group.empty()) break;
      group.resize(group.rfind('/') == group.npos ? 0 : group.rfind('/'));
    }
    read(mount);
  }

  // Files that say nothing new are not read: this is part of what a communicator does when it begins.
  void ReadTwo(const std::string& at) {
    const std::optional<std::string> cpu = root_.Text(at + "/cpu.max");
    const std::size_t blank = cpu && !cpu->starts_with("max") ? cpu->find(' ') : std::string::npos;
    if (blank != std::string::npos) {
      Quota(ParseNumber<std::int64_t>(cpu->substr(0, blank)), ParseNumber<std::int64_t>(cpu->substr(blank + 1)));
      Throttled(root_.Text(at + "/cpu.stat").value_or(""), "throttled_usec", 1e6);
    }
    limits_.known = limits_.known || cpu || root_.Exists(at + "/cpu.stat");
    if (const std::optional<std::int64_t> most = root_.Number(at + "/memory.max")) {
      Memory(most, root_.Number(at + "/memory.current"),
             NumberOf(root_.Text(at + "/memory.stat").value_or(""), "inactive_file"));
      const auto killed = NumberOf(root_.Text(at + "/memory.events").value_or(""), "oom_kill");
      limits_.killed = std::max(limits_.killed, killed.value_or(0));
    }
    const std::optional<std::int64_t> tasks = root_.Number(at + "/pids.max");
    if (!tasks) return;
    Tighten(limits_.tasks, tasks);
    if (const auto now = root_.Number(at + "/pids.current")) Tighten(limits_.tasks_left, *tasks - *now);
  }

  void ReadOneCpu(const std::string& at) {
    const std::optional<std::int64_t> quota = root_.Number(at + "/cpu.cfs_quota_us");
    limits_.known |= quota.has_value();
    if (!quota || *quota <= 0) return;
    Quota(quota, root_.Number(at + "/cpu.cfs_period_us"));
    if (const auto stat = root_.Text(at + "/cpu.stat")) Throttled(*stat, "throttled_time", 1e9);
  }

  void ReadOneMemory(const std::string& at) {
    const std::optional<std::int64_t> most = root_.Number(at + "/memory.limit_in_bytes");
    limits_.known |= most.has_value();
    if (!most || *most >= kNoLimit) return;
    Memory(most, root_.Number(at + "/memory.usage_in_bytes"),
           NumberOf(root_.Text(at + "/memory.stat").value_or(""), "total_inactive_file"));
    if (const auto killed = NumberOf(root_.Text(at + "/memory.oom_control").value_or(""), "oom_kill")) {
      limits_.killed = std::max(limits_.killed, *killed);
    }
  }

  void Quota(std::optional<std::int64_t> quota, std::optional<std::int64_t> period) {
    if (!quota || !period || *period <= 0) return;
    const double cpus = static_cast<double>(*quota) / static_cast<double>(*period);
    if (!limits_.cpus || cpus < *limits_.cpus) limits_.cpus = cpus;
  }
  void Throttled(const std::string& stat, const char* key, double unit) {
    const std::int64_t periods = NumberOf(stat, "nr_periods").value_or(0);
    const std::int64_t throttled = NumberOf(stat, "nr_throttled").value_or(0);
    if (throttled < limits_.throttled_periods || periods <= 0) return;
    limits_.periods = periods;
    limits_.throttled_periods = throttled;
    limits_.throttled_s = static_cast<double>(NumberOf(stat, key).value_or(0)) / unit;
  }
  // Pages of files that nobody uses make room.
  void Memory(std::optional<std::int64_t> most, std::optional<std::int64_t> used, std::optional<std::int64_t> cache) {
    Tighten(limits_.memory_bytes, most);
    if (used) Tighten(limits_.memory_left_bytes, std::max<std::int64_t>(*most - *used + cache.value_or(0), 0));
  }

  const Root& root_;
  CgroupLimits limits_;
};

Finding CpuFinding(const CgroupLimits& limits, int cpus) {
  Finding finding{.check = "cgroup_cpu", .what = "the control group does not limit the cores"};
  if (!limits.cpus) return finding;
  const double share = limits.periods < kFewPeriods
                           ? 0
                           : static_cast<double>(limits.throttled_periods) / static_cast<double>(limits.periods);
  finding.evidence = fmt::format("{:.1f} of {} cores; kept off them in {} of {} periods, {:.1f} s", *limits.cpus, cpus,
                                 limits.throttled_periods, limits.periods, limits.throttled_s);
  if (share >= kOftenThrottled) {
    finding.severity = share >= kAlwaysThrottled ? Severity::kCritical : Severity::kWarn;
    finding.what = fmt::format("the control group {} is kept off the cores", limits.group);
  } else {
    finding.severity = *limits.cpus < cpus ? Severity::kInfo : Severity::kOk;
    finding.what = "the control group limits the cores";
  }
  if (finding.severity != Severity::kOk) {
    finding.remedy =
        "a rank that spins needs a core of its own: raise cpu.max, --cpus of the container, or limits.cpu of the pod";
  }
  return finding;
}

Finding MemoryFinding(const CgroupLimits& limits) {
  Finding finding{.check = "cgroup_memory", .what = "the control group does not limit memory"};
  if (limits.memory_bytes) {
    const std::int64_t left = limits.memory_left_bytes.value_or(*limits.memory_bytes);
    finding.evidence = fmt::format("{} left of {}", BytesText(static_cast<double>(left)),
                                   BytesText(static_cast<double>(*limits.memory_bytes)));
    finding.what = "the control group leaves enough memory";
    if (left < kLittleMemory) {
      finding.severity = left < kVeryLittleMemory ? Severity::kCritical : Severity::kWarn;
      finding.what = fmt::format("the control group {} leaves little memory, and shared pages count", limits.group);
      finding.remedy = "raise memory.max, --memory of the container, or limits.memory of the pod";
    }
  }
  if (limits.killed > 0) {
    finding.severity = std::max(finding.severity, Severity::kWarn);
    finding.what = fmt::format("processes of the control group {} were killed for want of memory", limits.group);
    finding.evidence = fmt::format("{} killed; {}", limits.killed, finding.evidence);
    finding.remedy = "raise memory.max, or use less; `dmesg` names who was killed";
  }
  return finding;
}

}  // namespace

CgroupLimits ReadCgroup(const Root& root) { return Reader(root).Read(); }

void ExamineCgroup(const CgroupLimits& limits, int cpus, Findings& findings) {
  if (!limits.known) {
    findings.push_back({.severity = Severity::kInfo,
                        .check = "cgroup",
                        .what = "no control group of this process can be seen, so its limits are not known"});
    return;
  }
  findings.push_back(CpuFinding(limits, cpus));
  findings.push_back(MemoryFinding(limits));
  Finding tasks{.check = "cgroup_pids", .what = "the control group allows enough threads"};
  if (limits.tasks) {
    tasks.evidence = fmt::format("{} left of {}", limits.tasks_left.value_or(*limits.tasks), *limits.tasks);
    if (limits.tasks_left.value_or(*limits.tasks) < kFewTasks) {
      tasks.severity = Severity::kWarn;
      tasks.what = fmt::format("the control group {} allows few more threads", limits.group);
      tasks.remedy = "raise pids.max, --pids-limit of the container, or TasksMax= of the service";
    }
  }
  findings.push_back(tasks);
}

}  // namespace tutti::doctor
