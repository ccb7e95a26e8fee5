// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_WATCH_FAR_REPORT_H_
#define TUTTI_WATCH_FAR_REPORT_H_

// What monitors of different hosts say to each other: a question, and what a look has found as the answer. Numbers of variable length, 7 bits
// in a byte, the lowest first, so that counters that are small take little: a rank that waits takes some 100 bytes and
// each link that it used 20 or so.

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "diag/evidence.h"
#include "tutti/status.h"

namespace tutti::watch {

inline constexpr std::size_t kMostReportBytes = 4u << 20;
inline constexpr std::size_t kMostQuestionIds = 4096;

// Asks for a look at these communicators, and at others in which somebody there waits.
struct Question {
  std::uint32_t number = 0;  // that the answer has too
  std::vector<std::uint64_t> communicators;
  bool waits = false;  // somebody waits in one of them, so the host's system is to be asked too (host_evidence.h)
};

// The answer. Times in the look are those of the clock of the host that it comes from.
struct Report {
  std::uint32_t number = 0;
  diag::Look look;
};

// Any thread, all of these. Of what a look may hold without bound (threads, children, history, what a thread works on) the report has the first part.
// Hosts, edges and islands are not in it: who asks knows them.
std::vector<std::byte> Encode(const Question& question);
std::vector<std::byte> Encode(const Report& report);
// Trusts nothing. kInvalidArgument where it is not what Encode writes.
Result<Question> ParseQuestion(std::span<const std::byte> message);
Result<Report> ParseReport(std::span<const std::byte> message);

}  // namespace tutti::watch

#endif  // TUTTI_WATCH_FAR_REPORT_H_
