// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "transport/net/plugin/plugin_log.h"

#include <array>
#include <cstdarg>
#include <cstdio>
#include <string_view>

#include "base/log.h"
#include "transport/net/plugin/abi.h"

namespace tutti::transport::net::plugin {

void LogLine(int level, unsigned long subsystems, const char* file, int line, const char* format, ...) {
  const auto severity = static_cast<log::Level>(level);
  const bool starts = (subsystems & log::kInit) != 0;
  const log::Subsystems topic = starts ? log::kInit | log::kNet : log::kNet;
  const bool is_warning = severity == log::Level::kWarn || severity == log::Level::kAbort;
  const bool is_trace = severity == log::Level::kTrace;
  const log::Level ours = is_warning ? log::Level::kWarn : is_trace ? log::Level::kTrace : log::Level::kInfo;
  if (severity == log::Level::kNone || !log::Enabled(ours, topic)) return;
  std::array<char, log::kMaxLine> buffer;
  va_list arguments;
  va_start(arguments, format);
  const int written = std::vsnprintf(buffer.data(), buffer.size(), format, arguments);
  va_end(arguments);
  if (written < 0) return;
  const std::string_view text(buffer.data());
  if (is_warning) {
    TUTTI_WARN("network plugin, {}:{}: {}", file != nullptr ? file : "?", line, text);
  } else if (is_trace) {
    TUTTI_TRACE(log::kNet, "network plugin, {}:{}: {}", file != nullptr ? file : "?", line, text);
  } else if (starts) {
    TUTTI_INFO(log::kInit | log::kNet, "{}", text);
  } else {
    TUTTI_INFO(log::kNet, "{}", text);
  }
}

int TellNoProfiler(void** event, int, void*, std::int64_t, void*) {
  if (event != nullptr) *event = nullptr;
  return abi::kSuccess;
}

}  // namespace tutti::transport::net::plugin
