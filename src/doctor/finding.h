// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_DOCTOR_FINDING_H_
#define TUTTI_DOCTOR_FINDING_H_

// What an examination says: a list of findings, one line each. Every check leaves at least one, so that a reader sees what was looked at.

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tutti::doctor {

enum class Severity : std::uint8_t {
  kOk,        // looked at, and as it should be
  kInfo,      // worth knowing; no fault
  kUnknown,   // asked for, and could not be found out
  kWarn,      // a job will be slower than it could be, or may fail
  kCritical,  // a job will fail, be many times slower than it could be, or compute something wrong
};

struct Finding {
  Severity severity = Severity::kOk;
  std::string check;     // its name for scripts: "pcie", "memlock"
  std::string what;      // a sentence without an end: "GPU 0000:1b:00.0 has too few PCIe lanes"
  std::string evidence;  // in numbers: "8 of 16 lanes"; may be empty
  std::string remedy;    // what to do; empty where nothing is to be done
  std::string host;      // whom it is about, where there are several hosts; may be several names

  bool operator==(const Finding&) const = default;
};

using Findings = std::vector<Finding>;

// Adds one. Where it is kOk nothing is to be done, whatever `remedy` says.
void Add(Findings& findings, Severity severity, std::string check, std::string what, std::string evidence,
         std::string remedy = "");

// "OK", "INFO", "UNKNOWN", "WARN", "CRITICAL".
std::string_view Name(Severity severity);

// "memlock: little memory may be locked (64 KiB); raise it by ..."
std::string TextOf(const Finding& finding);
// "WARN      node3: memlock: ...".
std::string LineOf(const Finding& finding);
// "12 findings: 1 WARN, 1 INFO, 10 OK"; "12 findings on 2 hosts: ..." where there are several.
std::string SumOf(std::span<const Finding> findings, int hosts = 1);

// 0 for OK and INFO, 1 for WARN, 2 for CRITICAL, 3 for UNKNOWN. The worst finding counts, UNKNOWN being the least bad of them.
int ExitCodeOf(std::span<const Finding> findings);

}  // namespace tutti::doctor

#endif  // TUTTI_DOCTOR_FINDING_H_
