// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "doctor/root.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <system_error>

#include "base/words.h"
#include "sys/os/text_file.h"

namespace tutti::doctor {

std::optional<std::string> Root::Bytes(const std::string& path) const {
  const Result<std::string> text = sys::ReadRegularFile(folder_ + path);
  return text.ok() ? std::optional(*text) : std::nullopt;
}

std::optional<std::string> Root::Text(const std::string& path) const {
  const std::optional<std::string> text = Bytes(path);
  return text ? std::optional(std::string(Trim(*text))) : std::nullopt;
}

std::optional<std::int64_t> Root::Number(const std::string& path) const {
  const std::optional<std::string> text = Text(path);
  return text ? ParseNumber<std::int64_t>(*text) : std::nullopt;
}

std::vector<std::string> Root::Names(const std::string& path) const {
  std::vector<std::string> names;
  std::error_code error;
  std::filesystem::directory_iterator entries(folder_ + path, error);
  for (const std::filesystem::directory_iterator end; !error && entries != end; entries.increment(error)) {
    names.push_back(entries->path().filename());
  }
  std::ranges::sort(names);
  return names;
}

bool Root::Exists(const std::string& path) const {
  std::error_code error;
  return std::filesystem::exists(folder_ + path, error);
}

std::optional<std::string> ValueOf(std::string_view text, std::string_view key) {
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = text.substr(0, end);
    if (line.starts_with(key) && line.size() > key.size() &&
        std::string_view(": \t").find(line[key.size()]) != std::string_view::npos) {
      return std::string(Trim(line.substr(key.size()), ": \t"));
    }
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return std::nullopt;
}

std::optional<std::int64_t> NumberOf(std::string_view text, std::string_view key) {
  const std::optional<std::string> value = ValueOf(text, key);
  if (!value) return std::nullopt;
  return ParseNumber<std::int64_t>(std::string_view(*value).substr(0, value->find_first_of(" \t")));
}

std::string BytesText(double bytes) {
  constexpr std::array<const char*, 5> kUnits = {"bytes", "KiB", "MiB", "GiB", "TiB"};
  std::size_t unit = 0;
  for (; bytes >= 1024 && unit + 1 < kUnits.size(); ++unit) bytes /= 1024;
  return bytes == static_cast<double>(static_cast<std::int64_t>(bytes)) ? fmt::format("{:.0f} {}", bytes, kUnits[unit])
                                                                        : fmt::format("{:.1f} {}", bytes, kUnits[unit]);
}

}  // namespace tutti::doctor
