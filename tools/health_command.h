// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_TOOLS_HEALTH_COMMAND_H_
#define TUTTI_TOOLS_HEALTH_COMMAND_H_

namespace tutti::tools {

// `tutti health`: whether all ranks of a job move data as fast as expected, and unchanged; if not, who is to blame. The ranks are a
// launcher's, or processes that it starts itself. Returns 0 for OK, 1 for WARN, 2 for CRITICAL or a wrong command line, 3 for UNKNOWN.
int HealthCommand(int argc, char** argv);

}  // namespace tutti::tools

#endif  // TUTTI_TOOLS_HEALTH_COMMAND_H_
