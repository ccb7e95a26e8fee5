// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_TOOLS_RUN_COMMAND_H_
#define TUTTI_TOOLS_RUN_COMMAND_H_

#include <string>
#include <vector>

#include "tutti/status.h"

namespace tutti::tools {

// `tutti run -n N [--tag-output] [--grace S] PROG ARGS...`: starts N ranks of a program on this host, which
// find each other through the environment (Communicator::FromEnvironment). Returns the exit code of the first
// rank that failed, 128 + signal where a signal ended it; 127 when the program does not exist, 126 when it
// cannot be run.
int RunCommand(int argc, char** argv);

// The variables that rank `rank` of `ranks` finds set, as "NAME=value".
std::vector<std::string> RankEnvironment(int rank, int ranks, const std::string& id_hex);

// Where execvp would find `program`; the error says why it would not.
Result<std::string> FindProgram(const std::string& program);

}  // namespace tutti::tools

#endif  // TUTTI_TOOLS_RUN_COMMAND_H_
