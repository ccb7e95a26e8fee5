// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_BASE_LOG_H_
#define TUTTI_BASE_LOG_H_

// The log, with NCCL's levels, subsystems and line format.
//
//   TUTTI_WARN("{} differs between ranks", name);
//   TUTTI_INFO(log::kInit, "rank {} of {} is ready", rank, ranks);
//   TUTTI_TRACE(log::kShm, "mapped {} bytes", bytes);
//
// A call whose level or subsystem is off costs one relaxed load and one branch, and evaluates no argument. One that is
// on becomes one line, written by one write(), so lines of several ranks do not mix. Nothing is written before
// sys::OpenLog; Communicator::Create calls it. Any thread may log at any time, also in a child after fork.

#include <fmt/core.h>

#include <atomic>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace tutti::log {

// Each level shows its own lines and those of the levels before it. Values are NCCL's.
enum class Level : std::uint8_t { kNone = 0, kVersion = 1, kWarn = 2, kInfo = 3, kAbort = 4, kTrace = 5 };

// What INFO and TRACE lines are about, as NCCL's bits; a line may have several.
using Subsystems = std::uint32_t;
inline constexpr Subsystems kInit = 0x1;
inline constexpr Subsystems kColl = 0x2;
inline constexpr Subsystems kP2p = 0x4;
inline constexpr Subsystems kShm = 0x8;
inline constexpr Subsystems kNet = 0x10;
inline constexpr Subsystems kGraph = 0x20;
inline constexpr Subsystems kTuning = 0x40;
inline constexpr Subsystems kEnv = 0x80;
inline constexpr Subsystems kAlloc = 0x100;
inline constexpr Subsystems kCall = 0x200;
inline constexpr Subsystems kProxy = 0x400;
inline constexpr Subsystems kNvls = 0x800;
inline constexpr Subsystems kBootstrap = 0x1000;
inline constexpr Subsystems kReg = 0x2000;
inline constexpr Subsystems kProfile = 0x4000;
inline constexpr Subsystems kRas = 0x8000;
inline constexpr Subsystems kDestroy = 0x10000;
inline constexpr Subsystems kAllocHost = 0x20000;
inline constexpr Subsystems kAllSubsystems = 0x3ffff;

enum class Format : std::uint8_t { kText, kJson };

// What is written, and how. Settings say it (log::ConfigFrom in base/settings_registry.h).
struct Config {
  Level level = Level::kWarn;
  bool banner = false;  // the line that names the version
  Subsystems subsystems = kInit | kBootstrap | kEnv;
  std::string file;                           // NCCL_DEBUG_FILE's pattern; empty: stderr
  std::string timestamp_format = "[%F %T] ";  // strftime's, and %3f for three digits of a second's fraction
  std::uint32_t timestamp_levels = 1u << static_cast<int>(Level::kWarn);  // bit i: level i
  bool info_after_warn = false;  // from the first WARN on as if the level were INFO
  int lines_per_second = 1000;   // from one place in the code; 0: no limit
  Format format = Format::kText;
};

// ---------------------------------------------------------------------------------------------------------------
// Behind the macros.

// One bit for each (level, subsystem) that is on: INFO's subsystems, then TRACE's, then WARN and VERSION.
inline constexpr std::uint64_t Bits(Level level, Subsystems subsystems) {
  constexpr int kTraceShift = 18, kWarnShift = 36, kVersionShift = 37;
  if (level == Level::kVersion) return std::uint64_t{1} << kVersionShift;
  if (level == Level::kWarn) return std::uint64_t{1} << kWarnShift;
  return std::uint64_t{subsystems & kAllSubsystems} << (level == Level::kTrace ? kTraceShift : 0);
}
// What a configuration turns on.
std::uint64_t Bits(const Config& config);

inline constinit std::atomic<std::uint64_t> g_enabled{0};

inline bool Enabled(Level level, Subsystems subsystems) {
  return (g_enabled.load(std::memory_order_relaxed) & Bits(level, subsystems)) != 0;
}

