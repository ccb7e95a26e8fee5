// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "base/log.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <iterator>
#include <span>
#include <utility>

#include "base/hash.h"
#include "base/json_text.h"
#include "base/one_line.h"
#include "base/words.h"

namespace tutti::log {
namespace {

constexpr std::int64_t kNsPerSecond = 1'000'000'000;
// Lines of these are asked for by name, call by call; none is left out.
constexpr Subsystems kPerCall = kColl | kP2p | kTuning | kCall;

constexpr std::pair<std::string_view, std::uint32_t> kLevelNames[] = {{"NONE", 0}, {"VERSION", 1}, {"WARN", 2},
                                                                      {"INFO", 3}, {"ABORT", 4},   {"TRACE", 5}};
constexpr std::pair<std::string_view, std::uint32_t> kSubsystemNames[] = {{"INIT", kInit},
                                                                          {"COLL", kColl},
                                                                          {"P2P", kP2p},
                                                                          {"SHM", kShm},
                                                                          {"NET", kNet},
                                                                          {"GRAPH", kGraph},
                                                                          {"TUNING", kTuning},
                                                                          {"ENV", kEnv},
                                                                          {"ALLOC", kAlloc},
                                                                          {"CALL", kCall},
                                                                          {"PROXY", kProxy},
                                                                          {"NVLS", kNvls},
                                                                          {"BOOTSTRAP", kBootstrap},
                                                                          {"REG", kReg},
                                                                          {"PROFILE", kProfile},
                                                                          {"RAS", kRas},
                                                                          {"DESTROY", kDestroy},
                                                                          {"ALLOC_HOST", kAllocHost}};
using Names = std::span<const std::pair<std::string_view, std::uint32_t>>;

constinit std::atomic<const Sink*> g_sink{nullptr};
constinit std::atomic<std::uint64_t> g_after_warn{0};
constinit std::atomic<int> g_lines_per_second{0};
thread_local int t_rank = -1;

bool SameWord(std::string_view a, std::string_view b) {
  return std::ranges::equal(a, b, [](unsigned char x, unsigned char y) { return std::toupper(x) == std::toupper(y); });
}

std::optional<std::uint32_t> Find(Names names, std::string_view word) {
  for (const auto& [name, value] : names) {
    if (SameWord(name, word)) return value;
  }
  return std::nullopt;
}

// A list with commas, perhaps after ^. `bits_of` turns a word into bits.
template <typename BitsOf>
std::optional<std::uint32_t> ParseList(std::string_view text, std::uint32_t all, std::string& unknown,
                                       const BitsOf& bits_of) {
  text = Trim(text);
  const bool negated = text.starts_with('^');
  if (negated) text.remove_prefix(1);
  std::uint32_t bits = 0;
  while (!text.empty()) {
    const std::size_t comma = std::min(text.find(','), text.size());
    const std::string_view word = Trim(text.substr(0, comma));
    text.remove_prefix(std::min(comma + 1, text.size()));
    if (word.empty()) continue;
    const std::optional<std::uint32_t> found = bits_of(word);
    if (!found) {
      unknown = word;
      return std::nullopt;
    }
    bits |= *found;
  }
  return negated ? all & ~bits : bits;
}

// Whether a site may log now, and how many of its lines were left out before this one.
bool Allow(Site& site, std::int64_t now_ns, int& left_out) {
  const int limit = g_lines_per_second.load(std::memory_order_relaxed);
  const bool per_call = site.level >= Level::kInfo && (site.subsystems & kPerCall) != 0;
  if (limit <= 0 || per_call || site.level == Level::kTrace) return true;
  std::int64_t begin_ns = site.second_begin_ns.load(std::memory_order_relaxed);
  if ((begin_ns == 0 || now_ns - begin_ns >= kNsPerSecond) &&
      site.second_begin_ns.compare_exchange_strong(begin_ns, now_ns, std::memory_order_relaxed)) {
    site.lines.store(0, std::memory_order_relaxed);
  }
  if (site.lines.fetch_add(1, std::memory_order_relaxed) >= limit) {
    site.left_out.fetch_add(1, std::memory_order_relaxed);
    return false;
  }
  left_out = site.left_out.exchange(0, std::memory_order_relaxed);
  return true;
}

std::string_view ShortPath(std::string_view file) {
  const std::size_t at = file.rfind("src/");
  if (at != std::string_view::npos) return file.substr(at + 4);
  return file.substr(file.rfind('/') + 1);  // npos + 1 == 0
}

}  // namespace

std::uint64_t Bits(const Config& config) {
  std::uint64_t bits = config.banner && config.level >= Level::kVersion ? Bits(Level::kVersion, 0) : 0;
  if (config.level >= Level::kWarn) bits |= Bits(Level::kWarn, 0);
  if (config.level >= Level::kInfo) bits |= Bits(Level::kInfo, config.subsystems);
  if (config.level >= Level::kTrace) bits |= Bits(Level::kTrace, config.subsystems);
  return bits;
}

void Install(const Sink* sink, const Config& config) {
  g_sink.store(sink, std::memory_order_release);
  g_lines_per_second.store(config.lines_per_second, std::memory_order_relaxed);
  g_after_warn.store(config.info_after_warn ? Bits(Level::kInfo, config.subsystems) : 0, std::memory_order_relaxed);
  g_enabled.store(sink == nullptr ? 0 : Bits(config), std::memory_order_release);
}

void Emit(Site& site, fmt::string_view format, fmt::format_args arguments) noexcept try {
  const Sink* sink = g_sink.load(std::memory_order_acquire);
  if (sink == nullptr) return;
  int left_out = 0;
  if (!Allow(site, sink->now_ns(), left_out)) return;
  std::string text = fmt::vformat(format, arguments);
  if (left_out > 0) {
    text += fmt::format(" ({} lines from this place were left out: TUTTI_LOG_RATE={} lines per second)", left_out,
                        g_lines_per_second.load(std::memory_order_relaxed));
  }
  sink->write({.level = site.level,
               .subsystems = site.subsystems,
               .file = ShortPath(site.file),
               .line = site.line,
               .rank = t_rank,
               .text = text});
  if (site.level == Level::kWarn) {
    if (const std::uint64_t more = g_after_warn.load(std::memory_order_relaxed); more != 0) {
      g_enabled.fetch_or(more, std::memory_order_relaxed);
    }
  }
} catch (...) {
  // Out of memory: a log line is not worth more.
}

std::string FormatText(const Record& r) {
  std::string out(r.timestamp);
  if (r.level == Level::kVersion) {
    out = r.text;
  } else {
    out += fmt::format("{}:{}:{} [{}] ", r.host, r.pid, r.tid, r.rank);
    if (r.level == Level::kTrace) out += fmt::format("{:.6f} ", r.elapsed_ms);
    if (r.level == Level::kTrace || r.level == Level::kWarn) out += fmt::format("{}:{} ", r.file, r.line);
    out += fmt::format("NCCL {} {}", Name(r.level), r.text);
  }
  constexpr std::string_view kCut = " ...";
  if (out.size() > kMaxLine - 1) out = out.substr(0, kMaxLine - 1 - kCut.size()).append(kCut);
  ReplaceControls(out, ' ');
  return out + '\n';
}

std::string FormatJson(const Record& r) {
  constexpr std::size_t kShort = 128;
  std::string out;
  const auto string = [&](std::string_view key, std::string_view value, std::size_t room) {
    out += fmt::format("{}\"{}\":\"", out.empty() ? '{' : ',', key);
    AppendJsonText(out, value, room);
    out += '"';
  };
  const auto number = [&](std::string_view key, std::int64_t value) { out += fmt::format(",\"{}\":{}", key, value); };
  string("time", r.timestamp, kShort);
  string("level", Name(r.level), kShort);
  string("subsystem", r.level >= Level::kInfo ? SubsystemNames(r.subsystems) : "", kShort * 2);
  string("host", r.host, kShort);
  number("pid", r.pid);
  number("tid", r.tid);
  string("thread", r.thread, kShort);
  number("rank", r.rank);
  string("file", r.file, kShort);
  number("line", r.line);
  string("message", r.text, kMaxLine - out.size() - 16);
  return out + "}\n";
}

std::optional<std::string> ExpandFile(std::string_view pattern, std::string_view host, std::int64_t pid, int rank) {
  std::string path;
  for (std::size_t i = 0; i < pattern.size(); ++i) {
    const char next = pattern[i] == '%' && i + 1 < pattern.size() ? pattern[i + 1] : '\0';
    if (next == 'd' && rank < 0) return std::nullopt;
    if (next == 'h') {
      path += host;
    } else if (next == 'p') {
      path += fmt::format("{}", pid);
    } else if (next == 'd') {
      path += fmt::format("{}", rank);
    } else if (next == '%') {
      path += '%';
    } else {
      path += pattern[i];
      continue;
    }
    ++i;
  }
  return path;
}

void SetRank(int rank) { t_rank = rank; }

bool FirstTime(std::string_view text) {
  // Hashes in a table that only fills; two threads that ask at once for the same text get one `true`.
  static constinit std::array<std::atomic<std::uint64_t>, 1024> said{};
  const std::uint64_t hash = std::max<std::uint64_t>(Fnv1a(text), 1);
  for (std::size_t i = 0; i < said.size(); ++i) {
    std::uint64_t expected = 0;
    std::atomic<std::uint64_t>& slot = said[(hash + i) % said.size()];
    if (slot.compare_exchange_strong(expected, hash, std::memory_order_relaxed)) return true;
    if (expected == hash) return false;
  }
  return false;
}

std::optional<Level> ParseLevel(std::string_view text) {
  const std::optional<std::uint32_t> value = Find(kLevelNames, Trim(text));
  return value ? std::optional(static_cast<Level>(*value)) : std::nullopt;
}

std::optional<Subsystems> ParseSubsystems(std::string_view text, std::string& unknown) {
  return ParseList(text, kAllSubsystems, unknown, [](std::string_view word) -> std::optional<std::uint32_t> {
    return SameWord(word, "ALL") ? std::optional(kAllSubsystems) : Find(kSubsystemNames, word);
  });
}

std::optional<std::uint32_t> ParseLevels(std::string_view text, std::string& unknown) {
  static constexpr std::uint32_t kAll = 0x3f;
  return ParseList(text, kAll, unknown, [](std::string_view word) -> std::optional<std::uint32_t> {
    if (SameWord(word, "ALL")) return kAll;
    const std::optional<std::uint32_t> level = Find(kLevelNames, word);
    return level ? std::optional(1u << *level) : std::nullopt;
  });
}

std::string_view Name(Level level) { return kLevelNames[static_cast<int>(level)].first; }

std::string SubsystemNames(Subsystems subsystems) {
  if (subsystems == kAllSubsystems) return "ALL";
  std::string out;
  for (const auto& [name, bit] : kSubsystemNames) {
    if ((subsystems & bit) != 0) out += fmt::format("{}{}", out.empty() ? "" : ",", name);
  }
  return out;
}

}  // namespace tutti::log
