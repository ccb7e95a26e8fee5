// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "sys/os/mappings.h"

#include <fmt/format.h>
#include <sys/mman.h>

#include <algorithm>
#include <charconv>
#include <optional>

#include "base/words.h"
#include "sys/os/process.h"
#include "sys/os/text_file.h"

namespace tutti::sys {
namespace {

constexpr std::size_t kMostMapsBytes = std::size_t{64} << 20;

std::string_view TakeWord(std::string_view& rest) {
  rest.remove_prefix(std::min(rest.find_first_not_of(' '), rest.size()));
  const std::string_view word = rest.substr(0, rest.find(' '));
  rest.remove_prefix(word.size());
  return word;
}

bool ParseHex(std::string_view text, std::uint64_t& value) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, 16);
  return error == std::errc() && end == text.data() + text.size();
}

// "7f0a1000-7f0a2000 rw-s 00000000 00:01 1034 /memfd:tutti (deleted)"
std::optional<Mapping> ParseLine(std::string_view line) {
  Mapping m;
  const std::string_view range = TakeWord(line);
  const std::size_t dash = range.find('-');
  if (dash == std::string_view::npos || !ParseHex(range.substr(0, dash), m.begin) ||
      !ParseHex(range.substr(dash + 1), m.end) || m.end < m.begin) {
    return std::nullopt;
  }
  const std::string_view rights = TakeWord(line);
  if (rights.size() != 4 || !ParseHex(TakeWord(line), m.offset)) return std::nullopt;
  m.readable = rights[0] == 'r';
  m.writable = rights[1] == 'w';
  m.shared = rights[3] == 's';
  (void)TakeWord(line);  // device
  (void)TakeWord(line);  // inode
  line.remove_prefix(std::min(line.find_first_not_of(' '), line.size()));
  m.path = line;
  return m;
}

}  // namespace

bool Mapping::IsSharedMemory(std::string_view name) const {
  const std::size_t slash = path.rfind('/');
  std::string_view file(path);
  if (slash != std::string::npos) file.remove_prefix(slash + 1);
  if (file.starts_with("memfd:")) file.remove_prefix(6);
  return shared && file.starts_with(name);
}

std::vector<Mapping> ParseMappings(std::string_view text) {
  std::vector<Mapping> mappings;
  while (!text.empty()) {
    if (std::optional<Mapping> m = ParseLine(TakeLine(text))) mappings.push_back(std::move(*m));
  }
  return mappings;
}

Result<std::vector<Mapping>> ReadMappings(std::int32_t pid) {
  const std::optional<ProcessStat> stat = ReadProcessStat(pid);
  if (!stat) return Status(Code::kInvalidArgument, fmt::format("there is no process {} here", pid));
  if (stat->state == 'Z' || stat->state == 'X') {
    return Status(Code::kInvalidArgument, fmt::format("process {} ({}) has ended", pid, stat->name));
  }
  const Result<std::string> text = ReadFile(fmt::format("/proc/{}/maps", pid), kMostMapsBytes);
  if (!text.ok()) {
    return Status(
        Code::kSystem,
        fmt::format("process {} ({}) may not be looked at: {}. Run this as the user of that process, or as root", pid,
                    stat->name, text.status().message()));
  }
  return ParseMappings(*text);
}

bool MapIfFree(std::span<std::byte> range, int protection) {
  void* const got =
      mmap(range.data(), range.size(), protection, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
  if (got == range.data()) return true;
  if (got != MAP_FAILED) munmap(got, range.size());  // a kernel before 4.17 does not know the flag
  return false;
}

}  // namespace tutti::sys
