// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "comm/machine_file.h"

#include <fmt/format.h>

#include <filesystem>
#include <optional>

#include "sys/process.h"
#include "sys/text_file.h"

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

Result<std::optional<tune::Machine>> LoadMachine(const Settings& settings) {
  const std::string file = MachineFile(settings);
  std::error_code ignored;
  if (settings.tuning_file.empty() && (file.empty() || !std::filesystem::exists(file, ignored))) {
    return std::optional<tune::Machine>();
  }
  const Result<std::string> text = sys::ReadFile(file);
  if (!text.ok()) return text.status();
  Result<tune::Machine> machine = tune::Machine::Parse(*text);
  if (machine.ok()) return std::optional(*machine);
  return Status(machine.status().code(), fmt::format("{}: {}", file, machine.status().message()));
}

}  // namespace tutti::comm
