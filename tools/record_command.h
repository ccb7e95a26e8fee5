// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_TOOLS_RECORD_COMMAND_H_
#define TUTTI_TOOLS_RECORD_COMMAND_H_

namespace tutti::tools {

// `tutti record [PID]` with --flight-recorder, --flight-recorder-json, --trace or --prometheus: writes what the black boxes of the
// jobs of this host hold in formats of other programs (docs/diagnosis.md). With --every again and again, until a signal comes or
// no job is left. Exit code: 0 done, 1 it failed, 2 the command line is wrong, 3 there is nothing to look at.
int RecordCommand(int argc, char** argv);

}  // namespace tutti::tools

#endif  // TUTTI_TOOLS_RECORD_COMMAND_H_
