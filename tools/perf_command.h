// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_TOOLS_PERF_COMMAND_H_
#define TUTTI_TOOLS_PERF_COMMAND_H_

namespace tutti::tools {

// `tutti perf OP [OPTIONS]`: measures a collective and checks its results, with nccl-tests' options, table
// and exit codes. The ranks are a launcher's, or processes or threads that it starts itself.
int PerfCommand(int argc, char** argv);

}  // namespace tutti::tools

#endif  // TUTTI_TOOLS_PERF_COMMAND_H_
