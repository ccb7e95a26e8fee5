// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_BASE_SETTING_H_
#define TUTTI_BASE_SETTING_H_

// A row of the registry of settings (settings_registry.h).

#include <cstdint>
#include <string>
#include <string_view>

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

}  // namespace tutti

#endif  // TUTTI_BASE_SETTING_H_
