// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_COMM_LIFE_EXAMINE_ONCE_H_
#define TUTTI_COMM_LIFE_EXAMINE_ONCE_H_

#include "tutti/settings.h"

namespace tutti::comm {

// Logs what is bad about this host, a line for each finding: at WARN what will cost or fail, at INFO what is worth knowing. At the first
// call of a process only, and only with TUTTI_DOCTOR=1. Takes less than a millisecond. Threads: any, not while another one changes the
// environment.
void ExamineOnce(const Settings& settings);

}  // namespace tutti::comm

#endif  // TUTTI_COMM_LIFE_EXAMINE_ONCE_H_
