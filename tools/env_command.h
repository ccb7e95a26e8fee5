// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_TOOLS_ENV_COMMAND_H_
#define TUTTI_TOOLS_ENV_COMMAND_H_

#include <string>

#include "comm/identity/settings_source.h"

namespace tutti::tools {

// `tutti env [OPTIONS]`: every setting with its value here and where that came from, then the variables that are set
// and ignored, with the reason. Returns an exit code of cli.h; kExitFailed where something that is set cannot be read.
int EnvCommand(int argc, char** argv);

// What `tutti env` prints for settings that stand in `sources`, and the same as JSON.
enum class Shown { kAll, kSet };
std::string FormatSettings(const comm::SettingsSources& sources, Shown shown);
std::string SettingsAsJson(const comm::SettingsSources& sources);

// docs/environment.md: all variables, read and ignored, whatever is set here.
std::string EnvironmentPage();

}  // namespace tutti::tools

#endif  // TUTTI_TOOLS_ENV_COMMAND_H_
