// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_BASE_SETTINGS_ROWS_H_
#define TUTTI_BASE_SETTINGS_ROWS_H_

// The rows of the registry, a file for each part, in the order of docs/environment.md. AllSettings() joins them.

#include <span>

#include "base/setting.h"

namespace tutti {

std::span<const Setting> SettingsOfChoices();  // algorithm, memory, GPUs
std::span<const Setting> SettingsOfGraph();    // the machine as a graph, and what follows from it
std::span<const Setting> SettingsOfNetwork();  // between hosts
std::span<const Setting> SettingsOfProcess();  // waiting, the log, and what is read from the environment only

}  // namespace tutti

#endif  // TUTTI_BASE_SETTINGS_ROWS_H_
