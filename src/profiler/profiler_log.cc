// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "profiler/profiler_log.h"

#include <cstdarg>

#include "base/plugin_log.h"

namespace tutti::profiler {

void LogLine(int level, unsigned long subsystems, const char* file, int line, const char* format, ...) {
  va_list arguments;
  va_start(arguments, format);
  log::WriteForPlugin<log::kProfile>("profiler plugin", level, subsystems, file, line, format, arguments);
  va_end(arguments);
}

}  // namespace tutti::profiler
