// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
// Settings of waiting and of the log, and what is read from the environment only.
#include "base/settings_rows.h"

#include "base/settings_checks.h"
#include "base/settings_columns.h"

namespace tutti {

using namespace rows;  // NOLINT: the columns

namespace {

constexpr std::int64_t kMostLines = 1'000'000;
constexpr std::int64_t kMsPerSecond = 1000, kMostSeconds = 1'000'000;
constexpr std::string_view kReport = "report", kAbort = "abort:";

std::string ReadOnVerdict(std::string_view text, Settings& settings) {
  if (text == kReport) {
    settings.abort_after_ms = -1;
    return "";
  }
  const std::optional<std::int64_t> seconds =
      text.starts_with(kAbort) ? ParseNumber(text.substr(kAbort.size())) : std::nullopt;
  if (!seconds || *seconds < 0 || *seconds > kMostSeconds)
    return fmt::format("one of {}, {}SECONDS with 0 to {} seconds", kReport, kAbort, kMostSeconds);
  settings.abort_after_ms = *seconds * kMsPerSecond;
  return "";
}
std::string PrintOnVerdict(const Settings& settings) {
  if (settings.abort_after_ms < 0) return std::string(kReport);
  return fmt::format("{}{}", kAbort, settings.abort_after_ms / kMsPerSecond);
}
constexpr Columns kOnVerdict = {&ReadOnVerdict, &PrintOnVerdict};

constexpr Setting kRows[] = {
    // Waiting.
    Row({.name = "TUTTI_TIMEOUT_MS",
         .unit = "ms",
         .values = "1 to 1000000000000",
         .meaning = "How long one wait inside an operation may last. A dead peer is found within a second whatever "
                    "this says.",
         .agreement = Agreement::kShould},
        kNumber<&S::timeout_ms, Kind::kMs, 1, kLongest>),
    Row({.name = "TUTTI_INIT_TIMEOUT_MS",
         .unit = "ms",
         .values = "1 to 1000000000000",
         .meaning = "How long the making of a communicator waits for the other ranks.",
         .agreement = Agreement::kShould},
        kNumber<&S::init_timeout_ms, Kind::kMs, 1, kLongest>),
    Row({.name = "TUTTI_SPIN_US",
         .unit = "us",
         .values = "-1 to 1000000000000",
         .meaning = "How long a wait spins before it gives the core away. -1: decided from ranks and cores.",
         .agreement = Agreement::kShould},
        kNumber<&S::spin_us, Kind::kUs, -1, kLongest>),
    Row({.name = "TUTTI_BLACK_BOX",
         .values = "0, 1",
         .meaning =
             "0: calls are not written down and their messages not marked. `tutti top` shows none then, and calls "
             "that do not match may hang or give wrong results. For measurements (docs/black_box.md).",
         .agreement = Agreement::kRankZero},
        kNumber<&S::black_box, Kind::kCount, 0, 1>),
    Row({.name = "TUTTI_MONITOR",
         .values = "0, 1",
         .meaning = "Whether a thread of the process finds out who or what holds its communicators up, and logs it "
                    "(docs/diagnosis.md). The thread is there while a communicator of several ranks has 1."},
        kNumber<&S::monitor, Kind::kCount, 0, 1>),
    Row({.name = "TUTTI_KERNEL_LOG",
         .values = "/dev/kmsg; the name of a file; none",
         .meaning =
             "Where the monitor and `tutti top` read why the kernel has ended a process, and which GPUs have failed, "
             "once "
             "there is a reason to look (docs/diagnosis.md). A file has lines as dmesg or the host's system log writes "
             "them. As a rule only root may read /dev/kmsg."},
        kText<&S::kernel_log>),
    Row({.name = "TUTTI_DOCTOR",
         .values = "0, 1",
         .meaning =
             "Whether a process that makes its first communicator looks, on the first rank of each host and for at "
             "most a millisecond, at what is bad about the host, and logs a line for each finding "
             "(docs/diagnosis.md). `tutti doctor` looks closer."},
        kNumber<&S::doctor, Kind::kCount, 0, 1>),
    Row({.name = "TUTTI_ON_VERDICT",
         .values = "report, abort:SECONDS",
         .meaning =
             "What the monitor does with a warning on a fault that cannot end by itself, as a stopped or dead "
             "process or a deadlock: only report it, or end the communicator with its sentence once it has stood "
             "for so many seconds, 0 to 1000000.",
         .agreement = Agreement::kShould},
        kOnVerdict),
    Row({.name = "NCCL_RAS_ENABLE",
         .values = "0, 1",
         .meaning =
             "Whether the process answers NCCL's RAS clients, as ncclras, Ray and SGLang (docs/diagnosis.md). It does "
             "not where TUTTI_MONITOR is 0."},
        kNumber<&S::ras_enable, Kind::kCount, 0, 1>),
    Row({.name = "NCCL_RAS_ADDR",
         .values = "HOST:PORT, [ADDRESS]:PORT",
         .meaning =
             "Where it does. The first process opens the port, and the others of this user share it. All processes "
             "of a job need the same; jobs side by side need different ones."},
        kText<&S::ras_addr, &CheckHostAndPort>),
    Row({.name = "NCCL_COMM_BLOCKING",
         .values = "0, 1, -1",
         .meaning =
             "Whether calls of the C interface wait until they are done. -1: as the communicator's config says."},
        kNumber<&S::comm_blocking, Kind::kCount, -1, 1>),
    // What other tools are told.
    Row({.name = "NCCL_PROFILER_PLUGIN",
         .values = "the name of a library; none",
         .meaning =
             "A profiler plugin, which is told of every call of the C interface. It is tried as a file, then as "
             "libnccl-profiler-NAME.so; else the network plugin's library may have one (docs/plugins.md). Unset: "
             "libnccl-profiler.so, if there is one. The first communicator of a process decides."},
        kText<&S::profiler_plugin>),
    Row({.name = "NCCL_NVTX_DISABLE",
         .values = "0, 1",
         .meaning = "1: calls of the C interface and waits are not marked for tools that read NVTX "
                    "(docs/diagnosis.md). The first call of a process decides.",
         .scope = Scope::kProcess},
        kNumber<&S::nvtx_disable, Kind::kCount, 0, 1>),
    // The log.
    Row({.name = "NCCL_DEBUG",
         .values = "NONE, VERSION, WARN, INFO, ABORT, TRACE",
         .meaning =
             "What the log shows: each level its own lines and those before it. Unlike NCCL's, the default shows "
             "warnings. ABORT shows what INFO shows.",
         .scope = Scope::kProcess},
        kText<&S::debug, &CheckLevel>),
    Row({.name = "NCCL_DEBUG_SUBSYS",
         .values = "INIT, COLL, P2P, SHM, NET, GRAPH, TUNING, ENV, ALLOC, CALL, PROXY, NVLS, BOOTSTRAP, REG, PROFILE, "
                   "RAS, DESTROY, ALLOC_HOST, ALL; separated by commas; ^ before them: all others",
         .meaning = "What INFO and TRACE lines may be about.",
         .scope = Scope::kProcess},
        kText<&S::debug_subsys, &CheckSubsystems>),
    Row({.name = "NCCL_DEBUG_FILE",
         .values = "a path; %h: host, %p: process id, %d: rank, %%: %",
         .meaning = "The file that the log is appended to. Unset: stderr.",
         .scope = Scope::kProcess},
        kText<&S::debug_file>),
    Row({.name = "NCCL_DEBUG_TIMESTAMP_FORMAT",
         .values = "as strftime's; %3f: three digits of the second's fraction",
         .meaning = "The time at the beginning of a line, local time.",
         .scope = Scope::kProcess},
        kText<&S::debug_timestamp_format>),
    Row({.name = "NCCL_DEBUG_TIMESTAMP_LEVELS",
         .values = "levels, separated by commas; ^ before them: all others",
         .meaning = "Levels whose lines begin with the time.",
         .scope = Scope::kProcess},
        kText<&S::debug_timestamp_levels, &CheckLevels>),
    Row({.name = "NCCL_WARN_ENABLE_DEBUG_INFO",
         .values = "0, 1",
         .meaning = "1: from the first warning on as if NCCL_DEBUG were INFO.",
         .scope = Scope::kProcess},
        kNumber<&S::warn_enable_debug_info, Kind::kCount, 0, 1>),
    Row({.name = "TUTTI_LOG_FORMAT",
         .values = "text, json",
         .meaning = "json: one JSON object per line, with the time in UTC.",
         .scope = Scope::kProcess},
        kText<&S::log_format, &CheckFormat>),
    Row({.name = "TUTTI_LOG_RATE",
         .unit = "lines/s",
         .values = "0 to 1000000",
         .meaning =
             "Most lines per second from one place in the code; the next line says how many were left out. 0: no "
             "limit. Lines of COLL, P2P, TUNING, CALL and TRACE are never left out.",
         .scope = Scope::kProcess},
        kNumber<&S::log_rate, Kind::kCount, 0, kMostLines>),
    // Read from the environment only.
    {.name = "NCCL_CONF_FILE",
     .values = "a path",
     .meaning = "A file of settings, one NAME=value per line, read instead of ~/.nccl.conf.",
     .scope = Scope::kEnvironment},
    {.name = "NCCL_COMM_ID",
     .values = "host:port",
     .meaning =
         "Names the job: ranks of one user that have the same value meet. On several hosts the process of rank 0 "
         "listens at that address, and the others connect to it.",
     .scope = Scope::kEnvironment},
    {.name = "TUTTI_UNIQUE_ID",
     .values = "random, job",
     .meaning = "What ncclGetUniqueId returns: a fresh id at each call (the default), or the id of the launcher's job, "
                "the same on every rank.",
     .scope = Scope::kEnvironment},
    {.name = "TUTTI_SECRET",
     .values = "at least 16 characters",
     .meaning =
         "What only the processes of one user know, the same on all hosts: it protects ids that are derived from a "
         "launcher's variables or from NCCL_COMM_ID. Unset: a file that is made in the user's home.",
     .scope = Scope::kEnvironment},
    {.name = "TUTTI_RANK",
     .values = "0 to TUTTI_RANKS - 1",
     .meaning = "This process's rank; `tutti run` sets it. Comes before the variables of other launchers.",
     .scope = Scope::kEnvironment},
    {.name = "TUTTI_RANKS",
     .values = "at least 1",
     .meaning = "The number of ranks; `tutti run` sets it.",
     .scope = Scope::kEnvironment},
    {.name = "TUTTI_ID",
     .values = "256 hexadecimal digits",
     .meaning = "The job's id with its secret; `tutti run` sets it. Unset: derived from what the launcher says.",
     .scope = Scope::kEnvironment},
    {.name = "TUTTI_PRELOAD_LIBRARY",
     .values = "a path",
     .meaning = "`tutti preload` sets it: the libnccl.so.2 to which its libtutti_audit.so leads every look-up.",
     .scope = Scope::kEnvironment},
    {.name = "TUTTI_PRELOAD_REPORT",
     .values = "a path",
     .meaning = "`tutti preload` sets it: the file in which its libtutti_audit.so notes who maps which libnccl.",
     .scope = Scope::kEnvironment},
};

}  // namespace

std::span<const Setting> SettingsOfProcess() { return kRows; }

}  // namespace tutti
