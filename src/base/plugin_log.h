// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_BASE_PLUGIN_LOG_H_
#define TUTTI_BASE_PLUGIN_LOG_H_

#include <array>
#include <cstdarg>
#include <cstdio>
#include <string_view>

#include "base/log.h"

namespace tutti::log {

// What plugins of NCCL are given to log with ends here (ncclDebugLogger_t): their lines become lines of the subsystem `kTopic`, those
// about a start of INIT too. `who` begins a line that is a warning, "tuner plugin". Numbers of levels and subsystems are NCCL's;
// others are taken for INFO. Any thread.
template <Subsystems kTopic>
[[gnu::format(printf, 6, 0)]] void WriteForPlugin(std::string_view who, int level, unsigned long subsystems,
                                                  const char* file, int line, const char* format,
                                                  std::va_list arguments) {
  const auto severity = static_cast<Level>(level);
  const bool starts = (subsystems & kInit) != 0;
  const bool is_warning = severity == Level::kWarn || severity == Level::kAbort;
  const bool is_trace = severity == Level::kTrace;
  const Level ours = is_warning ? Level::kWarn : is_trace ? Level::kTrace : Level::kInfo;
  if (severity == Level::kNone || !Enabled(ours, starts ? kInit | kTopic : kTopic)) return;
  std::array<char, kMaxLine> buffer;
  if (std::vsnprintf(buffer.data(), buffer.size(), format, arguments) < 0) return;
  const std::string_view text(buffer.data());
  if (is_warning) {
    TUTTI_WARN("{}, {}:{}: {}", who, file != nullptr ? file : "?", line, text);
  } else if (is_trace) {
    TUTTI_TRACE(kTopic, "{}, {}:{}: {}", who, file != nullptr ? file : "?", line, text);
  } else if (starts) {
    TUTTI_INFO(kInit | kTopic, "{}", text);
  } else {
    TUTTI_INFO(kTopic, "{}", text);
  }
}

}  // namespace tutti::log

#endif  // TUTTI_BASE_PLUGIN_LOG_H_
