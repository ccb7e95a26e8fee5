// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_RAS_TEXT_H_
#define TUTTI_RAS_TEXT_H_

#include <cstdint>
#include <string>

#include "ras/events.h"
#include "ras/report.h"

namespace tutti::ras {

// Of ranks that differ from most, the plain text lists up to ten, and no more than a quarter of all; the verbose one less than half.
enum class Detail : std::uint8_t { kPlain, kVerbose };

// The report for people, in NCCL's sections: versions, job summary, communicators in groups that look alike, errors, warnings. The
// sentences of verdicts stand under the errors, before what is counted.
std::string ToText(const Report& report, Detail detail);

// An event as one line, with its end.
std::string ToText(const Event& event);

}  // namespace tutti::ras

#endif  // TUTTI_RAS_TEXT_H_
