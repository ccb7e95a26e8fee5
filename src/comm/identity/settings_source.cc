// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "comm/identity/settings_source.h"

#include <fmt/format.h>

#include <filesystem>
#include <string_view>
#include <utility>

#include "base/log.h"
#include "base/settings_registry.h"
#include "base/words.h"
#include "sys/log/log_output.h"
#include "sys/os/process.h"
#include "sys/os/text_file.h"

namespace tutti {

Settings Settings::FromEnvironment() {
  const comm::SettingsSources sources = comm::FindSettings();
  Settings settings = ReadSettings(sources.environment, sources.files);
  settings.warnings = sources.warnings + settings.warnings;
  return settings;
}

namespace comm {
namespace {

constexpr const char* kSystemFile = "/etc/nccl.conf";

std::string Variable(const std::vector<std::string>& environment, std::string_view name) {
  for (const std::string& variable : environment) {
    if (variable.starts_with(name) && variable.size() > name.size() && variable[name.size()] == '=') {
      return variable.substr(name.size() + 1);
    }
  }
  return "";
}

enum class Absence { kFine, kWarned };

void Add(const std::string& path, Absence absence, SettingsSources& sources) {
  std::error_code ignored;
  if (absence == Absence::kFine && !std::filesystem::exists(path, ignored)) return;
  Result<std::string> text = sys::ReadFile(path);
  if (text.ok()) {
    sources.files.push_back({.name = path, .text = std::move(*text)});
  } else {
    sources.warnings += fmt::format("the settings in {} do not count: {}{}\n", path, text.status().message(),
                                    absence == Absence::kWarned ? "; NCCL_CONF_FILE names it" : "");
  }
}

}  // namespace

SettingsSources internal::FindSettings(std::vector<std::string> environment, const std::string& system_file) {
  SettingsSources sources;
  sources.environment = std::move(environment);
  const std::string named = Variable(sources.environment, "NCCL_CONF_FILE");
  const std::string home = Variable(sources.environment, "HOME");
  if (!named.empty()) {
    Add(named, Absence::kWarned, sources);
  } else if (!home.empty()) {
    Add(home + "/.nccl.conf", Absence::kFine, sources);
  }
  Add(system_file, Absence::kFine, sources);
  return sources;
}

SettingsSources FindSettings() { return internal::FindSettings(sys::Environment(), kSystemFile); }

void StartLog(const Settings& settings, int rank) {
  if (rank >= 0) log::SetRank(rank);
  sys::OpenLog(LogConfig(settings), rank);
  if (rank == 0 && log::Enabled(log::Level::kVersion, 0) && log::FirstTime("NCCL version")) {
    TUTTI_LOG(log::Level::kVersion, log::kInit, "NCCL version {} (Tutti {})", TUTTI_NCCL_VERSION, TUTTI_VERSION);
  }
}

void ReportSettings(const Settings& settings) {
  std::string_view rest = settings.warnings;
  while (!rest.empty()) {
    const std::string_view line = TakeLine(rest);
    if (!line.empty() && log::FirstTime(line)) TUTTI_WARN("{}", line);
  }
  if (!log::Enabled(log::Level::kInfo, log::kEnv)) return;
  for (const auto& [name, origin] : settings.origins) {
    const Setting* setting = FindSetting(name);
    // What has no field is not printed: the id and the user's secret are secret.
    const std::string value = setting == nullptr || setting->print == nullptr ? "" : " to " + setting->print(settings);
    const std::string line = fmt::format("{} set by {}{}", name, origin, value);
    if (log::FirstTime(line)) TUTTI_INFO(log::kEnv, "{}", line);
  }
  for (const std::string& name : settings.ignored) {
    const std::string line = fmt::format("{} is set and ignored: {}", name, WhyIgnored(name).value_or(""));
    if (log::FirstTime(line)) TUTTI_INFO(log::kEnv, "{}", line);
  }
}

}  // namespace comm
}  // namespace tutti
