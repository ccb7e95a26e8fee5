// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_COMM_MACHINE_FILE_H_
#define TUTTI_COMM_MACHINE_FILE_H_

#include <optional>
#include <string>

#include "tune/model.h"
#include "tutti/settings.h"
#include "tutti/status.h"

namespace tutti::comm {

// Where the cost model's constants of this machine are stored: settings.tuning_file, or, where that is empty,
// tutti/tuning-HOSTNAME.txt in $XDG_CACHE_HOME or ~/.cache. Empty where there is no home either.
std::string MachineFile(const Settings& settings);

// The stored constants, or nothing where no file was named and none is stored. An error names the file.
Result<std::optional<tune::Machine>> LoadMachine(const Settings& settings);

}  // namespace tutti::comm

#endif  // TUTTI_COMM_MACHINE_FILE_H_
