// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "ras/names.h"

#include "ras/report.h"
#include "sys/log/log_output.h"

namespace tutti::ras {

std::string_view NcclVersion() { return TUTTI_NCCL_VERSION; }
std::string_view TuttiVersion() { return TUTTI_VERSION; }

std::string LocalTime(std::int64_t unix_ns) { return sys::FormatTime("%F %T", unix_ns); }

std::string ErrorNames(unsigned errors) {
  constexpr struct {
    unsigned bit;
    std::string_view name;
  } kNames[] = {{kIncomplete, "INCOMPLETE"}, {kError, "ERROR"}, {kMismatch, "MISMATCH"}, {kVerdict, "VERDICT"}};
  std::string names;
  for (const auto& one : kNames) {
    if ((errors & one.bit) == 0) continue;
    if (!names.empty()) names += ',';
    names += one.name;
  }
  return names.empty() ? "OK" : names;
}

}  // namespace tutti::ras
