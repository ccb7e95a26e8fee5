// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "sys/os/process_activity.h"

#include <dirent.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <memory>

#include "base/words.h"
#include "sys/os/control_group.h"
#include "sys/os/process.h"
#include "sys/os/text_file.h"

namespace tutti::sys {
namespace {

constexpr std::size_t kMostThreads = 128;  // looked at
constexpr std::size_t kOtherThreads = 3;   // told of, beside the main thread
constexpr std::size_t kMostChildren = 16;
constexpr std::size_t kMostPathBytes = 256;  // of what a descriptor stands for

std::string_view TakeWord(std::string_view& text) {
  text.remove_prefix(std::min(text.find_first_not_of(" \n"), text.size()));
  const std::string_view word = text.substr(0, text.find_first_of(" \n"));
  text.remove_prefix(word.size());
  return word;
}

std::string TextOf(const std::string& path) {
  Result<std::string> text = ReadFile(path);
  return text.ok() ? std::move(*text) : std::string();
}

// The numbers that name entries of a folder of /proc.
std::vector<std::int32_t> NumbersIn(const std::string& path, std::size_t most) {
  std::vector<std::int32_t> numbers;
  const std::unique_ptr<DIR, int (*)(DIR*)> folder(opendir(path.c_str()), &closedir);
  if (folder == nullptr) return numbers;
  while (const dirent* entry = readdir(folder.get())) {
    if (numbers.size() == most) break;
    if (const auto number = ParseNumber<std::int32_t>(entry->d_name)) numbers.push_back(*number);
  }
  return numbers;
}

std::string LinkOf(const std::string& path) {
  char target[kMostPathBytes];
  const ssize_t bytes = readlink(path.c_str(), target, sizeof(target));
  return bytes <= 0 ? std::string() : std::string(target, static_cast<std::size_t>(bytes));
}

// "230 0x0 0x0 ...": number and arguments; "running"; "-1 0x7ff.. 0x7f..": sleeps, in no call.
void ReadSystemCall(const std::string& task, const std::string& process, ThreadActivity& thread) {
  const std::string text = TextOf(task + "/syscall");
  std::string_view rest = text;
  const auto number = ParseNumber<long>(TakeWord(rest));
  if (!number || *number < 0) return;
  thread.system_call = NameOfSystemCall(*number);
  std::string_view argument = TakeWord(rest);
  if (!TakesDescriptor(thread.system_call) || !argument.starts_with("0x")) return;
  argument.remove_prefix(2);
  if (const auto descriptor = ParseNumber<std::uint64_t>(argument, 16)) {
    thread.object = LinkOf(fmt::format("{}/fd/{}", process, *descriptor));
  }
}

// `told`: what the thread's stat says.
ThreadActivity LookAt(const std::string& process, const ProcessStat& told) {
  ThreadActivity thread{.tid = told.pid, .name = told.name, .state = told.state};
  const std::string task = fmt::format("{}/task/{}", process, told.pid);
  ReadSystemCall(task, process, thread);
  const std::string place = TextOf(task + "/wchan");
  if (place != "0") thread.kernel_place = place;
  return thread;
}

std::vector<ThreadActivity> ReadThreads(const std::string& process, std::int32_t pid) {
  std::vector<ThreadActivity> threads;
  std::vector<ProcessStat> others;
  if (const auto main = ParseProcessStat(TextOf(fmt::format("{}/task/{}/stat", process, pid)))) {
    threads.push_back(LookAt(process, *main));
  }
  for (const std::int32_t tid : NumbersIn(process + "/task", kMostThreads)) {
    if (tid == pid) continue;
    const auto stat = ParseProcessStat(TextOf(fmt::format("{}/task/{}/stat", process, tid)));
    if (stat && (stat->state == 'D' || stat->state == 'R')) others.push_back(*stat);
  }
  std::ranges::stable_sort(others, {}, [](const ProcessStat& s) { return s.state; });  // D before R
  if (others.size() > kOtherThreads) others.resize(kOtherThreads);
  for (const ProcessStat& stat : others) threads.push_back(LookAt(process, stat));
  return threads;
}

std::vector<std::string> ReadChildren(const std::string& process, std::int32_t pid, const ActivityRoots& roots) {
  std::vector<std::string> names;
  const std::string text = TextOf(fmt::format("{}/task/{}/children", process, pid));
  std::string_view rest = text;
  while (names.size() < kMostChildren) {
    const auto child = ParseNumber<std::int32_t>(TakeWord(rest));
    if (!child) break;
    const auto stat = ParseProcessStat(TextOf(fmt::format("{}/{}/stat", roots.proc, *child)));
    if (stat && stat->state != 'Z') names.push_back(stat->name);
  }
  return names;
}

// Of /proc/<pid>/io: pages of files that it has made dirty, and what it has written past the page cache.
std::int64_t WrittenOf(std::string_view io) {
  constexpr std::string_view kName = "\nwrite_bytes: ";
  const std::size_t at = io.find(kName);
  if (at == std::string_view::npos) return -1;
  std::string_view rest = io.substr(at + kName.size());
  return ParseNumber<std::int64_t>(TakeWord(rest)).value_or(-1);
}

// Field 52 of /proc/<pid>/stat: how a zombie has ended. 0 also where it may not be seen.
std::optional<int> EndOf(std::string_view stat) {
  const std::size_t close = stat.rfind(')');
  if (close == std::string_view::npos) return std::nullopt;
  std::string_view rest = stat.substr(close + 1);
  for (int field = 3; field < 52; ++field) {
    if (TakeWord(rest).empty()) return std::nullopt;
  }
  return ParseNumber<int>(TakeWord(rest));
}

}  // namespace

std::optional<ProcessActivity> ReadActivity(std::int32_t pid, const ActivityRoots& roots) {
  const std::string process = fmt::format("{}/{}", roots.proc, pid);
  const std::string text = TextOf(process + "/stat");
  const std::optional<ProcessStat> stat = ParseProcessStat(text);
  if (!stat) return std::nullopt;
  ProcessActivity seen{.pid = pid, .name = stat->name, .state = stat->state, .start_ticks = stat->start_ticks};
  if (stat->state == 'X' || stat->state == 'x' || (stat->state == 'Z' && stat->threads <= 1)) {
    seen.end = EndOf(text);
    return seen;
  }
  seen.threads = ReadThreads(process, pid);
  seen.children = ReadChildren(process, pid, roots);
  const std::string times = TextOf(fmt::format("{}/task/{}/schedstat", process, pid));
  std::string_view rest = times;
  seen.run_ns = ParseNumber<std::int64_t>(TakeWord(rest)).value_or(-1);
  seen.queue_ns = ParseNumber<std::int64_t>(TakeWord(rest)).value_or(-1);
  const GroupTime group = ReadGroupTime(process, roots.proc, roots.cgroup);
  seen.throttled_ns = group.throttled_ns;
  seen.group_run_ns = group.run_ns;
  seen.written_bytes = WrittenOf(TextOf(process + "/io"));
  return seen;
}

std::vector<std::int32_t> ListProcesses(const ActivityRoots& roots) {
  return NumbersIn(roots.proc, std::size_t{1} << 22);
}

}  // namespace tutti::sys
