// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_BASE_SETTINGS_REGISTRY_H_
#define TUTTI_BASE_SETTINGS_REGISTRY_H_

// The registry of settings: one row for each variable that Tutti reads, and one for each that it knows and does not
// use. Everything that speaks of settings reads it: Settings::FromEnvironment, the comparison between ranks, the log,
// `tutti env`, docs/environment.md. A new setting is a field of Settings and a row in one of
// settings_of_*.cc.

#include <optional>
#include <span>
#include <string_view>

#include "base/log.h"
#include "base/setting.h"
#include "tutti/settings.h"

namespace tutti {

std::span<const Setting> AllSettings();
const Setting* FindSetting(std::string_view name);  // null: there is none

// Variables of NCCL, and of what people run around it, that Tutti does not use, with one reason for a group.
struct IgnoredSettings {
  std::string_view names;  // separated by blanks; one that ends in * stands for all that begin so
  std::string_view reason;
};
std::span<const IgnoredSettings> AllIgnoredSettings();
// Why a variable is not used; nullopt: it is not known to be ignored.
std::optional<std::string_view> WhyIgnored(std::string_view name);

// "" or the known name that an unknown one was probably meant to be, whatever its prefix.
std::string_view NearestSetting(std::string_view name);

// What the settings of the log say. REQUIRES: the values are ones that `read` takes; others count as the default.
log::Config LogConfig(const Settings& settings);

}  // namespace tutti

#endif  // TUTTI_BASE_SETTINGS_REGISTRY_H_
