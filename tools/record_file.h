// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_TOOLS_RECORD_FILE_H_
#define TUTTI_TOOLS_RECORD_FILE_H_

#include <string>
#include <string_view>

#include "tutti/status.h"

namespace tutti::tools {

// Writes a file so that a reader sees the old one or the new one, never a part: to PATH.PID beside it first, which then takes its
// name. What is there and is no plain file, as a pipe, is written to as it is; "-" is the output. kSystem, with the cause and the
// remedy, where that fails; then nothing is left behind.
Status WriteWhole(const std::string& path, std::string_view content);

}  // namespace tutti::tools

#endif  // TUTTI_TOOLS_RECORD_FILE_H_
