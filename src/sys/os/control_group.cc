// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "sys/os/control_group.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <string_view>
#include <vector>

#include "base/words.h"
#include "sys/os/text_file.h"

namespace tutti::sys {
namespace {

constexpr std::size_t kMostLevels = 32;
constexpr std::size_t kMostMembers = 64;                  // processes of a group whose times are added up
constexpr std::int64_t kNoLimit = std::int64_t{1} << 60;  // version 1 writes a number of about this size for none

std::string TextOf(const std::string& path) {
  Result<std::string> text = ReadFile(path);
  return text.ok() ? std::move(*text) : std::string();
}

std::string_view TakeWord(std::string_view& text) {
  text.remove_prefix(std::min(text.find_first_not_of(" \n"), text.size()));
  const std::string_view word = text.substr(0, text.find_first_of(" \n"));
  text.remove_prefix(word.size());
  return word;
}

// The number behind `key` in "key number" lines.
std::optional<std::int64_t> ValueOf(std::string_view text, std::string_view key) {
  while (!text.empty()) {
    std::string_view line = TakeLine(text);
    if (TakeWord(line) == key) return ParseNumber<std::int64_t>(TakeWord(line));
  }
  return std::nullopt;
}

std::optional<std::int64_t> NumberIn(const std::string& path) { return ParseNumber<std::int64_t>(Trim(TextOf(path))); }

bool HasWord(std::string_view list, std::string_view word) {
  while (!list.empty()) {
    const std::size_t comma = std::min(list.find(','), list.size());
    if (list.substr(0, comma) == word) return true;
    list.remove_prefix(std::min(comma + 1, list.size()));
  }
  return false;
}

// A group, and where its folder is.
struct Level {
  std::string name, folder;
  bool second = false;  // of version 2
};

// Those that a controller's limits of a process come from, its own first. What a container sees of them may lie at the mount's root.
std::vector<Level> LevelsOf(const std::string& process, std::string_view controller, const std::string& groups) {
  std::vector<Level> levels;
  const std::string text = TextOf(process + "/cgroup");
  for (std::string_view rest = text; !rest.empty();) {  // lines of number:controllers:path
    const std::string_view line = TakeLine(rest);
    const std::size_t first = line.find(':'), second = line.find(':', std::min(first + 1, line.size()));
    if (second == std::string_view::npos) continue;
    const std::string_view controllers = line.substr(first + 1, second - first - 1);
    std::string path(line.substr(second + 1));
    if (constexpr std::string_view kRemoved = " (deleted)"; path.ends_with(kRemoved))
      path.resize(path.size() - kRemoved.size());
    if (path == "/" || path.find("/..") != std::string::npos) path.clear();
    const bool is_second = controllers.empty();
    if (!is_second && !HasWord(controllers, controller)) continue;
    const std::string root = is_second ? groups : fmt::format("{}/{}", groups, controller);
    for (std::size_t level = 0; level < kMostLevels; ++level) {
      levels.push_back({.name = path.empty() ? "/" : path, .folder = root + path, .second = is_second});
      if (path.empty()) break;
      path.resize(path.rfind('/') == std::string::npos ? 0 : path.rfind('/'));
    }
  }
  return levels;
}

// Time that the processes of a group have had, by what each of them says.
std::optional<std::int64_t> TimeOfMembers(const std::string& folder, const std::string& proc) {
  const std::string members = TextOf(folder + "/cgroup.procs");
  std::string_view rest = members;
  std::int64_t ticks = 0;
  for (std::size_t member = 0; !Trim(rest).empty(); ++member) {
    if (member == kMostMembers) return std::nullopt;
    const std::string stat = TextOf(fmt::format("{}/{}/stat", proc, TakeWord(rest)));
    const std::size_t close = stat.rfind(')');
    if (close == std::string::npos) continue;
    std::string_view fields = std::string_view(stat).substr(close + 1);
    for (int field = 3; field < 14; ++field) (void)TakeWord(fields);  // numbered as in proc(5)
    for (int field = 14; field <= 15; ++field) ticks += ParseNumber<std::int64_t>(TakeWord(fields)).value_or(0);
  }
  const std::int64_t per_second = sysconf(_SC_CLK_TCK);
  return per_second <= 0 || members.empty() ? std::nullopt : std::optional(ticks * (1'000'000'000 / per_second));
}

// Version 2 has both in us. Version 1 has ns, and the time on the cores beside them only where one mount has both controllers.
GroupTime TimeOf(const std::string& folder, const std::string& proc) {
  const std::string text = TextOf(folder + "/cpu.stat");
  if (const auto us = ValueOf(text, "throttled_usec")) {
    const auto run_us = ValueOf(text, "usage_usec");
    return {.throttled_ns = *us * 1000, .run_ns = run_us ? *run_us * 1000 : -1};
  }
  const auto throttled_ns = ValueOf(text, "throttled_time");
  if (!throttled_ns) return {};
  std::optional<std::int64_t> run_ns = NumberIn(folder + "/cpuacct.usage");
  if (!run_ns && *throttled_ns > 0) run_ns = TimeOfMembers(folder, proc);
  return {.throttled_ns = *throttled_ns, .run_ns = run_ns.value_or(-1)};
}

}  // namespace

GroupTime ReadGroupTime(const std::string& process, const std::string& proc, const std::string& groups) {
  GroupTime most;
  for (const Level& level : LevelsOf(process, "cpu", groups)) {
    const GroupTime time = TimeOf(level.folder, proc);
    if (time.throttled_ns > most.throttled_ns) most = time;
  }
  return most;
}

std::optional<MemoryGroup> FindMemoryGroup(const std::string& process, const std::string& groups) {
  std::optional<MemoryGroup> found;
  for (const Level& level : LevelsOf(process, "memory", groups)) {
    MemoryGroup here{.name = level.name, .folder = level.folder};
    if (!found && !ReadMemoryKills(here)) continue;
    if (!found) found = std::move(here);
    const auto limit = NumberIn(level.folder + (level.second ? "/memory.max" : "/memory.limit_in_bytes"));
    if (limit && *limit < kNoLimit && (found->limit_bytes < 0 || *limit < found->limit_bytes))
      found->limit_bytes = *limit;
  }
  return found;
}

std::optional<std::int64_t> ReadMemoryKills(const MemoryGroup& group) {
  if (const auto kills = ValueOf(TextOf(group.folder + "/memory.events"), "oom_kill")) return kills;
  return ValueOf(TextOf(group.folder + "/memory.oom_control"), "oom_kill");
}

}  // namespace tutti::sys
