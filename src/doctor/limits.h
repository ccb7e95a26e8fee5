// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_DOCTOR_LIMITS_H_
#define TUTTI_DOCTOR_LIMITS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "doctor/finding.h"
#include "doctor/root.h"
#include "sys/os/file_space.h"

namespace tutti::doctor {

// A limit of a process, as /proc/PID/limits has it. nullopt: none.
struct Limit {
  std::optional<std::int64_t> soft, hard;
};
// nullopt where the text does not have it. `name`: "Max locked memory".
std::optional<Limit> LimitOf(std::string_view text, std::string_view name);

// Limits of this process (ulimit): locked memory, open files, processes, and those that only hinder: file size, address space,
// core files. Reads two files.
void ExamineLimits(const Root& root, Findings& findings);

// /dev/shm. Tutti takes nothing of it, but PyTorch's data loaders and NCCL do. `space`: of that folder.
void ExamineSharedMemory(const Result<sys::FileSpace>& space, Findings& findings);

// Whether CapEff in the text of /proc/PID/status has this capability. Numbers are Linux's: 14 is CAP_IPC_LOCK.
bool HasCapability(std::string_view status, int number);
inline constexpr int kCapIpcLock = 14, kCapSysPtrace = 19;

}  // namespace tutti::doctor

#endif  // TUTTI_DOCTOR_LIMITS_H_
