// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_DOCTOR_PERMISSIONS_H_
#define TUTTI_DOCTOR_PERMISSIONS_H_

#include "doctor/finding.h"
#include "doctor/root.h"
#include "tutti/status.h"

namespace tutti::doctor {

// What the system lets this process do, tried out.
struct Permissions {
  Status reads_memory;    // process_vm_readv, of its own memory
  Status watches_others;  // a pidfd
};
Permissions TryPermissions();

// From what the library falls back to something slower or less sure: reading a peer's memory, watching its process. And settings of
// the kernel that cost a job time: NUMA balancing, strict overcommit, small socket buffers, few ports.
void ExaminePermissions(const Root& root, const Permissions& tried, Findings& findings);
void ExamineKernel(const Root& root, Findings& findings);

}  // namespace tutti::doctor

#endif  // TUTTI_DOCTOR_PERMISSIONS_H_
