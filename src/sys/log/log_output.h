// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_SYS_LOG_LOG_OUTPUT_H_
#define TUTTI_SYS_LOG_LOG_OUTPUT_H_

#include <cstdint>
#include <string>
#include <string_view>

#include "base/log.h"

namespace tutti::sys {

// Opens this process's log: from now on base/log.h's macros write to stderr or to config.file, to which lines are
// appended. The first call holds; later ones only supply a rank that the file's name still waits for (%d), until when
// lines go to stderr. A file that cannot be opened leaves the log on stderr, with a warning. Cheap once open. Threads:
// any.
void OpenLog(const log::Config& config, int rank = -1);
// The same whatever was open before, for tests and tools.
void ReopenLog(const log::Config& config, int rank = -1);

// A moment in local time as strftime formats it; %f, or %1f to %9f, is the fraction of its second in so many digits
// (6 without a number). Conversions that strftime does not know come out as it pleases.
std::string FormatTime(std::string_view format, std::int64_t ns_since_1970);

// The name of the calling thread (thread_name.h).
std::string ThreadName();

}  // namespace tutti::sys

#endif  // TUTTI_SYS_LOG_LOG_OUTPUT_H_
