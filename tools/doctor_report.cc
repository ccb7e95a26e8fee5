// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "tools/doctor_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <vector>

namespace tutti::tools {

namespace {

constexpr int kMostNames = 6;

// What several hosts say alike, once, in the place of the first.
std::vector<doctor::Finding> Merge(std::span<const doctor::Finding> findings, int hosts) {
  std::vector<doctor::Finding> merged;
  std::vector<int> counts;
  for (const doctor::Finding& finding : findings) {
    const auto same = std::ranges::find_if(merged, [&](doctor::Finding one) {
      one.host = finding.host;
      return one == finding;
    });
    if (same == merged.end()) {
      merged.push_back(finding);
      counts.push_back(1);
      continue;
    }
    const int count = ++counts[static_cast<std::size_t>(same - merged.begin())];
    if (count <= kMostNames) same->host += ", " + finding.host;
  }
  for (std::size_t i = 0; i < merged.size(); ++i) {
    if (counts[i] > 1 && counts[i] == hosts) {
      merged[i].host = fmt::format("all {} hosts", hosts);
    } else if (counts[i] > kMostNames) {
      merged[i].host += fmt::format(" and {} others", counts[i] - kMostNames);
    }
  }
  return merged;
}

}  // namespace

std::string FormatFindings(std::span<const doctor::Finding> findings, int hosts, bool all) {
  std::vector<doctor::Finding> shown = Merge(findings, hosts);
  if (!all)
    std::erase_if(shown, [](const doctor::Finding& finding) { return finding.severity == doctor::Severity::kOk; });
  std::ranges::stable_sort(shown, {}, &doctor::Finding::severity);
  std::string text;
  for (doctor::Finding& finding : shown) {
    if (hosts == 1) finding.host.clear();
    text += doctor::LineOf(finding) + "\n";
  }
  return text + doctor::SumOf(findings, hosts) + "\n";
}

Json FindingsAsJson(std::span<const doctor::Finding> findings) {
  doctor::Severity worst = doctor::Severity::kOk;
  Json list = Json::Array();
  for (const doctor::Finding& finding : findings) {
    worst = std::max(worst, finding.severity);
    list.Append({{"severity", doctor::Name(finding.severity)},
                 {"check", finding.check},
                 {"host", finding.host},
                 {"what", finding.what},
                 {"evidence", finding.evidence},
                 {"remedy", finding.remedy}});
  }
  return {{"severity", doctor::Name(worst)}, {"exit_code", doctor::ExitCodeOf(findings)}, {"findings", list}};
}

}  // namespace tutti::tools
