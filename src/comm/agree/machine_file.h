// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_COMM_AGREE_MACHINE_FILE_H_
#define TUTTI_COMM_AGREE_MACHINE_FILE_H_

#include <string>

#include "tune/tuning_file.h"
#include "tutti/settings.h"
#include "tutti/status.h"

namespace tutti::comm {

// Where the tables of this machine are stored: settings.tuning_file, or, where that is empty,
// tutti/tuning-HOSTNAME.txt in $XDG_CACHE_HOME or ~/.cache. Empty where there is no home either.
std::string MachineFile(const Settings& settings);

// The stored tables; none where no file was named and none is stored. An error names the file.
Result<tune::TuningFile> LoadTables(const Settings& settings);

}  // namespace tutti::comm

#endif  // TUTTI_COMM_AGREE_MACHINE_FILE_H_
