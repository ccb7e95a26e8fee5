// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_TOOLS_TUNING_STORE_H_
#define TUTTI_TOOLS_TUNING_STORE_H_

#include <string>

#include "tune/tuning_file.h"
#include "tutti/status.h"

namespace tutti::tools {

// What a tuning file holds; nothing where there is none yet.
Result<tune::TuningFile> StoredTables(const std::string& file);
// Writes it, and its folder.
Status WriteTables(const std::string& file, const tune::TuningFile& tables);

}  // namespace tutti::tools

#endif  // TUTTI_TOOLS_TUNING_STORE_H_
