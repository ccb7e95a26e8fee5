// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "transport/net/plugin/plugin_log.h"

#include <cstdarg>

#include "base/plugin_log.h"
#include "transport/net/plugin/abi.h"

namespace tutti::transport::net::plugin {

void LogLine(int level, unsigned long subsystems, const char* file, int line, const char* format, ...) {
  va_list arguments;
  va_start(arguments, format);
  log::WriteForPlugin<log::kNet>("network plugin", level, subsystems, file, line, format, arguments);
  va_end(arguments);
}

int TellNoProfiler(void** event, int, void*, std::int64_t, void*) {
  if (event != nullptr) *event = nullptr;
  return abi::kSuccess;
}

}  // namespace tutti::transport::net::plugin
