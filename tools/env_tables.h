// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_TOOLS_ENV_TABLES_H_
#define TUTTI_TOOLS_ENV_TABLES_H_

#include <string>

#include "tutti/settings.h"
#include "tutti/status.h"

namespace tutti::tools {

// The tables of constants that choices go by (tune/tuning_file.h): those of the tuning file that `settings` mean, then those that
// are compiled in. A line for each, in the order in which they are looked through. Fails where the file cannot be read.
Result<std::string> ListTables(const Settings& settings);

// The same in full, as a tuning file has them.
Result<std::string> PrintTables(const Settings& settings);

}  // namespace tutti::tools

#endif  // TUTTI_TOOLS_ENV_TABLES_H_