// A place in the code that logs, with what its rate limit counts.
struct Site {
  const char* file;
  int line;
  Level level;
  Subsystems subsystems;
  std::atomic<std::int64_t> second_begin_ns{0};
  std::atomic<int> lines{0};     // in this second
  std::atomic<int> left_out{0};  // since the last line
};

// One line before it is formatted.
struct Record {
  Level level = Level::kInfo;
  Subsystems subsystems = 0;
  std::string_view file;  // "comm/life/create.cc"
  int line = 0;
  int rank = -1;  // -1: not known
  std::string_view text;
  // Filled in by the sink:
  std::string_view host, thread, timestamp;
  std::int64_t pid = 0, tid = 0;
  double elapsed_ms = 0;  // since the log was opened
};

// "host:pid:tid [rank] NCCL INFO text\n", as NCCL writes it: WARN and TRACE also say file and line. Control characters
// in the text become blanks, and a line has at most kMaxLine bytes: what one write() into a pipe keeps together.
inline constexpr std::size_t kMaxLine = 4096;
std::string FormatText(const Record& record);
// One JSON object and a newline, with the keys time, level, subsystem, host, pid, tid, thread, rank, file, line,
// message. Bytes that are not UTF-8 become U+FFFD.
std::string FormatJson(const Record& record);

// NCCL_DEBUG_FILE's pattern as a path: %h becomes the host's name, %p the pid, %d the rank, %% a percent sign; other
// pairs stay. nullopt: the pattern has %d and the rank is not known (-1).
std::optional<std::string> ExpandFile(std::string_view pattern, std::string_view host, std::int64_t pid, int rank);

// Where lines go. sys::OpenLog sets it; tests set their own.
struct Sink {
  void (*write)(const Record& record);
  std::int64_t (*now_ns)();
};
// Takes effect for lines that begin later. `sink` must live for ever. Threads: any, one at a time.
void Install(const Sink* sink, const Config& config);

void Emit(Site& site, fmt::string_view format, fmt::format_args arguments) noexcept;
template <typename... Args>
[[gnu::cold, gnu::noinline]] void Write(Site& site, fmt::format_string<Args...> format, Args&&... arguments) noexcept {
  Emit(site, format, fmt::make_format_args(arguments...));
}

// The rank that lines of this thread are about, from now on. -1: not known.
void SetRank(int rank);

// Whether this process has not asked with this text before: for what must be said once. Remembers at most 1024 texts.
bool FirstTime(std::string_view text);

// Names and lists as NCCL_DEBUG, NCCL_DEBUG_SUBSYS and NCCL_DEBUG_TIMESTAMP_LEVELS write them, any case; a list after ^
// means all others. nullopt where a name is not known; it is then in `unknown`.
std::optional<Level> ParseLevel(std::string_view text);
std::optional<Subsystems> ParseSubsystems(std::string_view text, std::string& unknown);
std::optional<std::uint32_t> ParseLevels(std::string_view text, std::string& unknown);
std::string_view Name(Level level);
// "INIT", or "INIT,NET" for several.
std::string SubsystemNames(Subsystems subsystems);

}  // namespace tutti::log

#define TUTTI_LOG(severity, topic, ...)                                                     \
  do {                                                                                      \
    if (::tutti::log::Enabled(severity, topic)) [[unlikely]] {                              \
      static constinit ::tutti::log::Site tutti_site_{__FILE__, __LINE__, severity, topic}; \
      ::tutti::log::Write(tutti_site_, __VA_ARGS__);                                        \
    }                                                                                       \
  } while (false)
#define TUTTI_WARN(...) TUTTI_LOG(::tutti::log::Level::kWarn, ::tutti::log::kAllSubsystems, __VA_ARGS__)
#define TUTTI_INFO(topic, ...) TUTTI_LOG(::tutti::log::Level::kInfo, topic, __VA_ARGS__)
#define TUTTI_TRACE(topic, ...) TUTTI_LOG(::tutti::log::Level::kTrace, topic, __VA_ARGS__)

#endif  // TUTTI_BASE_LOG_H_
