// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "tools/health_report.h"

#include <fmt/format.h>

#include <algorithm>

#include "tools/cli.h"
#include "tools/median.h"

namespace tutti::tools {
namespace {

// Of small messages how long they took, of large ones how fast they were.
std::string Measured(double us, const Transfer& like) {
  if (us <= 0) return "-";
  return like.small != 0 ? fmt::format("{:.1f} us", us) : SpeedText(like.bytes, us);
}

std::string FormatLine(const std::string& round, const std::vector<Transfer>& transfers, doctor::Severity worst_grade) {
  std::vector<double> times;
  std::uint64_t wrong = 0;
  for (const Transfer& transfer : transfers) {
    times.push_back(transfer.us);
    wrong += transfer.wrong_words;
  }
  const Transfer& worst = *std::ranges::max_element(transfers, {}, &Transfer::us);
  return fmt::format("{:<21} {:>5} {:>9} {:>12} {:>12} {:>12} {:>8} {:>11}  {}\n", round, transfers.size(),
                     FormatBytes(worst.bytes), Measured(worst.us, worst), Measured(MedianOf(times), worst),
                     Measured(worst.expected_us, worst), wrong, fmt::format("{} -> {}", worst.from, worst.to),
                     doctor::Name(worst_grade));
}

}  // namespace

std::string FormatPart(const HealthPart& part, const HealthShape& shape, const Thresholds& thresholds) {
  std::string text = fmt::format("# {}\n", part.memory);
  for (std::size_t begin = 0; begin < part.notes.size();) {
    const std::size_t end = std::min(part.notes.find('\n', begin), part.notes.size());
    text += fmt::format("# {}\n", part.notes.substr(begin, end - begin));
    begin = end + 1;
  }
  text += fmt::format("# {:<19} {:>5} {:>9} {:>12} {:>12} {:>12} {:>8} {:>11}\n", "round", "links", "bytes", "worst",
                      "median", "expected", "#wrong", "worst link");
  const std::vector<doctor::Severity> grades = Grade(part.transfers, shape, thresholds);
  for (std::size_t round = 0; round < part.rounds.size(); ++round) {
    for (const std::int32_t small : {1, 0}) {
      std::vector<Transfer> some;
      doctor::Severity worst = doctor::Severity::kOk;
      for (std::size_t i = 0; i < part.transfers.size(); ++i) {
        if (part.transfers[i].round != static_cast<std::int32_t>(round) || part.transfers[i].small != small) continue;
        some.push_back(part.transfers[i]);
        worst = std::max(worst, grades[i]);
      }
      if (!some.empty()) text += FormatLine(part.rounds[round].name, some, worst);
    }
  }
  text += fmt::format("{:<21} {:>5} {:>9} {:>12} {:>12} {:>12} {:>8}\n", "all_reduce", "all",
                      FormatBytes(part.reduced_bytes), fmt::format("{:.0f} us", part.reduced.us), "-",
                      part.reduced_expected_us ? fmt::format("{:.0f} us", *part.reduced_expected_us) : "-",
                      part.reduced.wrong);
  return text;
}

Json PartAsJson(const HealthPart& part, const HealthShape& shape, const Thresholds& thresholds) {
  const std::vector<doctor::Severity> grades = Grade(part.transfers, shape, thresholds);
  Json transfers = Json::Array();
  for (std::size_t i = 0; i < part.transfers.size(); ++i) {
    const Transfer& one = part.transfers[i];
    transfers.Append({{"round", part.rounds[static_cast<std::size_t>(one.round)].name},
                      {"from", one.from},
                      {"to", one.to},
                      {"bytes", one.bytes},
                      {"us", one.us},
                      {"expected_us", one.expected_us},
                      {"wrong_words", one.wrong_words},
                      {"severity", doctor::Name(grades[i])}});
  }
  return {{"memory", part.memory},
          {"transfers", transfers},
          {"all_reduce",
           {{"bytes", part.reduced_bytes},
            {"us", part.reduced.us},
            {"expected_us", part.reduced_expected_us.value_or(0)},
            {"wrong_elements", part.reduced.wrong}}}};
}

}  // namespace tutti::tools
