// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "doctor/finding.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

namespace tutti::doctor {
namespace {

constexpr std::array<std::string_view, 5> kNames = {"OK", "INFO", "UNKNOWN", "WARN", "CRITICAL"};

}  // namespace

void Add(Findings& findings, Severity severity, std::string check, std::string what, std::string evidence,
         std::string remedy) {
  findings.push_back({.severity = severity,
                      .check = std::move(check),
                      .what = std::move(what),
                      .evidence = std::move(evidence),
                      .remedy = severity == Severity::kOk ? "" : std::move(remedy)});
}

std::string_view Name(Severity severity) { return kNames[static_cast<std::size_t>(severity)]; }

std::string TextOf(const Finding& finding) {
  std::string text = fmt::format("{}: {}", finding.check, finding.what);
  if (!finding.evidence.empty()) text += fmt::format(" ({})", finding.evidence);
  if (!finding.remedy.empty()) text += fmt::format("; {}", finding.remedy);
  return text;
}

std::string LineOf(const Finding& finding) {
  return fmt::format("{:<9} {}{}{}", Name(finding.severity), finding.host, finding.host.empty() ? "" : ": ",
                     TextOf(finding));
}

std::string SumOf(std::span<const Finding> findings, int hosts) {
  std::string text = fmt::format("{} findings", findings.size());
  if (hosts > 1) text += fmt::format(" on {} hosts", hosts);
  std::string_view separator = ": ";
  for (std::size_t i = kNames.size(); i-- > 0;) {
    const auto count = std::ranges::count(findings, static_cast<Severity>(i), &Finding::severity);
    if (count == 0) continue;
    text += fmt::format("{}{} {}", separator, count, kNames[i]);
    separator = ", ";
  }
  return text;
}

int ExitCodeOf(std::span<const Finding> findings) {
  Severity worst = Severity::kOk;
  for (const Finding& finding : findings) worst = std::max(worst, finding.severity);
  constexpr std::array<int, 5> kCodes = {0, 0, 3, 1, 2};
  return kCodes[static_cast<std::size_t>(worst)];
}

}  // namespace tutti::doctor
