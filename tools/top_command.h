// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_TOOLS_TOP_COMMAND_H_
#define TUTTI_TOOLS_TOP_COMMAND_H_

namespace tutti::tools {

// `tutti top [--once] [--interval S] [--json FILE] PID`: what the communicators of a process do and wait for, read from
// its black boxes (docs/black_box.md), also while it hangs or is stopped. On a terminal it refreshes until it is
// interrupted or the process ends; --once, or an output that is no terminal, shows it once.
int TopCommand(int argc, char** argv);

}  // namespace tutti::tools

#endif  // TUTTI_TOOLS_TOP_COMMAND_H_
