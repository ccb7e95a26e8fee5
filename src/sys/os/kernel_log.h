// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_SYS_OS_KERNEL_LOG_H_
#define TUTTI_SYS_OS_KERNEL_LOG_H_

// The kernel's log: what the kernel says of processes that it ends, and NVIDIA's driver of GPUs that fail.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sys/os/fd.h"

namespace tutti::sys {

inline constexpr const char* kKernelLog = "/dev/kmsg";

struct KernelLine {
  std::int64_t at_ns =
      -1;  // since boot, near CLOCK_MONOTONIC: the clocks drift apart by seconds in weeks. -1: the line has no time
  std::string text;  // without controls
};

// Threads: one at a time.
class KernelLog {
 public:
  enum class From : std::uint8_t { kBeginning, kNow };

  KernelLog() = default;  // of nothing
  // `path`: /dev/kmsg, which as a rule root alone may read, or a file with lines as dmesg or a host's system log writes them. Where
  // it may not be read, or is something else, there are no lines. It is opened when it is first asked for. kNow: of /dev/kmsg, whose
  // clock goes by itself, lines of the last kSlackNs before are among them.
  KernelLog(std::string path, From from);
  static constexpr std::int64_t kSlackNs = 30'000'000'000;

  bool readable();
  // The lines that were written since the last call. Lines that the kernel has dropped meanwhile are missing, and so are those of
  // programs that write into its log. At most kMostBytes a call; what is left comes with the next. Waits for nobody; some 2 us a line.
  std::vector<KernelLine> More();
  static constexpr std::size_t kMostBytes = std::size_t{4} << 20;

 private:
  std::vector<KernelLine> MoreRecords();
  std::vector<KernelLine> MoreOfFile();

  std::string path_;             // to be opened; empty once that has been tried
  std::int64_t from_ns_ = 0;     // of the device: earlier lines do not count
  std::int64_t from_bytes_ = 0;  // of a file: where it is read from
  Fd fd_;
  bool is_device_ = false;
  std::string rest_;  // of a file: the beginning of a line whose end is not there yet
};

// What a line may tell of a process or of a GPU.
struct KernelEvent {
  enum class Kind : std::uint8_t {
    kXid,          // NVIDIA's driver reports an error of a GPU
    kOutOfMemory,  // the kernel has ended a process for want of memory
    kCrash,        // a process has done what it may not: it gets a signal, as SIGSEGV
  };
  Kind kind = Kind::kXid;
  std::int64_t at_ns = -1;  // KernelLine::at_ns
  // In the first name space of pids. kCrash: the thread's id. 0: not known.
  std::int32_t pid = 0;
  int xid = 0;
  std::string bus_id;  // of the GPU: "0000:3b:00.0"
  // kOutOfMemory. The kernel tells it in two lines, each with some of this.
  std::optional<bool> of_group;      // its control group lacked memory, rather than the host
  std::string group;                 // the one whose limit was reached: "/job"
  std::int64_t resident_bytes = -1;  // that were in use by the process; -1: not said
  std::string text;                  // kXid, kCrash: what the line says of it
};
std::optional<KernelEvent> ParseKernelEvent(const KernelLine& line);

// Whether the pids of this process are those of the kernel's log: it is in the first name space of them.
bool PidsAreTheKernels();

namespace internal {
// A record of /dev/kmsg, "6,1234,5678901,-;text", or a line of a file. nullopt: of a program, or empty.
std::optional<KernelLine> ParseKernelLine(std::string_view line);
}  // namespace internal

}  // namespace tutti::sys

#endif  // TUTTI_SYS_OS_KERNEL_LOG_H_
