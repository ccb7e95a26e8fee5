// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "doctor/limits.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/words.h"

namespace tutti::doctor {
namespace {

constexpr std::int64_t kLittleLocked = 64 << 20;  // a card pins what it sends; 8 ranks of 8 MiB are usual
constexpr std::int64_t kFewFiles = 1024, kVeryFewFiles = 256;
constexpr std::int64_t kFewProcesses = 4096;
constexpr std::int64_t kSmallFiles = 1 << 30;                        // shared pages count as a file
constexpr std::int64_t kLittleAddressSpace = std::int64_t{1} << 40;  // CUDA reserves more than a host's memory
constexpr std::int64_t kLittleShared = 1 << 30, kVeryLittleShared = 64 << 20;

std::optional<std::int64_t> LimitNumber(std::string_view word) {
  return word == "unlimited" ? std::nullopt : ParseNumber<std::int64_t>(word);
}

std::string CountText(std::optional<std::int64_t> value) { return value ? fmt::format("{}", *value) : "unlimited"; }
std::string SizeText(std::optional<std::int64_t> value) {
  return value ? BytesText(static_cast<double>(*value)) : "unlimited";
}

bool Below(const Limit& limit, std::int64_t least) { return limit.soft && *limit.soft < least; }

class LimitsExaminer {
 public:
  LimitsExaminer(const Root& root, std::string text, Findings& findings)
      : root_(root), text_(std::move(text)), findings_(findings) {}

  void Examine() {
    ExamineLocked();
    ExamineFiles();
    ExamineProcesses();
    ExamineSize("fsize", "Max file size", kSmallFiles, "files may not grow, and shared pages count as files",
                "raise it by `ulimit -f unlimited`");
    ExamineSize("address_space", "Max address space", kLittleAddressSpace,
                "the address space is limited, of which CUDA reserves more than the host has memory",
                "raise it by `ulimit -v unlimited`");
    ExamineCore();
  }

 private:
  void Add(Severity severity, std::string check, std::string what, std::string evidence, std::string remedy = "") {
    doctor::Add(findings_, severity, std::move(check), std::move(what), std::move(evidence), std::move(remedy));
  }
  // What the text does not have is unknown.
  std::optional<Limit> Read(const char* check, const char* name) {
    std::optional<Limit> limit = LimitOf(text_, name);
    if (!limit) Add(Severity::kUnknown, check, fmt::format("'{}' is not in /proc/self/limits", name), "");
    return limit;
  }

  void ExamineLocked() {
    const std::optional<Limit> limit = Read("memlock", "Max locked memory");
    if (!limit) return;
    const std::string evidence = fmt::format("{} of {} allowed", SizeText(limit->soft), SizeText(limit->hard));
    if (!Below(*limit, kLittleLocked)) {
      Add(Severity::kOk, "memlock", "enough memory may be locked", evidence);
      return;
    }
    if (HasCapability(root_.Text("/proc/self/status").value_or(""), kCapIpcLock)) {
      Add(Severity::kOk, "memlock", "memory may be locked beyond the limit, by CAP_IPC_LOCK", evidence);
      return;
    }
    const bool cards = !root_.Names("/sys/class/infiniband").empty();
    Add(cards ? Severity::kWarn : Severity::kInfo, "memlock",
        cards ? "little memory may be locked, and network cards need it" : "little memory may be locked", evidence,
        "raise it by `ulimit -l unlimited`, 'memlock' in /etc/security/limits.conf, LimitMEMLOCK= of the service, or "
        "--ulimit memlock=-1 of the container");
  }

  void ExamineFiles() {
    const std::optional<Limit> limit = Read("nofile", "Max open files");
    if (!limit) return;
    const std::string evidence = fmt::format("{} of {} allowed", CountText(limit->soft), CountText(limit->hard));
    const Severity severity = Below(*limit, kVeryFewFiles) ? Severity::kCritical
                              : Below(*limit, kFewFiles)   ? Severity::kWarn
                                                           : Severity::kOk;
    if (severity == Severity::kOk) {
      Add(severity, "nofile", "enough files may be open", evidence);
    } else {
      Add(severity, "nofile", "few files may be open, and each peer takes some", evidence,
          "raise it by `ulimit -n 65536` or LimitNOFILE= of the service");
    }
  }

