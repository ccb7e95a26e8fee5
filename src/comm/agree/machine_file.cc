// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "comm/agree/machine_file.h"

#include <fmt/format.h>

#include <filesystem>
#include <optional>

#include "sys/os/process.h"
#include "sys/os/text_file.h"

namespace tutti::comm {

std::string MachineFile(const Settings& settings) {
  if (!settings.tuning_file.empty()) return settings.tuning_file;
  std::string folder;
  if (const std::optional<std::string> cache = sys::GetEnv("XDG_CACHE_HOME"); cache && !cache->empty()) {
    folder = *cache;
  } else if (const std::optional<std::string> home = sys::GetEnv("HOME"); home && !home->empty()) {
    folder = *home + "/.cache";
  } else {
    return "";
  }
  return fmt::format("{}/tutti/tuning-{}.txt", folder, sys::HostName());
}

Result<tune::TuningFile> LoadTables(const Settings& settings) {
  const std::string file = MachineFile(settings);
  std::error_code ignored;
  if (settings.tuning_file.empty() && (file.empty() || !std::filesystem::exists(file, ignored))) {
    return tune::TuningFile();
  }
  const Result<std::string> text = sys::ReadFile(file);
  if (!text.ok()) return text.status();
  Result<tune::TuningFile> tables = tune::TuningFile::Parse(*text);
  if (tables.ok()) return tables;
  return Status(tables.status().code(), fmt::format("{}: {}", file, tables.status().message()));
}

}  // namespace tutti::comm
