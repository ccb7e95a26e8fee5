// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "base/settings_registry.h"

#include <algorithm>
#include <vector>

#include "base/nearest.h"
#include "base/settings_rows.h"
#include "base/words.h"

namespace tutti {
namespace {

std::string_view WithoutPrefix(std::string_view name) {
  for (std::string_view prefix : {"NCCL_", "TUTTI_"}) {
    if (name.starts_with(prefix)) return name.substr(prefix.size());
  }
  return name;
}

}  // namespace

std::span<const Setting> AllSettings() {
  static const std::vector<Setting>& all = *[] {
    auto* joined = new std::vector<Setting>;  // never destroyed: threads may outlive static objects
    for (const std::span<const Setting> rows :
         {SettingsOfChoices(), SettingsOfGraph(), SettingsOfNetwork(), SettingsOfProcess()}) {
      joined->insert(joined->end(), rows.begin(), rows.end());
    }
    return joined;
  }();
  return all;
}

const Setting* FindSetting(std::string_view name) {
  for (const Setting& setting : AllSettings()) {
    if (setting.name == name) return &setting;
  }
  return nullptr;
}

std::optional<std::string_view> WhyIgnored(std::string_view name) {
  if (FindSetting(name) != nullptr) return std::nullopt;  // used, whatever its beginning stands for
  for (const IgnoredSettings& group : AllIgnoredSettings()) {
    std::string_view rest = group.names;
    while (!rest.empty()) {
      const std::size_t end = std::min(rest.find(' '), rest.size());
      std::string_view known = rest.substr(0, end);
      rest.remove_prefix(std::min(end + 1, rest.size()));
      const bool pattern = known.ends_with('*');
      if (pattern) known.remove_suffix(1);
      if (pattern ? name.starts_with(known) : name == known) return group.reason;
    }
  }
  return std::nullopt;
}

std::string_view NearestSetting(std::string_view name) {
  std::vector<std::string_view> names, words;
  for (const Setting& setting : AllSettings()) names.push_back(setting.name);
  for (const IgnoredSettings& group : AllIgnoredSettings()) {
    std::string_view rest = group.names;
    while (!rest.empty()) {
      const std::size_t end = std::min(rest.find(' '), rest.size());
      if (end > 0 && rest[end - 1] != '*') names.push_back(rest.substr(0, end));
      rest.remove_prefix(std::min(end + 1, rest.size()));
    }
  }
  for (const std::string_view known : names) words.push_back(WithoutPrefix(known));
  const std::optional<std::string_view> nearest = Nearest(WithoutPrefix(name), words);
  if (!nearest) return "";
  return names[std::ranges::find(words, *nearest) - words.begin()];
}

log::Config LogConfig(const Settings& settings) {
  log::Config config;
  std::string unknown;
  config.level = log::ParseLevel(settings.debug).value_or(config.level);
  config.banner = settings.origins.contains("NCCL_DEBUG");
  config.subsystems = log::ParseSubsystems(settings.debug_subsys, unknown).value_or(config.subsystems);
  config.file = settings.debug_file;
  config.timestamp_format = settings.debug_timestamp_format;
  config.timestamp_levels =
      log::ParseLevels(settings.debug_timestamp_levels, unknown).value_or(config.timestamp_levels);
  config.info_after_warn = settings.warn_enable_debug_info;
  config.lines_per_second = settings.log_rate;
  config.format = Lower(settings.log_format) == "json" ? log::Format::kJson : log::Format::kText;
  return config;
}

}  // namespace tutti