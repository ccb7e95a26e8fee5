// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_TOOLS_TOP_COMMAND_H_
#define TUTTI_TOOLS_TOP_COMMAND_H_

namespace tutti::tools {

// `tutti top [--once] [--interval S] [--json FILE] [PID|FILE]`: a line for each job of this host with what holds it up, if anything does
// (docs/diagnosis.md); with PID, what the communicators of that process do and wait for, read from its black boxes
// (docs/black_box.md), also while it hangs or is stopped; with FILE, the same from a core file. On a terminal it refreshes until it is interrupted or the process ends;
// --once, --json, or an output that is no terminal, shows it once, and the exit code is JobStatus's (tools/top_jobs.h).
int TopCommand(int argc, char** argv);

}  // namespace tutti::tools

#endif  // TUTTI_TOOLS_TOP_COMMAND_H_