  void ExamineProcesses() {
    const std::optional<Limit> limit = Read("nproc", "Max processes");
    if (!limit) return;
    const bool few = Below(*limit, kFewProcesses);
    Add(few ? Severity::kWarn : Severity::kOk, "nproc",
        few ? "few threads may run, of all processes of this user together" : "enough threads may run",
        CountText(limit->soft), few ? "raise it by `ulimit -u 65536`" : "");
  }

  void ExamineSize(const char* check, const char* name, std::int64_t least, const char* what, const char* remedy) {
    const std::optional<Limit> limit = Read(check, name);
    if (!limit) return;
    const bool small = Below(*limit, least);
    Add(small ? Severity::kWarn : Severity::kOk, check, small ? what : "not limited below what is needed",
        SizeText(limit->soft), small ? remedy : "");
  }

  void ExamineCore() {
    const std::optional<Limit> limit = Read("core", "Max core file size");
    if (!limit) return;
    const bool none = Below(*limit, 1);
    Add(none ? Severity::kInfo : Severity::kOk, "core",
        none ? "a process that crashes leaves no core file, in which its black box would be" : "core files are written",
        SizeText(limit->soft), none ? "allow it by `ulimit -c unlimited`" : "");
  }

  const Root& root_;
  const std::string text_;
  Findings& findings_;
};

}  // namespace

std::optional<Limit> LimitOf(std::string_view text, std::string_view name) {
  while (!text.empty()) {
    std::string_view line = TakeLine(text);
    if (!line.starts_with(name)) continue;
    line = Trim(line.substr(name.size()));
    const std::string_view soft = line.substr(0, line.find(' '));
    line = Trim(line.substr(soft.size()));
    const std::string_view hard = line.substr(0, line.find(' '));
    const Limit limit{.soft = LimitNumber(soft), .hard = LimitNumber(hard)};
    if ((!limit.soft && soft != "unlimited") || (!limit.hard && hard != "unlimited")) return std::nullopt;
    return limit;
  }
  return std::nullopt;
}

bool HasCapability(std::string_view status, int number) {
  const auto mask = ParseNumber<std::uint64_t>(ValueOf(status, "CapEff").value_or(""), 16);
  return mask && ((*mask >> number) & 1) != 0;
}

void ExamineLimits(const Root& root, Findings& findings) {
  const std::optional<std::string> text = root.Text("/proc/self/limits");
  if (!text) {
    findings.push_back({.severity = Severity::kUnknown,
                        .check = "limits",
                        .what = "this process's limits cannot be read",
                        .evidence = root.folder() + "/proc/self/limits"});
    return;
  }
  LimitsExaminer(root, *text, findings).Examine();
}

void ExamineSharedMemory(const Result<sys::FileSpace>& space, Findings& findings) {
  Finding finding{.check = "shm", .what = "there is enough of /dev/shm"};
  if (!space.ok()) {
    finding = {.severity = Severity::kUnknown,
               .check = "shm",
               .what = "/dev/shm cannot be looked at",
               .evidence = space.status().message(),
               .remedy = "mount it: `mount -t tmpfs tmpfs /dev/shm`"};
    findings.push_back(finding);
    return;
  }
  finding.evidence = fmt::format("{} free of {}", BytesText(static_cast<double>(space->free_bytes)),
                                 BytesText(static_cast<double>(space->bytes)));
  if (space->free_bytes < kLittleShared) {
    finding.severity = space->free_bytes < kVeryLittleShared ? Severity::kWarn : Severity::kInfo;
    finding.what = "/dev/shm has little room: Tutti takes none of it, but data loaders of PyTorch end with 'Bus error'";
    finding.remedy = space->bytes < kLittleShared
                         ? "make it larger: --shm-size=16g of the container, or `mount -o remount,size=16g /dev/shm`"
                         : "remove files that are left over there, as of jobs that have crashed";
  }
  findings.push_back(finding);
}

}  // namespace tutti::doctor
