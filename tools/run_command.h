// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_TOOLS_RUN_COMMAND_H_
#define TUTTI_TOOLS_RUN_COMMAND_H_

namespace tutti::tools {

// `tutti run -n N [--tag-output] [--grace S] PROG ARGS...`: starts N ranks of a program on this host, which
// find each other through the environment (Communicator::FromEnvironment). Returns the exit code of the first
// rank that failed, 128 + signal where a signal ended it; 127 when the program does not exist, 126 when it
// cannot be run.
//
// `tutti run --hosts a:4,b:4 PROG ARGS...`: the same on several hosts (launch_hosts.h).
int RunCommand(int argc, char** argv);

}  // namespace tutti::tools

#endif  // TUTTI_TOOLS_RUN_COMMAND_H_
