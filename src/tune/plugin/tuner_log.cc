// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "tune/plugin/tuner_log.h"

#include <cstdarg>

#include "base/plugin_log.h"

namespace tutti::tune::plugin {

void LogLine(int level, unsigned long subsystems, const char* file, int line, const char* format, ...) {
  va_list arguments;
  va_start(arguments, format);
  log::WriteForPlugin<log::kTuning>("tuner plugin", level, subsystems, file, line, format, arguments);
  va_end(arguments);
}

}  // namespace tutti::tune::plugin
