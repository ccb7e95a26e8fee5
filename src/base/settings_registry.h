// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_BASE_SETTINGS_REGISTRY_H_
#define TUTTI_BASE_SETTINGS_REGISTRY_H_

// The registry of settings: one row for each variable that Tutti reads, and one for each that it knows and does not
// use. Everything that speaks of settings reads it: Settings::FromEnvironment, the comparison between ranks, the log,
// `tutti env`, docs/environment.md. A new setting is a field of Settings and a row in settings_registry.cc.

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/log.h"
#include "tutti/settings.h"

namespace tutti {

// Where a setting counts.
enum class Scope : std::uint8_t {
  kCommunicator,  // each communicator may have its own, in CommunicatorOptions::settings
  kProcess,       // the first communicator's holds for the process
  kEnvironment,   // read from the environment only: who a rank is, and where settings are
};

// What happens where ranks have different values.
enum class Agreement : std::uint8_t {
  kMust,      // no communicator
  kRankZero,  // rank 0's holds for all; a warning
  kShould,    // each rank uses its own; a warning
  kOwn,       // nothing: it is each rank's own affair
};

struct Setting {
  std::string_view name;
  std::string_view unit;     // "ms"; empty: none
  std::string_view values;   // what may be set: "1 to 64", "auto, off, force"
  std::string_view meaning;  // one sentence
  Scope scope = Scope::kCommunicator;
  Agreement agreement = Agreement::kOwn;
  std::string_view bounds;  // for a second name: the setting that it works on; of several values the strictest holds
  // Takes a value over into `settings`. An empty text, or what the value is not: "a number of ms, 1 to 64". Null where
  // scope is kEnvironment.
  std::string (*read)(std::string_view text, Settings& settings) = nullptr;
  // The value as it could be set; empty: none.
  std::string (*print)(const Settings& settings) = nullptr;
};

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
