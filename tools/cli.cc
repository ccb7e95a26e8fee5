// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "tools/cli.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace tutti::tools {
namespace {

constexpr std::string_view kSuffixes = "KMGT";

}  // namespace

std::string_view Version() { return TUTTI_VERSION; }

std::optional<std::size_t> ParseBytes(std::string_view text) {
  const std::string number(text);
  if (number.empty() || !(std::isdigit(static_cast<unsigned char>(number[0])) || number[0] == '.')) return {};
  char* end = nullptr;
  double value = std::strtod(number.c_str(), &end);
  std::string suffix(end);
  std::ranges::transform(suffix, suffix.begin(), [](unsigned char c) { return std::toupper(c); });
  if (!suffix.empty() && suffix != "B") {
    const std::size_t power = kSuffixes.find(suffix[0]);
    const std::string_view rest = std::string_view(suffix).substr(1);
    if (power == kSuffixes.npos || !(rest.empty() || rest == "B" || rest == "IB")) return {};
    value = std::ldexp(value, 10 * (static_cast<int>(power) + 1));
  }
  if (!(value >= 0 && value <= 0x1p53)) return {};
  return static_cast<std::size_t>(value);
}

std::string FormatBytes(std::size_t bytes) {
  if (bytes < 1024) return fmt::format("{} B", bytes);
  double value = static_cast<double>(bytes);
  std::size_t power = 0;
  while (value >= 1024 && power < kSuffixes.size()) {
    value /= 1024;
    ++power;
  }
  // Three digits say enough, except where the number is whole.
  const std::string digits =
      value == std::floor(value) ? fmt::format("{:.0f}", value) : fmt::format("{:.{}f}", value, value < 10 ? 2 : 1);
  return fmt::format("{} {}iB", digits, kSuffixes[power - 1]);
}

int UsageError(std::string_view command, std::string_view message) {
  fmt::print(stderr, "{0}: {1}\nTry '{0} --help'.\n", command, message);
  return kExitUsage;
}

Status WriteText(const std::string& path, std::string_view text) {
  std::FILE* file = path == "-" ? stdout : std::fopen(path.c_str(), "w");
  bool written = file != nullptr && std::fwrite(text.data(), 1, text.size(), file) == text.size();
  if (file != nullptr) written = (path == "-" ? std::fflush(file) : std::fclose(file)) == 0 && written;
  if (written) return Status::Ok();
  return Status(Code::kSystem, fmt::format("cannot write {}: {}", path, std::strerror(errno)));
}

bool WriteTextOrSay(std::string_view command, const std::string& path, std::string_view text) {
  const Status written = WriteText(path, text);
  if (!written.ok()) fmt::print(stderr, "{}: {}\n", command, written.message());
  return written.ok();
}

}  // namespace tutti::tools
