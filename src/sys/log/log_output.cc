// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "sys/log/log_output.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <pthread.h>
#include <time.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <mutex>
#include <utility>

#include "sys/log/thread_name.h"
#include "sys/os/clock.h"
#include "sys/os/fd.h"
#include "sys/os/file_limit.h"
#include "sys/os/fork.h"
#include "sys/os/process.h"

namespace tutti::sys {
namespace {

constexpr int kWriteWaitMs = 100;  // for a reader of the log that does not read
constexpr mode_t kFileMode = 0644;

// Never changes once g_output points to it, and is never freed: a thread may be writing through it.
struct Output {
  log::Config config;
  Fd file;                           // invalid: stderr
  bool waits_for_rank = false;       // the file's name has %d
  const Output* previous = nullptr;  // keeps older ones reachable for leak checkers
};
constinit std::atomic<const Output*> g_output{nullptr};
constinit std::mutex g_opening;
constinit std::atomic<std::int64_t> g_begin_ns{0};

std::string ShortHostName() {
  const std::string name = HostName();
  return name.substr(0, name.find('.'));
}

// Writes all of `line`, waiting a little where the reader is slow; then the rest is lost, as it is where the file may
// not grow.
void WriteAll(int fd, std::string_view line) {
  const int saved = errno;
  const FileLimitIsAnError no_signal;
  while (!line.empty()) {
    const ssize_t n = write(fd, line.data(), line.size());
    if (n >= 0) {
      line.remove_prefix(static_cast<std::size_t>(n));
      continue;
    }
    if (errno == EINTR) continue;
    pollfd ready = {.fd = fd, .events = POLLOUT, .revents = 0};
    if (errno != EAGAIN || poll(&ready, 1, kWriteWaitMs) <= 0) break;
  }
  errno = saved;
}

std::int64_t WallNs() {
  timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  return now.tv_sec * kNsPerSecond + now.tv_nsec;
}

std::string IsoTime(std::int64_t ns) {
  const time_t seconds = ns / kNsPerSecond;
  tm parts;
  char text[40];
  if (gmtime_r(&seconds, &parts) == nullptr) return "";
  const std::size_t length = strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%S", &parts);
  return fmt::format("{}.{:06}Z", std::string_view(text, length), ns % kNsPerSecond / 1000);
}

void WriteRecord(const log::Record& given) {
  const Output* output = g_output.load(std::memory_order_acquire);
  if (output == nullptr) return;
  const log::Config& config = output->config;
  const bool json = config.format == log::Format::kJson;
  const bool timed = (config.timestamp_levels >> static_cast<int>(given.level) & 1) != 0;
  const std::string host = ShortHostName(), thread = json ? ThreadName() : "";
  const std::string timestamp = json ? IsoTime(WallNs()) : timed ? FormatTime(config.timestamp_format, WallNs()) : "";
  log::Record record = given;
  record.host = host;
  record.thread = thread;
  record.timestamp = timestamp;
  record.pid = getpid();
  record.tid = gettid();
  record.elapsed_ms = static_cast<double>(NowNs() - g_begin_ns.load(std::memory_order_relaxed)) / 1e6;
  WriteAll(output->file.valid() ? output->file.get() : STDERR_FILENO,
           json ? log::FormatJson(record) : log::FormatText(record));
}

constexpr log::Sink kSink = {.write = &WriteRecord, .now_ns = &NowNs};

// REQUIRES: g_opening is locked.
void Open(const log::Config& config, int rank) {
  auto* output = new Output{.config = config, .previous = g_output.load(std::memory_order_relaxed)};
  std::string failed;
  if (!config.file.empty()) {
    const std::optional<std::string> path = log::ExpandFile(config.file, ShortHostName(), getpid(), rank);
    output->waits_for_rank = !path;
    if (path) output->file = Fd(open(path->c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, kFileMode));
    if (path && !output->file.valid()) failed = *path + ": " + std::strerror(errno);
  }
  std::int64_t unset = 0;
  g_begin_ns.compare_exchange_strong(unset, NowNs(), std::memory_order_relaxed);
  g_output.store(output, std::memory_order_release);
  log::Install(&kSink, config);
  if (!failed.empty()) {
    TUTTI_WARN(
        "the log stays on stderr, because NCCL_DEBUG_FILE={} cannot be opened: {}; name a file in a folder "
        "that exists and may be written to",
        config.file, failed);
  }
}

}  // namespace

void OpenLog(const log::Config& config, int rank) {
  const auto done = [rank] {
    const Output* output = g_output.load(std::memory_order_acquire);
    return output != nullptr && (!output->waits_for_rank || rank < 0);
  };
  if (done()) return;
  static const bool watched = (FreeInForkedChildren(g_opening), true);
  (void)watched;
  std::lock_guard lock(g_opening);
  if (done()) return;
  const Output* before = g_output.load(std::memory_order_relaxed);
  Open(before == nullptr ? config : before->config, rank);
}

void ReopenLog(const log::Config& config, int rank) {
  std::lock_guard lock(g_opening);
  Open(config, rank);
}

std::string FormatTime(std::string_view format, std::int64_t ns_since_1970) {
  const time_t seconds = ns_since_1970 / kNsPerSecond;
  const std::string fraction = fmt::format("{:09}", ns_since_1970 % kNsPerSecond);
  std::string expanded;
  for (std::size_t i = 0; i < format.size(); ++i) {
    if (format[i] != '%' || i + 1 == format.size()) {
      expanded += format[i];
    } else if (format[i + 1] == 'f') {
      expanded.append(fraction, 0, 6);
      ++i;
    } else if (format[i + 1] >= '1' && format[i + 1] <= '9' && i + 2 < format.size() && format[i + 2] == 'f') {
      expanded.append(fraction, 0, static_cast<std::size_t>(format[i + 1] - '0'));
      i += 2;
    } else {
      expanded.append(format.substr(i++, 2));
    }
  }
  tm parts;
  std::array<char, 256> text;
  if (localtime_r(&seconds, &parts) == nullptr) return "";
  return std::string(text.data(), strftime(text.data(), text.size(), expanded.c_str(), &parts));
}

void SetThreadName(std::string_view name) {
  pthread_setname_np(pthread_self(), std::string(name.substr(0, 15)).c_str());
}

std::string ThreadName() {
  char name[16] = {};
  return pthread_getname_np(pthread_self(), name, sizeof(name)) == 0 ? name : "";
}

}  // namespace tutti::sys
