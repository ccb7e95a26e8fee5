// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_COMM_IDENTITY_SETTINGS_SOURCE_H_
#define TUTTI_COMM_IDENTITY_SETTINGS_SOURCE_H_

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/settings_reader.h"
#include "tutti/settings.h"

namespace tutti::comm {

// Where settings stand, the strongest first.
struct SettingsSources {
  std::vector<std::string> environment;  // "NAME=value"
  std::vector<ConfigFile> files;
  std::string warnings;  // files that are there, or were asked for, and cannot be read; one line each
};

// This process's environment and its configuration files: the file named in NCCL_CONF_FILE or else ~/.nccl.conf, then
// /etc/nccl.conf. Reads anew at each call. Threads: not while another thread changes the environment.
SettingsSources FindSettings();

namespace internal {
// The same for an environment and a system file made up by a test.
SettingsSources FindSettings(std::vector<std::string> environment, const std::string& system_file);
}  // namespace internal

// Opens the log as these settings say, once per process, and writes the line that names the version where it is asked
// for. `rank`: of the communicator that is about to be made; -1: not known. Cheap at later calls.
void StartLog(const Settings& settings, int rank);

// Writes the warnings of reading the settings, and at INFO what is set and what is ignored; each line once per process.
void ReportSettings(const Settings& settings);

}  // namespace tutti::comm

#endif  // TUTTI_COMM_IDENTITY_SETTINGS_SOURCE_H_
