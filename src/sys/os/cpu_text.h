// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_SYS_OS_CPU_TEXT_H_
#define TUTTI_SYS_OS_CPU_TEXT_H_

// What Linux writes about CPUs.

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tutti::sys {

inline constexpr int kMostCpus = 16 << 10;

// The CPUs of "0-3,8" and of "ff,0000000f", in order; nothing where the text is no such list, or names CPUs from
// kMostCpus on. An empty list has none, an empty mask is none.
std::optional<std::vector<int>> ParseCpuList(std::string_view text);
std::optional<std::vector<int>> ParseCpuMask(std::string_view text);

struct CpuModel {
  std::string arch;    // "x86_64", "arm64", "ppc64"
  std::string vendor;  // "GenuineIntel"; empty: not known, as outside x86_64
  int family = -1;     // CPUID's, both
  int model = -1;
};
// What the first processor in the text of /proc/cpuinfo is. Where the text does not say what its kind is, that of this
// build.
CpuModel ParseCpuInfo(std::string_view text);

// Calls `visit` with each piece of a text between separators.
template <typename Visit>
void ForEachPiece(std::string_view text, char separator, const Visit& visit) {
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(separator), text.size());
    visit(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
}

}  // namespace tutti::sys

#endif  // TUTTI_SYS_OS_CPU_TEXT_H_
