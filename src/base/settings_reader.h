// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_BASE_SETTINGS_READER_H_
#define TUTTI_BASE_SETTINGS_READER_H_

// From the texts of an environment and of configuration files to Settings. What reads those texts from the system is
// in comm/identity/settings_source.cc.

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tutti/settings.h"

namespace tutti {

struct ConfigFile {
  std::string name;  // for origins and warnings
  std::string text;
};

struct ConfigLine {
  std::string_view name, value;  // into the file's text, without blanks around them
  int number = 0;                // of the line, from 1
};

// The lines of a configuration file: NAME=value each; empty ones and those that begin with # say nothing. Of two lines
// for one name the first holds, as in NCCL. Lines that cannot be read are left out and named in `warnings`, one line
// each, "file:line: ...", at most 20 of them.
std::vector<ConfigLine> ParseConfigFile(const ConfigFile& file, std::string& warnings);

// Settings from an environment ("NAME=value" each) and files, the strongest first. The environment beats them all; an
// empty value counts as none. Names with NCCL_ or TUTTI_ that nobody knows are named in `warnings` with the nearest
// known one.
Settings ReadSettings(std::span<const std::string> environment, std::span<const ConfigFile> files);

}  // namespace tutti

#endif  // TUTTI_BASE_SETTINGS_READER_H_
