// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "sys/os/cpu_text.h"

#include <algorithm>
#include <cstdint>

#include "base/words.h"

namespace tutti::sys {
namespace {

constexpr const char* BuildArch() {
#if defined(__x86_64__)
  return "x86_64";
#elif defined(__aarch64__)
  return "arm64";
#elif defined(__powerpc64__)
  return "ppc64";
#else
  return "";
#endif
}

}  // namespace

std::optional<std::vector<int>> ParseCpuList(std::string_view text) {
  std::vector<int> cpus;
  bool good = true;
  ForEachPiece(text, ',', [&](std::string_view piece) {
    const std::size_t dash = std::min(piece.find('-'), piece.size());
    const auto first = ParseNumber<int>(piece.substr(0, dash));
    const auto last = dash == piece.size() ? first : ParseNumber<int>(piece.substr(dash + 1));
    // In order, so that there are never more than kMostCpus.
    good = good && first && last && *first > (cpus.empty() ? -1 : cpus.back()) && *last >= *first && *last < kMostCpus;
    for (int cpu = good ? *first : 0; good && cpu <= *last; ++cpu) cpus.push_back(cpu);
  });
  return good ? std::optional(cpus) : std::nullopt;
}

std::optional<std::vector<int>> ParseCpuMask(std::string_view text) {
  std::vector<std::uint32_t> words;
  bool good = !text.empty();
  ForEachPiece(text, ',', [&](std::string_view piece) {
    const auto word = ParseNumber<std::uint32_t>(piece, 16);
    good = good && word;
    words.push_back(word.value_or(0));
  });
  if (!good || words.size() * 32 > kMostCpus) return std::nullopt;
  std::vector<int> cpus;
  std::ranges::reverse(words);
  for (int cpu = 0; cpu < static_cast<int>(words.size()) * 32; ++cpu) {
    if ((words[static_cast<std::size_t>(cpu / 32)] >> (cpu % 32) & 1) != 0) cpus.push_back(cpu);
  }
  return cpus;
}

CpuModel ParseCpuInfo(std::string_view text) {
  CpuModel model;
  while (!text.empty()) {
    const std::string_view line = TakeLine(text);
    const std::size_t colon = line.find(':');
    if (colon == std::string_view::npos) {
      if (!model.arch.empty()) break;  // the end of the first processor
      continue;
    }
    const std::string_view key = Trim(line.substr(0, colon)), value = Trim(line.substr(colon + 1));
    if (key == "vendor_id") {
      model.arch = "x86_64";
      model.vendor = value;
    } else if (key == "cpu family") {
      model.family = ParseNumber<int>(value).value_or(-1);
    } else if (key == "model") {
      model.model = ParseNumber<int>(value).value_or(-1);
    } else if (key == "CPU implementer") {
      model.arch = "arm64";
    } else if (key == "cpu" && value.starts_with("POWER")) {
      model.arch = "ppc64";
    }
  }
  if (model.arch.empty()) model.arch = BuildArch();
  return model;
}

}  // namespace tutti::sys
