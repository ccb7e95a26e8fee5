// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "sys/os/kernel_log.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <utility>

#include "base/one_line.h"
#include "base/words.h"
#include "sys/os/clock.h"
#include "sys/os/device_tree.h"

namespace tutti::sys {
namespace {

constexpr unsigned kMemoryDevices = 1, kKernelLogDevice = 11;  // major and minor number of /dev/kmsg
constexpr std::size_t kMostRecordBytes = 8192;                 // the kernel cuts records to less
constexpr std::size_t kMostLineBytes = 8192;
constexpr std::size_t kMostText = 200;
constexpr ino_t kFirstPidNamespace = 0xeffffffc;  // the kernel's PROC_PID_INIT_INO
constexpr int kFacilityBits = 3;                  // of a priority, below its facility: 0 is the kernel's own

// Cuts the text up to `end`, and `end`, off the front of `text`; nullopt where it is not in it.
std::optional<std::string_view> TakeUntil(std::string_view& text, std::string_view end) {
  const std::size_t at = text.find(end);
  if (at == std::string_view::npos) return std::nullopt;
  const std::string_view taken = text.substr(0, at);
  text.remove_prefix(at + end.size());
  return taken;
}

// The number that `text` begins with.
template <typename T>
std::optional<T> LeadingNumber(std::string_view text) {
  return ParseNumber<T>(text.substr(0, std::min(text.find_first_not_of("0123456789"), text.size())));
}

// What stands behind `key`, up to a comma or blank.
std::optional<std::string_view> ValueOf(std::string_view text, std::string_view key) {
  const std::size_t at = text.find(key);
  if (at == std::string_view::npos) return std::nullopt;
  text.remove_prefix(at + key.size());
  return text.substr(0, text.find_first_of(", "));
}

std::string Cut(std::string_view text) {
  std::string cut(Trim(text).substr(0, kMostText));
  ReplaceControls(cut, '?');
  return cut;
}

// "12345.678901" of "[12345.678901] ", which is taken off the front.
std::optional<std::int64_t> TakeTime(std::string_view& text) {
  if (!text.starts_with('[')) return std::nullopt;
  const std::size_t close = text.find(']');
  if (close == std::string_view::npos) return std::nullopt;
  const std::string_view inside = Trim(text.substr(1, close - 1));
  const std::size_t dot = inside.find('.');
  if (dot == std::string_view::npos) return std::nullopt;
  const auto seconds = ParseNumber<std::int64_t>(inside.substr(0, dot));
  const auto micros = ParseNumber<std::int64_t>(inside.substr(dot + 1));
  constexpr std::size_t kDigits = 6;
  if (!seconds || !micros || *seconds < 0 || *seconds > INT32_MAX || inside.size() - dot - 1 != kDigits)
    return std::nullopt;
  text = Trim(text.substr(close + 1));
  return *seconds * 1'000'000'000 + *micros * 1000;
}

// "NVRM: Xid (PCI:0000:3b:00): 79, pid=123, name=train, GPU has fallen off the bus."
std::optional<KernelEvent> ParseXid(std::string_view text) {
  if (!TakeUntil(text, "NVRM: Xid (")) return std::nullopt;
  const std::optional<std::string_view> inside = TakeUntil(text, "): ");
  if (!inside) return std::nullopt;
  std::string_view address = *inside;
  if (address.starts_with("PCI:")) address.remove_prefix(4);
  address = address.substr(0, address.find(' '));  // a part of a GPU follows
  const std::optional<std::string> bus_id =
      NormalBusId(address.find('.') == std::string_view::npos ? fmt::format("{}.0", address) : std::string(address));
  const std::optional<int> number = LeadingNumber<int>(text);
  if (!bus_id || !number) return std::nullopt;
  KernelEvent event{.kind = KernelEvent::Kind::kXid, .xid = *number, .bus_id = *bus_id};
  if (const auto pid = ValueOf(text, "pid=")) event.pid = LeadingNumber<std::int32_t>(Trim(*pid, "'")).value_or(0);
  const std::size_t comma = text.find(", ");
  if (comma != std::string_view::npos) event.text = Cut(text.substr(comma + 2));
  return event;
}

// "Memory cgroup out of memory: Killed process 123 (train) total-vm:4kB, anon-rss:3kB, file-rss:2kB, ...", and the line before it:
// "oom-kill:constraint=CONSTRAINT_MEMCG,...,oom_memcg=/job,task_memcg=/job/a,task=train,pid=123,uid=0".
std::optional<KernelEvent> ParseOutOfMemory(std::string_view text) {
  KernelEvent event{.kind = KernelEvent::Kind::kOutOfMemory};
  if (text.starts_with("oom-kill:")) {
    const std::optional<std::string_view> pid = ValueOf(text, ",pid=");
    if (!pid) return std::nullopt;
    event.pid = LeadingNumber<std::int32_t>(*pid).value_or(0);
    event.of_group = text.find("CONSTRAINT_MEMCG") != std::string_view::npos;
    if (const auto group = ValueOf(text, "oom_memcg="); group && *event.of_group) event.group = Cut(*group);
    return event.pid > 0 ? std::optional(event) : std::nullopt;
  }
  const std::optional<std::string_view> why = TakeUntil(text, "Killed process ");
  if (!why || why->find("ut of memory") == std::string_view::npos) return std::nullopt;
  event.pid = LeadingNumber<std::int32_t>(text).value_or(0);
  event.of_group = why->find("Memory cgroup") != std::string_view::npos;
  for (const std::string_view key : {"anon-rss:", "file-rss:", "shmem-rss:"}) {
    const std::optional<std::string_view> kib = ValueOf(text, key);
    const std::optional<std::int64_t> number = kib ? LeadingNumber<std::int64_t>(*kib) : std::nullopt;
    if (number && *number < INT64_MAX >> 12)
      event.resident_bytes = std::max<std::int64_t>(event.resident_bytes, 0) + *number * 1024;
  }
  return event.pid > 0 ? std::optional(event) : std::nullopt;
}

// "train[123]: segfault at 0 ip 0000 sp 0000 error 4 in libfoo.so[1000,2000+3000]", "traps: train[123] trap invalid opcode ip:...".
std::optional<KernelEvent> ParseCrash(std::string_view text) {
  constexpr std::array<std::string_view, 6> kSigns = {"segfault at ",     "general protection",  "trap ",
                                                      "unhandled signal", "unhandled exception", "bad page fault"};
  if (text.starts_with("traps: ")) text.remove_prefix(7);
  // A name may hold anything: the last "[digits]" before the sign counts.
  for (const std::string_view sign : kSigns) {
    const std::size_t at = text.find(sign);
    if (at == std::string_view::npos || at < 4) continue;
    std::string_view head = Trim(text.substr(0, at));
    if (head.ends_with(':')) head.remove_suffix(1);
    const std::size_t open = head.rfind('[');
    if (!head.ends_with(']') || open == std::string_view::npos) continue;
    const auto pid = ParseNumber<std::int32_t>(head.substr(open + 1, head.size() - open - 2));
    if (!pid || *pid <= 0) continue;
    text.remove_prefix(at);
    return KernelEvent{
        .kind = KernelEvent::Kind::kCrash, .pid = *pid, .text = Cut(text.substr(0, text.find(" likely on CPU ")))};
  }
  return std::nullopt;
}

}  // namespace

KernelLog::KernelLog(std::string path, From from) : path_(std::move(path)) {
  if (from == From::kBeginning) return;
  from_ns_ = NowNs() - kSlackNs;
  struct stat about {};
  if (stat(path_.c_str(), &about) == 0 && S_ISREG(about.st_mode)) from_bytes_ = about.st_size;
}

bool KernelLog::readable() {
  if (path_.empty()) return fd_.valid();
  Fd fd(open(std::exchange(path_, "").c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
  struct stat about {};
  if (!fd.valid() || fstat(fd.get(), &about) != 0) return false;
  is_device_ =
      S_ISCHR(about.st_mode) && major(about.st_rdev) == kMemoryDevices && minor(about.st_rdev) == kKernelLogDevice;
  if (!is_device_ && !S_ISREG(about.st_mode)) return false;
  if (!is_device_ && lseek(fd.get(), from_bytes_, SEEK_SET) < 0) return false;
  fd_ = std::move(fd);
  return true;
}

std::vector<KernelLine> KernelLog::More() {
  if (!readable()) return {};
  return is_device_ ? MoreRecords() : MoreOfFile();
}

// One read is one record.
std::vector<KernelLine> KernelLog::MoreRecords() {
  std::vector<KernelLine> lines;
  std::vector<char> record(kMostRecordBytes);  // threads that watch have small stacks
  for (std::size_t bytes = 0; bytes < kMostBytes;) {
    const ssize_t n = read(fd_.get(), record.data(), record.size());
    // EPIPE: the kernel has dropped what came next, and goes on at what it still has. EINVAL: a record that is too long.
    if (n < 0 && (errno == EINTR || errno == EPIPE || errno == EINVAL)) {
      ++bytes;
      continue;
    }
    if (n <= 0) break;
    bytes += static_cast<std::size_t>(n);
    const std::string_view text(record.data(), static_cast<std::size_t>(n));
    std::optional<KernelLine> line = internal::ParseKernelLine(text.substr(0, text.find('\n')));
    if (line && line->at_ns >= from_ns_) lines.push_back(std::move(*line));
  }
  return lines;
}

std::vector<KernelLine> KernelLog::MoreOfFile() {
  struct stat about {};
  // One that was cut begins again.
  if (fstat(fd_.get(), &about) == 0 && lseek(fd_.get(), 0, SEEK_CUR) > about.st_size) {
    (void)lseek(fd_.get(), 0, SEEK_SET);
    rest_.clear();
  }
  std::vector<KernelLine> lines;
  std::vector<char> buffer(1 << 16);
  for (std::size_t bytes = 0; bytes < kMostBytes;) {
    const ssize_t n = read(fd_.get(), buffer.data(), buffer.size());
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) break;
    bytes += static_cast<std::size_t>(n);
    rest_.append(buffer.data(), static_cast<std::size_t>(n));
    std::size_t begin = 0;
    for (std::size_t end; (end = rest_.find('\n', begin)) != std::string::npos; begin = end + 1) {
      const std::string_view text = std::string_view(rest_).substr(begin, end - begin);
      if (std::optional<KernelLine> line = internal::ParseKernelLine(text)) lines.push_back(std::move(*line));
    }
    rest_.erase(0, begin);
    if (rest_.size() > kMostLineBytes) rest_.clear();  // no log has such lines
  }
  return lines;
}

std::optional<KernelEvent> ParseKernelEvent(const KernelLine& line) {
  std::optional<KernelEvent> event = ParseXid(line.text);
  if (!event) event = ParseOutOfMemory(line.text);
  if (!event) event = ParseCrash(line.text);
  if (event) event->at_ns = line.at_ns;
  return event;
}

bool PidsAreTheKernels() {
  struct stat pids {};
  return stat("/proc/self/ns/pid", &pids) == 0 && pids.st_ino == kFirstPidNamespace;
}

namespace internal {

std::optional<KernelLine> ParseKernelLine(std::string_view text) {
  KernelLine line;
  // A record: priority, number, us, flags and more; text. Programs have a facility above the kernel's.
  std::string_view rest = text, head = TakeUntil(rest, ";").value_or("");
  std::array<std::optional<std::int64_t>, 3> fields;
  for (std::optional<std::int64_t>& field : fields) {
    if (const auto taken = TakeUntil(head, ",")) field = ParseNumber<std::int64_t>(*taken);
  }
  if (const auto [priority, number, us] = fields; priority && number && us && *us >= 0 && *us < INT64_MAX / 1000) {
    if (*priority >> kFacilityBits != 0) return std::nullopt;
    line.at_ns = *us * 1000;
    text = rest;
  }
  // A line of a host's system log: date, host, "kernel:", as a rule with the kernel's own time.
  if (const std::size_t at = text.find(" kernel: "); at != std::string_view::npos) text.remove_prefix(at + 9);
  text = Trim(text);
  if (const std::optional<std::int64_t> at_ns = TakeTime(text)) line.at_ns = *at_ns;
  line.text = std::string(text.substr(0, kMostRecordBytes));
  ReplaceControls(line.text, '?');
  return line.text.empty() ? std::nullopt : std::optional(std::move(line));
}

}  // namespace internal

}  // namespace tutti::sys
